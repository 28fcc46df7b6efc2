import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { seriousIn } from "./axe.ts";
import { launch, visit, visitIn } from "./browser.ts";

test("a job is made with three fields by the keyboard alone, and what is wrong is told where it is", async (t) => {
  const daemon = await Daemon.start(t, { config: { timezone: "Europe/Zurich" } });
  const page = await visit(t, daemon, { at: "#/schedule" });
  await page.getByText("No jobs yet").waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "New job" });
  await dialog.waitFor();
  await page.keyboard.type("!say hello");
  await page.keyboard.press("Tab");
  assert.deepEqual(await selected(page), ["When", "Every day, at"]);
  await page.keyboard.type("Mon"); // Monday to Friday
  await dialog.getByText(/^Weekdays at 09:00 \(Europe\/Zurich\)\. Next: /).waitFor();
  assert.equal((await nextIn(dialog)).length, 3);
  await page.keyboard.press("End");
  assert.deepEqual(await selected(page), ["When", "By a cron expression"]);
  await page.keyboard.press("Tab");
  await page.keyboard.type("61 9 * * *");
  const { error } = await daemon.rpc("addJob", { cron: "61 9 * * *", message: "x" });
  const words = error?.message.replace("cron: ", "") ?? "?";
  await dialog.getByText(words).waitFor(); // before anything is sent
  await page.keyboard.press("Tab");
  await page.keyboard.type("morning");
  assert.equal(await dialog.getByLabel("Time zone").isVisible(), false, "the rest is under More");
  await page.keyboard.press("Enter");

  const wrong = dialog.getByRole("textbox", { name: "Cron expression" });
  await dialog.getByRole("alert").filter({ hasText: words }).waitFor();
  assert.equal(await wrong.getAttribute("aria-invalid"), "true");
  assert.equal(await page.evaluate("document.activeElement.name"), "when.cron", "one goes on there");
  const described = (await wrong.getAttribute("aria-describedby")) ?? "";
  assert.equal(await page.locator(`[id="${described}"]`).textContent(), words);
  assert.equal(await wrong.inputValue(), "61 9 * * *");
  assert.equal(await dialog.getByLabel("What is to be done").inputValue(), "!say hello");
  assert.equal(await dialog.getByLabel("Name").inputValue(), "morning");
  assert.deepEqual(await seriousIn(page), [], "also of a form that was refused");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("30 8 * * 1-5");
  await dialog.getByRole("alert").waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("row").filter({ hasText: "weekdays at 08:30" }).waitFor();
  const [job] = (await daemon.call("jobs", {})).jobs;
  assert.deepEqual([job?.name, job?.target, job?.message], ["morning", "fresh", "!say hello"]);
  assert.equal(job?.when, "30 8 * * 1-5 (Europe/Zurich)");

  // What is refused under More opens it; what the page cannot send at all, too.
  await page.keyboard.press("n");
  await dialog.waitFor();
  await page.keyboard.type("!say again");
  const more = dialog.locator("summary");
  await more.click();
  await dialog.getByLabel("A run may take").fill("soon");
  await dialog.getByLabel("Runs in").selectOption({ label: "A thread, by its name…" });
  await more.click();
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByLabel("Name of the thread").fill("tea");
  await more.click();
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog
    .getByRole("alert")
    .filter({ hasText: 'a span such as 90s, 15m, 1h30m or 2d, not "soon"' })
    .waitFor();
  assert.equal(await page.evaluate("document.activeElement.name"), "timeout");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("10m");
  await dialog.getByLabel("Name", { exact: true }).fill("morning");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").filter({ hasText: "call it otherwise, or edit that one" }).waitFor();
  assert.equal(await page.evaluate("document.activeElement.name"), "name");
  await dialog.getByLabel("Name", { exact: true }).fill("tea");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  const tea = await daemon.call("job", { job: "tea" });
  assert.deepEqual([tea.target, tea.timeout, tea.cron], ["agent:main:thread:tea", "10m", "0 9 * * *"]);
});

/** The label of the choice that has the focus, and what is chosen. */
async function selected(page: Page): Promise<readonly string[]> {
  return await page.evaluate(
    "[document.activeElement.labels[0].textContent, document.activeElement.selectedOptions[0].textContent]",
  );
}

async function nextIn(dialog: Locator): Promise<readonly string[]> {
  const words = await dialog.getByText(/Next: /).textContent();
  return words?.split("Next: ")[1]?.split(" · ") ?? [];
}

