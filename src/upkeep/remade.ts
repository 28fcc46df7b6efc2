// The rows of a state that is made anew, from the histories that the files tell of.

import { DatabaseSync } from "node:sqlite";
import { MAIL_ID_KEPT_MS } from "../limits.ts";
import { describeKey, isOneShot } from "../routing/key.ts";
import type { RunState, Session } from "../sessions/session.ts";
import { putAway } from "../store/local/archiving.ts";
import { Generations } from "../store/local/generations.ts";
import { climb, LADDER, tune } from "../store/local/schema.ts";
import { Tables } from "../store/local/tables.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../store/opened.ts";
import { addTokens, type TokenUsage } from "../transcript/fold.ts";
import type { History, Lived } from "./histories.ts";
import type { Job } from "../timers/job.ts";
import { writeJobs } from "./saved.ts";
import type { Shelved } from "./shelved.ts";

export interface Rows {
  readonly lived: readonly Lived[];
  readonly shelved: readonly Shelved[];
  readonly jobs: readonly Job[];
}

export function writeRows(
  path: string,
  { lived: found, shelved, jobs }: Rows,
  lost: string[],
  nowMs: number,
): void {
  const database = new DatabaseSync(path);
  try {
    tune(database, "write");
    climb(database, LADDER, path);
    const written = { tables: new Tables(database), generations: new Generations(database), database, nowMs };
    // Whoever was spawned or forked names the file that its parent had then.
    const byId = new Map(
      found.flatMap(({ now, before }) =>
        [now, ...before].flatMap(({ files }) => files.map((file) => [file.id, now] as const)),
      ),
    );
    for (const { history } of shelved) for (const { id } of history.files) byId.set(id, history);
    database.exec("BEGIN IMMEDIATE");
    // First, as a session is put away from its own place, which the one of today has.
    for (const each of shelved) writeShelved(written, each, lineageOf(each.history, byId, lost));
    const lines = new Map(found.map((one) => [one, lineageOf(one.now, byId, lost)]));
    const trees = treesOf(lines.values());
    for (const [one, line] of lines) writeLived(written, one, { line, tree: trees.get(one.now) ?? null });
    writeJobs(written, jobs);
    // Followers of the old feed must start over; search reads everything again.
    database.exec("COMMIT");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

interface Written {
  readonly database: DatabaseSync;
  readonly tables: Tables;
  readonly generations: Generations;
  readonly nowMs: number;
}

function writeShelved(
  { database, tables, generations, nowMs }: Written,
  { history, packedBytes }: Shelved,
  line: readonly History[],
): void {
  const row = rowFrom(history, line, null);
  const n = tables.insert(row);
  for (const file of history.older) generations.insert({ ...file, transcript: file.id }, { session: n });
  putAway(database, { n, row }, "asked", nowMs);
  database.prepare("UPDATE archives SET packed_bytes = ? WHERE id = ?").run(packedBytes, history.id);
  writeNames({ tables, nowMs }, history, n);
}

function writeLived(
  { database, tables, generations, nowMs }: Written,
  { now, before }: Lived,
  { line, tree }: { readonly line: readonly History[]; readonly tree: TokenUsage | null },
): void {
  const n = tables.insert(rowFrom(now, line, tree));
  for (const file of now.older) generations.insert({ ...file, transcript: file.id }, { session: n });
  for (const history of before) {
    const { id, key, agent, bytes, firstSeq } = history;
    for (const file of history.older)
      generations.insert({ ...file, agent, transcript: file.id }, { archive: id });
    generations.insert({ transcript: id, agent, bytes, cut: bytes, skip: 0, firstSeq }, { archive: id });
    const all = history.files.reduce((sum, file) => sum + file.bytes, 0);
    database
      .prepare(
        "INSERT INTO archives (id, key, agent, why, archived_ms, bytes, session) VALUES (?,?,?,'reset',?,?,?)",
      )
      .run(
        id,
        key,
        agent,
        Date.parse(history.endedAt ?? "") || nowMs, // as if long ago, it would be erased at once
        all,
        JSON.stringify(rowFrom(history, line, null)),
      );
  }
  for (const history of [now, ...before]) writeNames({ tables, nowMs }, history, n);
}

/** The blobs that it names, and the letters that it took. */
function writeNames({ tables, nowMs }: Pick<Written, "tables" | "nowMs">, history: History, n: number): void {
  for (const file of history.files) for (const sha256 of file.blobs) tables.nameBlob(sha256, file.id);
  // So that a late repeat of a letter is known, also after this.
  for (const [id, takenMs] of history.letters)
    if (takenMs >= nowMs - MAIL_ID_KEPT_MS || !id.startsWith("ext:"))
      tables.rememberTaken(id, { n, key: history.key }, takenMs);
}

/** From itself up to its root. */
function lineageOf(one: History, byId: ReadonlyMap<string, History>, lost: string[]): readonly History[] {
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
function treesOf(lines: Iterable<readonly History[]>): Map<History, TokenUsage> {
  const trees = new Map<History, TokenUsage>();
  for (const [one, ...ancestors] of lines) {
    if (!one || Object.values(one.tokens).every((amount) => amount === 0)) continue;
    for (const ancestor of ancestors)
      trees.set(ancestor, addTokens(trees.get(ancestor) ?? ancestor.tokens, one.tokens));
  }
  return trees;
}

function rowFrom(one: History, lineage: readonly History[], tree: TokenUsage | null): Session {
  const { kind, agent } = describeKey(one.key);
  const bornAtMs = one.bornAtMs ?? (Date.parse(one.header?.timestamp ?? "") || 0);
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
      contextTokens: one.contextTokens,
      firstSeq: one.firstSeq,
      jumpSeq: one.jumpSeq,
      copied: one.header?.copied ?? 0,
    },
    signal: "none",
    settings: { ...DEFAULT_SETTINGS, ...one.settings },
    settingsVersion: 1,
    usage: { ...NO_USAGE, ...one.usage, ...one.tokens },
    tree: tree && { ...NO_USAGE, ...tree },
    title: one.title,
    updatedAtMs,
    interactedAtMs: one.interactedAtMs,
  };
}

function stateFrom(one: History, atMs: number): RunState {
  return isOneShot(one.key) && one.outcome !== null
    ? { kind: "ended", atMs, outcome: one.outcome, reason: null }
    : { kind: "idle" };
}
