import assert from "node:assert/strict";
import { test } from "node:test";
import { AT, HEADER, said, TRANSCRIPT } from "../../test/fixtures/transcripts.ts";
import { blobsOf, entryId, textOf, unstamped, type Body, type Entry } from "./entry.ts";

const BLOB = { sha256: "ab".repeat(32), bytes: 99 };

test("an id says whose entry it is and which, so that forks of one transcript never share a new one", () => {
  assert.equal(entryId(TRANSCRIPT, 12), "feedbeef-12");
  assert.notEqual(entryId(TRANSCRIPT, 1), entryId(HEADER.id.replace("beef", "cafe"), 1));
});

test("a copied entry keeps its id and its fields, and gives up its number and its parent", () => {
  const fields = { ...said("hello"), unknown: { kept: true } };
  const entry: Entry = { ...fields, id: "i", parentId: "p", seq: 4 };
  assert.deepEqual(unstamped(entry), { id: "i", draft: fields });
  assert.equal(entry.seq, 4);
});

test("the text of an entry is what a person would look for", () => {
  const blocks = [
    { type: "thinking", thinking: "hmm" },
    { type: "text", text: "one" },
    { type: "toolCall", id: "c", name: "read", arguments: {} },
    { type: "text", text: "two" },
  ];
  assert.equal(textOf(said("hello")), "hello");
  assert.equal(textOf(message(blocks)), "one\ntwo");
  assert.equal(textOf({ type: "custom_message", customType: "x", content: "note", display: true }), "note");
  assert.equal(
    textOf({ type: "compaction", summary: "so far", firstKeptEntryId: "", tokensBefore: 0 }),
    "so far",
  );
  assert.equal(textOf({ type: "branch_summary", fromId: "", summary: "was left" }), "was left");
  assert.equal(textOf({ type: "custom", customType: "sessiond/turn-ended", data: "no" }), "");
  assert.equal(textOf({ type: "label", targetId: "x", label: "no" }), "");
});

test("the blobs of an entry are those that its blocks name", () => {
  const named = [
    { type: "text", text: "head", blob: BLOB },
    { type: "text", text: "plain" },
  ];
  assert.deepEqual(blobsOf(message(named)), [BLOB.sha256]);
  assert.deepEqual(blobsOf(said("hello")), []);
  const custom = { type: "custom_message", customType: "x", content: named, display: true, timestamp: AT };
  assert.deepEqual(blobsOf(custom as unknown as Body), [BLOB.sha256]);
  assert.deepEqual(blobsOf({ type: "session_info", name: "x" }), []);
});

test("details that were spilled name their blob; other details name nothing, whatever they look like", () => {
  const result = (details: unknown): Body =>
    ({ type: "message", message: { role: "toolResult", content: [], details } }) as unknown as Body;
  assert.deepEqual(blobsOf(result({ spilled: "{…}", blob: BLOB })), [BLOB.sha256]);
  for (const details of [undefined, null, 5, {}, { blob: BLOB }, { spilled: "", blob: BLOB, more: 1 }])
    assert.deepEqual(blobsOf(result(details)), []);
});

test("only a hash is the name of a blob: names become paths", () => {
  for (const sha256 of ["", "../../etc/passwd", "AB".repeat(32), "ab".repeat(31), `${"ab".repeat(32)}\n`])
    assert.deepEqual(blobsOf(message([{ type: "text", text: "", blob: { sha256, bytes: 1 } }])), []);
});

test("whatever others wrote inside a message, nobody stumbles over it", () => {
  const odd = [
    null,
    "text",
    5,
    [],
    {},
    { type: "text" },
    { type: "text", text: 7 },
    { blob: null },
    { blob: {} },
  ];
  for (const content of [undefined, null, 5, {}, odd, { 0: "x", length: 1 }]) {
    assert.equal(textOf(message(content)), "");
    assert.deepEqual(blobsOf(message(content)), []);
  }
  assert.equal(textOf(message([...odd, { type: "text", text: "found" }])), "found");
  for (const type of ["branch_summary", "compaction", "custom_message", "unheard_of"]) {
    assert.equal(textOf({ type } as unknown as Body), "");
    assert.deepEqual(blobsOf({ type } as unknown as Body), []);
  }
});

function message(content: unknown): Body {
  return { type: "message", message: { role: "user", content, timestamp: 0 } } as unknown as Body;
}
