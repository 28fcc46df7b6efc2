// Sessions out of the way, and back: archive, archives, restore, and erasing an archive. What archives by itself is upkeep.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { unlessLate } from "../base/waiting.ts";
import { mainKey, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Change, Untouched } from "../store/change.ts";
import type { Archive, Store } from "../store/store.ts";
import { awayBelow, type Away } from "./away.ts";
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
      "`below` all, also the key of a session that is there: then what was put away below it comes back.",
  ),
  swap: z
    .boolean()
    .default(false)
    .describe(
      "True: if its key has a session now, that one is archived, in the same moment. Timers, jobs, answers and children stay " +
        "with the key, and what was used goes on; settings are those of the archive.",
    ),
  below: z
    .enum(["none", "together", "all"])
    .default("none")
    .describe(
      "What comes back of what was put away below it. together: what went in the same moment as it, and nothing that went before: it " +
        `undoes \`archive\`. all: whatever there is. Of more than ${RESTORED_BELOW_MAX}, the lowest first: \`left\` says whether to ask again.`,
    ),
});
const restoredOutput = z.strictObject({
  sessionKey,
  entries: z.int().describe("Of what came back itself; 0: it was there, or comes with the last."),
  archived: id.nullable().describe("The session that was in its place; null: there was none."),
  below: z.int().describe("How many sessions below it came back this time."),
  left: z
    .int()
    .describe(
      "How many of those that were asked for are still to come: ask for the same again until it is 0. It itself comes with the last.",
    ),
  away: z
    .int()
    .describe("How many below it are still archived, asked for or not. `below` all brings them back."),
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

type Restored = Done<z.input<typeof restoredOutput>>;

/**
 * Its files are as they were before anybody is told that it is back: so a crash in between leaves an archive that is not packed. It comes
 * after all that comes with it: so who is cut off, or has more than one commit takes, asks for the same again.
 */
async function restore(
  system: System,
  caller: Caller,
  input: z.output<typeof restoreInput>,
): Promise<Restored> {
  if (input.id.startsWith("agent:")) return await restoreBelow(system, caller, input);
  const archived = await found(system, input.id);
  const { id: one, key } = archived;
  const present = await system.store.session(key);
  if (present !== null && !input.swap)
    throw new Fault("exists", `${key} has a session now: nothing was restored`, {
      todo: "archive that one first, or restore with `swap` (`sessiond restore --swap`), which does both at once",
    });
  if (present !== null) await mustRest(system, present, "restored");
  const { changes, told } = await comingBack(system, key, ({ archivedAtMs }) => {
    return input.below === "all" || (input.below === "together" && archivedAtMs === archived.archivedAtMs);
  });
  if (told.left > 0) return { changes, output: () => told };
  await system.store.unpack(one);
  return {
    changes: [...changes, { do: "restore", archive: one, over: present && { key, ...seenOf(present) } }],
    output: async () => {
      if (present !== null) await packed(system, [present]);
      return { ...told, entries: entriesOf(archived), archived: present?.transcript.id ?? null };
    },
  };
}

/** Below a session that is there. */
async function restoreBelow(
  system: System,
  caller: Caller,
  { id: named, below, swap }: z.output<typeof restoreInput>,
): Promise<Restored> {
  const { key } = await reached(system, caller, parseKey(named));
  if (below !== "all" || swap)
    throw new Fault(
      "bad_input",
      `${key} is there: what is below it comes back with \`below\` all, without \`swap\``,
    );
  const { changes, told } = await comingBack(system, key, () => true);
  return { changes, output: () => told };
}

/** Of what is away below a session, as much as one commit takes; the lowest first, so that what is left is found from above. */
async function comingBack(
  { store }: System,
  key: SessionKey,
  isWanted: (away: Away) => boolean,
): Promise<{ readonly changes: readonly Change[]; readonly told: z.input<typeof restoredOutput> }> {
  const { archives: all, taken } = await awayBelow(store, key);
  const asked = all.filter(isWanted);
  const some = asked.slice(-RESTORED_BELOW_MAX).toReversed();
  for (const each of some) await store.unpack(each.id);
  const [below, left, away] = [some.length, asked.length - some.length, all.length - some.length];
  return {
    changes: some.map((each) => ({ do: "restore", archive: each.id, over: null })),
    told: { sessionKey: key, entries: 0, archived: null, below, left, away, taken },
  };
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
      "Brings an archive back as it was: the same key, the same transcript byte for byte. With `below`, what was put away below " +
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
