// Place
//
// Where somebody is who follows a session, and the word to come back with. The word is made of the entry that was told last: its
// number, when its session was born, and a print of it. A number alone would not do: another session under the same key
// counts from 1 again, and where an archive was put back after a reset, two histories of one session have the same numbers.
//
//   Owns:      which history a word is taken by, and that nobody goes on in another than the one it follows.
//   Does not:  tell what happens (events/), or who may see it (reach.ts).
//
// Invariants
//   P1. A word is taken by a history that has its entry. Files do not matter: entries stay what they are in the next one.
//   P2. Or by one whose first entry is newer, of a session born at the same time: the conversation began anew (a reset). All of
//       the new one comes then, from its first entry; what was not heard of the old one is in the archive.
//   P3. Every other history refuses it, with what to do: begin at 0. So do entries that are read later, for who is connected.
//   P4. A bare number is taken as it is, as long as there is such an entry: it is what entries have.
//   P5. A word without a print, as they were made once, is taken by a session born at the same time, whatever happened to it.

import { createHash } from "node:crypto";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { Bus, Event } from "../events/bus.ts";
import { follow } from "../events/follow.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Store } from "../store/store.ts";
import type { Entry, Gap } from "../transcript/entry.ts";

export const place = z.union([z.int().min(0), z.string().regex(/^\d{1,15}(?:@[\w-]+)?$/)]);

/** What no two entries of the same number share. The id names the transcript; a home that was set back writes its numbers again, later. */
type Marked = Pick<Entry, "id" | "timestamp" | "seq">;

export interface Place {
  readonly seq: number;
  readonly entry: Marked | null; // the entry of that number; null: the history has none, or it cannot be read
}

/** The word to come back with. */
export function placeAfter({ id, timestamp, seq }: Marked, bornAtMs: number): string {
  const print = createHash("sha256").update(`${id} ${timestamp}`).digest("base64url").slice(0, 12);
  return `${seq}@${bornAtMs}-${print}`;
}

/** Where somebody goes on. `from` null: from now on. `session` null: there is none yet. */
export async function placeIn(
  store: Pick<Store, "entries">,
  { name, session }: { readonly name: string; readonly session: Session | null },
  from: number | string | null,
): Promise<Place> {
  const lastSeq = session?.transcript.lastSeq ?? 0;
  const word = String(from ?? lastSeq);
  const isBare = !word.includes("@");
  const seq = Number.parseInt(word, 10);
  const isThere = Number.isSafeInteger(seq) && seq >= 0 && seq <= lastSeq;
  if (isBare && !isThere)
    throw new Fault(
      "bad_input",
      `from: ${name} has entries up to ${lastSeq}, so follow from 0 to ${lastSeq}`,
    );
  const first = isThere && seq > 0 ? await firstFrom(store, session, seq) : null;
  const entry = first?.seq === seq ? first : null;
  if (isBare) return { seq, entry };
  if (isThere && isTaken(word, session, first)) return { seq, entry };
  throw new Fault(
    "bad_input",
    `from: ${name} was removed since, or an archive took its place, and begins anew; follow it from 0`,
  );
}

/** `first`: the first entry from the word's number on; null: there is none. */
function isTaken(word: string, session: Session | null, first: Entry | null): boolean {
  const [seq, born, print] = word.split(/[@-]/, 3);
  if (born !== String(session?.bornAtMs)) return false;
  if (print === undefined) return true; // P5
  if (first?.seq === Number(seq)) return word === placeAfter(first, session?.bornAtMs ?? 0); // P1
  return isBeginning(session, first); // P2
}

/** The first entry from a number on that can be read; null: there is none. */
async function firstFrom(
  store: Pick<Store, "entries">,
  session: Session | null,
  seq: number,
): Promise<Entry | null> {
  if (session === null) return null;
  for await (const entry of store.entries(session.transcript.id, { since: seq }))
    if (entry.type !== "gap") return entry;
  return null;
}

/** P2. Whether a conversation begins there: what continues something, or comes to nothing, stands behind an entry that cannot be read. */
function isBeginning(session: Session | null, first: Entry | null): boolean {
  return first === null ? session?.transcript.leafId === null : first.parentId === null;
}

/** Who is followed, from where. */
export interface Followed {
  readonly key: SessionKey;
  readonly place: Place;
  readonly bornAtMs: number | null; // null: there is no session yet
  /** Its row as it is now. */
  readonly look: () => Promise<Session | null>;
}

/** Everything that happens after a place (events/follow.ts), of that history and no other. */
export async function* followFrom(
  store: Pick<Store, "entries">,
  bus: Bus,
  followed: Followed,
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  const { key, look } = followed;
  let { place: at, bornAtMs } = followed;
  // By its key: it may go on in another file by then.
  const readSince = async function* (): AsyncIterable<Entry | Gap> {
    const session = await look();
    if (session === null && bornAtMs === null) return;
    bornAtMs ??= session?.bornAtMs ?? null;
    if (session === null || session.bornAtMs !== bornAtMs || session.transcript.lastSeq < at.seq)
      throw otherNow(key);
    yield* entriesAfter(store, session, at);
  };
  for await (const event of follow(bus, { key, readSince }, at.seq, signal)) {
    if (event.type === "entry") at = { seq: event.seq, entry: event.entry };
    yield event;
  }
}

/** P3. */
async function* entriesAfter(
  store: Pick<Store, "entries">,
  { key, transcript }: Session,
  { seq, entry: known }: Place,
): AsyncIterable<Entry | Gap> {
  for await (const entry of store.entries(transcript.id, { since: known === null ? seq + 1 : seq })) {
    if (known === null || entry.type === "gap" || entry.seq !== seq) yield entry;
    else if (entry.id !== known.id || entry.timestamp !== known.timestamp) throw otherNow(key);
  }
}

function otherNow(key: SessionKey): Fault {
  return new Fault(
    "not_found",
    `${key} was removed or archived; what is there under its key begins anew: follow it from 0`,
  );
}
