// Putting sessions away, and ending them. What does not come back asks first: by name, with how many are below it, and what stays.

import { many } from "../../src/base/figures.ts";
import { clean } from "../../src/base/harmless.ts";
import { ask } from "../parts/dialog.tsx";
import { tell, tried } from "../parts/toast.tsx";
import { stillHere } from "../state/place.ts";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { nameOf } from "./named.ts";
import { restored } from "./restoring.ts";

export async function archive(row: Row): Promise<void> {
  const done = await tried(call("archive", { sessionKey: row.sessionKey }));
  if (done === null) return;
  const below = done.archived === 1 ? "" : ` and ${many(done.archived - 1, "session")} below it`;
  const jobs = done.jobs.length === 0 ? "" : `. The next run of ${clean(done.jobs.join(", "))} opens another`;
  tell(`Archived ${nameOf(row)}${below}${jobs}`, false, {
    name: "Undo",
    run: () => void unarchive(row, done.archive),
  });
}

/** With all that went along, and nothing that was away before. */
async function unarchive(row: Row, id: string): Promise<void> {
  const back = await tried(restored({ id, below: "together" }));
  if (back === null) return;
  tell(`${nameOf(row)} is back${back.below === 0 ? "" : `, with ${many(back.below, "session")} below it`}`);
}

export async function kill(row: Row): Promise<void> {
  const { sessionKey } = row;
  const isHere = stillHere();
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
    isHere,
    run: async () => (killed = (await call("kill", { sessionKey })).killed.length),
  });
  if (isDone)
    tell(`Killed ${nameOf(row)}${killed < 2 ? "" : ` and ${many(killed - 1, "session")} below it`}`);
}

export async function remove(row: Row): Promise<void> {
  const { sessionKey } = row;
  const isHere = stillHere();
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
    isHere,
    run: () => call("remove", { sessionKey }),
  });
  if (isDone) tell(`Removed ${nameOf(row)}`);
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
