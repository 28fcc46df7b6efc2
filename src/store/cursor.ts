// A place in an order, as callers carry it: they pass it on and do not look inside. Whatever else comes is
// bad_input, never a page that begins somewhere by accident.

import { Fault } from "../base/fault.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import type { PageOf } from "./store.ts";

type Part = string | number;

export function cursorTo(parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Null: from the beginning. `like` shows how many parts there are and of which kind. */
export function placeFrom<Like extends readonly Part[]>(
  cursor: string | null | undefined,
  like: Like,
): Like | null {
  if (cursor === null || cursor === undefined) return null;
  const parts = parse(Buffer.from(cursor, "base64url").toString());
  const fits =
    Array.isArray(parts) &&
    parts.length === like.length &&
    parts.every((part, at) => typeof part === typeof like[at]);
  if (!fits) throw new Fault("bad_input", "not a cursor: pass on the `next` of the page before, unchanged");
  return parts as unknown as Like;
}

/** A cursor of a list by title, or by id, stands within the prefix that the list was asked for. */
export function checkWithin(place: readonly [at: Part, n: number] | null, prefix: string): void {
  if (place !== null && !String(place[0]).startsWith(prefix))
    throw new Fault("bad_input", "the cursor is of another list");
}

/** How many rows a page has at most, whatever was asked for. */
export function limitOf(page: PageOf, otherwise = 100): number {
  const asked = Math.trunc(page.limit ?? otherwise);
  return Number.isNaN(asked) ? otherwise : Math.max(1, Math.min(asked, PAGE_ROWS_MAX));
}

/** Where a follower of the feed stands: which feed, and the number of the last group of it. */
export function feedCursor(epoch: string, group: number): string {
  return `${epoch}.${group}`;
}

/** How many groups came between two cursors of one feed. */
export function groupsBetween(before: string, now: string): number {
  const [from = 0, to = 0] = [before, now].map((cursor) => Number(cursor.slice(cursor.lastIndexOf(".") + 1)));
  return to - from;
}

export function groupFrom(cursor: string, epoch: string): number {
  const group = cursor.startsWith(`${epoch}.`) ? cursor.slice(epoch.length + 1) : "";
  if (!/^\d{1,15}$/.test(group))
    throw new Fault("cursor_expired", "not a cursor of this feed: list once more, then follow from there");
  return Number(group);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not a cursor either
  }
}
