// A transcript file as another program would read it, which knows its format and nothing else of us.

import { readFileSync } from "node:fs";
import type { Tail } from "../../src/sessions/session.ts";
import type { Draft } from "../../src/transcript/entry.ts";
import { writtenOf, type Written } from "./model.ts";

type Line = Draft & { readonly id: string; readonly parentId: string | null; readonly seq: number };

export interface Read {
  readonly entries: readonly Written[];
  /** Of the entries, one after the other. */
  readonly ids: readonly string[];
}

/** Complains of what the format does not allow, and where the file and the row's tail disagree. */
export function readAsStranger(path: string, tail: Tail, complain: (what: string) => void): Read {
  const text = readOr(path, () => complain("its file is missing"));
  if (!text.endsWith("\n")) complain("its file ends in the middle of a line");
  if (Buffer.byteLength(text) !== tail.bytes)
    complain(`its file has ${Buffer.byteLength(text)} bytes, its row says ${tail.bytes}`);
  const lines = text
    .split("\n")
    .slice(1, -1)
    .flatMap((line, at) => parsed(line, () => complain(`line ${at + 2} is not JSON`)));
  // All are numbered, and each continues one that stands before it: the last one, but for rewinds.
  const seqs = new Map<string | null, number>([[null, 0]]);
  const entries = lines.map((line, at) => {
    const after = seqs.get(line.parentId);
    if (line.seq !== at + 1) complain(`line ${at + 2} has seq ${line.seq}`);
    if (after === undefined) complain(`line ${at + 2} continues ${line.parentId}, which is not before it`);
    if (seqs.has(line.id)) complain(`line ${at + 2} has the id of an earlier one`);
    seqs.set(line.id, at + 1);
    return writtenOf(line, after ?? 0);
  });
  const jump = entries.findLastIndex((entry, at) => entry.after !== at) + 1;
  const pairs = [
    ["last seq", lines.length, tail.lastSeq],
    ["last entry", lines.at(-1)?.id ?? null, tail.leafId],
    ["last jump", jump, tail.jumpSeq],
  ] as const;
  for (const [name, inFile, inRow] of pairs)
    if (inFile !== inRow) complain(`${name}: its file says ${inFile}, its row ${inRow}`);
  return { entries, ids: lines.map((line) => line.id) };
}

function readOr(path: string, missing: () => void): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    missing();
    return "";
  }
}

function parsed(line: string, bad: () => void): Line[] {
  try {
    return [JSON.parse(line) as Line];
  } catch {
    bad();
    return [];
  }
}
