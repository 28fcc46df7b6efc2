import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, MARKDOWN_CHARS_MAX, tokensOf, wordsIn } from "./tokens.ts";

const SIZE = 90_000; // just below what is taken apart at all

function of(piece: string): string {
  return piece.repeat(Math.ceil(SIZE / piece.length));
}

test("what people write is taken apart", () => {
  const tokens = tokensOf("# a\n\n- [x] *b*\n\n```js\nc\n```\n\n|d|e|\n|-|-|\n|1|2|\n");
  const types = tokens?.map(({ type }) => type).filter((type) => type !== "space");
  assert.deepEqual(types, ["heading", "list", "code", "table"]);
});

test("a text that would take too long is shown as it is", () => {
  const wild = {
    long: "a".repeat(MARKDOWN_CHARS_MAX + 1),
    quotes: of(">"),
    lists: `${of("- ")}a`,
    numbers: `${of("1. ")}a`,
    both: `${of("> - ")}a`,
    stairs: Array.from({ length: 200 }, (_, at) => `${" ".repeat(at * 2)}- a`).join("\n"),
    table: `|${"a|".repeat(2_000)}\n|${"-|".repeat(2_000)}\n${"|\n".repeat(2_000)}`,
    rows: `|a|b|\n|-|-|\n${of("|\n")}`,
  };
  for (const [name, text] of Object.entries(wild)) assert.equal(tokensOf(text), null, name);
});

test("a paragraph that would take too long is words and nothing more", () => {
  for (const piece of ["a*", "_a", "*a**a", "*a _b ", "[", "![[", "`a``b", "<a ", "a.", "[a](", "~~a "]) {
    const [only, ...others] = tokensOf(of(piece)) ?? [];
    assert.deepEqual([only?.type, others], ["paragraph", []], piece);
    assert.ok(only?.type === "paragraph");
    assert.deepEqual(
      only.tokens?.map(({ type }) => type),
      ["text"],
      piece,
    );
  }
});

test("a link leads to the web or to a letter, whatever its name is written like", () => {
  for (const href of ["https://a.example/b", "HTTP://a.example", "mailto:ada@a.example"])
    assert.equal(addressOf(href), href);
  const others = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,<script>1</script>",
    "vbscript:a",
    "file:///etc/passwd",
    "blob:https://a.example/b",
    "//a.example",
    "/rpc",
    "#/settings",
    "https:",
    "",
  ];
  for (const href of others) assert.equal(addressOf(href), null, JSON.stringify(href));
});

test("no name of a character brings back what was taken out", () => {
  assert.equal(wordsIn("a &lt;b&gt; &amp;lt; \u202e&#x202e;"), "a <b> &lt; &#x202e;");
});
