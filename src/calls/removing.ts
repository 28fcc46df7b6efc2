// Removing sessions for good. Kill ends a session and keeps what it said; this takes the transcript, too.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { mainKey, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import { below } from "../sessions/below.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/store.ts";
import { ARCHIVE_AT_ONCE } from "../upkeep/limits.ts";
import type { Caller, Done, System } from "./call.ts";
import { reached } from "./reach.ts";
import { sessionKey } from "./setting-shapes.ts";

export const removeInput = z.strictObject({ sessionKey });

export const removed = z.strictObject({
  sessionKey,
  removed: z.int().describe("How many sessions are gone: it, and all below it. 0: it had only archives."),
  archives: z
    .int()
    .describe(
      "How many archives of a key that had no session are gone. Those of sessions go with them, and are not counted.",
    ),
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
  const asked = parseKey(input.sessionKey);
  const left = await archivesAlone(system, asked);
  if (left !== null) return left;
  const session = await reached(system, caller, asked);
  if (session.key === mainKey(session.agent as AgentId))
    throw new Fault("forbidden", `${session.key} always exists: an agent's main session is never removed`);
  const tree = await quietTree(system, session, "removed");
  const changes = tree.map(({ key, transcript }): Change => {
    return { do: "delete", key, expect: { transcript: transcript.id, lastSeq: transcript.lastSeq } };
  });
  const output = { sessionKey: session.key, removed: tree.length, archives: 0 };
  return { changes: changes.toReversed(), output: () => output };
}

/**
 * What was put away under a key that has no session. Many are erased in pieces, the oldest first, so that nobody waits behind them;
 * a crash in between leaves the rest, and whoever asks again erases that. Null: there is a session, or there is nothing.
 */
async function archivesAlone(system: System, key: SessionKey): Promise<Done<z.input<typeof removed>> | null> {
  if ((await system.store.session(key)) !== null) return null;
  const first = await purgesOf(system, key);
  if (first.length === 0) return null;
  return {
    changes: first,
    output: async () => {
      let archives = first.length;
      for (let more = await purgesOf(system, key); more.length > 0; more = await purgesOf(system, key))
        archives += await erased(system, more);
      return { sessionKey: key, removed: 0, archives };
    },
  };
}

async function purgesOf({ store }: System, key: SessionKey): Promise<readonly Change[]> {
  const { rows } = await store.archives({ key, limit: ARCHIVE_AT_ONCE });
  return rows.map(({ id }): Change => ({ do: "purge", archive: id }));
}

/** 0: somebody else erased, or brought back, one of them meanwhile. */
async function erased({ commit }: System, purges: readonly Change[]): Promise<number> {
  try {
    await commit(purges);
    return purges.length;
  } catch (error) {
    if (error instanceof Fault && error.code === "not_found") return 0;
    throw error;
  }
}

/** It, and all below it, the lowest last. Fault busy when something happens in one of them: then nothing may be `done` to any. */
export async function quietTree(system: System, session: Session, done: string): Promise<readonly Session[]> {
  const tree = [session, ...(await below(system.store, session.key))];
  const programs = programsIn(system);
  for (const each of tree) {
    const why = (await busyWith(system, each, programs)) ?? (await owes(system, each));
    if (why === null) continue;
    const whose = each === session ? "" : `, which is below ${session.key},`;
    throw new Fault("busy", `${each.key}${whose} ${why}: nothing was ${done}`);
  }
  return tree;
}

/** Fault busy when something happens in it, or is on its way to it. */
export async function mustRest(system: System, session: Session, done: string): Promise<void> {
  const why = await busyWith(system, session, programsIn(system));
  if (why !== null) throw new Fault("busy", `${session.key} ${why}: nothing was ${done}`);
}

function programsIn({ processes }: System): ReadonlySet<SessionKey | null> {
  return new Set(processes.all().map((program) => program.session));
}

/** Null: nothing happens in it, and nothing is on its way to it. */
async function busyWith(
  { store, slots }: System,
  { key, state, signal }: Session,
  programs: ReadonlySet<SessionKey | null>,
): Promise<string | null> {
  if (slots.why(key) !== null) return "is queued";
  if (state.kind !== "idle" && state.kind !== "ended") return STATES[state.kind];
  if (state.kind === "idle" && signal === "kill") return "is being killed";
  if (programs.has(key)) return "has a program that runs";
  return (await store.mail(key, { limit: 1 })).rows.length > 0 ? "has mail that waits" : null;
}

/** Null: nothing is on its way from it. */
async function owes({ store }: System, { key }: Session): Promise<string | null> {
  const { rows } = await store.outbox({ key, refused: false, limit: 1 });
  return rows.length > 0 ? "has an answer on its way to a channel" : null;
}

const STATES = {
  running: "runs",
  queued: "is queued",
  waiting: "waits, in the middle of a turn",
  paused: "is paused in the middle of a turn",
} as const;
