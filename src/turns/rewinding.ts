// A session goes back to an entry: what follows it stays in the file, and is not shown any more. Between turns, by the owner.

import { Fault } from "../base/fault.ts";
import type { Mail } from "../mail/letter.ts";
import { wishedIn } from "../mail/wish.ts";
import type { Held, Rewind } from "../sessions/held.ts";
import type { Store } from "../store/store.ts";
import type { Body, Entry } from "../transcript/entry.ts";
import { contextTokensIn, REWOUND, type Rewound } from "../transcript/fold.ts";
import type { Answers } from "./answers.ts";
import { tasksIn, tasksLeftNote } from "./tasks.ts";

/** The entries of the path up to it, from where its context starts; also of a branch that was left. */
async function pathTo(
  store: Pick<Store, "entries">,
  id: string,
  { to, contextSeq }: Rewind,
): Promise<Entry[]> {
  const known = new Map<string, Entry>();
  for await (const entry of store.entries(id, { since: contextSeq })) {
    if (entry.type === "gap") continue;
    if (entry.seq > to.seq) break;
    known.set(entry.id, entry);
  }
  const path: Entry[] = [];
  for (let at = known.get(to.id); at !== undefined; at = known.get(at.parentId ?? "")) path.push(at);
  return path.reverse();
}

/** Messages that are on the path no more. */
function leftOf(before: readonly Entry[], path: readonly Entry[]): number {
  const stays = new Set(path.map(({ id }) => id));
  return before.filter(({ id, type }) => type === "message" && !stays.has(id)).length;
}

interface RewindParts {
  readonly store: Pick<Store, "entries">;
  readonly answers: Answers;
}

/** Taken in the commit that goes back, or that says why not: so it happens once. */
export async function obeyRewind({ store, answers }: RewindParts, held: Held, order: Mail): Promise<void> {
  const { to, contextSeq, after, isReturn = false } = wishedIn(order, "rewind");
  const { id, lastSeq, copied } = held.row.transcript;
  const refused = async (reason: string): Promise<void> => {
    await held.commit({ take: [order.id] });
    answers.tell([order.id], { outcome: "failed", reason, text: "", seq: held.row.transcript.lastSeq });
  };
  if (lastSeq !== after)
    return await refused(`something was said since: it is at entry ${lastSeq}, and was at ${after}`);
  const path = await pathTo(store, id, { to, contextSeq });
  // Children that have reported since are not waited for again.
  const before = await held.entries();
  const inFlight = new Set(tasksIn(before, copied).map((task) => task.id));
  const reported = tasksIn(path, copied).flatMap((task) => (inFlight.has(task.id) ? [] : [task.id]));
  const contextTokens = contextTokensIn(path) ?? 0;
  const left = leftOf(before, path);
  const data: Rewound = { to: to.seq, from: lastSeq, contextTokens, left, isReturn };
  const note: Body = { type: "custom", customType: REWOUND, data };
  try {
    const entries = [note, ...tasksLeftNote(reported)];
    await held.commit({ take: [order.id], rewind: { to, contextSeq }, entries });
  } catch (error) {
    // It would be refused again, for ever.
    if (!(error instanceof Fault) || !(error.code === "not_found" || error.code === "bad_input")) throw error;
    return await refused(error.message);
  }
  const { lastSeq: seq } = held.row.transcript;
  answers.tell([order.id], { outcome: "done", reason: null, text: "", seq });
}
