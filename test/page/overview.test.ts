import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { count, money } from "../../src/base/figures.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { until } from "./stage.ts";

const MAIN = "agent:main:main";

/** What is drawn of a tile, as the address of a picture. */
async function drawn(page: Page, tile: string): Promise<string> {
  return await page.evaluate(`document.querySelector('section[aria-label="${tile}"] canvas').toDataURL()`);
}

test("the overview has the figures of the call, its plots move on, and what failed leads to its session", async (t) => {
  const config = { agents: { main: { model: "rehearsal/large" } } };
  const daemon = await Daemon.start(t, { config });
  const page = await visit(t, daemon, { at: "#/overview" });
  await page.getByText("Nothing failed since the start.").waitFor();
  const { version } = (await (await fetch(`${daemon.url}/healthz`)).json()) as { readonly version: string };
  await page.getByRole("region", { name: "Health" }).getByText(`sessiond ${version}, started`).waitFor();
  const before = await drawn(page, "Tokens");

  const tile = (name: string) => page.getByRole("region", { name, exact: true });
  // A rate is over when nothing comes any more: so it is waited for from the beginning.
  const rate = tile("Tokens")
    .getByRole("img", { name: /now [1-9][\d.]*k? \/s/ })
    .waitFor();
  await daemon.call("ask", { sessionKey: MAIN, message: "!verbose 400" });
  const now = await daemon.call("overview", {});
  assert.ok(now.today.cost > 0 && now.totals.output > 0);
  await rate;
  await tile("Cost today").getByText(money(now.today.cost), { exact: true }).waitFor();
  await tile("Cost today")
    .getByText(`${count(now.today.tokens)} tokens, 1 turn`)
    .waitFor();
  await tile("Tokens")
    .getByText(`${count(now.totals.output)} out`)
    .waitFor();
  await tile("Model calls").getByText(`of ${now.slots.total} slots`).waitFor();
  assert.ok(now.journal !== null && now.disk !== null);
  await tile("Journal")
    .getByText(/^\d+\.\d [kM]B$/)
    .waitFor();
  await tile("Disk")
    .getByText(/^free, \d+%$/)
    .waitFor();
  await until(async () => (await drawn(page, "Tokens")) !== before); // A line is drawn from the second point on.

  const { id } = await daemon.call("addJob", { name: "<b>broken</b>", every: "1h", message: "!fail local" });
  const { outcome } = await daemon.call("ask", { sessionKey: MAIN, message: "!fail auth" });
  assert.equal(outcome, "failed");
  const failure = page.getByRole("row").filter({ hasText: "!fail auth" });
  await failure.getByText("turn failed").waitFor();
  const { seq } = (await daemon.call("overview", {})).failures[0] ?? {};
  assert.equal(
    await failure.getByRole("link").getAttribute("href"),
    `#/session/${encodeURIComponent(MAIN)}?seq=${seq}`,
  );
  await page
    .getByRole("region", { name: "Health" })
    .getByText(/1 turn failed in the last hour/)
    .waitFor();

  await daemon.call("runJob", { job: id });
  const run = page.getByRole("row").filter({ hasText: "job failed" });
  assert.equal(await run.getByRole("link", { name: "job" }).getAttribute("href"), `#/schedule/${id}`);
  await page.getByRole("link", { name: "Upkeep", exact: true }).first().click();
  await page.getByRole("link", { name: "Overview" }).click();
  const ill = page
    .getByRole("region", { name: "Health" })
    .getByRole("listitem")
    .filter({ hasText: "Job <b>broken</b>" });
  await ill.getByText("failed 1 time in a row").waitFor();
  assert.equal(await ill.getByRole("link").getAttribute("href"), `#/schedule/${id}`);
  assert.notEqual(await drawn(page, "Tokens"), before, "what was seen before is still drawn");
});

/** Resolves when the strongest point of a plot is of a colour of the dark, or of the light: whether its red is strong. */
async function inkIs(page: Page, isDark: boolean): Promise<void> {
  const look = `(() => {
    const canvas = document.querySelector('section[aria-label="Journal"] canvas');
    if (canvas === null || canvas.width === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let best = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > data[best + 3]) best = at;
    return data[best + 3] > 60 && data[best] > 120 === ${isDark};
  })()`;
  while (!(await page.evaluate(look))) await sleep(50);
}

test("a program that runs is listed, plots have the colours of the theme, and what was seen stays when the daemon is away", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { main: { tools: { exec: true } } } } });
  const page = await visit(t, daemon, { at: "#/overview", width: 390 });
  await inkIs(page, false);
  await page.emulateMedia({ colorScheme: "dark" });
  await inkIs(page, true);
  await page.emulateMedia({ colorScheme: "light" });
  await inkIs(page, false);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  assert.equal(await page.evaluate("document.documentElement.scrollHeight <= innerHeight"), true);

  await daemon.call("send", { sessionKey: MAIN, message: '!call exec {"command":"sleep 20"}' });
  const programs = page.getByRole("region", { name: "Programs that run now" });
  await programs.getByRole("link", { name: "main" }).waitFor();
  const [running] = (await daemon.call("overview", {})).programs;
  await programs.getByRole("cell", { name: String(running?.pid), exact: true }).waitFor();
  await daemon.call("abort", { sessionKey: MAIN });
  await programs.getByText("None.").waitFor();

  await daemon.kill();
  await page.getByRole("status").filter({ hasText: "The daemon is away" }).waitFor();
  await page.getByRole("region", { name: "Commits" }).getByText("commits,").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
});
