import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { TITLE_CHARS_MAX } from "../limits.ts";
import { AT, chain, pathOf, said, written } from "../../test/fixtures/transcripts.ts";
import type { Body, Draft, Entry } from "./entry.ts";
import {
  addTokens,
  contextStart,
  contextTokensIn,
  contextTokensOf,
  NO_TOKENS,
  openingOf,
  PAID,
  REWOUND,
  titleOf,
  tokensOf,
  type TokenUsage,
} from "./fold.ts";

test("a title is the first words of a person, on one line", () => {
  assert.equal(titleOf(said("  Water\n\tthe   beans \u2028 now ")), "Water the beans now");
  assert.equal(
    titleOf(blocks([{ type: "text", text: "one" }, picture(), { type: "text", text: "two" }])),
    "one two",
  );
  assert.equal(titleOf(said(`${"\n".repeat(5_000)}after much air`)), "after much air");
});

test("what no person wrote, or what has no words, gives no title", () => {
  assert.equal(titleOf(said("")), null);
  assert.equal(titleOf(said(" \n\t ")), null);
  assert.equal(titleOf(blocks([picture()])), null);
  assert.equal(titleOf(blocks(null)), null);
  assert.equal(titleOf(reply({})), null);
  assert.equal(titleOf({ type: "custom", customType: "sessiond/setting" }), null);
  assert.equal(titleOf(compaction("x")), null);
});

test("a title has at most its characters, counted as people count them, and says that it was cut", () => {
  assert.equal(titleOf(said("x".repeat(TITLE_CHARS_MAX))), "x".repeat(TITLE_CHARS_MAX));
  assert.equal(titleOf(said("x".repeat(TITLE_CHARS_MAX + 1))), `${"x".repeat(TITLE_CHARS_MAX - 1)}…`);
  assert.equal(titleOf(said("🙂".repeat(TITLE_CHARS_MAX))), "🙂".repeat(TITLE_CHARS_MAX));
  assert.equal(titleOf(said("🙂".repeat(500))), `${"🙂".repeat(TITLE_CHARS_MAX - 1)}…`);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (text) => {
      const title = titleOf(said(text)) ?? "";
      assert.ok([...title].length <= TITLE_CHARS_MAX);
      assert.ok(!/[\n\r\u2028]/.test(title));
      assert.equal(title, title.trim());
    }),
  );
});

test("tokens are counted on answers only, and what is no number counts as nothing", () => {
  const usage = { input: 10, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } };
  assert.deepEqual(tokensOf(reply(usage)), { input: 10, output: 2, cacheRead: 3, cacheWrite: 4, cost: 0.5 });
  assert.deepEqual(tokensOf(reply({ input: 1, output: "2", cacheRead: null, cacheWrite: NaN, cost: 7 })), {
    ...NO_TOKENS,
    input: 1,
  });
  for (const odd of [undefined, null, 5, "much", { cost: null }, { cost: { total: Infinity } }])
    assert.deepEqual(tokensOf(reply(odd)), NO_TOKENS);
  assert.deepEqual(tokensOf(said("hello")), NO_TOKENS);
  assert.deepEqual(tokensOf({ type: "label", targetId: "x" }), NO_TOKENS);
});

test("an answer says how large the context was, a compaction how large it is, and nothing else does", () => {
  const usage = { input: 10, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } };
  assert.equal(contextTokensOf(reply(usage)), 19);
  const odds = [undefined, null, 5, { input: 0 }, { input: -5, output: 2 }, { input: Infinity }];
  for (const odd of [...odds, { input: 1e300, output: 1e300 }])
    assert.equal(contextTokensOf(reply(odd)), null);
  for (const silent of [said("hello"), { type: "label", targetId: "x" }, paid({ usage })] as const)
    assert.equal(contextTokensOf(silent), null);
  const compacted = (details: unknown): Body => ({ ...compaction("x"), details }) as Body;
  assert.equal(contextTokensOf(compacted({ by: "sessiond", tokensAfter: 7 })), 7);
  const others = [undefined, null, "sessiond", [], { tokensAfter: 7 }, { by: "them", tokensAfter: 7 }];
  for (const other of [...others, { by: "sessiond" }, { by: "sessiond", tokensAfter: "7" }])
    assert.equal(contextTokensOf(compacted(other)), 0, "it is another, and nobody says how large");
  const rewound = (data: unknown): Body => ({ type: "custom", customType: REWOUND, data });
  assert.equal(contextTokensOf(rewound({ to: 1, from: 2, contextTokens: 7 })), 7);
  for (const data of [undefined, null, 7, { to: 1, from: 2 }, { contextTokens: -1 }, { contextTokens: NaN }])
    assert.equal(contextTokensOf(rewound(data)), 0);
});

