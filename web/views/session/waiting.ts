// Waiting
//
// The letters that wait for a session, whoever sent them: another tab, the command line, a channel, a timer, another session. No
// stream tells of a post: it writes nothing of the session's row, and it may come from another process. So it is asked for.
//
//   Owns:      what waits for the session that is shown, and which letters its transcript has shown.
//   Does not:  know what of it this tab has sent (outbox.ts), or show it (pending.tsx).
//
// Invariants
//   M1. A letter that the transcript has shown does not wait, whatever an older answer says.
//   M2. A session at rest for which nothing waits costs a question every RESTING_MS while somebody looks, and none while nobody does.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Output } from "../../../src/calls/door.ts";
import { usePolled } from "../../state/polled.ts";
import { call } from "../../wire/call.ts";
import { drop, outgoing, type Outgoing } from "./outbox.ts";
import { useRefreshed } from "./refreshed.ts";

export type Letter = Output<"mail">["letters"][number];

export interface Waiting {
  readonly letters: readonly Letter[]; // oldest first
  readonly hasMore: boolean;
  readonly look: () => void; //           asks again, now
}

/** How often it is asked for: while there is, or may be, something that waits; and while nothing is likely to. */
const LIVELY_MS = 2_000;
const RESTING_MS = 15_000;

/** Letters that are shown. Who has more of them waiting looks for why, and not at each. */
const LETTERS_MAX = 50;

/** As many as can be in an answer that is under way, and many more. */
const READ_MAX = 2_000;
const read = new Set<string>();
const reads = signal(0);

/** M1. The transcript tells of every letter that it shows. */
export function wasRead(mailId: string): void {
  if (read.has(mailId)) return;
  read.add(mailId);
  for (const oldest of read) {
    if (read.size <= READ_MAX) break;
    read.delete(oldest);
  }
  reads.value += 1;
}

/** Of the session that is open, as Pending shows them: other figures of it are asked for again when this is another. */
export const counted = signal(0);

/** `isAtRest`: nothing runs in it, and nothing holds it. */
export function useWaiting(sessionKey: string, isAtRest: boolean): Waiting {
  void reads.value;
  const [count, setCount] = useState(0);
  const { value, again } = usePolled(
    async (over) => {
      const page = await asked(sessionKey, over);
      setCount(page.letters.length);
      return page;
    },
    [sessionKey],
    isAtRest && count === 0 ? RESTING_MS : LIVELY_MS,
  );
  useRefreshed(sessionKey, again);
  const letters = value?.letters.filter(({ id }) => !read.has(id)) ?? [];
  useEffect(() => void (counted.value = letters.length), [letters.length]);
  return { letters, hasMore: value !== null && value.next !== null, look: again };
}

/** What this tab had in the mailbox before it asked, and is not there any more, was read. */
async function asked(sessionKey: string, over: AbortSignal): Promise<Output<"mail">> {
  const before = outgoing.value.filter((each) => each.sessionKey === sessionKey && each.state === "waiting");
  const page = await call("mail", { sessionKey, limit: LETTERS_MAX }, over);
  if (page.next === null)
    for (const message of before) if (!page.letters.some((each) => isOf(each, message))) drop(message);
  return page;
}

/** The daemon's id of a letter ends with the one that this tab gave it. */
export function isOf({ id }: Pick<Letter, "id">, message: Pick<Outgoing, "id">): boolean {
  return id.endsWith(`:${message.id}`);
}
