// The tables of state.sqlite, and the ladder from every older shape to this one.
//
// A session's row is its record as JSON, beside the columns that a list can be asked for. An append rewrites the
// JSON alone; an index is touched only when what it is about changed, and `fresh`, by which lists are ordered,
// is in whole seconds: so a busy session moves in the lists once a second and not with every entry.
//
// The journal has a twin: one takes new lines while the other's lines are being synced into their files.

import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import { syncDirectory } from "./files.ts";
import type { Paths } from "./paths.ts";
import { isDamaged } from "./trouble.ts";

const VERSION_1 = `
  CREATE TABLE sessions (
    n INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: the journal and taken letters go by it
    key TEXT NOT NULL UNIQUE,
    transcript TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    parent TEXT,
    state TEXT NOT NULL,
    label TEXT,
    title TEXT NOT NULL,           -- label or first words, lower case
    fresh INTEGER NOT NULL,        -- second of the last change
    ready INTEGER NOT NULL,        -- 1: has work even without mail
    body TEXT NOT NULL             -- the Session record
  );
  CREATE INDEX sessions_fresh  ON sessions (fresh);
  CREATE INDEX sessions_agent  ON sessions (agent, fresh);
  CREATE INDEX sessions_kind   ON sessions (kind, fresh);
  CREATE INDEX sessions_state  ON sessions (state, fresh);
  CREATE INDEX sessions_parent ON sessions (parent, fresh) WHERE parent IS NOT NULL;
  CREATE INDEX sessions_label  ON sessions (label, fresh) WHERE label IS NOT NULL;
  CREATE INDEX sessions_title  ON sessions (title);
  CREATE INDEX sessions_ready  ON sessions (key) WHERE ready = 1;

  CREATE TABLE tombstones (key TEXT NOT NULL, transcript TEXT NOT NULL PRIMARY KEY, deleted_ms INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE mail (
    n INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: a page goes on after the last one's
    id TEXT NOT NULL UNIQUE,
    recipient TEXT NOT NULL,
    others TEXT NOT NULL,          -- where it goes if the recipient ends first
    capped INTEGER NOT NULL,
    posted_ms INTEGER NOT NULL,
    print TEXT,                    -- null: known only from a transcript, so whatever comes under its id is a repeat
    body TEXT,                     -- gone once taken; the id stays to know a repeat
    taken_ms INTEGER,              -- null: it waits
    taken_by INTEGER               -- number of the session
  );
  CREATE INDEX mail_waiting ON mail (recipient, n, capped, taken_ms) WHERE taken_ms IS NULL; -- all that counting needs

  CREATE TABLE timers (id TEXT NOT NULL PRIMARY KEY, key TEXT NOT NULL, due_ms INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX timers_due ON timers (due_ms);
  CREATE INDEX timers_key ON timers (key);

  CREATE TABLE outbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT, -- as mail's
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    posted_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    refused TEXT                   -- null: to be delivered
  );
  CREATE INDEX outbox_refused ON outbox (n) WHERE refused IS NOT NULL;
  CREATE INDEX outbox_key ON outbox (key);
  CREATE INDEX outbox_undelivered ON outbox (key) WHERE refused IS NULL;

  CREATE TABLE blobs (sha256 TEXT NOT NULL, transcript TEXT NOT NULL, PRIMARY KEY (sha256, transcript)) WITHOUT ROWID;
  CREATE INDEX blobs_transcript ON blobs (transcript);

  CREATE TABLE journal_a (n INTEGER PRIMARY KEY, session INTEGER NOT NULL, offset INTEGER NOT NULL, lines BLOB NOT NULL);
  CREATE TABLE journal_b (n INTEGER PRIMARY KEY, session INTEGER NOT NULL, offset INTEGER NOT NULL, lines BLOB NOT NULL);
  CREATE INDEX journal_a_session ON journal_a (session);
  CREATE INDEX journal_b_session ON journal_b (session);

  CREATE TABLE intents (n INTEGER PRIMARY KEY, body TEXT NOT NULL);

  CREATE TABLE feed (n INTEGER PRIMARY KEY, body TEXT NOT NULL);

  -- Which feed it is. A state that was made anew, or restored from a backup, counts its groups anew too.
  CREATE TABLE epoch (id TEXT NOT NULL);
  INSERT INTO epoch (id) VALUES (lower(hex(randomblob(8))));
`;

