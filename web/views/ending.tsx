// Putting sessions away, and ending them. What does not come back asks first: by name, with how many are below it, and what stays.

import { many } from "../../src/base/figures.ts";
import { clean } from "../../src/base/harmless.ts";
import { ask } from "../parts/dialog.tsx";
import { shortKey } from "../parts/text.tsx";
import { tell, tried } from "../parts/toast.tsx";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { nameOf } from "./named.ts";

export async function archive({ sessionKey }: Row): Promise<void> {
  const done = await tried(call("archive", { sessionKey }));
  if (done === null) return;
  const jobs = done.jobs.length === 0 ? "" : `. The next run of ${clean(done.jobs.join(", "))} opens another`;
  tell(`Archived ${many(done.archived, "session")}: restore them in Upkeep${jobs}`);
}

export async function kill(row: Row): Promise<void> {
  const { sessionKey } = row;
  const below = await tried(countBelow(sessionKey, true));
  if (below === null) return;
  let killed = 0;
  const isDone = await ask({
    title: `Kill ${nameOf(row)}?`,
    text: (
      <>
        <p>
          <code>{sessionKey}</code>
          {below.count === 0 ? "" : ` and ${amount(below)} below it`} will end at once, with every program
          that runs for it. Whoever waits for it hears of it.
        </p>
        <p class="hint">What was said stays: the transcript can still be read.</p>
      </>
    ),
    verb: "Kill",
    isDangerous: true,
    run: async () => (killed = (await call("kill", { sessionKey })).killed.length),
  });
  if (isDone) tell(`Killed ${many(killed, "session")}`);
}

export async function remove(row: Row): Promise<void> {
  const { sessionKey } = row;
  const below = await tried(countBelow(sessionKey, false));
  if (below === null) return;
  const isDone = await ask({
    title: `Remove ${nameOf(row)}?`,
    text: (
      <>
        <p>
          <code>{sessionKey}</code>
          {below.count === 0 ? "" : ` and ${amount(below)} below it`} will be gone for good: transcript (
          {many(row.entries, "entry", "entries")}), attachments, and everything that was archived under{" "}
          {below.count === 0 ? "this key" : "these keys"}.
        </p>
        <p class="hint">It does not come back. Archive puts it out of the way and keeps it.</p>
      </>
    ),
    verb: "Remove for good",
    isDangerous: true,
    run: () => call("remove", { sessionKey }),
  });
  if (isDone) tell(`Removed ${shortKey(sessionKey)}`);
}

interface Below {
  readonly count: number;
  readonly isAll: boolean; // false: there are more
}

function amount({ count, isAll }: Below): string {
  return isAll ? many(count, "session") : `at least ${many(count, "session")}`;
}

/** Calls that a question is worth. */
const LOOKS_MAX = 20;

async function countBelow(key: string, isLiving: boolean): Promise<Below> {
  const open = [key];
  let count = 0;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const sessionKey = open.shift();
    if (sessionKey === undefined) return { count, isAll: true };
    const { sessions, next } = await call("list", { parent: sessionKey, limit: 200 });
    count += sessions.filter(({ state }) => !isLiving || state !== "ended").length;
    if (next !== null) return { count, isAll: false };
    open.push(...sessions.map((each) => each.sessionKey));
  }
  return { count, isAll: open.length === 0 };
}
