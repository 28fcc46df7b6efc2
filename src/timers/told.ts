// What a turn that a timer began says of its end: one text of JSON, on its way through the outbox of the session it ran in.

import type { Outgoing, Route } from "../mail/letter.ts";
import { isTimer } from "../mail/task.ts";
import type { Page, Store } from "../store/store.ts";
import type { TurnOutcome } from "../turns/where.ts";
import type { RunEnd } from "./decide.ts";
import type { Job, RunOutcome } from "./job.ts";

export interface TurnEnd {
  readonly outcome: TurnOutcome;
  readonly reason: string | null;
  readonly text: string;
  readonly answered?: readonly Route[]; // who else wrote into the turn, and was told the same; absent: nobody
}

/** How a run ended whose turn ended so. Which of them are failures of the job is in decide.ts. */
const ENDS: Readonly<Record<TurnOutcome, RunOutcome>> = {
  done: "done",
  failed: "failed",
  overflow: "failed",
  aborted: "killed",
  killed: "killed",
  timeout: "timeout",
  limit: "limit",
  interrupted: "interrupted",
};

/** Null: it says nothing that we wrote. */
export function turnEndIn({ content }: Pick<Outgoing, "content">): TurnEnd | null {
  const [block] = content;
  if (block?.type !== "text") return null;
  try {
    const { outcome, reason, text, answered } = JSON.parse(block.text) as Partial<TurnEnd>;
    if (outcome === undefined || !Object.hasOwn(ENDS, outcome) || typeof text !== "string") return null;
    const heard = Array.isArray(answered) ? { answered: answered as readonly Route[] } : {};
    return { outcome, reason: typeof reason === "string" ? reason : null, text, ...heard };
  } catch {
    return null; // It is no JSON.
  }
}

export function runEndOf({ outcome, ...end }: TurnEnd): RunEnd {
  return { ...end, outcome: ENDS[outcome] };
}

/** The end of the run that goes on, if it waits in the outbox, or was given up there; null: nobody has said how it ended. */
export async function endTold(store: Pick<Store, "outbox">, { id, current }: Job): Promise<RunEnd | null> {
  if (current === null || current.key === null) return null;
  for (const refused of [false, true])
    for (let cursor: string | null = null; ;) {
      const page: Page<Outgoing> = await store.outbox({ refused, key: current.key, cursor });
      const told = page.rows.find(
        ({ route }) => isTimer(route) && route.to === `job:${id}` && route.thread === current.id,
      );
      const end = told && turnEndIn(told);
      if (end) return runEndOf(end);
      if (page.next === null) break;
      cursor = page.next;
    }
  return null;
}