const VERSION_2 = `
  CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    agent TEXT NOT NULL,
    target TEXT,                   -- key of the session that it writes to; null: each run has one of its own
    version INTEGER NOT NULL,
    body TEXT NOT NULL             -- the Job record
  ) WITHOUT ROWID;
  CREATE INDEX jobs_agent  ON jobs (agent, id);
  CREATE INDEX jobs_target ON jobs (target) WHERE target IS NOT NULL;

  -- The files of a history before the one that it goes on in, oldest first: of a session, or all those of an archive.
  CREATE TABLE generations (
    n INTEGER PRIMARY KEY AUTOINCREMENT, -- the journal has lines of it under -n, so it is never given again
    transcript TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    session INTEGER,               -- number of the session that goes on in a newer file; null: it is an archive's
    archive TEXT,                  -- id of the archive; null: it is a session's
    bytes INTEGER NOT NULL,        -- committed length of the file
    cut INTEGER NOT NULL,          -- what stands from this byte on, the next file has too; bytes: nothing
    skip INTEGER NOT NULL          -- length of the next file's first line; 0: there is none, this is an archive's newest
  );
  CREATE INDEX generations_session ON generations (session) WHERE session IS NOT NULL;
  CREATE INDEX generations_archive ON generations (archive) WHERE archive IS NOT NULL;

  -- Sessions that are out of the way, and what sessions were before they began anew.
  CREATE TABLE archives (
    id TEXT NOT NULL PRIMARY KEY,  -- of its newest transcript
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    why TEXT NOT NULL,
    archived_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,        -- of its transcripts, unpacked
    packed_bytes INTEGER,          -- null: they are not packed
    n INTEGER,                     -- number of the session, by which its letters are known; null: that session lives on
    session TEXT NOT NULL          -- the Session record as it was, as JSON
  ) WITHOUT ROWID;
  CREATE INDEX archives_age      ON archives (archived_ms, id, bytes, packed_bytes); -- all that adding up needs
  CREATE INDEX archives_key      ON archives (key, archived_ms);
  CREATE INDEX archives_agent    ON archives (agent, archived_ms);
  CREATE INDEX archives_packed   ON archives (archived_ms) WHERE packed_bytes IS NOT NULL;
  CREATE INDEX archives_unpacked ON archives (archived_ms) WHERE packed_bytes IS NULL;
  CREATE INDEX archives_n        ON archives (n) WHERE n IS NOT NULL;

  -- What a letter or an answer names that waits is named in \`blobs\` too, under a name that no transcript has, for as long as it waits.
  CREATE TRIGGER mail_taken AFTER UPDATE OF taken_ms ON mail WHEN OLD.taken_ms IS NULL AND NEW.taken_ms IS NOT NULL
    BEGIN DELETE FROM blobs WHERE transcript = 'mail:' || OLD.id; END;
  CREATE TRIGGER mail_gone AFTER DELETE ON mail WHEN OLD.taken_ms IS NULL
    BEGIN DELETE FROM blobs WHERE transcript = 'mail:' || OLD.id; END;
  CREATE TRIGGER outbox_gone AFTER DELETE ON outbox
    BEGIN DELETE FROM blobs WHERE transcript = 'outbox:' || OLD.id; END;
  INSERT OR IGNORE INTO blobs (sha256, transcript)
    SELECT value, 'mail:' || mail.id FROM mail, json_tree(mail.body)
    WHERE taken_ms IS NULL AND json_tree.key = 'sha256' AND length(value) = 64;
  INSERT OR IGNORE INTO blobs (sha256, transcript)
    SELECT value, 'outbox:' || outbox.id FROM outbox, json_tree(outbox.body)
    WHERE json_tree.key = 'sha256' AND length(value) = 64;
`;

const VERSION_3 = `
  -- Whom an archived session was born below; null: nobody, or its record cannot be read.
  ALTER TABLE archives ADD COLUMN parent TEXT AS (CASE WHEN json_valid(session) THEN json_extract(session, '$.parent') END);
  CREATE INDEX archives_parent ON archives (parent, archived_ms) WHERE parent IS NOT NULL;

  -- The first seq of the file. Nobody wrote it down before: of a file that is not its archive's newest, 1 is what most have.
  ALTER TABLE generations ADD COLUMN first_seq INTEGER NOT NULL DEFAULT 1;
  UPDATE generations SET first_seq = found.first_seq
    FROM (
      SELECT id, CASE WHEN json_valid(session) THEN json_extract(session, '$.transcript.firstSeq') END AS first_seq FROM archives
    ) AS found
    WHERE generations.transcript = found.id AND found.first_seq IS NOT NULL;
`;

/** Step i lifts version i to version i + 1. A released step is never edited; a new shape is a new step. */
export const LADDER: readonly string[] = [VERSION_1, VERSION_2, VERSION_3];

/**
 * Brings the database to the top of the ladder. An older state is copied beside itself first; a newer one is
 * refused, because we do not know what it means.
 */
