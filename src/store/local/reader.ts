// Reader
//
// The thread that answers questions. It has a connection of its own that cannot write, and finishes every
// statement before it answers: a statement left open would keep the write-ahead log from being folded back.

import { DatabaseSync } from "node:sqlite";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultWords } from "../../base/fault.ts";
import { PAGE_BYTES_MAX } from "../../limits.ts";
import type { Mail, Outgoing } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Job } from "../../timers/job.ts";
import type { Timer } from "../../timers/timer.ts";
import { cursorTo, feedCursor, groupFrom, limitOf, placeFrom } from "../cursor.ts";
import type { Of } from "../rules.ts";
import { isArchived } from "../archived.ts";
import type {
  Archive,
  ArchiveQuery,
  Changed,
  Holding,
  JobQuery,
  OutboxQuery,
  Page,
  PageOf,
  Range,
  SessionQuery,
  TimerQuery,
} from "../store.ts";
import { unnamedOf } from "./collect.ts";
import { readEnd } from "./fileend.ts";
import { readPage, type HistoryPage, type Stop } from "./history.ts";
import {
  addArchives,
  addOlder,
  addSessions,
  listArchives,
  listHoldings,
  type Added,
  type AddedFiles,
} from "./holdings.ts";
import { listSessions } from "./list.ts";
import { pathsIn, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";
import { epochOf, tune } from "./schema.ts";
import { numberOf, snapshot } from "./spliced.ts";
import { Trails } from "./trails.ts";
import { isOfDisk, wordsOf } from "./trouble.ts";
import type { FileEnd } from "./wire.ts";

/** Groups of the feed in one answer. */
const FEED_GROUPS_PER_PAGE = 500;

export interface Questions {
  session: { readonly ask: { readonly key: SessionKey }; readonly answer: Session | null };
  sessions: { readonly ask: SessionQuery; readonly answer: Page<Session> };
  entries: {
    readonly ask: { readonly transcript: string; readonly range: Range; readonly stop: Stop | null };
    readonly answer: HistoryPage;
  };
  end: {
    readonly ask: { readonly key: SessionKey; readonly keep: Of<"rotate">["keep"] };
    readonly answer: FileEnd | null;
  };
  mail: { readonly ask: PageOf & { readonly key: SessionKey }; readonly answer: Page<Mail> };
  waiting: { readonly ask: { readonly key: SessionKey; readonly most: number }; readonly answer: number };
  outbox: { readonly ask: OutboxQuery; readonly answer: Page<Outgoing> };
  timers: { readonly ask: TimerQuery; readonly answer: Page<Timer> };
  jobs: { readonly ask: JobQuery; readonly answer: Page<Job> };
  archives: { readonly ask: ArchiveQuery; readonly answer: Page<Archive> };
  holdings: { readonly ask: PageOf; readonly answer: Page<Holding> };
  added: { readonly ask: { readonly after: number }; readonly answer: Added };
  older: { readonly ask: { readonly after: number }; readonly answer: AddedFiles<number> };
  shelved: {
    readonly ask: { readonly after: readonly [number, string] };
    readonly answer: AddedFiles<readonly [number, string]>;
  };
  unnamed: { readonly ask: { readonly names: readonly string[] }; readonly answer: readonly string[] };
  feed: {
    readonly ask: { readonly cursor: string | null };
    readonly answer: { readonly changes: readonly Changed[]; readonly cursor: string };
  };
}

export type ToReader = {
  readonly [What in keyof Questions]: {
    readonly id: number;
    readonly what: What;
    readonly ask: Questions[What]["ask"];
  };
}[keyof Questions];

export interface FromReader {
  readonly id: number;
  readonly answer: Questions[keyof Questions]["answer"] | FaultWords;
}

class Reader {
  readonly #paths: Paths;
  readonly #database: DatabaseSync;
  readonly #epoch: string;
  readonly #trails = new Trails();

  constructor(home: string) {
    this.#paths = pathsIn(home);
    this.#database = new DatabaseSync(this.#paths.state);
    tune(this.#database, "read");
    this.#epoch = epochOf(this.#database);
  }

  answer(message: ToReader): FromReader["answer"] {
    switch (message.what) {
      case "session":
        return this.#session(message.ask.key);
      case "sessions":
        return listSessions(this.#database, message.ask);
      case "entries":
        return this.#entries(message.ask);
      case "end":
        return readEnd(this.#database, this.#paths, message.ask.key, message.ask.keep);
      case "mail":
        return this.#mail(message.ask);
      case "waiting":
        return this.#waiting(message.ask);
      case "outbox":
        return this.#outbox(message.ask);
      case "timers":
        return this.#timers(message.ask);
      case "jobs":
        return this.#jobs(message.ask);
      case "archives":
        return listArchives(this.#database, message.ask);
      case "holdings":
        return listHoldings(this.#database, message.ask);
      case "added":
        return addSessions(this.#database, message.ask.after);
      case "older":
        return addOlder(this.#database, message.ask.after);
      case "shelved":
        return addArchives(this.#database, message.ask.after);
      case "unnamed":
        return unnamedOf(this.#database, message.ask.names);
      case "feed":
        return this.#feed(message.ask.cursor);
    }
  }

  #session(key: SessionKey): Session | null {
    const found = this.#database.prepare(`SELECT ${ROW} FROM sessions WHERE key = ?`).get(key);
    return found ? unpackRow(found) : null;
  }

  #entries(ask: Questions["entries"]["ask"]): HistoryPage {
    const taken = snapshot(this.#database, this.#paths, ask.transcript);
    if (taken === null) throw this.#gone(ask.transcript);
    try {
      const page = readPage(taken, ask.range, { stop: ask.stop, trails: this.#trails });
      // An older file may have gone with its session while it was read: then what looks missing was deleted.
      if (taken.source.isMissing && numberOf(this.#database, ask.transcript) === null)
        throw this.#gone(ask.transcript);
      return page;
    } finally {
      taken.source.close();
    }
  }

  /** There is none; or it is out of the way, and whoever asks is told how to get it back. */
  #gone(transcript: string): Fault {
    const found = this.#database
      .prepare("SELECT id, key FROM archives JOIN generations ON archive = id WHERE transcript = ?")
      .get(transcript);
    if (!found) return new Fault("not_found", `there is no transcript ${transcript}`);
    return isArchived(transcript, { id: String(found["id"]), key: String(found["key"]) as SessionKey });
  }

  #mail(ask: Questions["mail"]["ask"]): Page<Mail> {
    const sql =
      "SELECT n, id, posted_ms, body FROM mail WHERE recipient = ? AND taken_ms IS NULL AND n > ? ORDER BY n LIMIT ?";
    return this.#page(sql, [ask.key], ask, (row) => ({
      ...(JSON.parse(String(row["body"])) as Omit<Mail, "id" | "to" | "postedAtMs">),
      id: String(row["id"]),
      to: ask.key,
      postedAtMs: Number(row["posted_ms"]),
    }));
  }

  #waiting({ key, most }: Questions["waiting"]["ask"]): number {
    const waiting = "SELECT 1 FROM mail WHERE recipient = ? AND taken_ms IS NULL LIMIT ?";
    return Number(this.#database.prepare(`SELECT count(*) AS n FROM (${waiting})`).get(key, most)?.["n"]);
  }

  #outbox(ask: Questions["outbox"]["ask"]): Page<Outgoing> {
    const which = `${ask.refused ? "refused IS NOT NULL" : "refused IS NULL"}${ask.key === undefined ? "" : " AND key = ?"}`;
    const sql = `SELECT n, id, key, posted_ms, body, refused FROM outbox WHERE ${which} AND n > ? ORDER BY n LIMIT ?`;
    return this.#page(sql, ask.key === undefined ? [] : [ask.key], ask, (row) => ({
      ...(JSON.parse(String(row["body"])) as Pick<Outgoing, "route" | "content">),
      id: String(row["id"]),
      key: String(row["key"]) as SessionKey,
      postedAtMs: Number(row["posted_ms"]),
      refused: row["refused"] === null ? null : String(row["refused"]),
    }));
  }

  #timers(ask: TimerQuery): Page<Timer> {
    const limit = limitOf(ask);
    const [due, id] = placeFrom(ask.cursor, [0, ""] as [number, string]) ?? [-Infinity, ""];
    const which = `${ask.id === undefined ? "" : "id = ? AND "}due_ms <= ? AND (due_ms, id) > (?, ?)`;
    const found = this.#database
      .prepare(`SELECT id, key, due_ms, body FROM timers WHERE ${which} ORDER BY due_ms, id LIMIT ?`)
      .all(...(ask.id === undefined ? [] : [ask.id]), ask.dueByMs, due, id, limit);
    const rows = found.map((row) => ({
      id: String(row["id"]),
      key: String(row["key"]) as SessionKey,
      dueAtMs: Number(row["due_ms"]),
      body: JSON.parse(String(row["body"])) as unknown,
    }));
    const last = rows.at(-1);
    return { rows, next: rows.length === limit && last ? cursorTo([last.dueAtMs, last.id]) : null };
  }

  #jobs(ask: JobQuery): Page<Job> {
    const limit = limitOf(ask);
    const [after] = placeFrom(ask.cursor, [""] as [string]) ?? [""];
    const which = `${ask.agent === undefined ? "" : "agent = ? AND "}${ask.id === undefined ? "" : "id = ? AND "}`;
    const values = [ask.agent, ask.id].filter((value) => value !== undefined);
    const found = this.#database
      .prepare(`SELECT id, body FROM jobs WHERE ${which}id > ? ORDER BY id LIMIT ?`)
      .all(...values, after, limit);
    const rows = found.map((row) => JSON.parse(String(row["body"])) as Job);
    const last = rows.at(-1);
    return { rows, next: rows.length === limit && last ? cursorTo([last.id]) : null };
  }

  #feed(cursor: string | null): Questions["feed"]["answer"] {
    const ends = this.#database.prepare("SELECT min(n) AS low, max(n) AS high FROM feed").get();
    const high = Number(ends?.["high"] ?? 0);
    if (cursor === null) return { changes: [], cursor: feedCursor(this.#epoch, high) };
    const seen = groupFrom(cursor, this.#epoch);
    const low = Number(ends?.["low"] ?? 1);
    if (seen < low - 1 || seen > high)
      throw new Fault("cursor_expired", "the feed does not reach back that far");
    const groups = this.#database
      .prepare("SELECT n, body FROM feed WHERE n > ? ORDER BY n LIMIT ?")
      .all(seen, FEED_GROUPS_PER_PAGE);
    const changes = groups.flatMap((group) => JSON.parse(String(group["body"])) as Changed[]);
    return { changes, cursor: feedCursor(this.#epoch, Number(groups.at(-1)?.["n"] ?? seen)) };
  }

  #page<Row>(
    sql: string,
    values: readonly string[],
    page: PageOf,
    make: (row: Record<string, unknown>) => Row,
  ): Page<Row> {
    const limit = limitOf(page);
    const [after] = placeFrom(page.cursor, [0] as [number]) ?? [0];
    const found: Record<string, unknown>[] = [];
    let bytes = 0;
    let isCut = false;
    for (const row of this.#database.prepare(sql).iterate(...values, after, limit)) {
      bytes += String(row["body"]).length;
      isCut = bytes > PAGE_BYTES_MAX && found.length > 0;
      if (isCut) break;
      found.push(row);
    }
    const next = isCut || found.length === limit ? cursorTo([Number(found.at(-1)?.["n"])]) : null;
    return { rows: found.map(make), next };
  }
}

/** A refusal, or a disk that cannot be read; anything else is our bug: the thread dies, and the process with it. */
function refusal(error: unknown): FaultWords {
  if (!(error instanceof Fault) && !isOfDisk(error)) throw error;
  return wordsOf(error);
}

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
let reader: Reader | null = null;
port.on("message", (message: ToReader) => {
  let answer: FromReader["answer"];
  try {
    reader ??= new Reader(home); // by now the writer has made the database
    answer = reader.answer(message);
  } catch (error) {
    answer = refusal(error);
  }
  port.postMessage({ id: message.id, answer } satisfies FromReader);
});
