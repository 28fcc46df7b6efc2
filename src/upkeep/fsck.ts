// fsck
//
// Looks whether rows, archives, mail, jobs, journal, blobs and files agree, and says where they do not. It changes nothing, and
// it needs the home for itself: what it would see of a running daemon is never at rest.

import { existsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import type { Session } from "../sessions/session.ts";
import { hashOf } from "../store/local/blobs.ts";
import { takeHome } from "../store/local/owner.ts";
import { blobPath, isHome, pathsIn, transcriptPath, type Paths } from "../store/local/paths.ts";
import { COLUMNS, columnsOf, ROW, unpackRow } from "../store/local/row.ts";
import { asDamaged, checkVersion, readAsNow, tune } from "../store/local/schema.ts";
import { snapshot } from "../store/local/spliced.ts";
import { isDamaged } from "../store/local/trouble.ts";
import { foldTranscript, REASONS, type Folded } from "./folded.ts";
import { checkArchives } from "./fsck-archives.ts";
import { checkGenerations } from "./fsck-generations.ts";
import { checkJobs } from "./fsck-jobs.ts";
import { transcriptFiles } from "./rebuild.ts";

export interface Finding {
  /** Damage: something that was acknowledged is not as it was. Note: worth knowing, nothing is lost. */
  readonly grade: "damage" | "note";
  readonly where: string;
  readonly message: string;
}

export interface Checked {
  readonly sessions: number;
  readonly findings: readonly Finding[];
}

export async function fsck(home: string, nowMs: number, progress: (done: number) => void): Promise<Checked> {
  const paths = pathsIn(home);
  if (!isHome(paths)) throw new Fault("not_found", `there is no home at ${home}`);
  const owner = takeHome(paths, nowMs);
  try {
    if (!existsSync(paths.state)) return { sessions: 0, findings: withoutState(paths) };
    const database = new DatabaseSync(paths.state);
    const findings: Finding[] = [];
    try {
      checkVersion(database, paths.state);
      readAsNow(database);
      tune(database, "read");
      return { sessions: await check(database, paths, findings, progress), findings };
    } catch (error) {
      if (error instanceof Fault && error.code === "damaged")
        findings.push(damage(paths.state, error.message));
      else if (isDamaged(error)) findings.push(damage(paths.state, asDamaged(paths.state, error)));
      else throw error;
      return { sessions: 0, findings };
    } finally {
      database.close();
    }
  } finally {
    owner.release();
  }
}

/** Returns how many sessions it looked at. Throws what SQLite says when it cannot go on. */
async function check(
  database: DatabaseSync,
  paths: Paths,
  findings: Finding[],
  progress: (done: number) => void,
): Promise<number> {
  for (const { integrity_check: verdict } of database.prepare("PRAGMA integrity_check(20)").all()) {
    if (verdict !== "ok") findings.push(damage(paths.state, String(verdict)));
  }
  const known = new Set(
    database
      .prepare("SELECT transcript FROM generations")
      .all()
      .map(({ transcript }) => String(transcript)),
  );
  const named = new Map<string, string>();
  let sessions = 0;
  for (const found of database
    .prepare(`SELECT n, ${ROW}, ${COLUMNS.join(", ")} FROM sessions ORDER BY n`)
    .all()) {
    const row = unpackRow(found);
    known.add(row.transcript.id);
    findings.push(...checkColumns(paths.state, row, found), ...checkSession(database, paths, row, named));
    findings.push(...checkGenerations(database, paths, { n: Number(found["n"]), row }));
    sessions += 1;
    progress(sessions);
  }
  for (const file of transcriptFiles(paths)) {
    if (!known.has(file.id))
      findings.push(note(file.path, "no session has this transcript; `rebuild` would bring it back"));
  }
  findings.push(...checkArchives(database, paths, named));
  findings.push(...checkReferences(database, paths.state), ...checkJobs(database, paths.state));
  for (const [sha256, by] of named) findings.push(...(await checkBlob(paths, sha256, by)));
  return sessions;
}

/** Lists and claims go by the columns: one that says something else than the record hides the session from them. */
function checkColumns(where: string, row: Session, found: Record<string, unknown>): Finding[] {
  const right = columnsOf(row);
  return COLUMNS.flatMap((name, at) =>
    found[name] === right[at]
      ? []
      : [
          damage(
            where,
            `${row.key}: column ${name} is ${String(found[name])}, by the record ${String(right[at])}`,
          ),
        ],
  );
}

function checkSession(
  database: DatabaseSync,
  paths: Paths,
  row: Session,
  named: Map<string, string>,
): Finding[] {
  const where = transcriptPath(paths, row.agent, row.transcript.id);
  const taken = snapshot(database, paths, row.transcript.id);
  if (taken === null) return [damage(where, "its row is gone")];
  try {
    const folded = foldTranscript(taken.source, row.transcript.lastSeq);
    for (const sha256 of folded.blobs) named.set(sha256, where);
    return [
      ...checkLength(where, row, taken.bytes),
      ...checkGaps(where, folded, row),
      ...checkRow(where, row, folded),
      ...checkNames(database, where, row, folded),
    ];
  } finally {
    taken.source.close();
  }
}

/** The journal may be ahead of the file, never the file ahead of both. */
function checkLength(where: string, row: Session, size: number): Finding[] {
  const findings: Finding[] = [];
  if (size !== row.transcript.bytes)
    findings.push(
      damage(where, `journal and file end at byte ${size}, the row says ${row.transcript.bytes}`),
    );
  const real = existsSync(where) ? statSync(where).size : 0;
  if (real > row.transcript.bytes) {
    findings.push(
      note(
        where,
        `another program added ${real - row.transcript.bytes} bytes; the next entry moves them to foreign/`,
      ),
    );
  }
  return findings;
}

function checkGaps(where: string, folded: Folded, { transcript }: Session): Finding[] {
  const isAlone = folded.header === null || folded.header.id === transcript.id;
  const over = isAlone ? "" : ", counted over all files of its history,";
  return folded.gaps.map((gap) =>
    damage(where, `line ${gap.line}${over} ${REASONS[gap.reason]} (kept; shown as a gap)`),
  );
}

function checkRow(where: string, row: Session, folded: Folded): Finding[] {
  if (folded.gaps.length > 0) return []; // Where lines are missing the two cannot agree, and that has been said.
  const { header } = folded;
  if (header === null) return [damage(where, "its first line is not a header")];
  const pairs: readonly (readonly [name: string, inFile: unknown, inRow: unknown])[] = [
    ["key", header.key, row.key],
    ["last seq", folded.lastSeq, row.transcript.lastSeq],
    ["last entry", folded.leafId, row.transcript.leafId],
    ["start of the context", folded.contextSeq, row.transcript.contextSeq],
    ["tokens of the context", folded.contextTokens, row.transcript.contextTokens || folded.contextTokens], // 0 says nothing
    ["last jump", folded.jumpSeq, row.transcript.jumpSeq],
    ["copied entries", header.copied ?? 0, row.transcript.copied],
    ["title", folded.title, row.title],
  ];
  return pairs
    .filter(([, inFile, inRow]) => inFile !== inRow)
    .map(([name, inFile, inRow]) =>
      damage(where, `${name}: the file says ${JSON.stringify(inFile)}, the row ${JSON.stringify(inRow)}`),
    );
}

/** What is not written down as named here goes when another session that names it is deleted. */
function checkNames(database: DatabaseSync, where: string, row: Session, folded: Folded): Finding[] {
  const known = database
    .prepare(
      `SELECT sha256 FROM blobs WHERE transcript = ?1 OR transcript IN
         (SELECT transcript FROM generations WHERE session = (SELECT n FROM sessions WHERE transcript = ?1))`,
    )
    .all(row.transcript.id);
  const missing = folded.blobs.difference(new Set(known.map(({ sha256 }) => String(sha256))));
  return [...missing].map((sha256) => damage(where, `the state does not know that it names blob ${sha256}`));
}

const REFERENCES: readonly (readonly [what: string, sql: string])[] = [
  [
    "a waiting letter for",
    "SELECT recipient AS key, id FROM mail WHERE taken_ms IS NULL AND recipient NOT IN (SELECT key FROM sessions)",
  ],
  ["a timer of", "SELECT key, id FROM timers WHERE key NOT IN (SELECT key FROM sessions)"],
  [
    "an answer of",
    // What was refused for good stays while what it is of is archived.
    "SELECT key, id FROM outbox WHERE key NOT IN (SELECT key FROM sessions) AND (refused IS NULL OR key NOT IN (SELECT key FROM archives))",
  ],
  [
    "journalled lines of",
    "SELECT session AS key, n AS id FROM journal_a WHERE session NOT IN (SELECT n FROM sessions UNION ALL SELECT -n FROM generations)",
  ],
  [
    "journalled lines of",
    "SELECT session AS key, n AS id FROM journal_b WHERE session NOT IN (SELECT n FROM sessions UNION ALL SELECT -n FROM generations)",
  ],
  [
    "an earlier file of session number",
    "SELECT session AS key, transcript AS id FROM generations WHERE session IS NOT NULL AND session NOT IN (SELECT n FROM sessions)",
  ],
  [
    "an earlier file of archive",
    "SELECT archive AS key, transcript AS id FROM generations WHERE archive IS NOT NULL AND archive NOT IN (SELECT id FROM archives)",
  ],
  [
    "a child of",
    "SELECT parent AS key, key AS id FROM sessions WHERE parent IS NOT NULL AND parent NOT IN (SELECT key FROM sessions) AND parent NOT IN (SELECT key FROM tombstones) AND parent NOT IN (SELECT key FROM archives)",
  ],
];

function checkReferences(database: DatabaseSync, where: string): Finding[] {
  return REFERENCES.flatMap(([what, sql]) =>
    database
      .prepare(sql)
      .all()
      .map(({ key, id }) => damage(where, `${what} ${String(key)}, which does not exist: ${String(id)}`)),
  );
}

async function checkBlob(paths: Paths, sha256: string, by: string): Promise<Finding[]> {
  const path = blobPath(paths, sha256);
  if (!existsSync(path)) return [damage(path, `missing; ${by} names it`)];
  const handle = await open(path, "r");
  try {
    const real = await hashOf(await handle.readFile());
    return real === sha256 ? [] : [damage(path, `its bytes have the hash ${real}; ${by} names it`)];
  } finally {
    await handle.close();
  }
}

function withoutState(paths: Paths): Finding[] {
  const files = [...transcriptFiles(paths)];
  return files.length === 0
    ? []
    : [damage(paths.state, `missing, but there are ${files.length} transcripts; run rebuild`)];
}

function damage(where: string, message: string): Finding {
  return { grade: "damage", where, message };
}

function note(where: string, message: string): Finding {
  return { grade: "note", where, message };
}
