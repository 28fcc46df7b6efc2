import assert from "node:assert/strict";
import { test } from "node:test";
import { ANSWER_LOOKBACK_ENTRIES } from "../limits.ts";
import type { Body, Entry, Gap } from "../transcript/entry.ts";
import { answerIn, Answers, type Answered } from "./answers.ts";

const DONE: Answered = { outcome: "done", reason: null, text: "42", seq: 9 };
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const never = new AbortController().signal;

function asked(mailId: string): Body {
  return { type: "message", mailId, message: { role: "user", content: "what is it?", timestamp: 0 } };
}

function answered(text: string): Body {
  const by = { api: "a", provider: "p", model: "m", usage: USAGE, stopReason: "stop", timestamp: 0 };
  return { type: "message", message: { role: "assistant", content: [{ type: "text", text }], ...by } };
}

function ended(outcome: string, reason: string | null = null): Body {
  return {
    type: "custom",
    customType: "sessiond/turn-ended",
    data: { turn: "t", outcome, reason, steps: 1 },
  };
}

async function find(mailId: string, ...bodies: readonly Body[]): Promise<Answered | "not ended" | null> {
  const entries = bodies.map((body, at): Entry => {
    return { ...body, id: `e-${at + 1}`, parentId: null, seq: at + 1, timestamp: "" };
  });
  return await answerIn(backward(entries), mailId);
}

async function* backward(entries: readonly Entry[]): AsyncIterable<Entry | Gap> {
  yield { type: "gap", reason: "not_json", offset: 0, bytes: 1 };
  yield* entries.toReversed();
}

test("everybody who waits for a letter hears what became of it, once, and nobody else does", async () => {
  const answers = new Answers();
  const both = [answers.wait("m1", never), answers.wait("m1", never)];
  let isHeard = false;
  void answers.wait("m2", never).then(() => (isHeard = true));
  answers.tell(["m0", "m1"], DONE);
  assert.deepEqual(await Promise.all(both), [DONE, DONE]);
  assert.equal(isHeard, false);
});

test("who gives up is told its own reason, and the others wait on", async () => {
  const answers = new Answers();
  const giveUp = new AbortController();
  const [impatient, patient] = [answers.wait("m1", giveUp.signal), answers.wait("m1", never)];
  giveUp.abort(new Error("enough"));
  await assert.rejects(impatient, /enough/);
  await assert.rejects(answers.wait("m1", AbortSignal.abort(new Error("before"))), /before/);
  answers.tell(["m1"], DONE);
  assert.deepEqual(await patient, DONE);
});

test("an answer is found in the transcript: what was said last in the turn that took the letter", async () => {
  const turn = [asked("m1"), answered("let me see"), asked("m2"), answered("42"), ended("done")];
  const later = [asked("m3"), answered("other"), ended("failed", "no key")];
  for (const mailId of ["m1", "m2"]) {
    const found = await find(mailId, ...turn, ...later);
    assert.deepEqual(found, { outcome: "done", reason: null, text: "42", seq: 5 });
  }
  const failed = await find("m3", ...turn, ...later);
  assert.deepEqual(failed, { outcome: "failed", reason: "no key", text: "", seq: 8 }, "no answer was given");
});

test("there is no answer to a letter whose turn has not ended, that nobody took, or that is far back", async () => {
  assert.equal(await find("m1", asked("m1"), answered("not yet")), "not ended");
  assert.equal(await find("m9", asked("m1"), answered("42"), ended("done")), null);
  const much = Array.from({ length: ANSWER_LOOKBACK_ENTRIES }, () => answered("more"));
  assert.equal(await find("m1", asked("m1"), ...much, ended("done")), null);
});
