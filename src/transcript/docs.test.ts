import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Bytes } from "../../test/fixtures/transcripts.ts";
import * as limits from "../limits.ts";
import { encodeDraft, encodeHeader, stamp } from "./codec.ts";
import type { Body, Entry } from "./entry.ts";
import { contextStart } from "./fold.ts";
import { readForward, readPathBackward } from "./read.ts";

const PAGE = readFileSync(new URL("../../docs/formats/transcript.md", import.meta.url), "utf8");
const LINES = [...PAGE.matchAll(/^```jsonl\n(.*?)^```$/gms)].map(([, lines]) => lines ?? "").join("");

test("the examples of docs/formats/transcript.md are one transcript, letter by letter as we write it", () => {
  const items = [...readForward(new Bytes(LINES), 0)].map(({ item }) => item);
  const again = items.map((item) => {
    assert.notEqual(item.type, "gap");
    if (item.type === "session" || item.type === "gap")
      return item.type === "session" ? encodeHeader(item) : "";
    return stamp(encodeDraft(item), item.id, item.parentId, item.seq);
  });
  assert.equal(again.join(""), LINES);
});

test("the page has an example of every type of entry", () => {
  // A record, so that the compiler asks for a type that is new in the union.
  const types: Record<Body["type"], true> = {
    message: true,
    model_change: true,
    thinking_level_change: true,
    compaction: true,
    branch_summary: true,
    label: true,
    session_info: true,
    custom_message: true,
    custom: true,
  };
  const shown = LINES.trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { type: string }).type);
  assert.deepEqual([...new Set(shown)].toSorted(), ["session", ...Object.keys(types)].toSorted());
});

test("the page tells the truth about the path and the context of its examples", () => {
  const path = [...readPathBackward(new Bytes(LINES))].map(({ item }) => item as Entry).toReversed();
  assert.deepEqual(
    path.map(({ seq }) => seq),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14],
  );
  assert.match(PAGE, /it is 1 to 10, 12, 13, 14\. Entry 11 was left\./);
  assert.equal(contextStart(path), 12);
  assert.match(PAGE, /the summary of 13, then 12, then 14\./);
});

test("the page tells the true limits", () => {
  const told: readonly (readonly [what: string, most: number])[] = [
    ["the header | 480 bytes", limits.HEADER_BYTES_MAX],
    ["blocks of a tool result that stay whole, together | 16 KiB", limits.RESULT_BYTES_MAX / 1024],
    ["details of a tool result, in its line | 16 KiB", limits.RESULT_BYTES_MAX / 1024],
    ["any other block, in its line | 256 KiB", limits.BLOCK_BYTES_MAX / 1024],
    ["blocks of any other message that stay whole, together | 1 MiB", limits.MESSAGE_BYTES_MAX / 1024 / 1024],
    ["blocks of a message that are spilled one by one | 8 blocks", limits.SPILLED_BLOCKS_MAX],
    [
      "objects and lists inside each other, in an entry that is written | 500 levels",
      limits.NESTING_LEVELS_MAX,
    ],
    ["a line that is written | 64 MiB", limits.COMMIT_BYTES_MAX / 1024 / 1024],
    ["a line that is read | 64 MiB", limits.LINE_BYTES_MAX / 1024 / 1024],
  ];
  for (const [what, most] of told) {
    assert.ok(PAGE.includes(`| ${what}`), what);
    assert.equal(Number(/\| (\d+) /.exec(what)?.[1]), most);
  }
});
