// Sessions out of the way, and back: archive, archives, restore, and erasing an archive. What archives by itself is upkeep.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { unlessLate } from "../base/waiting.ts";
import { mainKey, parseKey, type AgentId } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Change, Untouched } from "../store/change.ts";
import type { Archive, Store } from "../store/store.ts";
import { awayBelow } from "./away.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { writersTo } from "./cron-found.ts";
import {
  ARCHIVE_BEGIN_CHARS_MIN,
  ARCHIVE_PACK_MS,
  ARCHIVES_NAMED_MAX,
  RESTORED_BELOW_MAX,
} from "./limits.ts";
import { reached } from "./reach.ts";
import { jobs, RESET_INSTEAD, mustRest, quietTree } from "./removing.ts";
import { sessionKey } from "./setting-shapes.ts";
import { iso } from "./views.ts";

const id = z.string().describe("The id of an archive.");
const idOrBeginning = z
  .string()
  .describe(
    `The id of an archive, or the beginning of it: at least ${ARCHIVE_BEGIN_CHARS_MIN} characters, that no other begins with.`,
  );

const archiveInput = z.strictObject({ sessionKey });
const archivedOutput = z.strictObject({
  sessionKey,
  archive: id,
  archived: z.int().describe("How many sessions: it, and all below it."),
  jobs,
});

const archivesInput = z.strictObject({
  agent: z.string().optional(),
  sessionKey: sessionKey.optional(),
  parent: sessionKey.optional().describe("Only of sessions that were born below this one."),
  id: idOrBeginning.optional(),
  limit: z.int().min(1).max(200).default(50),
  cursor: z.string().optional().describe("`next` of the page before."),
});
const row = z.strictObject({
  id,
  sessionKey,
  agent: z.string(),
  why: z
    .enum(["asked", "stale", "cap", "ended", "budget", "reset"])
    .describe(
      "asked: somebody wanted it. stale, cap, ended, budget: upkeep. reset: the session began a new conversation.",
    ),
  archivedAt: z.string(),
  title: z.string().describe("Its label, or the first words that a person wrote."),
  entries: z
    .int()
    .describe(
      "How many it has. Of a session that had begun anew, only those since; in homes of before state version 3, with those before.",
    ),
  bytes: z.int().describe("Of its transcripts."),
  packedBytes: z.int().nullable().describe("What they take on the disk; null: they are not packed yet."),
});
const archivesOutput = z.strictObject({ archives: z.array(row), next: z.string().nullable() });

const restoreInput = z.strictObject({
  id: idOrBeginning.describe(
    `The id of an archive, or the beginning of it: at least ${ARCHIVE_BEGIN_CHARS_MIN} characters, that no other begins with. With ` +
      "`tree`, also the key of a session that is there: then what was put away below it comes back, as much as in one moment can; " +
      "`away` says how much is left for the next time.",
  ),
  swap: z
    .boolean()
    .default(false)
    .describe(
      "True: if its key has a session now, that one is archived, in the same moment. Timers, jobs, answers and children stay " +
        "with the key, and what was used goes on; settings are those of the archive.",
    ),
  tree: z
    .boolean()
    .default(false)
    .describe(
      `True: what was put away below it comes back too, all in the same moment; at most ${RESTORED_BELOW_MAX} sessions.`,
    ),
  together: z
    .boolean()
    .default(false)
    .describe(
      "True: of what was put away below it, what went in the same moment as it comes back too, and nothing that went before: it " +
        "undoes `archive`.",
    ),
});
const restoredOutput = z.strictObject({
  sessionKey,
  entries: z.int().describe("Of what came back itself; 0: it was there."),
  archived: id.nullable().describe("The session that was in its place; null: there was none."),
  below: z.int().describe("How many sessions below it came back with it."),
  away: z
    .int()
    .describe(
      `How many below it are still archived; counted up to ${RESTORED_BELOW_MAX + 1}. \`tree\` brings them back with it.`,
    ),
  taken: z
    .int()
    .describe("How many archives below it stay what they are, because their key has a session now."),
});

const purgeInput = z.strictObject({ id: idOrBeginning });
const purgedOutput = z.strictObject({ id, sessionKey, bytes: z.int().describe("That it took on the disk.") });

