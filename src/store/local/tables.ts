// The statements by which the writer changes state.sqlite, each prepared once, with what it takes and gives.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import type { Outgoing } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Job } from "../../timers/job.ts";
import type { Timer } from "../../timers/timer.ts";
import { Generations, generationsOf } from "./generations.ts";
import { isTranscriptId } from "./paths.ts";
import { columnsOf, packRow, ROW, unpackRow } from "./row.ts";

/** A row and the number by which the journal refers to it. */
export interface Numbered {
  readonly n: number;
  readonly row: Session;
}

export interface Waiting {
  readonly id: string;
  readonly others: readonly SessionKey[];
}

/** What is remembered of a letter, waiting or taken. */
export interface Known {
  readonly recipient: SessionKey;
  readonly print: string | null;
  readonly takenBy: number | null; // null: it waits
}

export type Twin = "a" | "b";

export class Tables {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #updateBody: StatementSync;
  readonly #updateAll: StatementSync;
  readonly #mailById: StatementSync;
  readonly #mailForget: StatementSync;
  readonly #mailCount: StatementSync;
  readonly #mailWaiting: StatementSync;
  readonly #mailInsert: StatementSync;
  readonly #mailTake: StatementSync;
  readonly #mailForward: StatementSync;
  readonly #timer: StatementSync;
  readonly #timerSet: StatementSync;
  readonly #timerClear: StatementSync;
  readonly #send: StatementSync;
  readonly #settleDone: StatementSync;
  readonly #settleRefused: StatementSync;
  readonly #blob: StatementSync;
  readonly #journal: Readonly<Record<Twin, StatementSync>>;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#database = database;
    this.#find = prepare(`SELECT n, ${ROW} FROM sessions WHERE key = ?`);
    this.#insert = prepare(
      "INSERT INTO sessions (n, key, transcript, agent, kind, parent, state, label, title, fresh, ready, body) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
    );
    this.#updateBody = prepare("UPDATE sessions SET body = ? WHERE n = ?");
    this.#updateAll = prepare(
      "UPDATE sessions SET state = ?, label = ?, title = ?, fresh = ?, ready = ?, body = ? WHERE n = ?",
    );
    this.#mailById = prepare("SELECT recipient, print, taken_by FROM mail WHERE id = ?");
    this.#mailForget = prepare("DELETE FROM mail WHERE id = ?");
    this.#mailCount = prepare(
      "SELECT 1 FROM mail WHERE recipient = ? AND taken_ms IS NULL AND capped = 1 LIMIT 1 OFFSET ?",
    );
    this.#mailWaiting = prepare(
      "SELECT id, others FROM mail WHERE recipient = ? AND taken_ms IS NULL ORDER BY n",
    );
    this.#mailInsert = prepare(
      "INSERT INTO mail (id, recipient, others, capped, posted_ms, print, body) VALUES (?,?,?,?,?,?,?)",
    );
    this.#mailTake = prepare(
      "UPDATE mail SET body = NULL, taken_ms = ?, taken_by = ? WHERE id = ? AND recipient = ? AND taken_ms IS NULL",
    );
    this.#mailForward = prepare("UPDATE mail SET recipient = ?, others = ? WHERE id = ?");
    this.#timer = prepare("SELECT due_ms FROM timers WHERE id = ?");
    this.#timerSet = prepare("INSERT OR REPLACE INTO timers (id, key, due_ms, body) VALUES (?,?,?,?)");
    this.#timerClear = prepare("DELETE FROM timers WHERE id = ?");
    this.#send = prepare(
      "INSERT INTO outbox (id, key, posted_ms, body) VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
    );
    this.#settleDone = prepare("DELETE FROM outbox WHERE id = ?");
    this.#settleRefused = prepare("UPDATE outbox SET refused = ? WHERE id = ?");
    this.#blob = prepare("INSERT OR IGNORE INTO blobs (sha256, transcript) VALUES (?,?)");
    this.#journal = {
      a: prepare("INSERT INTO journal_a (session, offset, lines) VALUES (?,?,?)"),
      b: prepare("INSERT INTO journal_b (session, offset, lines) VALUES (?,?,?)"),
    };
  }

  find(key: SessionKey): Numbered | null {
    const found = this.#find.get(key);
    return found ? { n: Number(found["n"]), row: unpackRow(found) } : null;
  }

  /** `n` is the number that it had before; null: it gets one. */
  insert(row: Session, n: number | null = null): number {
    const { key, transcript, agent, kind, parent } = row;
    const body = packRow(row);
    return Number(
      this.#insert.run(n, key, transcript.id, agent, kind, parent, ...columnsOf(row), body).lastInsertRowid,
    );
  }

  /** `indexed` false: nothing that a list goes by has changed, so no index has to be touched. */
  update(n: number, row: Session, indexed: boolean): void {
    const body = packRow(row);
    if (indexed) this.#updateAll.run(...columnsOf(row), body, n);
    else this.#updateBody.run(body, n);
  }

  /** Refuses what is no id of a transcript, or is one that there is or was. */
  checkNew(transcript: string): void {
    if (!isTranscriptId(transcript))
      throw new Fault("bad_input", `not a transcript id: ${JSON.stringify(transcript)}`);
    const taken = ["sessions", "generations", "tombstones"]
      .map((table) => `SELECT 1 FROM ${table} WHERE transcript = ?1`)
      .join(" UNION ALL ");
    if (this.#database.prepare(taken).get(transcript) !== undefined)
      throw new Fault("exists", `transcript ${transcript} exists already`);
  }

  /** Whether a session of this number is out of the way, and may come back. */
  isArchived(n: number): boolean {
    return this.#database.prepare("SELECT 1 FROM archives WHERE n = ?").get(n) !== undefined;
  }

  /** Rows are inserted and erased at once, and a parent never changes: what the table says is so. */
  hasChild(key: SessionKey): boolean {
    return this.#database.prepare("SELECT 1 FROM sessions WHERE parent = ? LIMIT 1").get(key) !== undefined;
  }

  letter(id: string): Known | null {
    const found = this.#mailById.get(id);
    if (!found) return null;
    const { recipient, print, taken_by: takenBy } = found;
    return {
      recipient: String(recipient) as SessionKey,
      print: print === null ? null : String(print),
      takenBy: takenBy === null ? null : Number(takenBy),
    };
  }

  forgetLetter(id: string): void {
    this.#mailForget.run(id);
  }

  /** Whether that many capped letters wait, or more. */
  hasWaiting(key: SessionKey, count: number): boolean {
    return this.#mailCount.get(key, count - 1) !== undefined;
  }

  waiting(key: SessionKey): Waiting[] {
    return this.#mailWaiting.all(key).map((row) => ({
      id: String(row["id"]),
      others: JSON.parse(String(row["others"])) as SessionKey[],
    }));
  }

  post(mail: {
    id: string;
    to: SessionKey;
    others: readonly SessionKey[];
    capped: boolean;
    atMs: number;
    print: string;
    body: string;
  }): void {
    this.#mailInsert.run(
      mail.id,
      mail.to,
      JSON.stringify(mail.others),
      mail.capped ? 1 : 0,
      mail.atMs,
      mail.print,
      mail.body,
    );
    this.#nameAll(mail.body, `mail:${mail.id}`);
  }

  /** False: no such letter waits for this session. */
  take({ n, row }: Numbered, id: string, atMs: number): boolean {
    return Number(this.#mailTake.run(atMs, n, id, row.key).changes) === 1;
  }

  /** A letter that is known only because an entry says that it was taken. */
  rememberTaken(id: string, by: { readonly n: number; readonly key: SessionKey }, takenMs: number): void {
    this.#database
      .prepare(
        "INSERT OR IGNORE INTO mail (id, recipient, others, capped, posted_ms, taken_ms, taken_by) VALUES (?,?,'[]',0,?,?,?)",
      )
      .run(id, by.key, takenMs, takenMs, by.n);
  }

  forward(id: string, to: SessionKey, others: readonly SessionKey[]): void {
    this.#mailForward.run(to, JSON.stringify(others), id);
  }

  timerDue(id: string): number | null {
    const found = this.#timer.get(id);
    return found ? Number(found["due_ms"]) : null;
  }

  setTimer(timer: Timer): void {
    this.#timerSet.run(timer.id, timer.key, timer.dueAtMs, JSON.stringify(timer.body ?? null));
  }

  clearTimer(id: string): void {
    this.#timerClear.run(id);
  }

  /** Null: there is none. */
  jobVersion(id: string): number | null {
    const found = this.#database.prepare("SELECT version FROM jobs WHERE id = ?").get(id);
    return found ? Number(found["version"]) : null;
  }

  setJob(job: Job): void {
    this.#database
      .prepare("INSERT OR REPLACE INTO jobs (id, agent, target, version, body) VALUES (?,?,?,?,?)")
      .run(
        job.id,
        job.agent,
        job.target.kind === "session" ? job.target.key : null,
        job.version,
        JSON.stringify(job),
      );
  }

  clearJob(id: string): void {
    this.#database.prepare("DELETE FROM jobs WHERE id = ?").run(id);
  }

  /** False: this id is in the outbox already. */
  send(outgoing: Omit<Outgoing, "postedAtMs" | "refused">, atMs: number): boolean {
    const body = JSON.stringify({ route: outgoing.route, content: outgoing.content });
    if (Number(this.#send.run(outgoing.id, outgoing.key, atMs, body).changes) === 0) return false;
    this.#nameAll(body, `outbox:${outgoing.id}`);
    return true;
  }

  /** False: there is nothing of this id. */
  settle(id: string, refused: string | null): boolean {
    const run = refused === null ? this.#settleDone.run(id) : this.#settleRefused.run(refused, id);
    return Number(run.changes) === 1;
  }

  /** What waits names its blobs under a name that no transcript has; the tables forget it with what waits (schema.ts). */
  #nameAll(body: string, as: string): void {
    for (const sha256 of namedIn(body)) this.nameBlob(sha256, as);
  }

  nameBlob(sha256: string, transcript: string): void {
    this.#blob.run(sha256, transcript);
  }

  journal(twin: Twin, session: number, offset: number, lines: Uint8Array): void {
    this.#journal[twin].run(session, offset, lines);
  }

  /** Everything that belongs to a session, in one go. Returns its transcripts: that their files go is in the intents. */
  erase(numbered: Numbered, atMs: number): readonly string[] {
    const { n, row } = numbered;
    const older = generationsOf(this.#database, { session: n }).map(({ transcript }) => transcript);
    new Generations(this.#database).forget({ session: n });
    const remove: readonly (readonly [string, string | number])[] = [
      ["DELETE FROM mail WHERE recipient = ? AND taken_ms IS NULL", row.key],
      ["DELETE FROM timers WHERE key = ?", row.key],
      ["DELETE FROM outbox WHERE key = ?", row.key],
      ["DELETE FROM journal_a WHERE session = ?", n],
      ["DELETE FROM journal_b WHERE session = ?", n],
      ["DELETE FROM sessions WHERE n = ?", n],
    ];
    for (const [sql, value] of remove) this.#database.prepare(sql).run(value);
    const transcripts = [...older, row.transcript.id];
    for (const transcript of transcripts) this.bury({ key: row.key, agent: row.agent, transcript }, atMs);
    return transcripts;
  }

  /** Its file goes; that it was there is remembered. */
  bury(gone: { key: SessionKey; agent: string; transcript: string; archived?: true }, atMs: number): void {
    const { key, ...file } = gone;
    const { transcript } = file;
    this.#database
      .prepare("INSERT INTO tombstones (key, transcript, deleted_ms) VALUES (?,?,?)")
      .run(key, transcript, atMs);
    const intent: Intent = { do: "erase", ...file };
    this.#database.prepare("INSERT INTO intents (body) VALUES (?)").run(JSON.stringify(intent));
  }
}

/** Blobs that a letter or an answer names. Sixty-four hexadecimal digits may mean something else: then too much is kept. */
export function namedIn(body: string): ReadonlySet<string> {
  return new Set(Array.from(body.matchAll(/\b[0-9a-f]{64}\b/g), ([sha256]) => sha256));
}

/** Work outside the database that a commit decided. It is done after the commit, or by the next start. */
export type Intent =
  | {
      readonly do: "erase";
      readonly agent: string;
      readonly transcript: string;
      readonly archived?: true; //         then it may be packed
    }
  // Files of an archive are being packed or unpacked. In the end there are those that the state says there are.
  | { readonly do: "tidy"; readonly agent: string; readonly files: readonly PackedFile[] };

/** The two forms of a transcript of an archive. One of them counts. */
export type Form = "packed" | "plain";

/** A transcript of an archive. */
export interface PackedFile {
  readonly transcript: string;
  readonly bytes: number; //               unpacked
}
