// Removing sessions for good. Kill ends a session and keeps what it said; this takes the transcript, too.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { mainKey, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import { below } from "../sessions/below.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/store.ts";
import type { Caller, Done, System } from "./call.ts";
import { reached } from "./reach.ts";
import { sessionKey } from "./setting-shapes.ts";

export const removeInput = z.strictObject({ sessionKey });

export const removed = z.strictObject({
  sessionKey,
  removed: z.int().describe("How many sessions are gone: it, and all below it."),
});

/**
 * With everything below it, in one commit, the lowest first. Each delete expects what was seen here: whoever writes to one of
 * them in between, or spawns below one, makes the store refuse all of it. So nothing is lost that nobody had looked at, and
 * no child is left below a parent that is gone.
 */
export async function remove(
  system: System,
  caller: Caller,
  input: z.output<typeof removeInput>,
): Promise<Done<z.input<typeof removed>>> {
  const session = await reached(system, caller, parseKey(input.sessionKey));
  if (session.key === mainKey(session.agent as AgentId))
    throw new Fault("forbidden", `${session.key} always exists: an agent's main session is never removed`);
  const tree = await quietTree(system, session, "removed");
  const changes = tree.map(({ key, transcript }): Change => {
    return { do: "delete", key, expect: { transcript: transcript.id, lastSeq: transcript.lastSeq } };
  });
  return { changes: changes.toReversed(), output: () => ({ sessionKey: session.key, removed: tree.length }) };
}

/** It, and all below it, the lowest last. Fault busy when something happens in one of them: then nothing may be `done` to any. */
export async function quietTree(system: System, session: Session, done: string): Promise<readonly Session[]> {
  const tree = [session, ...(await below(system.store, session.key))];
  const programs = new Set(system.processes.all().map((program) => program.session));
  for (const each of tree) {
    const why = await busyWith(system, each, programs);
    if (why === null) continue;
    const whose = each === session ? "" : `, which is below ${session.key},`;
    throw new Fault("busy", `${each.key}${whose} ${why}: nothing was ${done}`);
  }
  return tree;
}

/** Null: nothing happens in it, and nothing is on its way to it or from it. */
async function busyWith(
  { store, slots }: System,
  { key, state, signal }: Session,
  programs: ReadonlySet<SessionKey | null>,
): Promise<string | null> {
  if (slots.why(key) !== null) return "is queued";
  if (state.kind !== "idle" && state.kind !== "ended") return STATES[state.kind];
  if (state.kind === "idle" && signal === "kill") return "is being killed";
  if (programs.has(key)) return "has a program that runs";
  if ((await store.mail(key, { limit: 1 })).rows.length > 0) return "has mail that waits";
  const { rows } = await store.outbox({ key, refused: false, limit: 1 });
  return rows.length > 0 ? "has an answer on its way to a channel" : null;
}

const STATES = {
  running: "runs",
  queued: "is queued",
  waiting: "waits, in the middle of a turn",
  paused: "is paused in the middle of a turn",
} as const;
