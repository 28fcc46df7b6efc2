import { Fault } from "../../base/fault.ts";

type Part = string | number;

/** A place in an order, as callers carry it: they pass it on and do not look inside. */
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not a cursor either
  }
}
