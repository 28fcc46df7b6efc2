import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visitIn } from "./browser.ts";
import { Burst } from "./burst.ts";
import { keyOf, manyIn, titleOf } from "./many.ts";

const MANY = 1_500;
/** More than a screen of them at once; and so old that they are not listed yet, so that they come in at the top. */
const COMING = 400;
const READ = MANY - 60;

test("what is read stays where it is, and is not drawn anew, when many lines come in above it", async (t) => {
  const home = await manyIn(t, MANY);
  const daemon = await Daemon.start(t, { home, config: { gateway: { requestsPerSecond: 100_000 } } });
  const page = await visitIn(await launch(t), t, daemon, { at: "#/processes" });
  const line = page.getByRole("row").filter({ has: page.getByText(titleOf(READ), { exact: true }) });
  await page.getByRole("treegrid", { name: "Sessions" }).hover();
  while (!(await line.isVisible())) await page.mouse.wheel(0, 300);
  await line.scrollIntoViewIfNeeded();
  const before = Number(await line.getAttribute("aria-rowindex"));
  const box = await line.boundingBox();
  const element = await line.elementHandle();

  const burst = await Burst.open(t, daemon);
  const numbers = Array.from({ length: COMING }, (_, at) => at + 1);
  await burst.labels(numbers.map((n) => [keyOf(n), `come ${n}`] as const));
  await page
    .locator(`[aria-rowindex="${before + COMING}"]`)
    .and(line)
    .waitFor();
  assert.deepEqual(await line.boundingBox(), box);
  assert.equal(await element?.isVisible(), true, "the same element");
});
