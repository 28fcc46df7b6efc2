import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { AGENT, calls, Step, textIn, tool } from "../../test/fixtures/step.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import { Stopped } from "./stop.ts";
import { runCalls } from "./toolcalls.ts";

const asking = {
  key: mainKey(DEFAULT_AGENT),
  root: mainKey(DEFAULT_AGENT),
  class: "background",
  nice: 0,
} as const;

test("tools that run programs begin when there is a slot, and their time is counted from then on", async () => {
  const step = new Step();
  const taken = await step.slots.take({ ...asking, provider: "programs" }, new AbortController().signal);
  let begun = 0;
  const program = tool("program", () => ((begun += 1), "ran"), { process: true });
  const running = runCalls(
    await step.parts(
      program,
      tool("other", () => "ran"),
    ),
    1,
    calls("program", "other"),
  );
  await settle();
  assert.equal(begun, 0);
  assert.deepEqual((await step.results()).map(textIn), ["ran"]); // of the other, which needs none
  step.world.pass(AGENT.limits.toolSeconds * 1_000 + 1);
  taken.giveBack(1);
  await running;
  assert.deepEqual((await step.results()).map(textIn), ["ran", "ran"]);
  assert.deepEqual(step.slots.load().inUse.interactive, 0);
});

test("tools that wait for that when the turn stops are not begun, and say so; nobody is left waiting", async () => {
  const step = new Step();
  await step.slots.take({ ...asking, provider: "programs" }, new AbortController().signal);
  const program = tool("program", () => assert.fail("it was begun"), { process: true });
  const running = runCalls(await step.parts(program), 1, calls("program"));
  await settle();
  step.stop.abort(new Stopped({ kind: "aborted", why: "a person stopped it" }));
  await running;
  assert.deepEqual((await step.results()).map(textIn), ["It was not run: a person stopped it."]);
  assert.deepEqual(step.slots.load().waiting.interactive, 0);
});
