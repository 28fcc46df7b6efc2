// What upkeep asks: archives, sessions from the least recently changed on, and how much there is.

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { PAGE_SCAN_ROWS_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { checkWithin, cursorTo, limitOf, placeFrom } from "../cursor.ts";
import { CHILDREN_COUNTED_MAX, isWanted } from "../archived.ts";
import type { Archive, ArchiveQuery, Holding, Page, PageOf } from "../store.ts";
import { ARCHIVE, archiveFrom, FIRST_SEQ } from "./archiving.ts";
import { ROW, unpackRow } from "./row.ts";

/** Sessions, or files, added up in one answer: some thousandths of a second, and others are answered in between. */
const SESSIONS_AT_ONCE = 2_000;
const FILES_AT_ONCE = 10_000;

/** In the order of how few archives they leave, as a rule. */
const EXACT = ["id", "key", "parent", "agent"] as const;

/** The most telling property picks the index; the others are checked on the rows it gives, and only so many are looked at. */
export function listArchives(database: DatabaseSync, query: ArchiveQuery): Page<Archive> {
  const limit = limitOf(query);
  const { where, values, order, placeOf } = query.idPrefix === undefined ? byAge(query) : byId(query);
  const parent = query.parent === undefined ? "NULL" : "parent"; // It is read out of the record, unless an index has it.
  const sql = `SELECT ${FILTERED}, ${parent} AS parent FROM archives ${where} ORDER BY ${order} LIMIT ${PAGE_SCAN_ROWS_MAX}`;
  // The record is read of those that are wanted alone: it is most of a row, and has to be parsed.
  const whole = database.prepare(`SELECT ${ARCHIVE}, ${FIRST_SEQ} FROM archives WHERE id = ?`);
  const rows: Archive[] = [];
  let looked = 0;
  let last: Filtered | null = null;
  const placeAfter = (): string | null => (last === null ? null : cursorTo(placeOf(last)));
  for (const found of database.prepare(sql).iterate(...values)) {
    if (rows.length === limit) return { rows, next: placeAfter() };
    looked += 1;
    last = filteredFrom(found);
    const row = isWanted(last, query) ? whole.get(last.id) : undefined;
    if (row !== undefined) rows.push(archiveFrom(row));
  }
  return { rows, next: looked === PAGE_SCAN_ROWS_MAX ? placeAfter() : null };
}

/** Which rows are looked at, in which order, and where one of them stands in it. */
interface Listing {
  readonly where: string; // with the word, or empty
  readonly values: readonly SQLInputValue[];
  readonly order: string;
  readonly placeOf: (row: Filtered) => readonly (string | number)[];
}

function byAge(query: ArchiveQuery): Listing {
  const place = placeFrom(query.cursor, [0, ""] as [number, string]);
  const first = EXACT.find((name) => query[name] !== undefined);
  const sure: string[] = [];
  const values: SQLInputValue[] = [];
  if (first !== undefined) {
    sure.push(`${first} = ?`);
    values.push(query[first] ?? null);
  }
  if (first === undefined && query.packed !== undefined)
    sure.push(`packed_bytes IS ${query.packed ? "NOT NULL" : "NULL"}`);
  if (place !== null) {
    sure.push(`(archived_ms, id) ${query.newest ? "<" : ">"} (?, ?)`);
    values.push(...place);
  }
  const where = sure.length > 0 ? `WHERE ${sure.join(" AND ")}` : "";
  const way = query.newest ? "DESC" : "ASC";
  const placeOf = ({ archivedAtMs, id }: Filtered): [number, string] => [archivedAtMs, id];
  return { where, values, order: `archived_ms ${way}, id ${way}`, placeOf };
}

/** The ids that begin so stand beside each other; a cursor is the narrower bound of one side. */
function byId({ idPrefix = "", cursor, newest }: ArchiveQuery): Listing {
  const place = placeFrom(cursor, ["", 0] as [string, number]);
  const [from, to] = [idPrefix, `${idPrefix}\u{10ffff}`];
  const placeOf = ({ archivedAtMs, id }: Filtered): [string, number] => [id, archivedAtMs];
  const order = newest ? "id DESC" : "id";
  if (place === null) return { where: "WHERE id >= ? AND id < ?", values: [from, to], order, placeOf };
  checkWithin(place, idPrefix);
  const where = newest ? "WHERE id >= ? AND id < ?" : "WHERE id > ? AND id < ?";
  return { where, values: newest ? [from, place[0]] : [place[0], to], order, placeOf };
}

/** What a list goes by. */
type Filtered = Pick<Archive, "id" | "key" | "agent" | "archivedAtMs" | "packedBytes"> &
  Pick<Session, "parent">;

const FILTERED = "id, key, agent, archived_ms, packed_bytes";

function filteredFrom(found: Record<string, unknown>): Filtered {
  const packed = found["packed_bytes"];
  return {
    id: String(found["id"]),
    key: String(found["key"]) as SessionKey,
    agent: String(found["agent"]),
    parent: found["parent"] === null ? null : (String(found["parent"]) as SessionKey),
    archivedAtMs: Number(found["archived_ms"]),
    packedBytes: packed === null ? null : Number(packed),
  };
}

/** Two questions, as in list.ts: first those that share the second of the place, by number, then those after it. */
export function listHoldings(database: DatabaseSync, page: PageOf): Page<Holding> {
  const limit = limitOf(page);
  const place = placeFrom(page.cursor, [0, 0] as [number, number]);
  const halves: readonly (readonly [where: string, values: readonly number[]])[] =
    place === null
      ? [["", []]]
      : [
          ["WHERE fresh = ? AND n > ?", place],
          ["WHERE fresh > ?", [place[0]]],
        ];
  const found: Record<string, unknown>[] = [];
  for (const [where, values] of halves) {
    const sql = `SELECT n, fresh, ${ROW}, ${BESIDE} FROM sessions AS s ${where} ORDER BY fresh, n LIMIT ?`;
    if (found.length < limit) found.push(...database.prepare(sql).all(...values, limit - found.length));
  }
  const last = found.at(-1);
  const next = found.length === limit && last ? cursorTo([Number(last["fresh"]), Number(last["n"])]) : null;
  return { rows: found.map(holdingFrom), next };
}

const BESIDE = `
  (SELECT coalesce(sum(bytes), 0) FROM generations WHERE session = s.n) AS older,
  EXISTS (SELECT 1 FROM mail WHERE recipient = s.key AND taken_ms IS NULL)
    OR EXISTS (SELECT 1 FROM outbox WHERE key = s.key AND refused IS NULL)
    OR EXISTS (SELECT 1 FROM timers WHERE key = s.key) AS waits,
  (SELECT count(*) FROM (SELECT 1 FROM sessions WHERE parent = s.key LIMIT ${CHILDREN_COUNTED_MAX})) AS children`;

function holdingFrom(found: Record<string, unknown>): Holding {
  const session = unpackRow(found);
  return {
    session,
    bytes: session.transcript.bytes + Number(found["older"]),
    waits: found["waits"] === 1,
    children: Number(found["children"]),
  };
}

/** A part of the sum over all sessions. */
export interface Added {
  readonly sessions: number;
  readonly bytes: number; // of the files they are written to
  /** To go on after; null: those were the last. */
  readonly last: number | null;
}

export function addSessions(database: DatabaseSync, after: number): Added {
  const sum = database
    .prepare(
      `SELECT count(*) AS sessions, coalesce(sum(json_extract(body, '$.tail.bytes')), 0) AS bytes, max(n) AS last
       FROM (SELECT n, body FROM sessions WHERE n > ? ORDER BY n LIMIT ${SESSIONS_AT_ONCE})`,
    )
    .get(after);
  const sessions = Number(sum?.["sessions"]);
  const last = sessions === SESSIONS_AT_ONCE ? Number(sum?.["last"]) : null;
  return { sessions, bytes: Number(sum?.["bytes"]), last };
}

/** A part of the sum over all files of a kind. */
export interface AddedFiles<Place> {
  readonly bytes: number;
  /** To go on after; null: those were the last. */
  readonly last: Place | null;
}

/** Older files of sessions. Those of archives are looked at too, and not counted. */
export function addOlder(database: DatabaseSync, after: number): AddedFiles<number> {
  const sum = database
    .prepare(
      `SELECT count(*) AS files, coalesce(sum(CASE WHEN session IS NULL THEN 0 ELSE bytes END), 0) AS bytes, max(n) AS last
       FROM (SELECT n, session, bytes FROM generations WHERE n > ? ORDER BY n LIMIT ${FILES_AT_ONCE})`,
    )
    .get(after);
  const last = Number(sum?.["files"]) === FILES_AT_ONCE ? Number(sum?.["last"]) : null;
  return { bytes: Number(sum?.["bytes"]), last };
}

/** Archives as they stand on the disk. */
export function addArchives(
  database: DatabaseSync,
  [ms, id]: readonly [number, string],
): AddedFiles<readonly [number, string]> {
  const some = database
    .prepare(
      `SELECT archived_ms, id, coalesce(packed_bytes, bytes) AS bytes FROM archives
       WHERE (archived_ms, id) > (?, ?) ORDER BY archived_ms, id LIMIT ${FILES_AT_ONCE}`,
    )
    .all(ms, id);
  const end = some.length === FILES_AT_ONCE ? some.at(-1) : undefined;
  return {
    bytes: some.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    last: end === undefined ? null : [Number(end["archived_ms"]), String(end["id"])],
  };
}