/** With everything below it, in one commit, the lowest first. A person may archive what upkeep never would, but for main. */
async function archive(
  system: System,
  caller: Caller,
  input: z.output<typeof archiveInput>,
): Promise<Done<z.input<typeof archivedOutput>>> {
  const session = await reached(system, caller, parseKey(input.sessionKey));
  if (session.key === mainKey(session.agent as AgentId))
    throw new Fault("forbidden", `${session.key} always exists: an agent's main session is never archived`, {
      todo: RESET_INSTEAD,
    });
  const tree = (await quietTree(system, session, "archived")).toReversed();
  const { key, transcript } = session;
  const writers = await writersTo(
    system,
    tree.map((each) => each.key),
  );
  return {
    changes: tree.map(putAway),
    output: async () => {
      await packed(system, tree);
      return { sessionKey: key, archive: transcript.id, archived: tree.length, jobs: writers };
    },
  };
}

function putAway(session: Session): Change {
  return { do: "archive", key: session.key, expect: seenOf(session), why: "asked" };
}

function seenOf({ transcript }: Session): Untouched {
  return { transcript: transcript.id, lastSeq: transcript.lastSeq };
}

/** Not waited for too long: upkeep packs what is left. */
async function packed({ world, upkeep }: System, sessions: readonly Session[]): Promise<void> {
  await unlessLate(world, ARCHIVE_PACK_MS, upkeep.pack(sessions.map(({ transcript }) => transcript.id)));
}

async function archives(
  { store }: System,
  _caller: Caller,
  { sessionKey: text, parent, agent, id: named, limit, cursor }: z.output<typeof archivesInput>,
): Promise<Done<z.input<typeof archivesOutput>>> {
  const one = named === undefined ? null : await meant(store, named);
  if (named !== undefined && one === null) return just({ archives: [], next: null });
  const page = await store.archives({
    ...(agent === undefined ? {} : { agent }),
    ...(text === undefined ? {} : { key: parseKey(text) }),
    ...(parent === undefined ? {} : { parent: parseKey(parent) }),
    ...(one === null ? {} : { id: one.id }),
    newest: true,
    limit,
    cursor: cursor ?? null,
  });
  return just({ archives: page.rows.map(shown), next: page.next });
}

function shown(archived: Archive): z.input<typeof row> {
  const { id: own, key, agent, why, archivedAtMs, session, bytes, packedBytes } = archived;
  return {
    ...{ id: own, sessionKey: key, agent, why, archivedAt: iso(archivedAtMs) },
    title: session.settings.label ?? session.title,
    ...{ entries: entriesOf(archived), bytes, packedBytes },
  };
}

/** Numbers go on when a conversation begins anew, so the last one says nothing of how many there are. */
function entriesOf({ session, firstSeq }: Archive): number {
  return session.transcript.lastSeq - firstSeq + 1;
}

/** By its id, or the beginning of it. Null: none. Fault bad_input when several begin so. */
async function meant(store: Store, text: string): Promise<Archive | null> {
  const [exact] = (await store.archives({ id: text, limit: 1 })).rows;
  if (exact !== undefined || text.length < ARCHIVE_BEGIN_CHARS_MIN) return exact ?? null;
  const { rows, next } = await store.archives({ idPrefix: text, limit: ARCHIVES_NAMED_MAX });
  const [only, ...others] = rows;
  if (others.length === 0) return only ?? null;
  const named = rows.map(({ id: each, key }) => `${each} (${key})`).join(", ");
  const more = next === null ? "" : " or another";
  throw new Fault("bad_input", `archive ${text} may be ${named}${more}: write more of its id`);
}

async function found({ store }: System, text: string): Promise<Archive> {
  const archived = await meant(store, text);
  if (archived !== null) return archived;
  throw new Fault("not_found", `there is no archive ${text}`, {
    todo: `\`archives\` lists those that there are; the beginning of an id has at least ${ARCHIVE_BEGIN_CHARS_MIN} characters`,
  });
}

