// The transcript of a session as it is, page by page: what exports are made of. Nothing of it is cut, but the secrets are
// taken out: a file that is handed on must not hold one of the usual shapes.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { redacted } from "../base/redact.ts";
import { ENTRY_LOOKBACK_ENTRIES } from "../limits.ts";
import { HISTORY_BYTES_MAX } from "./limits.ts";
import type { Session } from "../sessions/session.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { keyFor, reached } from "./reach.ts";
import { limit } from "./schemas.ts";
import { sessionKey } from "./setting-shapes.ts";
import { iso } from "./views.ts";

export const entriesInput = z.strictObject({
  sessionKey: sessionKey.optional().describe("The key of a session; without it, main."),
  from: z
    .int()
    .min(1)
    .optional()
    .describe("Entries from this seq on: the `next` of the page before; without it, from the first."),
  last: z
    .int()
    .min(1)
    .max(ENTRY_LOOKBACK_ENTRIES)
    .optional()
    .describe("Instead of `from`: from so many entries before the end of the active path on."),
  limit,
});

export const entriesPage = z.strictObject({
  sessionKey,
  agent: z.string(),
  parent: z.string().nullable().describe("Who spawned it; null: nobody."),
  transcript: z.string().describe("The id of its transcript."),
  bornAt: z.string(),
  lastSeq: z.int().describe("The seq of its last entry, when this page was made; 0: there is none."),
  copied: z.int().describe("How many of its first entries a fork copied from another session."),
  entries: z
    .array(z.looseObject({ type: z.string() }))
    .describe(
      "As they are in the transcript, along the active path, oldest first. What cannot be read comes as a gap, in its place.",
    ),
  next: z.int().nullable().describe("Pass it as `from` for what follows; null: that was the last."),
});

/**
 * Bounded in entries and in bytes; one that is larger than a page comes alone. A gap has no number, so those that follow an
 * entry are on its page: a page never begins with what the one before has told.
 */
export async function entries(
  system: System,
  caller: Caller,
  { sessionKey: named, from: first, last, limit: most = 50 }: z.output<typeof entriesInput>,
): Promise<Done<z.input<typeof entriesPage>>> {
  const session = await reached(system, caller, keyFor(caller, named));
  if (first !== undefined && last !== undefined)
    throw new Fault("bad_input", "entries: say from which on, or how many from the end; not both");
  const { key, agent, parent, bornAtMs, transcript } = session;
  const from = last === undefined ? (first ?? 1) : await seqBack(system, session, last);
  const page: z.input<typeof entriesPage>["entries"] = [];
  let room = HISTORY_BYTES_MAX;
  let count = 0;
  let next: number | null = null;
  for await (const entry of system.store.entries(transcript.id, { from })) {
    const shown = clean(entry) as Entry | Gap;
    room -= Buffer.byteLength(JSON.stringify(shown));
    if (entry.type !== "gap") {
      if (count >= most || (room < 0 && count > 0)) {
        next = entry.seq;
        break;
      }
      count += 1;
    }
    page.push({ ...shown });
  }
  const { id, lastSeq, copied } = transcript;
  return just({
    sessionKey: key,
    agent,
    parent,
    transcript: id,
    bornAt: iso(bornAtMs),
    lastSeq,
    copied,
    entries: page,
    next,
  });
}

/** Of the entry that is so many from the end of the active path; 1: there are fewer. */
async function seqBack({ store }: System, { transcript }: Session, many: number): Promise<number> {
  if (transcript.leafId === null) return 1;
  let left = many;
  for await (const entry of store.entries(transcript.id, { before: null })) {
    if (entry.type === "gap") continue;
    left -= 1;
    if (left === 0) return entry.seq;
  }
  return 1;
}

/**
 * The same without secrets, however deep they are. Names are texts too: a map may have anything as its keys. What is a secret
 * by the name that it has ({ password: "…" }) is known only together with the name: `under` is the name it stands under.
 */
function clean(value: unknown, under: string | null = null): unknown {
  if (typeof value === "string") return under === null ? redacted(value) : cleanUnder(under, value);
  if (Array.isArray(value)) return value.map((each) => clean(each, under));
  if (typeof value !== "object" || value === null) return value;
  const pair = pairIn(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      redacted(name),
      clean(part, pair !== null && name === pair.holder ? pair.name : name),
    ]),
  );
}

/** A variable or a header as many write it down: { name: "API_KEY", value: "…" }. Null: it is none. */
function pairIn(value: object): { readonly name: string; readonly holder: string } | null {
  const { name, key } = value as { readonly name?: unknown; readonly key?: unknown };
  const named = typeof name === "string" ? name : key;
  return typeof named === "string" && "value" in value ? { name: named, holder: "value" } : null;
}

function cleanUnder(name: string, text: string): string {
  const before = `${name}: `;
  const both = redacted(before + text);
  return both.startsWith(before) ? both.slice(before.length) : redacted(text);
}
