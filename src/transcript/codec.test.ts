import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { HEADER_BYTES_MAX, KEY_BYTES_MAX, NESTING_LEVELS_MAX } from "../limits.ts";
import { AT, HEADER, said } from "../../test/fixtures/transcripts.ts";
import { Decoder, decodeLine, encodeDraft, encodeHeader, headerLine, stamp } from "./codec.ts";
import type { Draft, Header } from "./entry.ts";

/** Any string that JavaScript can hold, half characters included. */
const anyText = fc
  .array(
    fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0x0a, 0x0d, 0x2028, 0xd83d, 0xde42)),
  )
  .map((units) => String.fromCharCode(...units));

const STAMPED = new Set(["type", "id", "parentId", "seq", "timestamp"]);
const anyFields = fc
  .dictionary(
    anyText.filter((name) => !STAMPED.has(name)),
    fc.jsonValue(),
    { maxKeys: 6, noNullPrototype: true },
  )
  .map((fields) => JSON.parse(JSON.stringify(fields)) as Record<string, unknown>);

test("C1, C2: every field of an entry comes back, also of a type nobody knows, and a line has one newline", () => {
  fc.assert(
    fc.property(anyFields, anyText, anyText, fc.option(anyText), (fields, type, id, parentId) => {
      const draft = { ...fields, type: `x${type}`, timestamp: AT } as unknown as Draft;
      const line = stamp(encodeDraft(draft), id, parentId, 7);
      assert.equal(line.indexOf("\n"), line.length - 1);
      const onDisk = Buffer.from(line, "utf8").toString("utf8");
      assert.deepEqual(decodeLine(onDisk.slice(0, -1)), { ...draft, id, parentId, seq: 7 });
      // By its text: a parsed object puts names that are numbers before all others, wherever they stand.
      const stamped = JSON.stringify({ type: `x${type}`, id, parentId, seq: 7 });
      assert.ok(line.startsWith(stamped.slice(0, -1)));
    }),
    { numRuns: 2_000 },
  );
});

test("C1: a text comes back whole with newlines, NUL, U+2028, half characters and emoji in it", () => {
  for (const text of [
    "a\nb\r\nc",
    "\u0000",
    "\u2028\u2029",
    "\ud800",
    "\udfff\ud83d",
    "🙂👩‍👩‍👧",
    '"\\\u007f\ufeff',
  ]) {
    const line = stamp(encodeDraft(said(text)), "i", null, 1);
    const entry = decodeLine(Buffer.from(line).toString("utf8", 0, Buffer.byteLength(line) - 1));
    assert.deepEqual(entry, { ...said(text), id: "i", parentId: null, seq: 1 });
  }
});

test("C1: a field called __proto__ is a field like any other", () => {
  const text = '{"type":"x","id":"i","parentId":null,"seq":1,"__proto__":{"a":1},"constructor":2}';
  const entry = decodeLine(text);
  assert.ok(typeof entry !== "string");
  const again = stamp(encodeDraft(entry), "i", null, 1);
  assert.equal(again, `${text}\n`);
});

test("an entry with nothing but its stamp stays a line that can be read", () => {
  const line = stamp(encodeDraft({ type: "x" } as unknown as Draft), "i", "p", 3);
  assert.deepEqual(decodeLine(line.trimEnd()), { type: "x", id: "i", parentId: "p", seq: 3 });
});

test("a stamp left on a draft is replaced, not written beside the new one", () => {
  const old = { ...said("hello"), id: "old", parentId: "older", seq: 99 };
  const line = stamp(encodeDraft(old), "new", null, 1);
  assert.deepEqual(decodeLine(line.trimEnd()), { ...said("hello"), id: "new", parentId: null, seq: 1 });
});

