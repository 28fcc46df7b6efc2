// A transcript file as another program would read it, which knows its format and nothing else of us.

import { readFileSync } from "node:fs";
import { zstdDecompressSync } from "node:zlib";
import type { Tail } from "../../src/sessions/session.ts";
import type { Draft, Header } from "../../src/transcript/entry.ts";
import { writtenOf, type Written } from "./model.ts";

type Line = Draft & { readonly id: string; readonly parentId: string | null; readonly seq: number };

export interface Read {
  readonly entries: readonly Written[];
  /** Of the entries, one after the other. */
  readonly ids: readonly string[];
  /** The files that it began in, oldest first. */
  readonly older: readonly string[];
  /** How many entries were before the first of these. */
  readonly before: number;
}

/** Complains of what the format does not allow, and where the files and the row's tail disagree. */
export function readAsStranger(
  pathOf: (transcript: string) => string,
  tail: Tail,
  complain: (what: string) => void,
): Read {
  const text = readOr(pathOf(tail.id), () => complain("its file is missing"));
  if (!text.endsWith("\n")) complain("its file ends in the middle of a line");
  if (Buffer.byteLength(text) !== tail.bytes)
    complain(`its file has ${Buffer.byteLength(text)} bytes, its row says ${tail.bytes}`);
  const { lines: joined, older } = withOlder(pathOf, text, complain);
  const lines = joined.flatMap((line, at) => parsed(line, () => complain(`line ${at + 2} is not JSON`)));
  const before = (lines[0]?.seq ?? tail.firstSeq) - 1;
  // All are numbered, and each continues one that stands before it: the last one, but for rewinds.
  const seqs = new Map<string | null, number>([[null, 0]]);
  const entries = lines.map((line, at) => {
    const after = seqs.get(line.parentId);
    if (line.seq !== before + at + 1) complain(`line ${at + 2} has seq ${line.seq}`);
    if (after === undefined) complain(`line ${at + 2} continues ${line.parentId}, which is not before it`);
    if (seqs.has(line.id)) complain(`line ${at + 2} has the id of an earlier one`);
    seqs.set(line.id, before + at + 1);
    return writtenOf(line, after ?? 0);
  });
  const jump = entries.findLastIndex((entry, at) => entry.after !== (at === 0 ? 0 : before + at));
  const pairs = [
    ["last seq", before + lines.length, tail.lastSeq],
    ["last entry", lines.at(-1)?.id ?? null, tail.leafId],
    ["last jump", jump < 0 ? 0 : before + jump + 1, tail.jumpSeq],
    ["context", contextOf(jump < 0 ? lines : lines.slice(jump)), tail.contextTokens],
  ] as const;
  for (const [name, inFile, inRow] of pairs)
    if (inFile !== inRow) complain(`${name}: its file says ${inFile}, its row ${inRow}`);
  return { entries, ids: lines.map((line) => line.id), older, before };
}

/** What the last answer counts, if nothing was compacted after it: here nobody says to how much. */
function contextOf(lines: readonly Line[]): number {
  const last = lines.findLast(
    (line) => line.type === "compaction" || (line.type === "message" && line.message.role === "assistant"),
  );
  return last?.type === "message" && last.message.role === "assistant" ? last.message.usage.input : 0;
}

/** The lines of a file, behind those of the files before it that it has not itself. */
function withOlder(
  pathOf: (transcript: string) => string,
  text: string,
  complain: (what: string) => void,
): { readonly lines: readonly string[]; readonly older: readonly string[] } {
  const older: string[] = [];
  let [first = "", ...lines] = text.split("\n").slice(0, -1);
  for (;;) {
    const { previous, firstSeq = 1 } = (parsed(first, () => complain("a first line is not JSON"))[0] ??
      {}) as Partial<Header>;
    const id = previous?.replace(".jsonl", "");
    // Without such a file it began anew, and what was before is elsewhere; else lines are found to be missing.
    const there = id === undefined ? "" : readOr(pathOf(id), () => {});
    const [header = "", ...earlier] = there.split("\n").slice(0, -1);
    const cut = earlier.findIndex((line) => parsed(line, () => {})[0]?.seq === firstSeq);
    // The earlier one may have come back and gone on: then it has these numbers too.
    const isAnew = parsed(lines[0] ?? '{"parentId":null}', () => {})[0]?.parentId === null;
    if (id === undefined || cut < 0 || isAnew) return { lines, older };
    if (earlier.slice(cut).some((line, at) => line !== lines[at]))
      complain(`a file does not begin with what ${id} ends with`);
    older.unshift(id);
    lines = earlier.slice(0, cut).concat(lines);
    first = header;
  }
}

function readOr(path: string, missing: () => void): string {
  try {
    return path.endsWith(".zst")
      ? zstdDecompressSync(readFileSync(path)).toString("utf8") // of the first frame, and here there is only one
      : readFileSync(path, "utf8");
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