test("a job is run, edited beside somebody else, disabled and removed by the page", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/schedule" });
  await page.getByRole("button", { name: "Begin with an example…" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Name").inputValue(), "morning");
  await dialog.getByLabel("What is to be done").fill("!say hello from the job");
  await dialog.getByRole("button", { name: "Add" }).click();
  const line = page.getByRole("row").filter({ hasText: "morning" });
  await line.getByText("weekdays at 09:00").waitFor();
  await page.getByRole("button", { name: "7d" }).click();
  await page.getByRole("img", { name: /^due \w+ \d+ \w+/ }).waitFor();

  await line.getByRole("link", { name: "morning" }).click();
  await page.getByRole("heading", { name: "morning" }).waitFor();
  const { id } = await daemon.call("job", { job: "morning" });
  assert.equal(page.url(), `${daemon.url}/#/schedule/${id}`);
  await page.getByText("None yet.").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  const run = page.getByRole("row").filter({ hasText: "hello from the job" });
  await run.getByText("done").waitFor();
  const { runs } = await daemon.call("jobRuns", { job: id });
  assert.deepEqual([runs.length, runs[0]?.outcome], [1, "done"]);
  const href = await run.getByRole("link").getAttribute("href");
  assert.equal(href, `#/session/${encodeURIComponent(runs[0]?.sessionKey ?? "")}`);

  // Another changes what is not changed here, and it runs meanwhile: neither is in the way.
  await page.getByRole("button", { name: "Edit…" }).click();
  const more = dialog.locator("details");
  assert.equal(await more.getAttribute("open"), null, "everything in it is as usual");
  await daemon.call("editJob", { job: id, name: "dawn", keep: "9d" });
  await daemon.call("runJob", { job: id });
  await dialog.getByLabel("When").selectOption({ label: "Every" });
  await dialog.getByLabel("How many").fill("2");
  await dialog.getByLabel("Unit").selectOption("hours");
  await dialog.locator("summary").click();
  await dialog.getByLabel("Runs that were missed").selectOption("skip");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("what was missed is skipped").waitFor();
  const edited = await daemon.call("job", { job: id });
  assert.deepEqual([edited.every, edited.missed, edited.keep, edited.name], ["2h", "skip", "9d", "dawn"]);

  // What both have changed is told where it is, with theirs; what was typed stays, and goes over theirs when it is saved again.
  await page.getByRole("heading", { name: "dawn" }).waitFor();
  await page.keyboard.press("e");
  await more.getByLabel("Runs that were missed").waitFor(); // It is not as usual: More is open.
  const message = dialog.getByLabel("What is to be done");
  await message.fill("!say mine");
  await daemon.call("editJob", { job: id, message: "!say theirs", missed: "run" });
  await dialog.getByRole("button", { name: "Save" }).click();
  const told = dialog.getByRole("alert");
  await told.filter({ hasText: "somebody else has changed it meanwhile, to “!say theirs”" }).waitFor();
  assert.equal(await message.inputValue(), "!say mine");
  assert.equal((await daemon.call("job", { job: id })).message, "!say theirs");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { message: now, missed } = await daemon.call("job", { job: id });
  assert.deepEqual([now, missed], ["!say mine", "run"], "and nothing else of theirs is gone");

  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  assert.equal((await daemon.call("job", { job: id })).enabled, false);

  await page.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByText("dawn (every 2h) goes for good").waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await daemon.call("jobs", {})).jobs.length, 1);
  await page.getByRole("button", { name: "Remove…" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("No jobs yet").waitFor();
  assert.deepEqual((await daemon.call("jobs", {})).jobs, []);
});

test("many jobs are filtered, hostile names are text, a heartbeat says why it does not beat, and who may only read is told so", async (t) => {
  const daemon = await Daemon.start(t);
  const hostile = "<img src=x onerror=alert(1)>\u202egnp";
  for (let n = 0; n < 203; n += 1)
    await daemon.call("addJob", { name: `job ${n}`, every: "1d", message: "!say hi", enabled: n % 2 === 0 });
  await daemon.call("addJob", { name: hostile, every: "5m", message: "!say hi" });
  const browser = await launch(t);
  const page = await visitIn(browser, t, daemon, { at: "#/schedule", width: 390 });
  await page.getByText("4 more: filter to see them.").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("onerror");
  await page.getByRole("link", { name: "<img src=x onerror=alert(1)>gnp" }).last().waitFor();
  assert.equal(await page.getByRole("row").count(), 2, "the head, and it");
  assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  await page.getByRole("img", { name: /^due .*every 5 minutes$/ }).waitFor();

  await page.getByLabel("Filter jobs").fill("heartbeat");
  await page.getByRole("link", { name: "heartbeat of main" }).click();
  await page.getByRole("button", { name: "Beat now" }).click();
  const { why } = await daemon.call("beat", { agent: "main" });
  await page
    .getByRole("status")
    .filter({ hasText: `No heartbeat: ${why}` })
    .waitFor();

  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const guest = await visitIn(browser, t, { url: daemon.url, token }, { at: "#/schedule?text=job+7" });
  const lacks = "Read only: the token guest may look";
  assert.equal(await guest.getByRole("button", { name: "New job…" }).getAttribute("title"), lacks);
  await guest.getByRole("button", { name: "What can be done to job 7", exact: true }).click();
  for (const item of await guest.getByRole("menuitem").all())
    assert.deepEqual(
      [await item.getAttribute("aria-disabled"), await item.getAttribute("title")],
      ["true", lacks],
    );
  await guest.keyboard.press("Escape");
  await guest.keyboard.press("n");
  await guest.getByRole("status").filter({ hasText: lacks }).waitFor();
  await guest.getByRole("link", { name: "job 7", exact: true }).last().click();
  for (const name of ["Run now", /^(?:Disable|Enable)$/, "Edit…", "Remove…"])
    assert.equal(
      await guest.getByRole("button", { name }).getAttribute("aria-disabled"),
      "true",
      String(name),
    );
  assert.equal(await guest.getByRole("dialog").count(), 0);
});

test("a timeline stays within its axis on a phone, and tells every time that there is", async (t) => {
  const daemon = await Daemon.start(t);
  const clock = new Date();
  const soon = (minutes: number): string => {
    const at = new Date(clock.getTime() + minutes * 60_000);
    return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
  };
  await daemon.call("addJob", { name: "last", cron: soon(-2), message: "x", timezone: "UTC" });
  await daemon.call("addJob", { name: "hourly", cron: "30 * * * *", message: "x" });
  await daemon.call("addJob", { name: "often", every: "5m", message: "x" });
  await daemon.call("addJob", { name: "paused", every: "5m", message: "x", enabled: false });
  await daemon.call("addJob", { name: `very long${"g".repeat(54)}`, cron: "0 */3 * * *", message: "x" });
  const page = await visit(t, daemon, { at: "#/schedule", width: 390 });
  const lane = (name: string): Locator =>
    page.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });
  await lane("last").waitFor();
  await lane("hourly").locator(".mark").nth(23).waitFor();
  await page.getByRole("img", { name: /^due .*, 19 more$/ }).waitFor();
  assert.equal(await lane("paused").count(), 0, "it is not due");
  assert.deepEqual(
    await page.evaluate(BEYOND),
    [],
    "no mark, bar or label is outside of the axis, or over another",
  );
  await page.getByRole("button", { name: "7d" }).click();
  await page.getByRole("heading", { name: "Next 7 days" }).waitFor();
  assert.deepEqual(await page.evaluate(BEYOND), []);

  // Another expression with the same next time has other times after it.
  await lane("last").locator(".mark").nth(6).waitFor();
  const { next } = await daemon.call("job", { job: "last" });
  const weekly = soon(-2).replace(/\*$/, String(new Date(next ?? "").getUTCDay()));
  await daemon.call("editJob", { job: "last", cron: weekly });
  assert.equal((await daemon.call("job", { job: "last" })).next, next);
  await lane("last").locator(".mark").nth(1).waitFor({ state: "detached" });
  assert.equal(await lane("last").locator(".mark").count(), 1);
});

/** What stands beyond the edge of its timeline, and labels that run into each other. */
const BEYOND = `(() => {
  const box = (element) => element.getBoundingClientRect();
  const card = document.querySelector(".timeline ul");
  const { left, right } = box(card);
  const shown = (which) => [...document.querySelectorAll(which)].filter((each) => box(each).width > 0);
  const out = shown(".timeline :is(.mark, .bar, .tick)").filter(
    (each) => box(each).left < left - 0.5 || box(each).right > right + 0.5,
  );
  const ticks = shown(".timeline .tick").sort((a, b) => box(a).left - box(b).left);
  const over = ticks.filter((each, at) => at > 0 && box(ticks[at - 1]).right > box(each).left);
  return [...out, ...over].map((each) => each.className + " " + each.textContent);
})()`;

test("a job that is not there says so, and leads back", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/schedule/gone" });
  await page.getByRole("alert").filter({ hasText: "gone" }).waitFor();
  await page.locator("#view").getByRole("link", { name: "Schedule" }).click();
  await page.getByText("No jobs yet").waitFor();
});