test("what is nested deeper than the bound, or holds itself, is refused with a reason; at the bound it comes back", () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
    return value;
  };
  const custom = (data: unknown): Draft => ({ type: "custom", customType: "x", data, timestamp: AT });
  const most = custom(nested(NESTING_LEVELS_MAX - 1)); // the entry itself is one
  const line = stamp(encodeDraft(most), "i", null, 1);
  assert.deepEqual(decodeLine(line.trimEnd()), { ...most, id: "i", parentId: null, seq: 1 });
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  for (const data of [nested(NESTING_LEVELS_MAX), nested(20_000), loop])
    assert.throws(() => encodeDraft(custom(data)), { code: "bad_input", message: /nested too deeply/ });
});

test("a header comes back with every field", () => {
  const header: Header = { ...HEADER, parentSession: "01.jsonl", child: true, copied: 12 };
  assert.deepEqual(new Decoder().line(encodeHeader(header).trimEnd()), header);
  const foreign = { ...HEADER, provider: "anthropic", thinkingLevel: "off" };
  assert.deepEqual(new Decoder().line(encodeHeader(foreign).trimEnd()), foreign);
});

test("the first line fits its bytes for every key, and gives up the folder, the parent, then the agent", () => {
  const lengths = {
    key: fc.integer({ min: 90, max: KEY_BYTES_MAX }),
    agent: fc.integer({ min: 1, max: 64 }),
  };
  const cwd = fc.oneof(anyText, fc.constant("/x".repeat(2_000)), fc.constant("/é\n".repeat(100)));
  fc.assert(
    fc.property(fc.record({ ...lengths, cwd, id: fc.integer({ min: 1, max: 64 }) }), (made) => {
      const agent = "a".repeat(made.agent);
      const key = `agent:${agent}:subagent:`.padEnd(made.key, "x");
      const parentSession = `${"p".repeat(64)}.jsonl`;
      const names = { ...HEADER, id: "i".repeat(made.id), key, agent, parentSession };
      const whole: Header = { ...names, cwd: made.cwd, child: true, copied: 1_000_000 };
      const line = encodeHeader(whole);
      assert.ok(Buffer.byteLength(line) <= HEADER_BYTES_MAX);
      const { cwd: kept, parentSession: parent, agent: named, ...rest } = JSON.parse(line) as Header;
      const { cwd: _cwd, parentSession: _parent, agent: _agent, ...expected } = whole;
      assert.deepEqual(rest, expected);
      assert.ok(kept === whole.cwd || kept === "");
      if (parent === undefined) assert.equal(kept, "");
      if (named === undefined) assert.equal(parent, undefined);
    }),
    { numRuns: 1_000 },
  );
});

test("the first line of a later file names the one before it, for every key and every id of ours", () => {
  const id = "019b7a3c-5d00-7000-8f3a-52c1c0ffee42";
  const key = "agent:a:subagent:".padEnd(KEY_BYTES_MAX, "x");
  const later: Header = {
    ...{ ...HEADER, id, key, cwd: "/tmp", agent: "a", child: true, copied: 1_000_000 },
    ...{ parentSession: `${id}.jsonl`, previous: `${id}.jsonl`, firstSeq: 10_000_000 },
  };
  const kept = JSON.parse(encodeHeader(later)) as Header;
  assert.deepEqual([kept.key, kept.previous, kept.child, kept.copied], [key, `${id}.jsonl`, true, 1_000_000]);
  const short = { ...later, key: "agent:a:main" };
  assert.deepEqual(JSON.parse(encodeHeader(short)), short);
  assert.equal(headerLine({ ...later, id: "i".repeat(64), previous: `${"p".repeat(64)}.jsonl` }), null);
});

test("a first line that exactly fits keeps its folder, and one byte more loses it", () => {
  const room = HEADER_BYTES_MAX - Buffer.byteLength(encodeHeader({ ...HEADER, cwd: "" }));
  const fits = encodeHeader({ ...HEADER, cwd: "c".repeat(room) });
  assert.equal(Buffer.byteLength(fits), HEADER_BYTES_MAX);
  assert.equal((JSON.parse(encodeHeader({ ...HEADER, cwd: "c".repeat(room + 1) })) as Header).cwd, "");
});

