import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visitIn } from "./browser.ts";
import { Burst } from "./burst.ts";
import { keyOf, manyIn, titleOf } from "./many.ts";

const MANY = 100_000;
/** No more than are listed at once: one that was not listed comes in at the top. */
const CHANGING = 300;
const ROUNDS = 50;

/** A screen, and what is kept ready above and below it. */
const ROWS_MAX = 80;

function titled(page: Page, title: string) {
  return page.getByRole("row").filter({ has: page.getByText(title, { exact: true }) });
}

test("a hundred thousand sessions are listed, scrolled to the very end, and one in the middle is found", async (t) => {
  const began = performance.now();
  const home = await manyIn(t, MANY);
  const daemon = await Daemon.start(t, { home });
  t.diagnostic(`${MANY} sessions in ${Math.round(performance.now() - began)} ms`);
  const page = await visitIn(await launch(t), t, daemon, { at: "#/processes" });
  await page.evaluate(
    "globalThis.long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map((each) => each.duration))).observe({ type: 'longtask', buffered: true })",
  );
  await titled(page, titleOf(MANY)).waitFor();
  const grid = page.getByRole("treegrid", { name: "Sessions" });
  await grid.hover();
  for (const n of [MANY - 100, MANY - 300, MANY - 600]) {
    while (!(await titled(page, titleOf(n)).isVisible())) await page.mouse.wheel(0, 600);
    assert.ok((await page.getByRole("row").count()) <= ROWS_MAX, "only what is seen is there");
  }
  const endBegan = performance.now();
  await grid.focus();
  await page.keyboard.press("End");
  await page.getByText(/\d loaded …/).waitFor();
  await titled(page, titleOf(1)).waitFor({ timeout: 300_000 });
  t.diagnostic(`to the end in ${Math.round(performance.now() - endBegan)} ms`);
  await page.locator(".counts").filter({ hasText: "100,001 sessions" }).waitFor();
  assert.equal(await titled(page, titleOf(1)).getAttribute("aria-selected"), "true");
  assert.ok((await page.getByRole("row").count()) <= ROWS_MAX);
  await page.keyboard.press("Home");
  await titled(page, titleOf(MANY)).waitFor();

  await page.keyboard.press("/");
  await page.keyboard.type("number 50123");
  await titled(page, titleOf(50_123)).waitFor();
  await page
    .locator(".counts")
    .filter({ hasText: /^1 session$/ })
    .waitFor();
  const long = (await page.evaluate("long")) as readonly number[];
  t.diagnostic(`tasks over 50 ms: ${long.length}, the longest ${Math.round(Math.max(0, ...long))} ms`);
});

test("while a thousand rows a second change, the table follows, and is right at the end", async (t) => {
  const home = await manyIn(t, CHANGING);
  const daemon = await Daemon.start(t, { home, config: { gateway: { requestsPerSecond: 100_000 } } });
  const page = await visitIn(await launch(t), t, daemon, { at: "#/processes" });
  let frames = 0;
  page.on("websocket", (socket) => socket.on("framereceived", () => (frames += 1)));
  await page.reload();
  await page
    .locator(".counts")
    .filter({ hasText: `${CHANGING + 1} sessions` })
    .waitFor();
  await page.evaluate(
    "globalThis.long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map((each) => each.duration))).observe({ type: 'longtask' })",
  );
  const burst = await Burst.open(t, daemon);
  const began = performance.now();
  const before = frames;
  const numbers = Array.from({ length: CHANGING }, (_, at) => at + 1);
  for (let round = 1; round <= ROUNDS; round += 1)
    await burst.labels(numbers.map((n) => [keyOf(n), `round ${round} of ${n}`] as const));
  const seconds = (performance.now() - began) / 1_000;
  for (const n of [CHANGING, CHANGING - 9]) await titled(page, `round ${ROUNDS} of ${n}`).waitFor();
  const long = (await page.evaluate("long")) as readonly number[];
  t.diagnostic(
    `${Math.round((CHANGING * ROUNDS) / seconds)} changes/s, ${Math.round((frames - before) / seconds)} events/s; ` +
      `tasks over 50 ms: ${long.length}, the longest ${Math.round(Math.max(0, ...long))} ms`,
  );
  assert.ok(frames - before >= CHANGING, "rows came by the stream");
});
