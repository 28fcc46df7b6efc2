// Removing sessions for good. Kill ends a session and keeps what it said; this takes the transcript, too.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { agentOf, mainKey, parseKey, type SessionKey } from "../routing/key.ts";
import { below, childrenOf } from "../sessions/below.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { ArchiveQuery, Store } from "../store/store.ts";
import { ARCHIVE_AT_ONCE } from "../upkeep/limits.ts";
import { archivesIn } from "./away.ts";
import type { Caller, Done, System } from "./call.ts";
import { writersTo } from "./cron-found.ts";
import { reached } from "./reach.ts";
import { sessionKey } from "./setting-shapes.ts";

/** Of who is put away, or removed: nothing is done to the jobs. */
export const jobs = z
  .array(z.string())
  .describe("Jobs that write to one of these sessions, by name or id: the next run of each opens another.");

export const removeInput = z.strictObject({ sessionKey });

export const removed = z.strictObject({
  sessionKey,
  removed: z.int().describe("How many sessions are gone: it, if it was there, and all below it."),
  archives: z
    .int()
    .describe(
      "How many archives are gone: of these keys, and of all that had been archived below them; without those that a try before, " +
        "which something came in between of, had erased.",
    ),
  jobs,
});

/**
 * With everything below it: what was put away goes first, the lowest first, in pieces, so that nobody waits behind many: of all calls
 * that change something this one alone commits some of it itself. The last of them and all sessions are one commit. A crash, or a refusal, in between leaves whoever is above the rest, and who asks again erases
 * that. Each delete expects what was seen here: whoever writes to one of them in between, or spawns below one, makes the store refuse
 * all of it. So no session is lost that nobody had looked at, and no child is left below a parent that is gone.
 */
export async function remove(
  system: System,
  caller: Caller,
  input: z.output<typeof removeInput>,
): Promise<Done<z.input<typeof removed>>> {
  const key = parseKey(input.sessionKey);
  if (key === mainKey(agentOf(key)) && (await system.store.session(key)) !== null)
    throw new Fault("forbidden", `${key} always exists: an agent's main session is never removed`, {
      todo: RESET_INSTEAD,
    });
  let erased = 0;
  let tree = await treeOf(system.store, key);
  if (tree.sessions.length + tree.archives.length === 0) await reached(system, caller, key); // It says so.
  await mustAllRest(system, tree.sessions, { top: key, left: "nothing was removed" });
  while (tree.archives.length > ARCHIVE_AT_ONCE) {
    const first = tree.archives.slice(0, -ARCHIVE_AT_ONCE);
    for (let at = 0; at < first.length; at += ARCHIVE_AT_ONCE)
      erased += await erasedOf(system, first.slice(at, at + ARCHIVE_AT_ONCE));
    tree = await treeOf(system.store, key); // What has happened meanwhile?
    const left = `${erased} of its archives were erased; the sessions stay. Ask again when it rests`;
    await mustAllRest(system, tree.sessions, { top: key, left });
  }
  const { sessions, archives } = tree;
  const deletes = sessions.map(({ key: each, transcript }): Change => {
    return { do: "delete", key: each, expect: { transcript: transcript.id, lastSeq: transcript.lastSeq } };
  });
  const writers = await writersTo(
    system,
    sessions.map((each) => each.key),
  );
  const output = {
    sessionKey: key,
    removed: sessions.length,
    archives: erased + archives.length,
    jobs: writers,
  };
  return { changes: [...archives.map(purge), ...deletes.toReversed()], output: () => output };
}

/** No token may: what helps is another call. */
export const RESET_INSTEAD =
  "`sessiond reset` begins a new conversation in it; what was said in it becomes an archive";

/** A key and all that was born below it, as far as it is there. */
interface Tree {
  readonly sessions: readonly Session[]; //  the lowest last
  readonly archives: readonly string[]; //   their ids, the lowest first: until its own are gone, one leads to those below it
}

async function treeOf(store: Store, top: SessionKey): Promise<Tree> {
  const own = await store.session(top);
  const sessions = own === null ? [] : [own];
  const levels = [await archivesOf(store, { key: top })];
  const keys = new Set([top]);
  for (const parent of keys) {
    const born = await childrenOf(store, parent);
    sessions.push(...born);
    for (const { key } of born) keys.add(key);
    const away = await archivesOf(store, { parent });
    levels.push(away);
    for (const { key } of away) if (!keys.has(key) && (await isOnlyBelow(store, keys, key))) keys.add(key);
  }
  const ids = levels.toReversed().flatMap((level) => level.map(({ id }) => id));
  return { sessions, archives: [...new Set(ids)] };
}

/** A key may have been given again, below somebody else: then what is below it may be that one's, and stays with it. */
async function isOnlyBelow(
  store: Store,
  keys: ReadonlySet<SessionKey | null>,
  key: SessionKey,
): Promise<boolean> {
  if ((await store.session(key)) !== null) return false;
  return (await archivesOf(store, { key })).every(({ parent }) => keys.has(parent));
}

/** An archive, without what it weighs. */
interface Away {
  readonly id: string;
  readonly key: SessionKey;
  readonly parent: SessionKey | null;
}

/** Oldest first. */
async function archivesOf(store: Store, which: Pick<ArchiveQuery, "key" | "parent">): Promise<Away[]> {
  const found = archivesIn(store, which);
  return await Array.fromAsync(found, ({ id, key, session }) => ({ id, key, parent: session.parent }));
}

function purge(archive: string): Change {
  return { do: "purge", archive };
}

/** How many. 0: somebody else erased, or brought back, one of them meanwhile. */
async function erasedOf({ commit }: System, archives: readonly string[]): Promise<number> {
  try {
    await commit(archives.map(purge));
    return archives.length;
  } catch (error) {
    if (error instanceof Fault && error.code === "not_found") return 0;
    throw error;
  }
}

/** It, and all below it, the lowest last. Fault busy when something happens in one of them: then nothing may be `done` to any. */
export async function quietTree(system: System, session: Session, done: string): Promise<readonly Session[]> {
  const tree = [session, ...(await below(system.store, session.key))];
  await mustAllRest(system, tree, { top: session.key, left: `nothing was ${done}` });
  return tree;
}

async function mustAllRest(
  system: System,
  tree: readonly Session[],
  { top, left }: { readonly top: SessionKey; readonly left: string },
): Promise<void> {
  const programs = programsIn(system);
  for (const each of tree) {
    const why = (await busyWith(system, each, programs)) ?? (await owes(system, each));
    if (why === null) continue;
    const whose = each.key === top ? "" : `, which is below ${top},`;
    throw new Fault("busy", `${each.key}${whose} ${why}: ${left}`);
  }
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
