// Rebuild
//
// Makes state.sqlite anew from the transcripts, and says what they do not know. The old one is kept
// beside it. Jobs are taken over from it, if they can be read there: nobody else has them. What is packed becomes an archive again, what is not a session. Lines that only its journal has are written into their files first, if it can be read at all.
//
// A crash in the middle leaves the old state in place: the new one gets its name when it is whole.

import { existsSync, linkSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import { describeKey, parseKey, type SessionKey } from "../routing/key.ts";
import { syncDirectory, TranscriptFiles } from "../store/local/files.ts";
import { ALONE, finishIntents } from "../store/local/intents.ts";
import { takeHome } from "../store/local/owner.ts";
import { isTranscriptId, isHome, pathsIn, type Paths } from "../store/local/paths.ts";
import { journalledIn, replayJournal } from "../store/local/recover.ts";
import { checkVersion, readAsNow } from "../store/local/schema.ts";
import { FileSource } from "../transcript/lines.ts";
import type { Job } from "../timers/job.ts";
import { foldTranscript, isBeginning, REASONS, type Folded } from "./folded.ts";
import { headsOf, livedFrom, type Found, type Lived } from "./histories.ts";
import { writeRows } from "./remade.ts";
import { packedFiles } from "./fsck-archives.ts";
import { readJobs } from "./saved.ts";
import { readShelved } from "./shelved.ts";

export interface Rebuilt {
  readonly sessions: number;
  /** What could not be restored, each a sentence. */
  readonly lost: readonly string[];
  /** Where the old state is; null: there was none. */
  readonly keptAs: string | null;
}

export function rebuild(home: string, nowMs: number, progress: (done: number) => void): Rebuilt {
  const paths = pathsIn(home);
  if (!isHome(paths)) throw new Fault("not_found", `there is no home at ${home}`);
  const owner = takeHome(paths, nowMs);
  try {
    const { lost, jobs } = knownOnlyToOld(paths);
    const plain = readAll(paths, lost, progress);
    const lived = livedByKey(paths, plain, lost);
    const shelved = readShelved(paths, new Set(plain.map(({ id }) => id)), lost, keyOf);
    const fresh = `${paths.state}.rebuilt`;
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${fresh}${suffix}`, { force: true });
    writeRows(fresh, { lived, shelved, jobs }, lost, nowMs);
    const keptAs = swap(paths, fresh, nowMs);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${paths.search}${suffix}`, { force: true }); // derived: made anew at the next start
    return { sessions: lived.length, lost, keptAs };
  } finally {
    owner.release();
  }
}

interface Old {
  readonly lost: string[]; // what no transcript has
  readonly jobs: readonly Job[];
}

/** Brings journalled lines into their files, finishes deletions, lists what no transcript has, and takes the jobs along. */
function knownOnlyToOld(paths: Paths): Old {
  const said: string[] = [];
  let jobs: readonly Job[] | null = null; // null: they cannot be read
  if (!existsSync(paths.state)) {
    const isNew = transcriptFiles(paths).next().done === true && packedFiles(paths).next().done === true;
    return { lost: isNew ? [] : [`there is no old state: ${onlyStateKnows(jobs)}`], jobs: [] };
  }
  try {
    const old = new DatabaseSync(paths.state);
    try {
      checkVersion(old, paths.state);
      readAsNow(old);
      // First, and by itself: what else is damaged keeps nobody from them, nor they from it.
      const jobless = reasonWhyNot(() => (jobs = readJobs(old, said)));
      bringLines(old, paths, said);
      finishIntents(old, paths, ALONE); // else the deleted would be back
      const lost = [
        ...said,
        ...(jobless === null ? [] : [`jobs, if there were any: they cannot be read (${jobless})`]),
        ...listed(
          old,
          "SELECT id, recipient AS key FROM mail WHERE taken_ms IS NULL ORDER BY n",
          "a letter that waited",
        ),
        // Heartbeats are set again by the next start; at most an alert of today is told once more. Alarms come with their jobs.
        ...listed(
          old,
          "SELECT id, key FROM timers WHERE id NOT GLOB 'heartbeat:*' AND id NOT GLOB 'job:*' ORDER BY due_ms",
          "a timer",
        ),
        ...listed(old, "SELECT id, key FROM outbox ORDER BY n", "an answer that was to be delivered"),
      ];
      return { lost, jobs: jobs ?? [] };
    } finally {
      old.close(); // and with it the log is folded back and gone: nobody else has the home
    }
  } catch (error) {
    if (error instanceof Fault && error.code === "state_too_new") throw error;
    const why = error instanceof Error ? error.message : String(error);
    const lost = [...said, `the old state cannot be read (${why}): ${onlyStateKnows(jobs)}`];
    return { lost, jobs: jobs ?? [] };
  }
}

