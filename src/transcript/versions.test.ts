// Files of every version, as people have them: read without damage, and lifted to version 3 on the way in.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Bytes, pathOf } from "../../test/fixtures/transcripts.ts";
import { encodeDraft, encodeHeader, stamp } from "./codec.ts";
import { unstamped, type Entry, type Gap, type Header } from "./entry.ts";
import { contextStart } from "./fold.ts";
import { readForward, readPathBackward } from "./read.ts";

type Fields = Readonly<Record<string, unknown>>;

test("version 1: every entry gets an id, a parent and a number, and keeps everything else", () => {
  const { header, entries, originals } = fixture("v1");
  assert.deepEqual(header, { ...originals[0], version: 3 });
  for (const [at, entry] of entries.entries()) {
    const { id, parentId, seq, ...rest } = entry;
    assert.equal(id, `0000aaaa-${at + 1}`);
    assert.equal(parentId, at === 0 ? null : `0000aaaa-${at}`);
    assert.equal(seq, at + 1);
    if (entry.type !== "compaction" && at !== 4) assert.deepEqual(rest, originals[at + 1]);
  }
});

test("version 1: an index of the first kept entry becomes its id", () => {
  const { entries, originals } = fixture("v1");
  const { firstKeptEntryIndex, ...others } = originals[6] ?? {};
  assert.equal(firstKeptEntryIndex, 4);
  const { id: _id, parentId: _parentId, seq: _seq, ...lifted } = entries[5] ?? {};
  assert.deepEqual(lifted, { ...others, firstKeptEntryId: entries[3]?.id });
  assert.equal(entries[3]?.type, "model_change"); // the fifth line, counted from 0 with the header
  assert.equal(contextStart(entries), 4);
});

test("version 1: bad lines do not shift the index, for each has its number", () => {
  const lines = readFileSync(new URL("../../test/fixtures/v1.jsonl", import.meta.url), "utf8").split("\n");
  lines[2] = "torn{";
  const items = [...readForward(new Bytes(lines.join("\n")), 0)].map(({ item }) => item);
  const compaction = items.find((item) => item.type === "compaction");
  const kept = items.find((item) => item.type === "model_change");
  assert.equal(compaction?.type === "compaction" && compaction.firstKeptEntryId, kept?.id);
  assert.equal(items[2]?.type, "gap");
  assert.equal(items[3]?.type === "message" && items[3].parentId, "0000aaaa-1");
});

test("version 1: an index of nothing keeps nothing", () => {
  const lines = readFileSync(new URL("../../test/fixtures/v1.jsonl", import.meta.url), "utf8").split("\n");
  for (const index of [0, 99, -1]) {
    lines[6] = JSON.stringify({ ...(JSON.parse(lines[6] ?? "") as object), firstKeptEntryIndex: index });
    const { entries } = read(lines.join("\n"));
    assert.equal(contextStart(entries), 6);
  }
});

test("versions 1 and 2: the role hookMessage is called custom now", () => {
  for (const name of ["v1", "v2"] as const) {
    const { entries, originals } = fixture(name);
    const at = originals.findIndex((line) => roleOf(line) === "hookMessage");
    const lifted = entries[at - 1] as unknown as Fields;
    assert.deepEqual(lifted["message"], { ...(originals[at]?.["message"] as object), role: "custom" });
    assert.ok(!entries.some((entry) => roleOf(entry as unknown as Fields) === "hookMessage"));
  }
});

test("version 2: ids and parents stay as they are, and every entry gets a number", () => {
  const { header, entries, originals } = fixture("v2");
  assert.equal(header.version, 3);
  for (const [at, entry] of entries.entries()) {
    if (at !== 1) assert.deepEqual(entry, { ...originals[at + 1], seq: at + 1 });
  }
  assert.deepEqual(
    pathOf(entries).map(({ id }) => id),
    ["a1", "d4", "e5"],
  );
});

test("version 3: everything comes through untouched, and reading backward gives the path", () => {
  const { header, entries, originals, source } = fixture("v3");
  assert.deepEqual([header, ...entries], originals);
  const backward = [...readPathBackward(source)].map(({ item }) => item).toReversed();
  assert.deepEqual(backward, pathOf(entries));
});

test("what is read of any version is written as version 3, and comes back as it was read", () => {
  for (const name of ["v1", "v2", "v3"] as const) {
    const { header, entries } = fixture(name);
    const lines = entries.map((entry) => {
      const { id, draft } = unstamped(entry);
      return stamp(encodeDraft(draft), id, entry.parentId, entry.seq);
    });
    const again = read(encodeHeader(header) + lines.join(""));
    assert.deepEqual([again.header, again.entries], [header, entries]);
  }
});

function fixture(name: "v1" | "v2" | "v3"): ReturnType<typeof read> & { readonly originals: Fields[] } {
  const text = readFileSync(new URL(`../../test/fixtures/${name}.jsonl`, import.meta.url), "utf8");
  const originals = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fields);
  return { ...read(text), originals };
}

function read(text: string): { readonly header: Header; readonly entries: Entry[]; readonly source: Bytes } {
  const source = new Bytes(text);
  const [header, ...entries] = [...readForward(source, 0)].map(({ item }) => item);
  assert.equal(header?.type, "session");
  assert.ok(entries.every((item): item is Entry => !isGap(item)));
  return { header: header as Header, entries: entries as Entry[], source };
}

function isGap(item: Header | Entry | Gap): item is Gap {
  return item.type === "gap";
}

function roleOf(line: Fields): unknown {
  return (line["message"] as Fields | undefined)?.["role"];
}