const BAD: readonly (readonly [text: string, reason: string])[] = [
  ["", "not_json"],
  ["{", "not_json"],
  ['{"type":"message"', "not_json"],
  ["\u0000\u0000\u0000", "not_json"],
  ["null", "wrong_shape"],
  ["[]", "wrong_shape"],
  ["7", "wrong_shape"],
  ['"text"', "wrong_shape"],
  ["{}", "wrong_shape"],
  ['{"type":5,"id":"i","parentId":null,"seq":1}', "wrong_shape"],
  ['{"type":"x","id":5,"parentId":null,"seq":1}', "wrong_shape"],
  ['{"type":"x","id":"i","seq":1}', "wrong_shape"],
  ['{"type":"x","id":"i","parentId":5,"seq":1}', "wrong_shape"],
  ['{"type":"x","id":"i","parentId":null,"seq":0}', "wrong_shape"],
  ['{"type":"x","id":"i","parentId":null,"seq":1.5}', "wrong_shape"],
  ['{"type":"x","id":"i","parentId":null,"seq":"1"}', "wrong_shape"],
  ['{"type":"x","id":"i","parentId":null,"seq":1e300}', "wrong_shape"],
  ['{"type":"message","id":"i","parentId":null,"seq":1}', "wrong_shape"],
  ['{"type":"message","id":"i","parentId":null,"seq":1,"message":{"content":"x"}}', "wrong_shape"],
  ['{"type":"compaction","id":"i","parentId":null,"seq":1}', "wrong_shape"],
  ['{"type":"custom","id":"i","parentId":null,"seq":1}', "wrong_shape"],
  ['{"type":"custom_message","id":"i","parentId":null,"seq":1}', "wrong_shape"],
  // What looks like our own words for something else must not be taken for it.
  ['{"type":"gap","id":"i","parentId":null,"seq":1,"reason":"missing"}', "wrong_shape"],
  ['{"type":"session","id":"i","parentId":null,"seq":1}', "wrong_shape"],
];

test("what is no entry is told with its reason, and nothing throws", () => {
  for (const [text, reason] of BAD) {
    assert.equal(decodeLine(text), reason, text);
    const decoder = new Decoder();
    decoder.line(encodeHeader(HEADER).trimEnd());
    assert.equal(decoder.line(text), reason, text);
  }
});

test("only a line of our own needs a number: others' get the one that comes next", () => {
  const unnumbered = '{"type":"x","id":"i","parentId":null}';
  assert.equal(decodeLine(unnumbered), "wrong_shape");
  const decoder = new Decoder();
  decoder.line(encodeHeader(HEADER).trimEnd());
  assert.deepEqual(seqs(decoder, [unnumbered, unnumbered]), [1, 2]);
  assert.deepEqual(seqs(decoder, ['{"type":"x","id":"i","parentId":null,"seq":7}', unnumbered]), [7, 8]);
  assert.deepEqual(seqs(decoder, ["torn{", unnumbered]), ["not_json", 10]);
});

test("a header counts as one only in the first line, and only in a version that is known", () => {
  const header = encodeHeader(HEADER).trimEnd();
  const decoder = new Decoder();
  assert.deepEqual(decoder.line(header), HEADER);
  assert.equal(decoder.line(header), "wrong_shape");
  for (const version of [0, 4, "3", null]) {
    const expected = version === null ? { ...HEADER } : "wrong_shape"; // none at all is version 1
    assert.deepEqual(new Decoder().line(JSON.stringify({ ...HEADER, version })), expected);
  }
  assert.equal(new Decoder().line('{"type":"session","version":3}'), "wrong_shape");
});

function seqs(decoder: Decoder, lines: readonly string[]): unknown[] {
  return lines.map((line) => {
    const item = decoder.line(line);
    return typeof item === "object" && "seq" in item ? item.seq : item;
  });
}