/** `jobs`: those that were read all the same; null: none. */
function onlyStateKnows(jobs: readonly Job[] | null): string {
  const others = jobs === null ? "jobs, " : "";
  return `waiting letters, timers, ${others}answers to deliver, and entries of the last seconds before it broke, if there were any`;
}

/** Null: it was done. */
function reasonWhyNot(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Only where a file lacks them: the transcripts are trusted here, and an old state may be older than they are. */
function bringLines(old: DatabaseSync, paths: Paths, said: string[]): void {
  const files = new TranscriptFiles(paths, {
    notify: ({ message }) => said.push(message),
    journalled: journalledIn(old),
  });
  try {
    const write = (path: string, offset: number, bytes: Uint8Array): void => {
      if (!has(path, offset, bytes)) files.write(path, offset, bytes);
    };
    replayJournal(old, { write, doubt: (path) => files.doubt(path) }, paths);
  } finally {
    const dirty = files.takeDirty();
    files.close();
    // Durable before the new state is: it has no journal to write them again from.
    for (const path of [...dirty.files, ...dirty.directories]) syncDirectory(path);
  }
}

function has(path: string, offset: number, bytes: Uint8Array): boolean {
  if (!existsSync(path)) return false;
  const source = new FileSource(path);
  try {
    return source.read(offset, bytes.length).equals(bytes);
  } finally {
    source.close();
  }
}

function listed(old: DatabaseSync, sql: string, what: string): string[] {
  return old
    .prepare(sql)
    .all()
    .map(({ id, key }) => `${what} for ${String(key)}: ${String(id)}`);
}

function readAll(paths: Paths, lost: string[], progress: (done: number) => void): Found[] {
  const found: Found[] = [];
  for (const path of transcriptFiles(paths)) {
    const source = new FileSource(path.path);
    const folded = foldTranscript(source);
    source.close();
    const key = keyOf(folded);
    if (key === null || folded.header === null)
      lost.push(`${path.path}: its first line does not say whose it is; the file is left as it is`);
    else if (describeKey(key).agent !== path.agent)
      lost.push(
        `${path.path}: it says that it is ${key}'s, which is another agent's; the file is left as it is`,
      );
    else {
      found.push({ ...folded, id: path.id, agent: path.agent, key });
      for (const gap of folded.gaps)
        if (!isBeginning(folded, gap)) lost.push(`${path.path}: line ${gap.line} ${REASONS[gap.reason]}`);
    }
    progress(found.length);
  }
  return found;
}

/** Every transcript on the disk, in a stable order. */
export function* transcriptFiles(
  paths: Paths,
): Generator<{ readonly path: string; readonly agent: string; readonly id: string }> {
  if (!existsSync(paths.agents)) return;
  for (const agent of readdirSync(paths.agents).toSorted()) {
    const folder = join(paths.agents, agent, "sessions");
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder).toSorted()) {
      const id = name.replace(/\.jsonl$/, "");
      if (name.endsWith(".jsonl") && isTranscriptId(id)) yield { path: join(folder, name), agent, id };
    }
  }
}

function keyOf(folded: Folded): SessionKey | null {
  try {
    return parseKey(folded.header?.key ?? "");
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** A key has one session. Of two histories the one written to last has it; the other is named. */
function livedByKey(paths: Paths, found: readonly Found[], lost: string[]): Lived[] {
  const lived: Lived[] = [];
  const files = new Map(found.map((one) => [one.id, one]));
  for (const [, ofKey] of Map.groupBy(found, ({ key }) => key)) {
    const [newest, ...others] = headsOf(ofKey);
    if (newest === undefined) continue; // Each names another: no history of ours is a circle.
    const one = livedFrom(paths, newest, files, lost);
    const known = new Set(one.before.map(({ id }) => id));
    lived.push(one);
    for (const other of others)
      if (!known.has(other.id))
        lost.push(
          `${other.key}: transcript ${other.id} is older than ${newest.id}; it is left on the disk, without a session`,
        );
  }
  return lived;
}

/** Under both names, so that at no moment there is no state; under the new one alone where a file has only one name. */
function keepOld(path: string, as: string): void {
  try {
    linkSync(path, as);
  } catch {
    renameSync(path, as); // If this fails too, it says why.
  }
}

function swap(paths: Paths, fresh: string, nowMs: number): string | null {
  const keptAs = `${paths.state}.before-rebuild-${nowMs}`;
  const had = existsSync(paths.state);
  if (had) keepOld(paths.state, keptAs);
  // A log is left only where there was no state, or none that could be read. It goes before the new state comes, also
  // on the disk: SQLite would take it for the new one's.
  for (const suffix of ["-wal", "-shm"])
    if (existsSync(`${paths.state}${suffix}`)) renameSync(`${paths.state}${suffix}`, `${keptAs}${suffix}`);
  syncDirectory(paths.home);
  renameSync(fresh, paths.state);
  syncDirectory(paths.home);
  return had ? keptAs : null;
}
