import assert from "node:assert/strict";
import { test } from "node:test";
import { Growing } from "./growing.ts";

const TEXT = `# A

one
two

- a

- b
\`\`\`js
x

y
\`\`\`
after

~~~
\`\`\`

~~~


end`;

function grown(text: string, by: number): Growing {
  const growing = new Growing();
  for (let at = 0; at < text.length; at += by) growing.add(text.slice(at, at + by));
  return growing;
}

test("in whatever pieces a text comes, its blocks are the same, and together they are the text", () => {
  const { blocks, rest } = grown(TEXT, TEXT.length).now;
  assert.equal(blocks.join("") + rest, TEXT);
  assert.ok(blocks.includes("```js\nx\n\ny\n```\n"), "code is not cut at its empty lines");
  assert.equal(rest, "end");
  for (let by = 1; by < 20; by += 1) {
    const now = grown(TEXT, by).now;
    assert.equal(now.blocks.join("") + now.rest, TEXT, `by ${by}`);
    assert.ok(now.blocks.includes("```js\nx\n\ny\n```\n"), `by ${by}`);
  }
});

test("code that is not closed grows on", () => {
  const { blocks, rest } = grown("a\n\n```\nb\n\nc\n\n", 3).now;
  assert.deepEqual([blocks, rest], [["a\n\n"], "```\nb\n\nc\n\n"]);
});