/** Its files are as they were before anybody is told that it is back: so a crash in between leaves an archive that is not packed. */
async function restore(
  system: System,
  caller: Caller,
  input: z.output<typeof restoreInput>,
): Promise<Done<z.input<typeof restoredOutput>>> {
  if (input.id.startsWith("agent:")) return await restoreBelow(system, caller, input);
  const archived = await found(system, input.id);
  const { id: one, key } = archived;
  const present = await system.store.session(key);
  if (present !== null && !input.swap)
    throw new Fault("exists", `${key} has a session now: nothing was restored`, {
      todo: "archive that one first, or restore with `swap` (`sessiond restore --swap`), which does both at once",
    });
  if (present !== null) await mustRest(system, present, "restored");
  const { archives: others, taken } = await awayBelow(system.store, key, {
    most: RESTORED_BELOW_MAX,
    atMs: null,
  });
  const along = input.tree ? others : input.together ? await gone(system, archived) : [];
  if (along.length > RESTORED_BELOW_MAX)
    throw new Fault(
      "too_large",
      `more than ${RESTORED_BELOW_MAX} sessions below ${key} are archived: nothing was restored`,
      { todo: "restore it alone, then those that are wanted" },
    );
  for (const each of [one, ...along]) await system.store.unpack(each);
  return {
    changes: [
      { do: "restore", archive: one, over: present && { key, ...seenOf(present) } },
      ...along.map((each): Change => ({ do: "restore", archive: each, over: null })),
    ],
    output: async () => {
      if (present !== null) await packed(system, [present]);
      return {
        sessionKey: key,
        entries: entriesOf(archived),
        archived: present?.transcript.id ?? null,
        below: along.length,
        away: Math.max(0, others.length - along.length), // Of more than are counted, more may come back.
        taken,
      };
    },
  };
}

/** Below a session that is there. Who asks until nothing is left has all of it, however much that is. */
async function restoreBelow(
  system: System,
  caller: Caller,
  { id: named, tree, swap }: z.output<typeof restoreInput>,
): Promise<Done<z.input<typeof restoredOutput>>> {
  const { key } = await reached(system, caller, parseKey(named));
  if (!tree || swap)
    throw new Fault(
      "bad_input",
      `${key} is there: what is below it comes back with \`tree\`, without \`swap\``,
    );
  const { archives: all, taken } = await awayBelow(system.store, key, {
    most: RESTORED_BELOW_MAX,
    atMs: null,
  });
  const some = all.slice(0, RESTORED_BELOW_MAX);
  for (const each of some) await system.store.unpack(each);
  const told = { sessionKey: key, entries: 0, archived: null, taken };
  return {
    changes: some.map((each) => ({ do: "restore", archive: each, over: null })),
    output: () => ({ ...told, below: some.length, away: all.length - some.length }),
  };
}

/** Below it, in the same moment: a tree is archived in one commit. */
async function gone({ store }: System, { key, archivedAtMs }: Archive): Promise<readonly string[]> {
  return (await awayBelow(store, key, { most: RESTORED_BELOW_MAX, atMs: archivedAtMs })).archives;
}

async function purgeArchive(
  system: System,
  _caller: Caller,
  input: z.output<typeof purgeInput>,
): Promise<Done<z.input<typeof purgedOutput>>> {
  const { id: one, key, bytes, packedBytes } = await found(system, input.id);
  return {
    changes: [{ do: "purge", archive: one }],
    output: () => ({ id: one, sessionKey: key, bytes: packedBytes ?? bytes }),
  };
}

/** Their rows in the table. */
export const archiveCalls = {
  archive: call({
    about:
      "Puts a session and everything below it out of the way: out of every list, packed, and back with restore. Refused while " +
      "one of them does something, has mail or a timer; main sessions stay.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/archive",
    input: archiveInput,
    output: archivedOutput,
    idempotent: false, // the second time there is no such session
    run: archive,
  }),
  archives: call({
    about: "Sessions that are out of the way, and conversations before a reset; newest first.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /archives",
    input: archivesInput,
    output: archivesOutput,
    idempotent: true,
    run: archives,
  }),
  restore: call({
    about:
      "Brings an archive back as it was: the same key, the same transcript byte for byte. With `tree`, what was put away below " +
      "it too.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /archives/:id/restore",
    input: restoreInput,
    output: restoredOutput,
    idempotent: false,
    run: restore,
  }),
  purgeArchive: call({
    about: "Erases an archive for good.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "DELETE /archives/:id",
    input: purgeInput,
    output: purgedOutput,
    idempotent: false, // the second time there is nothing to be erased
    run: purgeArchive,
  }),
};
