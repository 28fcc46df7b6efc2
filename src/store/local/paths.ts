// Where everything is, below one home. No other file knows these names.
//
//   owner.sqlite                                who has the home; see owner.ts
//   state.sqlite                                rows, mail, timers, outbox, journal, feed
//   search.sqlite                               full text, derived, may be deleted
//   agents/<agent>/sessions/<transcript>.jsonl  the transcripts
//   agents/<agent>/archive/<transcript>.jsonl.zst  those of archives, when they are packed; docs/formats/archive.md
//   blobs/<first two>/<sha256>                  large results
//   foreign/<transcript>.<offset>.<n>           what another program wrote into a transcript
//
// No code opens a *.sqlite file with fs: closing such a descriptor drops the locks that SQLite holds for the
// whole process. test/tidy.test.ts watches over it.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../../base/fault.ts";

export interface Paths {
  readonly home: string;
  readonly owner: string;
  readonly state: string;
  readonly search: string;
  readonly agents: string;
  readonly blobs: string;
  readonly foreign: string;
}

export function pathsIn(given: string): Paths {
  // An empty name would be the current directory: what a variable that is not set makes of it.
  if (typeof given !== "string" || given === "")
    throw new Fault("bad_input", "a home is the path of a directory");
  const home = resolve(given);
  return {
    home,
    owner: join(home, "owner.sqlite"),
    state: join(home, "state.sqlite"),
    search: join(home, "search.sqlite"),
    agents: join(home, "agents"),
    blobs: join(home, "blobs"),
    foreign: join(home, "foreign"),
  };
}

/** Whether anything of a home is there: for commands that must not make one of whatever directory they were given. */
export function isHome({ owner, state, agents }: Paths): boolean {
  return [owner, state, agents].some((path) => existsSync(path));
}

/** `agent` is checked by routing/key.ts, `transcript` by isTranscriptId: neither can lead out of the home. */
export function transcriptPath(paths: Paths, agent: string, transcript: string): string {
  return join(paths.agents, agent, "sessions", `${transcript}.jsonl`);
}

/** Where a transcript of an archive is while it is packed. */
export function packedPath(paths: Paths, agent: string, transcript: string): string {
  return join(paths.agents, agent, "archive", `${transcript}.jsonl.zst`);
}

/** What is being written under another name until it is whole. */
export function unfinished(path: string): string {
  return `${path}.unfinished`;
}

export function isTranscriptId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(text);
}

export function blobPath(paths: Paths, sha256: string): string {
  return join(paths.blobs, sha256.slice(0, 2), sha256);
}

export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
