// Real transcripts, which are people's and so not in this repository. SESSIOND_TRANSCRIPTS names a folder of
// them: every *.jsonl in it is read, written as version 3, and read again.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { encodeDraft, encodeHeader, stamp } from "./codec.ts";
import { textOf, unstamped, type Entry, type Header } from "./entry.ts";
import { FileSource } from "./lines.ts";
import { pathSpans, readForward, readPathBackward, seekSeq } from "./read.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What version 1 lacks, so that nobody can ask for it to come back as it was. */
const GIVEN = ["version", "id", "parentId", "seq", "firstKeptEntryId", "firstKeptEntryIndex"];

const folder = process.env["SESSIOND_TRANSCRIPTS"] ?? "";
const names = folder === "" ? [] : readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
const skip = folder === "" ? "SESSIOND_TRANSCRIPTS names no folder with real transcripts" : false;

test("real transcripts are there", { skip }, () => {
  assert.notEqual(names.length, 0, `there is no *.jsonl in ${folder}`);
});

for (const name of skip === false ? names : ["…"]) {
  test(
    `${name} is read without damage, and nothing is lost when it is written as version 3`,
    { skip },
    (t) => {
      const original = readWhole(join(folder, name));
      const again = readWhole(rewritten(t, original));
      assert.deepEqual([again.header, again.entries], [original.header, original.entries]);

      const lines = rawLines(join(folder, name));
      const version = Number(lines[0]?.["version"] ?? 1);
      assert.equal(lines.length, 1 + again.entries.length);
      for (const [at, line] of lines.entries()) {
        const now = (at === 0 ? again.header : again.entries[at - 1]) as unknown as Fields;
        assert.deepEqual(fieldsOf(now, version), fieldsOf(line, version));
      }
    },
  );

  test(`${name} as version 3 is found by seq, backward and forward`, { skip }, (t) => {
    const original = readWhole(join(folder, name));
    const source = opened(t, rewritten(t, original));
    const backward = [...readPathBackward(source)].map(({ item }) => item).toReversed();
    assert.deepEqual(backward.at(-1), original.entries.at(-1));
    assert.ok(backward.every((item) => item.type !== "gap"));
    const spans = pathSpans(source, 1);
    const onPath = original.entries.filter(({ seq }) =>
      spans.some(([low, high]) => low <= seq && seq <= high),
    );
    assert.deepEqual(backward, onPath);
    for (const entry of original.entries) {
      const [found] = readForward(source, seekSeq(source, entry.seq));
      assert.deepEqual(found?.item, entry);
    }
  });
}

test(
  "what we read of version 1 has the same messages, in the same order, as what pi made of it",
  {
    skip:
      skip === false && pairs().length === 0
        ? `no file of version 1 with one of version 3 in ${folder}`
        : skip,
  },
  () => {
    for (const [first, third] of pairs()) {
      const [ours, theirs] = [readWhole(join(folder, first)), readWhole(join(folder, third))];
      assert.deepEqual(withoutStamps(ours.entries), withoutStamps(theirs.entries));
      assert.deepEqual(ours.entries.map(textOf), theirs.entries.map(textOf));
    }
  },
);

/** The same conversation twice: `…-v1.jsonl` as it was, `…-v3.jsonl` as pi migrated it. */
function pairs(): (readonly [string, string])[] {
  return names
    .filter((name) => name.endsWith("-v1.jsonl"))
    .map((name) => [name, name.replace("-v1.", "-v3.")] as const)
    .filter(([, third]) => names.includes(third));
}

interface Whole {
  readonly header: Header;
  readonly entries: readonly Entry[];
}

function readWhole(path: string): Whole {
  const source = new FileSource(path);
  try {
    const [header, ...entries] = [...readForward(source, 0)].map(({ item }) => item);
    assert.equal(header?.type, "session");
    const gaps = entries.filter((item) => item.type === "gap");
    assert.deepEqual(gaps, [], `${path} is damaged`);
    return { header: header as Header, entries: entries as Entry[] };
  } finally {
    source.close();
  }
}

/** Written through the codec as the store writes: the header, then draft after draft with a stamp of its own. */
function rewritten(t: { after(done: () => void): void }, { header, entries }: Whole): string {
  const made = mkdtempSync(join(tmpdir(), "sessiond-real-"));
  t.after(() => rmSync(made, { recursive: true }));
  const lines = entries.map((entry) => {
    const { id, draft } = unstamped(entry);
    return stamp(encodeDraft(draft), id, entry.parentId, entry.seq);
  });
  const path = join(made, "again.jsonl");
  writeFileSync(path, encodeHeader(header) + lines.join(""));
  return path;
}

function opened(t: { after(done: () => void): void }, path: string): FileSource {
  const source = new FileSource(path);
  t.after(() => source.close());
  return source;
}

function rawLines(path: string): Fields[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Fields);
}

/** Everything that a file of this version can ask to have back. */
function fieldsOf(line: Fields, version: number): Fields {
  const given = version === 1 && line["type"] !== "session" ? GIVEN : ["version", "seq"];
  const kept = Object.entries(line).filter(([name]) => !given.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, name === "message" ? renamed(value) : value]));
}

/** Versions 1 and 2 called the role `custom` otherwise. */
function renamed(message: unknown): unknown {
  const fields = message as Fields;
  return fields["role"] === "hookMessage" ? { ...fields, role: "custom" } : fields;
}

function withoutStamps(entries: readonly Entry[]): Fields[] {
  return entries.map((entry) => fieldsOf(entry as unknown as Fields, 1));
}
