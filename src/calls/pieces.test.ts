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

/** Passwords of letters that stand between words elsewhere: none of these is in any other text here. */
const WIDE = "正确马电池订书钉";
const KOREAN = "정확한말건전지침";
const ODD = "Жц\u0001ЩъЫэЮ";

const NAMED = `token=eyJ${LONG}.eyJ${LONG}.${LONG}`;

const SECRETS: readonly string[] = [
  `-----BEGIN RSA PRIVATE KEY-----\n${LONG}\n${LONG}\n-----END RSA PRIVATE KEY-----`,
  `-----BEGIN ${"K ".repeat(20)}PRIVATE KEY-----\n${LONG}\n-----END ${"K ".repeat(20)}PRIVATE KEY-----`,
  `-----BEGIN ${"K ".repeat(30)}PRIVATE KEY-----`, // No kind of key is called that: what follows is shown.
  `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${LONG}\n-----END PGP PRIVATE KEY BLOCK-----`,
  `sk-ant-api03-${LONG}`,
  `eyJ${LONG}.eyJ${LONG}.${LONG}`,
  `Authorization: Bearer ${LONG}`,
  `authorization: basic ${LONG}==`,
  `Authorization: Bearer sk-${LONG}`,
  `postgres://user:${LONG}@host/db`,
  `postgres://user:sk-${LONG}@host/db`,
  `API_KEY=${LONG}`,
  `export ANTHROPIC_API_KEY=sk-ant-api03-${LONG}`,
  `api_key: "ghp_${LONG}"`,
  NAMED,
  `"client_secret" : [ "${LONG}"`,
  `the password = ${LONG}`,
  `{"name": "MY_API_KEY", "value": "${LONG}"}`,
  `{"name": "MY_API_KEY", "value": "sk-${LONG}"}`,
  `密码 password: ${LONG}`,
  ...[WIDE, KOREAN, ODD].flatMap((value) => [
    `password: ${value}`,
    `密码password="${value}"`,
    `{"key": "API_TOKEN", "value" : "${value}"}`,
    `postgres://user:${value}@host/db`,
    `见postgres://用户:${value}@主机/库`,
  ]),
];

/** Parts of them, and what is like them: whatever these make together. */
const SCRAPS: readonly string[] = [
  ...["a token is", "the key", "name", "词语没有空格。", "🎉 well", "password", "basic income", "bearer "],
  ...["https://例子/路", "ftp://", "@", ":", "=", '"', ", ", " ", "\n", "\u0001", "好", "sk-", "-----BEGIN "],
  ...[
    "PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "value",
    "[",
    "\\",
    "eyJ",
    ".",
    "AKIA",
    "A1".repeat(8),
  ],
];

function delta(text: string, of: Partial<Extract<Event, { type: "delta" }>> = {}): Event {
  return { type: "delta", key, turn: "t", step: 1, kind: "text", text, ...of };
}

const BEGINS = { begins: true } as const;

function answer(...texts: readonly string[]): Event {
  const entry = {
    ...{ type: "message", id: "m-1", parentId: null, seq: 7, timestamp: "2026-01-01T00:00:00.000Z" },
    message: { role: "assistant", content: texts.map((text) => ({ type: "text", text })) },
  };
  return { type: "entry", key, seq: 7, entry: entry as unknown as Entry };
}

function textsOf(events: readonly Event[]): string {
  return events.flatMap((event) => (event.type === "delta" ? [event.text] : [])).join("");
}

/** What is told of a text in these pieces: after each of them, and with its entry. */
function toldOf(texts: readonly string[]): readonly string[] {
  const pieces = new Pieces();
  const told = [
    ...texts.map((text, at) => textsOf(pieces.of(delta(text, at === 0 ? BEGINS : {})))),
    textsOf(pieces.of(answer(texts.join("")))),
  ];
  return told.map((_, at) => told.slice(0, at + 1).join(""));
}

/** The text in pieces that end where the numbers say. */
function cutAt(text: string, places: readonly number[]): readonly string[] {
  const ends = [...new Set(places.map((place) => place % text.length)), text.length].toSorted(
    (a, b) => a - b,
  );
  return ends.map((end, at) => text.slice(at === 0 ? 0 : ends[at - 1], end));
}

const EACH = Array.from({ length: 2_000 }, (_, at) => at); // one character at a time
const cuts = fc.oneof(fc.array(fc.nat(2_000), { maxLength: 60 }), fc.constant(EACH));

