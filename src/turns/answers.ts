import { ANSWER_LOOKBACK_ENTRIES } from "../limits.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import { textOf } from "../transcript/entry.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded, TurnOutcome } from "./where.ts";

/** What became of a letter. */
export interface Answered {
  readonly outcome: TurnOutcome;
  readonly reason: string | null;
  readonly text: string; // the answer; empty: none was given, and the reason says why
  readonly seq: number; //   of the entry that ended the turn
}

/** Who waits for the answer to which letter. Whoever comes too late finds it in the transcript (answerIn). */
export class Answers {
  readonly #waiting = new Map<string, Set<(answered: Answered) => void>>();

  /** Rejects with the signal's reason when it is aborted. */
  wait(mailId: string, signal: AbortSignal): Promise<Answered> {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const waiting = this.#waiting.get(mailId) ?? new Set();
    const giveUp = (): void => {
      leave();
      reject(signal.reason);
    };
    const leave = (): void => {
      signal.removeEventListener("abort", giveUp);
      waiting.delete(answered);
      if (waiting.size === 0 && this.#waiting.get(mailId) === waiting) this.#waiting.delete(mailId);
    };
    const answered = (answer: Answered): void => {
      leave();
      resolve(answer);
    };
    waiting.add(answered);
    this.#waiting.set(mailId, waiting);
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    return promise;
  }

  /** A turn ended, and it had taken these letters. */
  tell(mailIds: readonly string[], answered: Answered): void {
    for (const mailId of mailIds)
      for (const waiting of [...(this.#waiting.get(mailId) ?? [])]) waiting(answered);
  }
}

/**
 * Looks from the end for the turn that took the letter. Null: the letter is not there, or too far back; "not ended": its
 * turn goes on.
 */
export async function answerIn(
  backward: AsyncIterable<Entry | Gap>,
  mailId: string,
): Promise<Answered | "not ended" | null> {
  let ended: { readonly data: TurnEnded; readonly seq: number } | null = null;
  let text = "";
  let looked = 0;
  for await (const entry of backward) {
    if (entry.type === "gap") continue;
    if ((looked += 1) > ANSWER_LOOKBACK_ENTRIES) return null;
    if (entry.type === "custom" && isNote(entry, "turn-ended")) {
      ended = { data: entry.data as TurnEnded, seq: entry.seq };
      text = "";
    } else if (entry.type === "message") {
      if (entry.message.role === "assistant" && text === "" && entry.silent !== true) text = textOf(entry);
      if (entry.mailId === mailId) return ended ? answered(ended.data, text, ended.seq) : "not ended";
    }
  }
  return null;
}

function answered({ outcome, reason }: TurnEnded, text: string, seq: number): Answered {
  return { outcome, reason, text: outcome === "done" ? text : "", seq };
}
