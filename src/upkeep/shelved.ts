// Packed transcripts, read for a state that is made anew: the archives that they are.

import { mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "../base/fault.ts";
import { describeKey, type SessionKey } from "../routing/key.ts";
import { unpackUpTo } from "../store/local/frames.ts";
import { packedPath, pathsIn, transcriptPath, type Paths } from "../store/local/paths.ts";
import { FileSource } from "../transcript/lines.ts";
import { foldTranscript, isBeginning, REASONS, type Folded } from "./folded.ts";
import { packedFiles } from "./fsck-archives.ts";
import { headsOf, livedFrom, previousOf, type Found, type History } from "./histories.ts";
import { UNPACKED_BYTES_MAX } from "./limits.ts";

/** An archive whose files are packed. */
export interface Shelved {
  readonly history: History;
  readonly packedBytes: number;
}

/**
 * `taken` are transcripts that are there unpacked, which are at least as new. What cannot be read is left as it is, and told. One at a
 * time is unpacked into a folder beside the others, because nothing says how much there is in it.
 */
export function readShelved(
  paths: Paths,
  taken: ReadonlySet<string>,
  lost: string[],
  keyOf: (folded: Folded) => SessionKey | null,
): Shelved[] {
  const beside = pathsIn(join(paths.home, "rebuild.unfinished"));
  rmSync(beside.home, { recursive: true, force: true }); // what a crash left
  try {
    return shelvedIn({ paths, beside }, taken, lost, keyOf);
  } finally {
    rmSync(beside.home, { recursive: true, force: true });
  }
}

function shelvedIn(
  at: { readonly paths: Paths; readonly beside: Paths },
  taken: ReadonlySet<string>,
  lost: string[],
  keyOf: (folded: Folded) => SessionKey | null,
): Shelved[] {
  const { paths, beside } = at;
  const found: Found[] = [];
  for (const { path, agent, id } of packedFiles(paths)) {
    mkdirSync(beside.home, { recursive: true, mode: 0o700 });
    const folded = taken.has(id) ? null : foldPacked(path, join(beside.home, "one.jsonl"), lost);
    const key = folded && keyOf(folded);
    if (taken.has(id)) lost.push(`${path}: the transcript is there unpacked too; this file is left as it is`);
    else if (folded && (key === null || describeKey(key).agent !== agent))
      lost.push(`${path}: its first line does not say whose it is; the file is left as it is`);
    else if (folded && key !== null) found.push({ ...folded, id, agent, key });
  }
  const files = new Map(found.map((one) => [one.id, one]));
  const shelved: Shelved[] = [];
  for (const ofKey of Map.groupBy(found, ({ key }) => key).values())
    for (const history of historiesOf(at, ofKey, files, lost))
      shelved.push({
        history,
        packedBytes: history.files.reduce(
          (sum, { agent, id }) => sum + statSync(packedPath(paths, agent, id)).size,
          0,
        ),
      });
  return shelved;
}

/** Null: it cannot be read. */
function foldPacked(path: string, beside: string, lost: string[]): Folded | null {
  try {
    unpackUpTo(path, beside, UNPACKED_BYTES_MAX);
    const source = new FileSource(beside);
    try {
      const folded = foldTranscript(source);
      for (const gap of folded.gaps)
        if (!isBeginning(folded, gap)) lost.push(`${path}: line ${gap.line} ${REASONS[gap.reason]}`);
      return folded;
    } finally {
      source.close();
      rmSync(beside);
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    lost.push(`${error.message}; the file is left as it is`);
    return null;
  }
}

/** All that a key had. Those over several files are put together from the files, so they are unpacked for that moment. */
function historiesOf(
  { paths, beside }: { readonly paths: Paths; readonly beside: Paths },
  ofKey: readonly Found[],
  files: ReadonlyMap<string, Found>,
  lost: string[],
): History[] {
  const unpacked: string[] = [];
  try {
    if (ofKey.some((file) => files.has(previousOf(file) ?? "")))
      for (const { agent, id } of ofKey) {
        const path = transcriptPath(beside, agent, id);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        unpacked.push(path);
        unpackUpTo(packedPath(paths, agent, id), path, UNPACKED_BYTES_MAX);
      }
    return headsOf(ofKey).flatMap((head) => {
      const { now, before } = livedFrom(beside, head, files, lost);
      return [now, ...before];
    });
  } finally {
    for (const path of unpacked) rmSync(path, { force: true });
  }
}
