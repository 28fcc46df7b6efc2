import { isOneShot, type SessionKey } from "../routing/key.ts";
import type { Outcome, RunState, Usage } from "../sessions/session.ts";
import type { Block, Body } from "../transcript/entry.ts";
import type { TurnOutcome } from "./where.ts";

/** How a turn ended, and what was said last. */
export interface Ending {
  readonly outcome: TurnOutcome;
  readonly reason: string | null; //         null: done
  readonly entries: readonly Body[]; //      that come before the note of the end
  readonly charge: Partial<Usage>;
  readonly words: readonly Block[]; //       for those who wait for an answer
}

/** A session that is killed ends, and so does one that runs once; every other waits for the next message. */
export function stateAfter(
  key: SessionKey,
  outcome: TurnOutcome,
  { reason, atMs }: { readonly reason: string | null; readonly atMs: number },
): RunState {
  if (outcome !== "killed" && !isOneShot(key)) return { kind: "idle" };
  return { kind: "ended", atMs, outcome: ENDS[outcome], reason };
}

/** How a session ends whose only turn ended so. */
const ENDS: Readonly<Record<TurnOutcome, Outcome>> = {
  done: "done",
  failed: "failed",
  overflow: "failed",
  aborted: "killed",
  killed: "killed",
  timeout: "timeout",
  limit: "limit",
  interrupted: "interrupted",
};

export function failureWords(reason: string): Block[] {
  return [{ type: "text", text: `This turn ended without an answer: ${reason}` }];
}