test("D2: wherever an answer is cut, its pieces have no part of a secret, and together they are its text", () => {
  const parts = fc.array(fc.constantFrom(...SECRETS, "a token is", "词语没有空格。", "🎉 well"), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(parts, fc.constantFrom(" ", "\n", ", "), cuts, (said, blank, places) => {
      const whole = `so ${said.join(blank)} and on`;
      const told = toldOf(cutAt(whole, places));
      for (const part of told) assert.doesNotMatch(part, /Ab1|[正确马电池订书钉정확한말건전지침ЖцЩъЫэЮ]/u);
      assert.equal(told.at(-1), redacted(whole));
    }),
    { numRuns: 400 },
  );
});

test("D2: whatever is said, what was told of it is the beginning of what its entry shows", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...SCRAPS, ...SECRETS), { minLength: 1, maxLength: 10 }),
      cuts,
      (said, places) => {
        const shown = redacted(said.join(""));
        const told = toldOf(cutAt(said.join(""), places));
        for (const part of told) assert.ok(shown.startsWith(part), `${part}\n${shown}`);
        assert.equal(told.at(-1), shown);
      },
    ),
    // A name that stands in the value of another, further back than anything else is looked for.
    { numRuns: 1_000, examples: [[[NAMED, NAMED, "=", "bearer ", "a token is"], EACH]] },
  );
});

test("what cannot become a secret any more is told at once, word by word", () => {
  const pieces = new Pieces();
  const told = ["Hel", "lo th", "ere, how are", " you", "?\n"].map((piece, at) =>
    textsOf(pieces.of(delta(piece, at === 0 ? BEGINS : {}))),
  );
  assert.deepEqual(told, ["", "Hello ", "there, how ", "are ", "you?\n"]);
});

test("who writes without blanks is heard too, and waits for no more than a password, or the name of a host", () => {
  const said = (text: string): string => textsOf(new Pieces().of(delta(text, BEGINS)));
  assert.equal(said("你好。世"), "你好。世");
  assert.equal(said("한국어로쓴글"), "한국어로쓴글");
  const long = "词".repeat(250);
  assert.equal(said(`password是${long}`), `password是${long}`);
  assert.equal(said(`https://${long}`), `https://${long}`);
  assert.equal(said(`token: ${long}`), redacted(`token: ${long}`));
});

test("of an answer that is broken off, what waits is not told: it may be half of a secret", () => {
  const pieces = new Pieces();
  assert.equal(textsOf(pieces.of(delta(`the key sk-${LONG.slice(0, 10)}`, BEGINS))), "the ");
  const state = { kind: "idle" } as const;
  assert.deepEqual(pieces.of({ type: "state", key, state }), [{ type: "state", key, state }]);
  assert.equal(textsOf(pieces.of(delta("anew ", { step: 2, ...BEGINS }))), "anew ");
});

test("D3: what waits is told with the entry that has it, and not with one that says nothing, or something else", () => {
  for (const [written, told] of [
    [[], "the "],
    [["something else"], "the "],
    [["the key sk-Ab1Ab"], "the key sk-Ab1Ab"],
    [["before. ", "the key sk-Ab1Ab"], "the key sk-Ab1Ab"],
  ] as const) {
    const pieces = new Pieces();
    const first = pieces.of(delta("the key sk-Ab1Ab", BEGINS));
    assert.equal(textsOf([...first, ...pieces.of(answer(...written))]), told);
  }
});

test("D2: a model that is asked again begins anew, and says so with its first piece", () => {
  const pieces = new Pieces();
  const told = [
    delta("hm ", { kind: "thinking", ...BEGINS }),
    delta(`one two sk-${LONG}`),
    delta("-three ", BEGINS), // It would be the end of that key.
    delta("four "),
  ].flatMap((event) => pieces.of(event));
  assert.deepEqual(told, [
    delta("hm ", { kind: "thinking", ...BEGINS }),
    delta("one two "),
    delta("-three ", BEGINS),
    delta("four "),
  ]);
});

test("D2: who comes in the middle of an answer hears the next one from its beginning, and its entry", () => {
  const pieces = new Pieces();
  const early = [delta(`${LONG} and `), delta("more ", { kind: "thinking" })];
  assert.deepEqual(
    early.flatMap((event) => pieces.of(event)),
    [],
  );
  const [entry, ...others] = pieces.of(answer(`sk-${LONG} and more`));
  assert.deepEqual([entry?.type, others], ["entry", []]);
  assert.equal(textsOf(pieces.of(delta("next ", { step: 2, ...BEGINS }))), "next ");
});

test("D4: a word longer than any key is not kept: its answer comes with the entry", () => {
  const word = "x".repeat(PIECE_HELD_CHARS_MAX);
  assert.equal(toldOf([`a ${word}`, "xx", " and more "]).at(-1), "a ");
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
