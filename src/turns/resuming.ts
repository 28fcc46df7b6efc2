// Suspects: turns that were going on when the process died, and again at the same entry. One of them may be what kills it.
// They are gone on with one at a time, so that the next death says who it was.

import { CALLED_OFF, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { RESUMES_MAX, SUSPECT_ALONE_MS } from "../limits.ts";
import type { Held } from "../sessions/held.ts";
import type { Body } from "../transcript/entry.ts";
import type { OpenTurn, TurnResumed } from "./where.ts";

interface Suspect {
  readonly held: Held;
  readonly turn: string;
  /** Writes down that it is tried, alone. */
  readonly write: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** All suspects of this process. */
export class Suspects {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when those before it are through and that it is tried is written down. */
  async tried(world: World, suspect: Suspect): Promise<void> {
    const before = this.#last;
    const { promise, resolve: next } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    try {
      await unlessAborted(before, suspect.signal);
      await suspect.write();
    } catch (error) {
      next();
      throw error;
    }
    void watched(world, suspect).finally(next);
  }
}

/** Null: it may be tried again. Else why it is given up, and what a person can do. */
export function givenUp({ resumes, diedAlone }: Pick<OpenTurn, "resumes" | "diedAlone">): string | null {
  if (!diedAlone && resumes < RESUMES_MAX) return null;
  const alone = diedAlone ? ", the last time while no other was being tried" : "";
  return `the process died ${resumes + 1} times at this point of the turn${alone}. What it had done is above; to try again, send the message again`;
}

export function isSuspect({ resumes }: Pick<OpenTurn, "resumes">): boolean {
  return resumes > 0;
}

export function resumedNote(turn: string, why: TurnResumed["why"], alone: boolean): Body {
  const data: TurnResumed = { turn, why, alone };
  return { type: "custom", customType: "sessiond/turn-resumed", data };
}

/**
 * As soon as something comes of it, it is no suspect any more, and it is the next one's turn. When that takes long, it goes
 * on, but the next death will not be its fault alone: that is written down first.
 */
async function watched(world: World, { held, turn }: Suspect): Promise<void> {
  const off = new AbortController();
  try {
    const late = world.sleep(SUSPECT_ALONE_MS, off.signal).then(() => true);
    const isLate = await Promise.race([held.written().then(() => false), late]);
    late.catch(() => {}); // It is called off below.
    if (isLate) await held.commit({ entries: [resumedNote(turn, "not alone", false)] });
  } catch {
    // The session is not ours any more, or the store stopped: whoever has it next reads what is there.
  } finally {
    off.abort(CALLED_OFF);
  }
}
