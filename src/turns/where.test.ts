import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Block, Body, Entry, Message } from "../transcript/entry.ts";
import { openTurn } from "./where.ts";

const ROUTE = { channel: "test", to: "somebody", thread: null };
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const STARTED = note("turn-started", { turn: "t1", class: "delegated" });
const ENDED = note("turn-ended", { turn: "t1", outcome: "done", reason: null, steps: 1 });
const RESUMED = note("turn-resumed", { turn: "t1", why: "restarted" });
const CONTINUED = note("turn-resumed", { turn: "t1", why: "continued" });

function note(what: string, data: unknown = {}): Body {
  return { type: "custom", customType: `sessiond/${what}`, data };
}

function said(mailId?: string, replyTo = ROUTE): Body {
  const message: Message = { role: "user", content: "hello", timestamp: 0 };
  return { type: "message", message, ...(mailId === undefined ? {} : { mailId, replyTo }) };
}

function answered(...ids: readonly string[]): Body {
  const content = ids.map((id): Block => ({ type: "toolCall", id, name: "tool", arguments: {} }));
  const by = { api: "a", provider: "p", model: "m", usage: USAGE, stopReason: "stop", timestamp: 0 };
  return { type: "message", message: { role: "assistant", content, ...by } };
}

function result(toolCallId: string): Body {
  const of = { toolName: "tool", content: [], isError: false, timestamp: 0 };
  return { type: "message", message: { role: "toolResult", toolCallId, ...of } };
}

function where(...bodies: readonly Body[]): ReturnType<typeof openTurn> {
  return openTurn(
    bodies.map((body, at): Entry => ({
      ...body,
      id: `e-${at + 1}`,
      parentId: null,
      seq: at + 1,
      timestamp: "",
    })),
  );
}

function unsettled(...bodies: readonly Body[]): unknown {
  const open = where(STARTED, ...bodies)?.unsettled;
  return open && [open.seq, ...open.calls.map(({ id }) => id)];
}

test("no turn is open before the first, nor after one has ended", () => {
  assert.equal(where(), null);
  assert.equal(where(said("m1")), null);
  assert.equal(where(STARTED, said("m1"), answered(), ENDED), null);
  assert.equal(where(STARTED, said("m1"), ENDED, said(), note("setting")), null);
});

test("an open turn has what came since it began: its letters, where they are answered, its steps", () => {
  const other = { ...ROUTE, to: "else" };
  const open = where(
    STARTED,
    said("old"),
    answered(),
    ENDED,
    STARTED,
    said("m1"),
    answered("1"),
    said("m2", other),
  );
  assert.equal(open?.turn, "t1");
  assert.equal(open.class, "delegated");
  assert.deepEqual(open.letters, ["m1", "m2"]);
  assert.deepEqual(open.routes, [ROUTE, other]);
  assert.equal(open.steps, 1);
  assert.equal(open.resumes, 0);
});

test("calls of the last answer that have no result are not settled", () => {
  assert.equal(unsettled(said("m1")), null);
  assert.equal(unsettled(answered()), null);
  assert.deepEqual(unsettled(answered("1", "2")), [2, "1", "2"]);
  assert.deepEqual(unsettled(answered("1", "2"), result("2")), [2, "1"]);
  assert.deepEqual(unsettled(answered("1", "2"), result("2"), RESUMED, said("m2")), [2, "1"]);
  assert.equal(unsettled(answered("1", "2"), result("2"), result("1")), null);
  assert.deepEqual(unsettled(answered("1"), result("1"), answered("1")), [4, "1"], "an id is used again");
});

test("resumes are counted in a row, and anything else that came of one begins the count anew", () => {
  const resumes = (...bodies: readonly Body[]): number | undefined => where(STARTED, ...bodies)?.resumes;
  assert.equal(resumes(RESUMED), 1);
  assert.equal(resumes(said("m1"), RESUMED, RESUMED, RESUMED), 3);
  const orderly = [CONTINUED, note("turn-left", { turn: "t1" })]; // it was paused, or the gateway stopped in order
  for (const worth of [answered(), answered("1"), result("1"), said("m2"), note("setting"), ...orderly])
    assert.equal(resumes(said("m1"), RESUMED, RESUMED, worth, RESUMED), 1);
});

describe("whether the process died while no other was being tried", () => {
  const ALONE = note("turn-resumed", { turn: "t1", why: "restarted", alone: true });
  const OTHERS = note("turn-resumed", { turn: "t1", why: "restarted", alone: false });
  const NOT_ALONE = note("turn-resumed", { turn: "t1", why: "not alone", alone: false });
  const died = (...bodies: readonly Body[]): unknown => {
    const open = where(STARTED, said("m1"), ...bodies);
    return open && [open.resumes, open.diedAlone];
  };

  test("is said by the last note, if nothing came after it", () => {
    assert.deepEqual(died(), [0, false]);
    assert.deepEqual(died(OTHERS), [1, false]);
    assert.deepEqual(died(OTHERS, ALONE), [2, true]);
    assert.deepEqual(died(ALONE, OTHERS), [2, false]);
    assert.deepEqual(died(RESUMED), [1, false], "a note from before there was such a word");
  });

  test("is taken back when others were let in beside it; that is no try of its own", () => {
    assert.deepEqual(died(OTHERS, ALONE, NOT_ALONE), [2, false]);
    assert.deepEqual(died(ALONE, NOT_ALONE, ALONE), [2, true]);
  });

  test("means nothing any more when something came of it, or it was left in order", () => {
    for (const worth of [answered("1"), result("1"), said("m2"), note("turn-left"), CONTINUED]) {
      assert.deepEqual(died(OTHERS, ALONE, worth), [0, false]);
      assert.deepEqual(died(OTHERS, ALONE, worth, OTHERS), [1, false]);
    }
  });
});

test("a turn that a person wrote into is as urgent as a person", () => {
  const persons: Body = {
    ...(said("m2") as Extract<Body, { type: "message" }>),
    provenance: { kind: "external_user", channel: null, peer: null },
  };
  assert.equal(where(STARTED, said("m1"))?.class, "delegated");
  assert.equal(where(STARTED, said("m1"), answered("1"), persons)?.class, "interactive");
});
