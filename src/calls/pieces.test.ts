import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { redacted } from "../base/redact.ts";
import type { Event } from "../events/bus.ts";
import { mainKey, DEFAULT_AGENT } from "../routing/key.ts";
import type { Entry } from "../transcript/entry.ts";
import { PIECE_HELD_CHARS_MAX } from "./limits.ts";
import { Pieces } from "./pieces.ts";

const key = mainKey(DEFAULT_AGENT);
const LONG = "Ab1".repeat(14);

const SECRETS: readonly string[] = [
  `-----BEGIN RSA PRIVATE KEY-----\n${LONG}\n${LONG}\n-----END RSA PRIVATE KEY-----`,
  `sk-ant-api03-${LONG}`,
  `eyJ${LONG}.eyJ${LONG}.${LONG}`,
  `Authorization: Bearer ${LONG}`,
  `authorization: basic ${LONG}==`,
  `postgres://user:${LONG}@host/db`,
  `API_KEY=${LONG}`,
  `"client_secret" : [ "${LONG}"`,
  `the password = ${LONG}`,
  `{"name": "MY_API_KEY", "value": "${LONG}"}`,
  `密码 password: ${LONG}`,
];

function delta(text: string, step = 1, kind: "text" | "thinking" = "text"): Event {
  return { type: "delta", key, turn: "t", step, kind, text };
}

function answer(text: string): Event {
  const entry = {
    ...{ type: "message", id: "m-1", parentId: null, seq: 7, timestamp: "2026-01-01T00:00:00.000Z" },
    message: { role: "assistant", content: [{ type: "text", text }] },
  };
  return { type: "entry", key, seq: 7, entry: entry as unknown as Entry };
}

function textsOf(events: readonly Event[]): string {
  return events.flatMap((event) => (event.type === "delta" ? [event.text] : [])).join("");
}

/** The text in pieces that end where the numbers say. */
function cutAt(text: string, places: readonly number[]): readonly string[] {
  const ends = [...new Set(places.map((place) => place % text.length)), text.length].toSorted(
    (a, b) => a - b,
  );
  return ends.map((end, at) => text.slice(at === 0 ? 0 : ends[at - 1], end));
}

test("D2: wherever an answer is cut, its pieces have no secret, and together they are its text", () => {
  const parts = fc.array(
    fc.oneof(
      fc.constantFrom(...SECRETS),
      fc.constantFrom(
        "a token is",
        "the key",
        "name",
        "词语没有空格。",
        "🎉 well",
        "password",
        "basic income",
      ),
    ),
    { minLength: 1, maxLength: 6 },
  );
  const between = fc.constantFrom(" ", "\n", ", ");
  const places = fc.array(fc.nat(2_000), { maxLength: 60 });
  fc.assert(
    fc.property(parts, between, places, (said, blank, cuts) => {
      const whole = `so ${said.join(blank)} and on`;
      const pieces = new Pieces();
      const told = cutAt(whole, cuts).flatMap((piece) => pieces.of(delta(piece)));
      assert.ok(!textsOf(told).includes("Ab1Ab1"), textsOf(told));
      assert.equal(textsOf([...told, ...pieces.of(answer(whole))]), redacted(whole));
    }),
    { numRuns: 400 },
  );
});

test("what cannot become a secret any more is told at once, word by word", () => {
  const pieces = new Pieces();
  const told = ["Hel", "lo th", "ere, how are", " you", "?\n"].map((piece) =>
    textsOf(pieces.of(delta(piece))),
  );
  assert.deepEqual(told, ["", "Hello ", "there, how ", "are ", "you?\n"]);
  assert.deepEqual(
    textsOf(pieces.of(delta("你好。世"))),
    "你好。世",
    "who writes without blanks is heard too",
  );
});

test("of an answer that is broken off, or of another step, what waits is not told: it may be half of a secret", () => {
  const pieces = new Pieces();
  assert.equal(textsOf(pieces.of(delta(`the key sk-${LONG.slice(0, 10)}`))), "the ");
  const state = { kind: "idle" } as const;
  assert.deepEqual(pieces.of({ type: "state", key, state }), [{ type: "state", key, state }]);
  assert.equal(textsOf(pieces.of(delta("anew ", 2))), "anew ");
});

test("D3: a word longer than any key is not kept: its answer comes with the entry", () => {
  const pieces = new Pieces();
  const word = "x".repeat(PIECE_HELD_CHARS_MAX);
  const told = [`a ${word}`, "xx", " and more "].flatMap((piece) => pieces.of(delta(piece)));
  assert.equal(textsOf(told), "a ");
  const [last, ...others] = pieces.of(answer(`a ${word}xx and more `));
  assert.deepEqual([last?.type, others], ["entry", []]);
});

test("D1: entries and states have none, wherever it stands", () => {
  const entry = {
    type: "message",
    message: {
      role: "toolResult",
      content: [{ type: "text", text: `sk-${LONG}` }],
      details: { env: [{ name: "API_KEY", value: LONG }], password: LONG },
    },
  };
  const events = [
    ...new Pieces().of({ type: "entry", key, seq: 1, entry: entry as unknown as Entry }),
    ...new Pieces().of({
      type: "state",
      key,
      state: { kind: "ended", atMs: 1, outcome: "failed", reason: `it was sk-${LONG}` },
    }),
  ];
  assert.equal(events.length, 2);
  assert.ok(!JSON.stringify(events).includes("Ab1Ab1"), JSON.stringify(events));
});
