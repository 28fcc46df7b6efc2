// The files of a home, put together to histories: which one a session is written to, which ones its history began in, and
// which ones are of conversations that ended when it began anew. The first line of each file names the one before it.

import type { SessionKey } from "../routing/key.ts";
import { transcriptPath, type Paths } from "../store/local/paths.ts";
import { joined, SplicedSource } from "../store/local/spliced.ts";
import { FileSource, linesForward } from "../transcript/lines.ts";
import { seekSeq } from "../transcript/read.ts";
import { foldTranscript, type Folded } from "./folded.ts";

/** One file, and what it says. */
export interface Found extends Folded {
  readonly id: string;
  readonly key: SessionKey;
  readonly agent: string;
}

/** An older file: up to where the next one has the same, and the length of that one's first line. */
export interface Older extends Found {
  readonly cut: number;
  readonly skip: number;
}

/** A history over all its files. What it says is of all of them; its id and length are the newest file's. */
export interface History extends Found {
  readonly older: readonly Older[]; // oldest first
  readonly files: readonly Found[]; // with the newest
  readonly endedAt: string | null; //  when the next conversation began; null: it goes on
}

/** The conversation that a key has now, and those that it had before. */
export interface Lived {
  readonly now: History;
  readonly before: readonly History[];
}

/**
 * Of the files of one key, those in which no history goes on: the one that was written to last comes first. Where a
 * conversation began anew both are there, as the earlier one may have come back since; else the later one is newer.
 */
export function headsOf(files: readonly Found[]): Found[] {
  const named = new Set(files.map((file) => previousOf(file)));
  const continued = new Set(files.filter(({ continues }) => continues).map((file) => previousOf(file)));
  const writtenAt = ({ lastTimestamp, header }: Found): string => lastTimestamp ?? header?.timestamp ?? "";
  return files
    .filter(({ id }) => !continued.has(id))
    .toSorted(
      (a, b) => compare(writtenAt(b), writtenAt(a)) || Number(named.has(a.id)) - Number(named.has(b.id)),
    );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function livedFrom(
  paths: Paths,
  head: Found,
  files: ReadonlyMap<string, Found>,
  lost: string[],
): Lived {
  const chains: { readonly files: Found[]; readonly endedAt: string | null }[] = [
    { files: [head], endedAt: null },
  ];
  const seen = new Set([head.id]);
  for (let at = head; ;) {
    const before = previousOf(at);
    const previous = before === null ? undefined : files.get(before);
    if (previous === undefined || seen.has(previous.id)) {
      const isMiddle = at.gaps.some((gap) => gap.bytes === 0 && gap.line === 2);
      if (before !== null && isMiddle)
        lost.push(`${at.key}: what was before ${at.id}: there is no ${before}.jsonl`);
      break;
    }
    seen.add(previous.id);
    // The earlier one may have come back and gone on since, and then has these numbers too.
    if (!at.continues || at.firstSeq > previous.lastSeq)
      chains.push({ files: [previous], endedAt: at.header?.timestamp ?? null });
    else chains.at(-1)?.files.unshift(previous);
    at = previous;
  }
  const [now, ...before] = chains.map((chain) => historyOf(paths, chain.files, chain.endedAt, lost));
  if (now === undefined) throw new Error("assertion failed: a head has a history");
  return { now, before };
}

/** The id of the file before it; null: it is the first. */
export function previousOf({ header }: Found): string | null {
  return header?.previous?.replace(/\.jsonl$/, "") ?? null;
}

function historyOf(paths: Paths, files: readonly Found[], endedAt: string | null, lost: string[]): History {
  const newest = files.at(-1);
  if (newest === undefined) throw new Error("assertion failed: a history has a file");
  if (files.length === 1) return { ...newest, older: [], files, endedAt };
  const older = files.slice(0, -1).map((file, at) => cutOff(paths, file, files[at + 1] ?? newest, lost));
  const open = (file: Found): SplicedSource =>
    new SplicedSource(transcriptPath(paths, file.agent, file.id), file.bytes, Buffer.alloc(0));
  const parts = older.map((file) => ({ cut: file.cut, skip: file.skip, open: () => open(file) }));
  const source = joined(parts, open(newest));
  try {
    const { id, key, agent, bytes, firstSeq } = newest;
    return { ...foldTranscript(source), id, key, agent, bytes, firstSeq, older, files, endedAt };
  } finally {
    source.close();
  }
}

/** The next file begins, behind its first line, with what this one ends with. */
function cutOff(paths: Paths, file: Found, next: Found, lost: string[]): Older {
  const [mine, theirs] = [file, next].map(
    ({ agent, id, bytes }) => new FileSource(transcriptPath(paths, agent, id), bytes),
  ) as [FileSource, FileSource];
  try {
    const cut = seekSeq(mine, next.firstSeq);
    const skip = linesForward(theirs, 0).next().value?.bytes ?? 0;
    const copied = mine.read(cut, file.bytes - cut);
    if (!theirs.read(skip, copied.length).equals(copied))
      lost.push(
        `${file.key}: the end of ${file.id} is not what ${next.id} begins with; that of ${next.id} counts`,
      );
    return { ...file, cut, skip };
  } finally {
    mine.close();
    theirs.close();
  }
}