export function climb(database: DatabaseSync, ladder: readonly string[], path: string): void {
  const version = versionOf(database);
  if (version > ladder.length) throw tooNew(path, version, ladder.length);
  if (version === ladder.length) return;
  if (version > 0) copyInto(database, `${path}.version-${version}-${Date.parse(nowOf(database))}`);
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const step of ladder.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${ladder.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * For who looks at a state without changing it, which may be an older one: the tables that it has not got yet are there, and
 * empty, for as long as this connection is.
 */
export function readAsNow(database: DatabaseSync): void {
  database.exec("PRAGMA temp_store = MEMORY"); // as tune() says it: to say otherwise later would drop them
  const steps = LADDER.slice(versionOf(database)).map((step) => step.replaceAll(/--.*$/gm, ""));
  for (const [table] of steps.join("").matchAll(/CREATE TABLE [^;]*;/g))
    database.exec(table.replace("CREATE TABLE", "CREATE TEMP TABLE"));
}

/** Durable when it returns. SQLite does not sync a copy that it makes, but every transaction on it. */
function copyInto(database: DatabaseSync, path: string): void {
  database.prepare("VACUUM INTO ?").run(path);
  const copy = new DatabaseSync(path);
  copy.exec("CREATE TABLE synced (one)");
  copy.exec("DROP TABLE synced");
  copy.close();
  syncDirectory(dirname(path));
}

/** For the writer: made if there is none, brought up to date if it is older. */
export function openState(paths: Paths): DatabaseSync {
  createState(paths);
  syncWhatWasLeft(paths);
  const database = new DatabaseSync(paths.state);
  try {
    checkVersion(database, paths.state);
    tune(database, "write");
    climb(database, LADDER, paths.state);
    return database;
  } catch (error) {
    database.close();
    if (!isDamaged(error)) throw error;
    throw new Fault("damaged", asDamaged(paths.state, error), { cause: error });
  }
}

/**
 * A process that was killed may have left names, and commits in the log, that were never synced. From now on they are
 * seen as what happened, and others build on them: so first they are made to survive a power cut.
 */
function syncWhatWasLeft(paths: Paths): void {
  const log = `${paths.state}-wal`;
  if (existsSync(log)) syncDirectory(log); // a file is synced in the same way
  syncDirectory(paths.home);
}

/** Before anything else is done with a state that has its name. Refuses what we cannot know the meaning of. */
export function checkVersion(database: DatabaseSync, path: string): void {
  const version = versionOf(database);
  if (version > LADDER.length) throw tooNew(path, version, LADDER.length);
  // It has its tables from the moment it has its name (createState), so this is something else.
  if (version === 0) throw new Fault("damaged", asDamaged(path, "it is empty"));
}

function tooNew(path: string, version: number, known: number): Fault {
  return new Fault(
    "state_too_new",
    `${path} has state version ${version}; this program knows up to ${known}`,
  );
}

/** Words that say what is to be done. */
export function asDamaged(path: string, why: unknown): string {
  const words = why instanceof Error ? why.message : String(why);
  return `${path} is damaged: ${words}. The transcripts are elsewhere: \`rebuild\` makes it anew from them.`;
}

/**
 * Makes a database that is not there yet. It gets its name when it is whole: a power cut in between leaves
 * nothing that could be taken for a damaged one.
 */
function createState(paths: Paths): void {
  if (existsSync(paths.state)) return;
  // An empty one in place of what was there would look as if there had never been a session, and SQLite would take
  // the log of another database for its own.
  if (hasTranscripts(paths) || existsSync(`${paths.state}-wal`))
    throw new Fault("damaged", asDamaged(paths.state, "it is missing, and there are transcripts or its log"));
  const unfinished = `${paths.state}.unfinished`;
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${unfinished}${suffix}`, { force: true });
  const database = new DatabaseSync(unfinished);
  tune(database, "write");
  climb(database, LADDER, unfinished);
  database.close(); // folds the log back, synced
  renameSync(unfinished, paths.state);
}

function hasTranscripts(paths: Paths): boolean {
  if (!existsSync(paths.agents)) return false;
  const folders = readdirSync(paths.agents).flatMap((agent) =>
    ["sessions", "archive"].map((folder) => join(paths.agents, agent, folder)),
  );
  return folders.some(
    (folder) => existsSync(folder) && readdirSync(folder).some((name) => /\.jsonl(?:\.zst)?$/.test(name)),
  );
}

export function versionOf(database: DatabaseSync): number {
  const row = database.prepare("PRAGMA user_version").get();
  return Number(row?.["user_version"] ?? 0);
}

export function epochOf(database: DatabaseSync): string {
  return String(database.prepare("SELECT id FROM epoch").get()?.["id"]);
}

/** The name of a copy only has to be new; SQLite's own clock will do, and nothing depends on it. */
function nowOf(database: DatabaseSync): string {
  return String(database.prepare("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now").get()?.["now"]);
}

/** Every connection to state.sqlite is opened here, so that all agree on how safe it is. */
export function tune(database: DatabaseSync, how: "write" | "read"): void {
  database.exec("PRAGMA busy_timeout = 10000");
  database.exec("PRAGMA temp_store = MEMORY");
  database.exec("PRAGMA cache_size = -32768");
  if (how === "read") {
    database.exec("PRAGMA query_only = ON");
    return;
  }
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA fullfsync = ON"); // macOS: a plain fsync does not reach the medium
  database.exec("PRAGMA checkpoint_fullfsync = ON");
  database.exec("PRAGMA wal_autocheckpoint = 0"); // the writer does it, after callers were answered
}
