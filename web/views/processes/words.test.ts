import assert from "node:assert/strict";
import { test } from "node:test";
import { shortKey } from "../../parts/key.ts";
import { modelName, whyIn } from "./words.ts";

const AT = "2026-01-01T00:00:00.000Z";
const [A, B] = ["agent:main:subagent:01234567-89ab", "agent:main:subagent:0abcdef0-89ab"];

function why(state: "running" | "waiting" | "ended" | "idle" | "paused", words: string | null): string {
  return whyIn({ state, why: words }, (key) => (key === A ? "pricing of A" : shortKey(key)));
}

test("why is told without what its state says, and who is named is said as people say it", () => {
  assert.equal(
    why("running", `step 3 of a turn since ${AT}: runs subagents: ${A}, ${B}`),
    "runs subagents: pricing of A, sub:0abcdef0",
  );
  assert.equal(why("running", `step 3 of a turn since ${AT}`), "");
  assert.equal(why("ended", "ended (failed): no model answers"), "no model answers");
  assert.equal(why("ended", "ended (done)"), "");
  assert.equal(why("running", `step 2 of a turn since ${AT}: asks a/b; pauses after it`), "asks its model");
  assert.equal(why("running", `step 2 of a turn since ${AT}; pauses after it`), "");
  assert.equal(why("running", `step 1 of a turn since ${AT}: asks rehearsal/default`), "asks its model");
  assert.equal(
    why("running", `step 1 of a turn since ${AT}: asks rehearsal/default, resumed after a restart`),
    "asks its model, resumed after a restart",
  );
  assert.equal(why("paused", `paused since ${AT}; \`cont\` goes on`), "");
  assert.equal(why("idle", "nothing to do"), "");
  assert.equal(why("ended", null), "");
});

test("who waits for children says for how many, where none is cut off", () => {
  const waits = `waits for its children since ${AT}`;
  assert.equal(why("waiting", `${waits}: ${A}`), "for 1 child");
  assert.equal(why("waiting", `${waits}: ${A}, ${B} and 3 more`), "for 5 children");
  assert.equal(
    why("waiting", `${waits}: ${A}, agent:main:subag [… 40 more characters]`),
    "waits for its children: pricing of A, subag…",
  );
});

test("a model is named without its provider", () => {
  assert.deepEqual(["rehearsal/default", "openai-compatible/qwen/qwen3", "plain"].map(modelName), [
    "default",
    "qwen/qwen3",
    "plain",
  ]);
});