test("tokens add up by kind, whichever comes first", () => {
  const amount = fc.record({
    input: fc.nat(),
    output: fc.nat(),
    cacheRead: fc.nat(),
    cacheWrite: fc.nat(),
    cost: fc.nat(),
  });
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      const sum = addTokens(a, b);
      assert.deepEqual(sum, addTokens(b, a));
      assert.equal(sum.cacheRead, a.cacheRead + b.cacheRead);
      assert.deepEqual(addTokens(a, NO_TOKENS), { ...a });
    }),
  );
});

test("F1: title, tokens and context of a conversation are made of those of its parts, wherever it is cut", () => {
  const words = fc.constantFrom("", " \n", "\ud800", "beans", "x".repeat(100), `${"\n".repeat(400)}late`);
  const usage = fc.record({ input: fc.nat(), output: fc.nat(), cost: fc.record({ total: fc.nat() }) });
  const body = fc.oneof(words.map(said), usage.map(reply), fc.constant(compaction("x")));
  fc.assert(
    fc.property(fc.array(body), fc.array(body), (a, b) => {
      assert.equal(titleOfAll([...a, ...b]), titleOfAll(a) || titleOfAll(b));
      assert.deepEqual(tokensOfAll([...a, ...b]), addTokens(tokensOfAll(a), tokensOfAll(b)));
      assert.equal(contextTokensIn([...a, ...b]), contextTokensIn(b) ?? contextTokensIn(a));
    }),
  );
});

test("a title is never empty: what can be shown of a message is shown, and the cut leaves no half character", () => {
  for (const text of ["\ud800", "\udfff \ud800", " \ud83d"]) assert.equal(titleOf(said(text)), text.trim());
  for (let before = 0; before < 4; before += 1)
    assert.ok(openingOf(said(`${"x".repeat(before)}${"🙂".repeat(500)}`))?.isWellFormed());
});

test("without a compaction the context starts where the path does", () => {
  assert.equal(contextStart([]), 1);
  assert.equal(contextStart(entries([said("a"), said("b")])), 1);
  const later = written([{ draft: said("a"), continues: null }], 9).map(({ entry }) => entry);
  assert.equal(contextStart(later), 9);
});

test("the context starts at the first entry that the newest compaction on the path kept", () => {
  const two = entries([
    said("a"),
    said("b"),
    compaction("feedbeef-2"),
    said("c"),
    compaction("feedbeef-4"),
    said("d"),
  ]);
  assert.equal(contextStart(two.slice(0, 4)), 2);
  assert.equal(contextStart(two), 4);
  // The newer one may keep more than the older did.
  assert.equal(
    contextStart(entries([said("a"), said("b"), compaction("feedbeef-2"), compaction("feedbeef-1")])),
    1,
  );
});

test("a compaction that kept nothing, or names what is not on the path, is itself the start", () => {
  assert.equal(contextStart(entries([said("a"), compaction("feedbeef-2"), said("b")])), 2);
  assert.equal(contextStart(entries([said("a"), compaction("nobody"), said("b")])), 2);
  assert.equal(contextStart(entries([said("a"), compaction("feedbeef-3"), said("b")])), 2);
  const missing = { type: "compaction", summary: "s", tokensBefore: 1, timestamp: AT } as unknown as Draft;
  assert.equal(contextStart(entries([said("a"), missing, said("b")])), 2);
});

test("a compaction on a branch that was left, or a kept entry on one, has no say", () => {
  const tree = [
    { draft: said("a"), continues: null },
    { draft: said("left"), continues: null },
    { draft: compaction("feedbeef-2"), continues: null },
    { draft: said("b"), continues: 0 },
  ];
  assert.equal(contextStart(pathOf(written(tree).map(({ entry }) => entry))), 1);
  const named = [...tree, { draft: compaction("feedbeef-2"), continues: null }];
  assert.equal(contextStart(pathOf(written(named).map(({ entry }) => entry))), 5);
});

/** As the store and rebuild do it: the first that there is. */
function titleOfAll(bodies: readonly Body[]): string {
  return bodies.map(titleOf).find((title) => title !== null) ?? "";
}

function tokensOfAll(bodies: readonly Body[]): TokenUsage {
  return bodies.map(tokensOf).reduce(addTokens, NO_TOKENS);
}

function entries(drafts: readonly Draft[]): Entry[] {
  return chain(drafts).map(({ entry }) => entry);
}

function compaction(firstKeptEntryId: string): Draft {
  return { type: "compaction", summary: "s", firstKeptEntryId, tokensBefore: 1, timestamp: AT };
}

/** As others may write it: nothing inside a message is checked. */
function reply(usage: unknown): Body {
  const message = { role: "assistant", content: [{ type: "text", text: "yes" }], usage };
  return { type: "message", message } as unknown as Body;
}

function paid(data: unknown): Body {
  return { type: "custom", customType: PAID, data };
}

function blocks(content: unknown): Body {
  return { type: "message", message: { role: "user", content, timestamp: 0 } } as unknown as Body;
}

function picture(): object {
  return { type: "image", data: "AAAA", mimeType: "image/png" };
}
