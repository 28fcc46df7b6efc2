// A fork: a new session that begins with what another one knows, and is opened.

import { ask } from "../parts/dialog.tsx";
import { tell } from "../parts/toast.tsx";
import { go, stillHere } from "../state/place.ts";
import { requestId } from "../state/request.ts";
import { call } from "../wire/call.ts";
import type { Line, Row } from "../wire/events.ts";
import { forkName, nameOf } from "./named.ts";

/** The last entry that a fork knows. */
export interface Through {
  readonly seq: number;
  readonly name: string;
}

/**
 * By a key alone nothing is made, and by one question one fork: it has one id, so who asks again after a lost answer comes to the fork
 * that was made, as it was called then. Without an entry: from the newest.
 */
export async function askFork(row: Row, through: Through | null = null): Promise<void> {
  const { sessionKey } = row;
  const id = requestId();
  const knows = through === null ? "now" : `at ${through.name}`;
  let seq = through?.seq ?? null; // The newest is that of the first attempt: whatever comes then, it is the same fork.
  await ask({
    title: `Fork ${nameOf(row)}`,
    text: `A new session begins with what this one ${through === null ? "knows" : "knew"} ${knows}, and goes its own way. This one is not changed.`,
    fields: [
      {
        name: "label",
        label: "What it is called",
        value: forkName(row),
        hint: "Empty: a name is made up.",
      },
    ],
    verb: "Fork",
    run: async ({ label = "" }) => {
      const isHere = stillHere();
      const words = label.trim();
      seq ??= await newestOf(sessionKey);
      const done = await call("fork", {
        sessionKey,
        ...(seq === null ? {} : { seq, id }),
        ...(words === "" ? {} : { label: words }),
      });
      const open = (): void => go("session", done.sessionKey);
      const what = through === null ? "" : `: it knows what that knew ${knows}`;
      if (!isHere()) return tell(`${nameOf(row)} is forked.`, false, { name: "Open", run: open });
      tell(`This is a fork of ${nameOf(row)}${what}.`);
      open();
    },
  });
}

/** Null: it cannot be read, and so it has no number. */
async function newestOf(sessionKey: string): Promise<number | null> {
  const page = await call("entries", { sessionKey, last: 1 });
  const line = (page.entries as unknown as readonly Line[]).at(-1);
  return line === undefined || line.type === "gap" ? null : line.seq;
}
