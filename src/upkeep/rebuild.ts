// Rebuild
//
// Makes state.sqlite anew from the transcripts alone, and says what they do not know. The old one is kept
// beside it. Lines that only its journal has are written into their files first, if it can be read at all.
//
// A crash in the middle leaves the old state in place: the new one gets its name when it is whole.

import { existsSync, linkSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import { MAIL_ID_KEPT_MS } from "../limits.ts";
import { describeKey, isOneShot, parseKey, type SessionKey } from "../routing/key.ts";
import type { RunState, Session } from "../sessions/session.ts";
import { syncDirectory, TranscriptFiles } from "../store/local/files.ts";
import { takeHome } from "../store/local/owner.ts";
import { isTranscriptId, isHome, pathsIn, type Paths } from "../store/local/paths.ts";
import { finishIntents, journalledIn, replayJournal } from "../store/local/recover.ts";
import { checkVersion, climb, LADDER, tune } from "../store/local/schema.ts";
import { Tables } from "../store/local/tables.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../store/rules.ts";
import { addTokens, type TokenUsage } from "../transcript/fold.ts";
import { FileSource } from "../transcript/lines.ts";
import { foldTranscript, REASONS, type Folded } from "./folded.ts";

export interface Rebuilt {
  readonly sessions: number;
  /** What could not be restored, each a sentence. */
  readonly lost: readonly string[];
  /** Where the old state is; null: there was none. */
  readonly keptAs: string | null;
}

interface Found extends Folded {
  readonly id: string;
  readonly key: SessionKey;
}

export function rebuild(home: string, nowMs: number, progress: (done: number) => void): Rebuilt {
  const paths = pathsIn(home);
  if (!isHome(paths)) throw new Fault("not_found", `there is no home at ${home}`);
  const owner = takeHome(paths, nowMs);
  try {
    const lost = knownOnlyToOld(paths);
    const found = newestByKey(readAll(paths, lost, progress), lost);
    const fresh = `${paths.state}.rebuilt`;
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${fresh}${suffix}`, { force: true });
    writeRows(fresh, found, lost, nowMs);
    const keptAs = swap(paths, fresh, nowMs);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${paths.search}${suffix}`, { force: true }); // derived: made anew at the next start
    return { sessions: found.length, lost, keptAs };
  } finally {
    owner.release();
  }
}

/** Brings journalled lines into their files, finishes deletions, and lists what no transcript has. */
function knownOnlyToOld(paths: Paths): string[] {
  const said: string[] = [];
  if (!existsSync(paths.state)) {
    const isNew = transcriptFiles(paths).next().done === true;
    return isNew ? [] : ["there is no old state: " + ONLY_STATE_KNOWS];
  }
  try {
    const old = new DatabaseSync(paths.state);
    try {
      checkVersion(old, paths.state);
      bringLines(old, paths, said);
      finishIntents(old, paths, () => false); // else the deleted would be back
      return [
        ...said,
        ...listed(
          old,
          "SELECT id, recipient AS key FROM mail WHERE taken_ms IS NULL ORDER BY n",
          "a letter that waited",
        ),
        ...listed(old, "SELECT id, key FROM timers ORDER BY due_ms", "a timer"),
        ...listed(old, "SELECT id, key FROM outbox ORDER BY n", "an answer that was to be delivered"),
      ];
    } finally {
      old.close(); // and with it the log is folded back and gone: nobody else has the home
    }
  } catch (error) {
    if (error instanceof Fault && error.code === "state_too_new") throw error;
    const why = error instanceof Error ? error.message : String(error);
    return [...said, `the old state cannot be read (${why}): ${ONLY_STATE_KNOWS}`];
  }
}

const ONLY_STATE_KNOWS =
  "waiting letters, timers, answers to deliver, and entries of the last seconds before it broke, if there were any";

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
      found.push({ ...folded, id: path.id, key });
      for (const gap of folded.gaps) lost.push(`${path.path}: line ${gap.line} ${REASONS[gap.reason]}`);
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

