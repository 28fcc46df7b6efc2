// Suspects: turns that were going on when the process died, and again at the same entry. One of them may be what kills it.
// They are gone on with one at a time, so that the next death says who it was.

import { unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { RESUMES_MAX, SUSPECT_ALONE_MS } from "../limits.ts";
import type { Held } from "../sessions/held.ts";
import type { Body } from "../transcript/entry.ts";
import type { OpenTurn, TurnResumed } from "./where.ts";

/** All suspects of this process. */
export class Suspects {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when those before it are through, with how to let in the next. */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      resolve();
      throw error;
    }
    return resolve;
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
 * A suspect was let in and its note is written. As soon as something comes of it, it is none any more, and the next one's
 * turn; when that takes long, it goes on, but the next death will not be its fault alone: that is written down first.
 */
export async function watched(
  world: World,
  held: Held,
  { turn, next }: { readonly turn: string; readonly next: () => void },
): Promise<void> {
  const off = new AbortController();
  try {
    const isLate = await Promise.race([
      held.written().then(() => false),
      world.sleep(SUSPECT_ALONE_MS, off.signal).then(
        () => true,
        () => false,
      ),
    ]);
    if (isLate) await held.commit({ entries: [resumedNote(turn, "not alone", false)] });
  } catch {
    // The session is not ours any more, or the store stopped: whoever has it next reads what is there.
  } finally {
    off.abort();
    next();
  }
}
