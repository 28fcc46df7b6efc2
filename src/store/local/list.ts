// A page of sessions. The most telling property picks the index; the others are checked on the rows it gives, and
// no more than PAGE_SCAN_ROWS_MAX rows are looked at, so a rare combination comes in short pages instead of late.

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { PAGE_SCAN_ROWS_MAX } from "../../limits.ts";
import type { Session } from "../../sessions/session.ts";
import { checkWithin, cursorTo, limitOf, placeFrom } from "../cursor.ts";
import type { Page, SessionQuery } from "../store.ts";
import { isMatch } from "../rules.ts";
import { ROW, unpackRow } from "./row.ts";

/** In the order of how few sessions they leave, as a rule. */
const EXACT = ["parent", "label", "state", "kind", "agent"] as const;

/** No index knows them. */
const CHECKED = ["updatedSinceMs", "text"] as const;

/** What the list is ordered by, and the row's number where that is the same. */
type Place = readonly [at: string | number, n: number];

export function listSessions(database: DatabaseSync, query: SessionQuery): Page<Session> {
  const limit = limitOf(query);
  if (query.titlePrefix === undefined)
    return byTime(database, query, { limit, place: placeFrom(query.cursor, [0, 0]) });
  return byTitle(database, query, { limit, place: placeFrom(query.cursor, ["", 0]) });
}

interface Where {
  readonly limit: number;
  readonly place: Place | null;
}

function byTime(database: DatabaseSync, query: SessionQuery, { limit, place }: Where): Page<Session> {
  const given = EXACT.filter((name) => query[name] !== undefined);
  const [first, ...others] = given;
  const sure: string[] = [];
  const values: SQLInputValue[] = [];
  if (first !== undefined) {
    sure.push(`${first} = ?`);
    values.push(query[first] ?? null);
  }
  if (query.updatedSinceMs !== undefined) {
    sure.push("fresh >= ?");
    values.push(Math.floor(query.updatedSinceMs / 1_000));
  }
  const isScanned = others.length > 0 || CHECKED.some((name) => query[name] !== undefined);
  const scan = isScanned ? PAGE_SCAN_ROWS_MAX : limit + 1;
  const found = inOrder(database, { sure, values, by: "fresh", down: true, place, scan });
  return pageFrom(found, { limit, scan }, (row) => isMatch(row, query));
}

function byTitle(database: DatabaseSync, query: SessionQuery, { limit, place }: Where): Page<Session> {
  const prefix = (query.titlePrefix ?? "").toLowerCase();
  // A cursor of this list stands within the prefix, and is then the narrower bound: with both, SQLite would take
  // the prefix and walk from there.
  checkWithin(place, prefix);
  const sure = place === null ? ["title >= ?", "title < ?"] : ["title < ?"];
  const values = place === null ? [prefix, `${prefix}\u{10ffff}`] : [`${prefix}\u{10ffff}`];
  const isScanned = [...EXACT, ...CHECKED].some((name) => query[name] !== undefined);
  const scan = isScanned ? PAGE_SCAN_ROWS_MAX : limit + 1;
  const found = inOrder(database, { sure, values, by: "title", down: false, place, scan });
  return pageFrom(found, { limit, scan }, (row) => isMatch(row, query));
}

interface Walk {
  readonly sure: readonly string[];
  readonly values: readonly SQLInputValue[];
  readonly by: "fresh" | "title";
  readonly down: boolean;
  readonly place: Place | null;
  readonly scan: number;
}

/**
 * The rows behind a place, at most `scan`. Two questions: first those that share the place's value, by number, then
 * those beyond it. Asked for in one, SQLite would walk through everything that shares the value (S6).
 */
function* inOrder(database: DatabaseSync, walk: Walk): Generator<Record<string, unknown>> {
  const { by, place } = walk;
  const [beyond, way] = walk.down ? ["<", "DESC"] : [">", "ASC"];
  const halves: readonly (readonly [more: readonly string[], values: readonly SQLInputValue[]])[] =
    place === null
      ? [[[], []]]
      : [
          [[`${by} = ?`, `n ${beyond} ?`], place],
          [[`${by} ${beyond} ?`], [place[0]]],
        ];
  let left = walk.scan;
  for (const [more, values] of halves) {
    const conditions = [...walk.sure, ...more];
    const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
    const sql = `SELECT n, ${by} AS at, ${ROW} FROM sessions ${where} ORDER BY ${by} ${way}, n ${way} LIMIT ${left}`;
    for (const row of database.prepare(sql).iterate(...walk.values, ...values)) {
      left -= 1;
      yield row;
    }
    if (left === 0) return;
  }
}

function pageFrom(
  found: Iterable<Record<string, unknown>>,
  bounds: { readonly limit: number; readonly scan: number },
  wanted: (row: Session) => boolean,
): Page<Session> {
  const rows: Session[] = [];
  let looked = 0;
  let last: Place | null = null;
  for (const { n, at, ...columns } of found) {
    if (rows.length === bounds.limit) return { rows, next: last === null ? null : cursorTo(last) };
    looked += 1;
    last = [at as string | number, Number(n)];
    const row = unpackRow(columns);
    if (wanted(row)) rows.push(row);
  }
  return { rows, next: looked === bounds.scan && last !== null ? cursorTo(last) : null };
}