/** A key has one session. Of two transcripts the one written to last has it; the other is named. */
function newestByKey(found: readonly Found[], lost: string[]): Found[] {
  const newest = new Map<SessionKey, Found>();
  for (const one of found) {
    const other = newest.get(one.key);
    const [keep, drop] =
      other && (other.lastTimestamp ?? "") > (one.lastTimestamp ?? "") ? [other, one] : [one, other];
    newest.set(one.key, keep);
    if (drop)
      lost.push(
        `${drop.key}: transcript ${drop.id} is older than ${keep.id}; it is left on the disk, without a session`,
      );
  }
  return [...newest.values()];
}

function writeRows(path: string, found: readonly Found[], lost: string[], nowMs: number): void {
  const database = new DatabaseSync(path);
  try {
    tune(database, "write");
    climb(database, LADDER, path);
    const tables = new Tables(database);
    const byId = new Map(found.map((one) => [one.id, one]));
    database.exec("BEGIN IMMEDIATE");
    const lines = new Map(found.map((one) => [one, lineageOf(one, byId, lost)]));
    const trees = treesOf(lines.values());
    for (const [one, line] of lines) {
      const n = tables.insert(rowFrom(one, line, trees.get(one) ?? null));
      for (const sha256 of one.blobs) tables.nameBlob(sha256, one.id);
      // So that a late repeat of a letter is known, also after this.
      for (const [id, takenMs] of one.letters)
        if (takenMs >= nowMs - MAIL_ID_KEPT_MS || !id.startsWith("ext:"))
          tables.rememberTaken(id, { n, key: one.key }, takenMs);
    }
    // Followers of the old feed must start over; search reads everything again.
    database.exec("COMMIT");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

/** From itself up to its root. */
function lineageOf(one: Found, byId: ReadonlyMap<string, Found>, lost: string[]): readonly Found[] {
  const line = [one];
  for (let at = one; at.header?.child === true;) {
    const parent = byId.get(at.header.parentSession?.replace(/\.jsonl$/, "") ?? "");
    if (!parent || line.includes(parent)) {
      lost.push(`${at.key}: who its parent was`);
      break;
    }
    line.push(parent);
    at = parent;
  }
  return line;
}

/** What sessions with descendants have used together with them. */
function treesOf(lines: Iterable<readonly Found[]>): Map<Found, TokenUsage> {
  const trees = new Map<Found, TokenUsage>();
  for (const [one, ...ancestors] of lines) {
    if (!one || Object.values(one.tokens).every((amount) => amount === 0)) continue;
    for (const ancestor of ancestors)
      trees.set(ancestor, addTokens(trees.get(ancestor) ?? ancestor.tokens, one.tokens));
  }
  return trees;
}

function rowFrom(one: Found, lineage: readonly Found[], tree: TokenUsage | null): Session {
  const { kind, agent } = describeKey(one.key);
  const bornAtMs = Date.parse(one.header?.timestamp ?? "") || 0;
  const updatedAtMs = Date.parse(one.lastTimestamp ?? "") || bornAtMs;
  return {
    key: one.key,
    agent,
    kind,
    parent: lineage[1]?.key ?? null,
    root: lineage.at(-1)?.key ?? one.key,
    depth: lineage.length - 1,
    bornAtMs,
    state: stateFrom(one, updatedAtMs),
    route: null,
    origin: null,
    transcript: {
      id: one.id,
      lastSeq: one.lastSeq,
      leafId: one.leafId,
      bytes: one.bytes,
      contextSeq: one.contextSeq,
      firstSeq: 1,
      jumpSeq: one.jumpSeq,
      copied: one.header?.copied ?? 0,
    },
    signal: "none",
    settings: { ...DEFAULT_SETTINGS, ...one.settings },
    settingsVersion: 1,
    usage: { ...NO_USAGE, ...one.tokens },
    tree: tree && { ...NO_USAGE, ...tree },
    title: one.title,
    updatedAtMs,
    interactedAtMs: 0,
  };
}

function stateFrom(one: Found, atMs: number): RunState {
  return isOneShot(one.key) && one.outcome !== null
    ? { kind: "ended", atMs, outcome: one.outcome, reason: null }
    : { kind: "idle" };
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
