// Pages and hits of the memory engine: it looks at everything there is, and answers as an index would.

import { PAGE_BYTES_MAX } from "../../limits.ts";
import type { Session } from "../../sessions/session.ts";
import { textOf, type Entry } from "../../transcript/entry.ts";
import { isWanted } from "../archived.ts";
import { checkWithin, cursorTo, limitOf, placeFrom } from "../cursor.ts";
import { isMatch, shownTitle } from "../rules.ts";
import type { Archive, ArchiveQuery, Hits, Page, PageOf, SearchQuery, SessionQuery } from "../store.ts";
import type { Numbered } from "./tables.ts";

/** Where a row stands in its list: what the list goes by, and what decides where that is the same. */
type Place = readonly [string | number, string | number] | readonly [number];

/** The part of `rows` after the cursor. They need not be in order; no two may have the same place. */
export function pageOf<Kept, At extends Place>(
  rows: readonly Kept[],
  page: PageOf,
  order: { readonly placeOf: (row: Kept) => At; readonly like: At; readonly descending?: boolean },
): Page<Kept> {
  const limit = limitOf(page);
  const after = placeFrom(page.cursor, order.like);
  const sign = order.descending === true ? -1 : 1;
  const left = rows
    .map((row) => ({ row, place: order.placeOf(row) }))
    .filter(({ place }) => after === null || sign * compare(place, after) > 0)
    .sort((a, b) => sign * compare(a.place, b.place));
  const last = left.length > limit ? left[limit - 1] : undefined;
  return { rows: left.slice(0, limit).map(({ row }) => row), next: last ? cursorTo(last.place) : null };
}

/** Letters and answers, oldest first: their page is bounded in bytes too. */
export function boundedPage<Row extends { readonly content: unknown }>(
  rows: readonly Numbered<Row>[],
  page: PageOf,
): Page<Row> {
  const found = pageOf(rows, page, { placeOf: ({ n }) => [n] as const, like: [0] });
  let bytes = 0;
  const cut = found.rows.findIndex(
    ({ row }, at) => (bytes += JSON.stringify(row.content).length) > PAGE_BYTES_MAX && at > 0,
  );
  if (cut < 0) return { rows: found.rows.map(({ row }) => row), next: found.next };
  const kept = found.rows.slice(0, cut);
  return { rows: kept.map(({ row }) => row), next: cursorTo([kept.at(-1)?.n ?? 0]) };
}

/** By time a list goes in whole seconds, so that a busy session does not jump about in it; then by birth. */
export function listSessions(
  sessions: Iterable<Numbered<Session>>,
  query: SessionQuery,
): Page<Numbered<Session>> {
  const prefix = query.titlePrefix?.toLowerCase();
  const found = [...sessions].filter(({ row }) => isMatch(row, query));
  if (prefix === undefined) {
    const placeOf = ({ n, row }: Numbered<Session>): [number, number] => [
      Math.floor(row.updatedAtMs / 1_000),
      n,
    ];
    return pageOf(found, query, { placeOf, like: [0, 0], descending: true });
  }
  const placeOf = ({ n, row }: Numbered<Session>): [string, number] => [shownTitle(row).toLowerCase(), n];
  checkWithin(placeFrom(query.cursor, ["", 0] as [string, number]), prefix);
  return pageOf(found, query, { placeOf, like: ["", 0] });
}

export function listArchives(archives: Iterable<Archive>, query: ArchiveQuery): Page<Archive> {
  const some = [...archives].filter((each) => isWanted({ ...each, parent: each.session.parent }, query));
  const descending = query.newest === true;
  if (query.idPrefix === undefined) {
    const placeOf = ({ archivedAtMs, id }: Archive): [number, string] => [archivedAtMs, id];
    return pageOf(some, query, { placeOf, like: [0, ""], descending });
  }
  checkWithin(placeFrom(query.cursor, ["", 0] as [string, number]), query.idPrefix);
  const placeOf = ({ archivedAtMs, id }: Archive): [string, number] => [id, archivedAtMs];
  return pageOf(some, query, { placeOf, like: ["", 0], descending });
}

/** Every word must be there; the last may be the beginning of one. Newest first within a session. */
export function searchEntries(
  sessions: readonly { readonly row: Session; readonly lines: readonly Entry[] }[],
  query: SearchQuery,
): Hits {
  const whole = wordsOf(query.text);
  const begun = whole.pop();
  const hits: Hits["hits"][number][] = [];
  for (const { row, lines } of sessions) {
    if (begun === undefined) break;
    if (query.agent !== undefined && row.agent !== query.agent) continue;
    if (query.key !== undefined && row.key !== query.key) continue;
    if (query.keys !== undefined && !query.keys.includes(row.key)) continue;
    for (const entry of lines.toReversed()) {
      const words = new Set(wordsOf(textOf(entry)));
      const found =
        whole.every((word) => words.has(word)) && words.values().some((word) => word.startsWith(begun));
      if (!found) continue;
      const { key, transcript } = row;
      hits.push({ key, transcript: transcript.id, seq: entry.seq, snippet: textOf(entry).slice(0, 160) });
    }
  }
  return { hits: hits.slice(0, limitOf(query, 20)), behind: 0 };
}

/** Without accents and case, as people type. */
function wordsOf(text: string): string[] {
  const letters = text
    .normalize("NFD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return letters.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

function compare(a: Place, b: Place): number {
  for (const [at, part] of a.entries()) {
    const other = b[at];
    // Text by its code points, which is how its bytes compare.
    if (typeof part === "string") {
      const order = Buffer.compare(Buffer.from(part), Buffer.from(String(other)));
      if (order !== 0) return order;
    } else if (part !== other) return part - Number(other);
  }
  return 0;
}
