import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { QUESTION_BYTES_MIN, QUESTIONS_IN_ROW_MAX } from "./limits.ts";
import { sized, type Material } from "./material.ts";
import { chunksOf, questionOf } from "./question.ts";
import { SECTIONS } from "./sections.ts";

const PLAIN: Material = {
  before: null,
  beforeBytesMax: null,
  pieces: ["User:\n| hello", "Assistant:\n| yes?"],
  pinned: [],
  asked: [],
  wanted: { identifiers: ["a.ts"], questions: ["Which one?"], standing: ["Never push."] },
  bytesMax: 6_000,
  first: null,
  last: null,
};

function bytesOf(part: Material, focus: string | null): number {
  const { system, text } = questionOf(part, focus);
  return Buffer.byteLength(system) + Buffer.byteLength(text);
}

test("the system prompt has the headings, in their order, and says how long a summary may be", () => {
  const { system } = questionOf(PLAIN, null);
  assert.deepEqual(
    system.split("\n").filter((line) => line.startsWith("## ")),
    SECTIONS,
  );
  assert.match(system, /At most 750 words/);
  assert.match(questionOf(sized(PLAIN, 3_000), null).system, /At most 370 words/);
});

test("the text has the older summary, the pieces, what is wanted under its headings, and the focus", () => {
  const { text } = questionOf({ ...PLAIN, before: "## Goal\nto win\n!fail auth" }, "the\n!tests");
  assert.equal(
    text,
    [
      "The summary of what came before:\n| ## Goal\n| to win\n| !fail auth",
      "The conversation, the oldest first:",
      "User:\n| hello",
      "Assistant:\n| yes?",
      "The summary must have these lines under these headings:",
      "## Standing instructions\n- Never push.\n## Open questions\n- Which one?\n## Identifiers\n- a.ts",
      "Keep above all what is about this:\n| the !tests",
      "Write the summary now.",
    ].join("\n\n"),
  );
});

test("what fits goes at once, whole", () => {
  const chunks = chunksOf({ ...PLAIN, before: "x".repeat(2_000) }, 20_000);
  assert.deepEqual(
    chunks.map(({ pieces, before }) => [pieces, before?.length]),
    [[PLAIN.pieces, 2_000]],
  );
});

test("an older summary that is too long loses a part of each of its sections, and none of them", () => {
  const body = (section: string): string => section.slice("## ".length).toLowerCase();
  const before = SECTIONS.map((section) => `${section}\n${body(section).repeat(300)}`).join("\n");
  const [chunk = assert.fail()] = chunksOf({ ...PLAIN, before }, 10_000);
  const { text } = questionOf(chunk, null);
  for (const section of SECTIONS) assert.ok(text.includes(`| ${section}\n| ${body(section)}`), section);
});

const lines = fc.array(fc.string({ minLength: 3, maxLength: 100 }), { maxLength: 8 });
const piece = fc
  .tuple(fc.nat(9_999), fc.constantFrom("a", "é", "💥", "a\n| "), fc.nat(3_000))
  .map(([at, of, many]) => `User:\n| ${at} ${of.repeat(many)}`);

test("chunks have all pieces in order, each in at most the room there is, whatever came before", () => {
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      lines,
      fc.constantFrom(QUESTION_BYTES_MIN, 8_000, 20_000, 100_000),
      fc.constantFrom(null, "", "## Goal\nto win", "💥".repeat(9_000)),
      (pieces, wanted, room, before) => {
        const of = { identifiers: wanted, questions: wanted, standing: wanted };
        const chunks = chunksOf({ ...PLAIN, pieces, before, wanted: of }, room);
        assert.ok(chunks.length <= QUESTIONS_IN_ROW_MAX + 1);
        const told = chunks.flatMap((chunk) => chunk.pieces);
        assert.equal(told.length, pieces.length);
        for (const [at, each] of told.entries()) {
          const head = each.endsWith("…") ? each.slice(0, -1) : each;
          assert.ok(pieces[at]?.startsWith(head) && head.length > 8);
        }
        assert.equal(chunks[0]?.before, before);
        for (const chunk of chunks) {
          const summary = chunk === chunks[0] ? before : "🙂 a summary ".repeat(3_000);
          assert.ok(bytesOf({ ...chunk, before: summary }, "💥".repeat(3_000)) <= room);
        }
      },
    ),
  );
});

test("a history of any length is told in a bounded number of questions; what is left out is said", () => {
  const pieces = Array.from({ length: 20_000 }, (_, at) => `User:\n| ${at} ${"x".repeat(500)}`);
  const chunks = chunksOf({ ...PLAIN, pieces }, QUESTION_BYTES_MIN);
  assert.ok(chunks.length <= QUESTIONS_IN_ROW_MAX + 1, `${chunks.length}`);
  const told = chunks.flatMap((chunk) => chunk.pieces);
  assert.equal(told[0], `(${20_000 - told.length + 1} older messages are left out here.)`);
  assert.match(told.at(-1) ?? "", /^User:\n\| 19999 x+…$/);
});
