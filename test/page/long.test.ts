import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import type { Draft } from "../../src/transcript/entry.ts";
import { appending, Home, opening, scratch } from "../fixtures/home.ts";
import { freePort } from "../fixtures/port.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { answer, called, person, result, SHOWN, words } from "./entries.ts";

const COUNT = 100_000;
const AT_ONCE = 2_000;
const KEY = namedKey(DEFAULT_AGENT, "long");
/** Entries that may be in the page: a window, and what a page adds to it. */
const SHOWN_MAX = 700;

/** A person writes, a tool is called, it answers, the model answers. Every seventh is long: heights differ. */
function entryAt(seq: number): Draft {
  const text = `entry ${seq} ${"and more of it ".repeat(seq % 7 === 0 ? 40 : 2)}`;
  const id = `call-${seq - ((seq - 1) % 4)}`;
  if (seq % 4 === 1) return person(text);
  if (seq % 4 === 2) return answer(words(text), called(id, "read", { path: `${seq}.md` }));
  return seq % 4 === 3 ? result(id, "read", [words(text)]) : answer(words(text));
}

async function longHome(path: string): Promise<void> {
  const home = new Home(path);
  await home.reopen();
  try {
    await home.store.commit([opening(KEY, home.world.newId())]);
    for (let after = 0; after < COUNT; after += AT_ONCE) {
      const entries = Array.from({ length: AT_ONCE }, (_, at) => entryAt(after + at + 1));
      await home.store.commit([appending(KEY, after, entries)]);
    }
  } finally {
    await home.close();
  }
}

/** What is there has no hole and nothing twice, and is not more than a page can bear. Returns its first and last. */
async function range(page: Page): Promise<readonly [first: number, last: number]> {
  const seqs = await page.evaluate<number[]>(SHOWN);
  const [first = 0, last = 0] = [seqs[0], seqs.at(-1)];
  assert.deepEqual(
    seqs,
    seqs.map((_, at) => first + at),
  );
  assert.ok(seqs.length > 20 && seqs.length < SHOWN_MAX, `${seqs.length} are there`);
  return [first, last];
}

/** Waits until the page stands still, with nothing on its way. */
const STILL = `new Promise((done, fail) => {
  const box = document.querySelector(".transcript .scroll");
  let was = "", times = 0, frames = 0;
  const look = () => {
    const busy = document.querySelector("[role=feed]").getAttribute("aria-busy");
    const is = [box.scrollTop, box.scrollHeight, busy].join();
    times = is === was && busy === "false" ? times + 1 : 0;
    was = is;
    frames += 1;
    if (times > 4) done(null);
    else if (frames > 2000) fail(new Error("it does not come to rest"));
    else requestAnimationFrame(look);
  };
  look();
})`;

function row(page: Page, seq: number): Locator {
  return page.locator(`[data-seq="${seq}"]`);
}

/** Rows that are seen, and where. */
const SEEN = `(() => {
  const box = document.querySelector(".transcript .scroll").getBoundingClientRect();
  return [...document.querySelectorAll(".transcript [data-row]")]
    .map((row) => [row.dataset.row, row.getBoundingClientRect().top - box.top, row.getBoundingClientRect().bottom - box.top])
    .filter(([, top, bottom]) => bottom > 0 && top < box.height);
})()`;

type Seen = readonly (readonly [row: string, top: number, bottom: number])[];

test("a transcript of 100,000 entries is scrolled through and jumped in, whole and in place", async (t) => {
  const path = join(scratch(t), "home");
  const begun = performance.now();
  await longHome(path);
  t.diagnostic(`made ${COUNT} entries in ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
  const daemon = await Daemon.start(t, { home: path, env: { SESSIOND_PORT: String(await freePort()) } });
  const page = await visit(t, daemon, { at: `#/session/${encodeURIComponent(KEY)}` });
  const position = page.getByRole("slider", { name: "Entry" });
  await row(page, COUNT).waitFor();
  await page.evaluate(STILL);
  assert.equal((await range(page))[1], COUNT);

  await page.locator(".transcript .scroll").hover();
  const [start] = await range(page);
  for (let turn = 0; turn < 40; turn += 1) {
    const before = await page.evaluate<Seen>(SEEN);
    await page.mouse.wheel(0, -600);
    await page.evaluate(STILL);
    const after = new Map((await page.evaluate<Seen>(SEEN)).map(([row, top]) => [row, top]));
    const both = before.filter(([row]) => after.has(row));
    assert.ok(both.length > 0, "what was seen is still there");
    for (const [row, top] of both)
      assert.ok(
        Math.abs((after.get(row) ?? 0) - top - 600) <= 1,
        `${row} was at ${top}, is at ${after.get(row)}`,
      );
    await range(page);
  }
  const [up] = await range(page);
  assert.ok(up < start - 200, `from ${start} to ${up}`);

  await page.getByRole("button", { name: "Newest", exact: false }).last().click();
  await row(page, COUNT).waitFor();
  await page.evaluate(STILL);
  assert.equal((await range(page))[1], COUNT);

  await position.fill("50000");
  await row(page, 50_000).waitFor();
  await page.evaluate(STILL);
  const [first, last] = await range(page);
  assert.ok(first < 50_000 && last > 50_000, `${first} to ${last}`);
  const inSight = (await page.evaluate<Seen>(SEEN)).map(([row]) => row);
  assert.ok(inSight.includes("entry-50000"), inSight.join(" "));
  for (let turn = 0; turn < 20; turn += 1) {
    await page.mouse.wheel(0, 900);
    await page.evaluate(STILL);
    await range(page);
  }
  assert.ok((await range(page))[1] > last);

  await page.getByRole("button", { name: "First" }).click();
  await row(page, 1).waitFor();
  await page.evaluate(STILL);
  assert.equal((await range(page))[0], 1);
  await page.keyboard.press("End");
  await row(page, COUNT).waitFor();
  await page.keyboard.press("Home");
  await row(page, 1).waitFor();
  await page.evaluate(`location.hash = "#/session/${encodeURIComponent(KEY)}?seq=77777"`);
  await row(page, 77_777).and(page.locator("[aria-current=true]")).waitFor();
  await page.evaluate(STILL);

  // Who scrolls on while nobody answers is told so, and gets the rest when somebody does.
  await daemon.kill("SIGKILL");
  await page.locator(".transcript .scroll").hover();
  for (let turn = 0; turn < 12; turn += 1) await page.mouse.wheel(0, -900);
  const trouble = page.locator(".transcript").getByRole("alert");
  await trouble.filter({ hasText: "does not answer" }).waitFor();
  const [there] = await range(page);
  await daemon.begin();
  await trouble.waitFor({ state: "detached" });
  for (let turn = 0; turn < 12; turn += 1) {
    await page.mouse.wheel(0, -900);
    await page.evaluate(STILL);
  }
  assert.ok((await range(page))[0] < there);
});
