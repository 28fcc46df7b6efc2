import { Fault } from "../base/fault.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import type { Bus, Event, Follower } from "./bus.ts";

/** What following needs of the store: everything from a seq on, also what a rewind left behind. */
export type ReadSince = (seq: number) => AsyncIterable<Entry | Gap>;

/** A follower that was too slow. `seq` is the last entry it was given: it goes on from there. */
export class CutOff extends Fault {
  readonly seq: number;

  constructor(key: SessionKey, seq: number) {
    super("too_slow", `you read ${key} slower than it writes; follow it again from ${seq}`);
    this.seq = seq;
  }
}

/**
 * Everything that happens in a session after entry `from`: first what the store has, then what is told. Each entry comes
 * once, in order, without a gap; pieces of answers come between them, as long as they are news.
 */
export async function* follow(
  bus: Bus,
  session: { readonly key: SessionKey; readonly readSince: ReadSince },
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  const follower = bus.join(session.key); // before the store is read, so that nothing falls between
  const leave = (): void => follower.end();
  signal.addEventListener("abort", leave, { once: true });
  try {
    if (signal.aborted) return;
    let seq = from;
    for await (const event of catchUp(session, seq + 1)) {
      if (signal.aborted) return;
      seq = event.seq;
      yield event;
    }
    for await (const event of heard(follower, session.key, () => seq)) {
      if (event.type !== "entry") {
        yield event;
        continue;
      }
      // Normally just the one that was told. Another process may have written meanwhile: that was not told here.
      const missed = event.seq > seq + 1 ? catchUp(session, seq + 1) : [event];
      for await (const each of missed) {
        if (each.seq <= seq) continue; // the store had it already
        seq = each.seq;
        yield each;
      }
    }
  } finally {
    signal.removeEventListener("abort", leave);
    follower.end();
  }
}

async function* catchUp(
  { key, readSince }: { readonly key: SessionKey; readonly readSince: ReadSince },
  seq: number,
): AsyncGenerator<Extract<Event, { type: "entry" }>> {
  // A line that cannot be read has no entry to tell of; history shows it as a gap.
  for await (const entry of readSince(seq))
    if (entry.type !== "gap") yield { type: "entry", key, seq: entry.seq, entry };
}

async function* heard(follower: Follower, key: SessionKey, seq: () => number): AsyncGenerator<Event> {
  for (;;) {
    const events = await follower.next();
    if (events === "ended") return;
    if (events === "cut off") throw new CutOff(key, seq());
    if (events === "deleted")
      throw new Fault("not_found", `${key} was removed; one that is opened under its key begins anew`);
    if (typeof events === "string") throw outOfTheWay(key, events);
    yield* events;
  }
}

/** `over` is what became of it, and the archive that it is now. */
function outOfTheWay(key: SessionKey, over: string): Fault {
  const [what, archive] = over.split(" ");
  return new Fault(
    "not_found",
    what === "swapped"
      ? `${key} gave its place to an archive, which begins anew: follow it from 0; what you followed is archive ${archive}`
      : `${key} was archived; sessiond restore ${archive} brings it back`,
  );
}
