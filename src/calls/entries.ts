// The transcript of a session as it is, page by page: what exports are made of. Nothing of it is cut, but the secrets are
// taken out: a file that is handed on must not hold one of the usual shapes.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { redactedIn } from "../base/redact.ts";
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
  before: z
    .int()
    .min(1)
    .optional()
    .describe("Instead of `from`: the page of entries that come before this seq, oldest first."),
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
  prev: z
    .int()
    .nullable()
    .describe("Pass it as `before` for what came earlier; null: there is nothing earlier."),
  next: z.int().nullable().describe("Pass it as `from` for what follows; null: that was the last."),
});

type Page = Pick<z.input<typeof entriesPage>, "entries" | "prev" | "next">;

/**
 * Bounded in entries and in bytes; one that is larger than a page comes alone. A gap has no number, so those that follow an
 * entry are on its page, whichever way one comes: a page never has what the one before it or after it tells.
 */
export async function entries(
  system: System,
  caller: Caller,
  { sessionKey: named, from, last, before, limit: most = 50 }: z.output<typeof entriesInput>,
): Promise<Done<z.input<typeof entriesPage>>> {
  if ([from, last, before].filter((each) => each !== undefined).length > 1)
    throw new Fault(
      "bad_input",
      "entries: say from which on, before which, or how many from the end; one of them",
    );
  const session = await reached(system, caller, keyFor(caller, named));
  const { key, agent, parent, bornAtMs, transcript } = session;
  const page =
    before === undefined
      ? await pageFrom(system, session, { from: from ?? (await seqBack(system, session, last)), most })
      : await pageBefore(system, session, { before, most });
  const { id, lastSeq, copied } = transcript;
  return just({
    sessionKey: key,
    agent,
    parent,
    transcript: id,
    bornAt: iso(bornAtMs),
    lastSeq,
    copied,
    ...page,
  });
}

async function pageFrom(
  { store }: System,
  { transcript }: Session,
  { from, most }: { readonly from: number; readonly most: number },
): Promise<Page> {
  const room = new Room(most);
  const page: Page["entries"] = [];
  // Who begins at the beginning has told what stands before the first entry. One beyond the end has all of it before.
  let prev = from <= 1 || transcript.leafId === null ? null : from;
  let isFirst = true;
  for await (const entry of store.entries(transcript.id, { from })) {
    const shown = shownOf(entry);
    if (entry.type !== "gap") {
      if (!room.takes(shown)) return { entries: page, prev, next: entry.seq };
      if (isFirst && prev !== null) prev = earlierThan(entry);
      isFirst = false;
    } else room.gives(shown);
    page.push(shown);
  }
  return { entries: page, prev, next: null };
}

async function pageBefore(
  { store }: System,
  { transcript }: Session,
  { before, most }: { readonly before: number; readonly most: number },
): Promise<Page> {
  const room = new Room(most);
  const page: Page["entries"] = []; // newest first
  let gaps: Page["entries"] = []; // that follow the entry which comes next: where that has no room, they have none
  let prev: number | null = null;
  const next = before <= transcript.lastSeq ? before : null;
  for await (const entry of store.entries(transcript.id, { before })) {
    const shown = shownOf(entry);
    if (entry.type === "gap") {
      room.gives(shown);
      gaps.push(shown);
      continue;
    }
    if (!room.takes(shown)) return { entries: page.toReversed(), prev, next };
    page.push(...gaps, shown);
    gaps = [];
    prev = earlierThan(entry);
    if (room.isFull) return { entries: page.toReversed(), prev, next };
  }
  page.push(...gaps);
  return { entries: page.toReversed(), prev: null, next };
}

/** Before an entry that continues another is that one, or the gap where it stood. */
function earlierThan({ parentId, seq }: Entry): number | null {
  return parentId === null ? null : seq;
}

type Shown = Page["entries"][number];

function shownOf(entry: Entry | Gap): Shown {
  return { ...(redactedIn(entry) as Entry | Gap) };
}

/** What a page still has room for. */
class Room {
  readonly #most: number;
  #bytes = HISTORY_BYTES_MAX;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#count >= this.#most;
  }

  /** To a gap, which is never refused. */
  gives(gap: Shown): void {
    this.#bytes -= Buffer.byteLength(JSON.stringify(gap));
  }

  /** False: there is none for this entry. */
  takes(entry: Shown): boolean {
    this.#bytes -= Buffer.byteLength(JSON.stringify(entry));
    if (this.isFull || (this.#bytes < 0 && this.#count > 0)) return false;
    this.#count += 1;
    return true;
  }
}

/** Of the entry that is so many from the end of the active path; 1: there are fewer, or nobody said how many. */
async function seqBack(
  { store }: System,
  { transcript }: Session,
  many: number | undefined,
): Promise<number> {
  if (many === undefined || transcript.leafId === null) return 1;
  let left = many;
  for await (const entry of store.entries(transcript.id, { before: null })) {
    if (entry.type === "gap") continue;
    left -= 1;
    if (left === 0) return entry.seq;
  }
  return 1;
}
