// A session goes back to an entry: what follows it stays in the file, and is not shown any more. Between turns, by the owner.

import { Fault } from "../base/fault.ts";
import type { Mail } from "../mail/letter.ts";
import { wishedIn } from "../mail/wish.ts";
import type { Held } from "../sessions/held.ts";
import type { Store } from "../store/store.ts";
import type { Body, Entry } from "../transcript/entry.ts";
import type { Answers } from "./answers.ts";
import { tasksIn, tasksLeftNote } from "./tasks.ts";

export interface RewindParts {
  readonly store: Pick<Store, "entries">;
  readonly answers: Answers;
}

/** Taken in the commit that goes back, or that says why not: so it happens once. */
export async function obeyRewind({ store, answers }: RewindParts, held: Held, order: Mail): Promise<void> {
  const { to, contextSeq, after } = wishedIn(order, "rewind");
  const { id, lastSeq, copied } = held.row.transcript;
  const refused = async (reason: string): Promise<void> => {
    await held.commit({ take: [order.id] });
    answers.tell([order.id], { outcome: "failed", reason, text: "", seq: held.row.transcript.lastSeq });
  };
  if (lastSeq !== after)
    return await refused(`something was said since: it is at entry ${lastSeq}, and was at ${after}`);
  const path: Entry[] = [];
  for await (const entry of store.entries(id, { from: contextSeq })) {
    if (entry.type === "gap") continue;
    if (entry.seq > to.seq) break;
    path.push(entry);
  }
  // Children that have reported since are not waited for again.
  const inFlight = new Set(tasksIn(await held.entries(), copied).map((task) => task.id));
  const reported = tasksIn(path, copied).flatMap((task) => (inFlight.has(task.id) ? [] : [task.id]));
  const note: Body = {
    type: "custom",
    customType: "sessiond/rewound",
    data: { to: to.seq, from: lastSeq },
  };
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
