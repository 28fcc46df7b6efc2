// What may go out of the way, and how it comes back: pure, the same for every engine.

import { Fault } from "../base/fault.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session, Usage } from "../sessions/session.ts";
import { checkUntouched, type Of } from "./rules.ts";
import type { Archive, ArchiveQuery } from "./store.ts";

/** Children of a session are counted up to this: whoever asks wants to know whether there are any. */
export const CHILDREN_COUNTED_MAX = 1_000;

/**
 * Refuses to put away what is at work, or is about to be: a turn, a wish that nobody has seen yet, a timer that would find
 * nobody, an answer that nobody would deliver. It is `busy`: the same may be asked again when that is over.
 */
export function checkAtRest(row: Session, has: { readonly timer: boolean; readonly answer: boolean }): void {
  const { key, state, signal } = row;
  if (state.kind !== "idle" && state.kind !== "ended")
    throw new Fault("busy", `${key} is ${state.kind}: what is at work is not archived`);
  if (signal !== "none" && state.kind !== "ended")
    throw new Fault("busy", `${key} is told to ${signal}, and has not seen that yet`);
  if (has.timer) throw new Fault("busy", `${key} has a timer: it would find nobody`);
  if (has.answer) throw new Fault("busy", `an answer of ${key} is still to be delivered`);
}

/**
 * Refuses what nobody asked for, of a session that is kept: what upkeep looked at may have been pinned since, or a job may write to
 * it now. Which kinds of sessions stay is upkeep's affair: that does not change between its look and its commit.
 */
export function checkMayGo({ key, kind, settings }: Session, why: Archive["why"], isTarget: boolean): void {
  if (why === "asked") return;
  const kept =
    (kind === "main" && "is the main session of its agent") ||
    (settings.pinned && "is pinned") ||
    (isTarget && "is written to by a job");
  if (kept !== false)
    throw new Fault("stale_writer", `${key} ${kept}: it is archived only when somebody asks`);
}

/** Refuses to bring back what is not there, what is packed, or what would take the place of another than the one that was seen. */
export function checkRestore(
  { archive: id, over }: Of<"restore">,
  archive: Archive | null,
  present: Session | null,
): asserts archive {
  if (archive === null) throw noSuchArchive(id);
  const { key, packedBytes } = archive;
  if (packedBytes !== null) throw new Fault("busy", `archive ${id} is packed: unpack it first`);
  if (over !== null && over.key !== key)
    throw new Fault("bad_input", `archive ${id} is of ${key}, and does not take the place of ${over.key}`);
  if (over !== null && present === null) throw new Fault("not_found", `there is no session ${key} any more`);
  if (over === null && present !== null)
    throw new Fault(
      "exists",
      `${key} has a session now; say that the archive comes over it, or archive that one first`,
    );
}

/** Of who gives its place to an archive. What goes by its key stays there, so it may have a timer, an answer or children. */
export function checkGivesWay(row: Session, over: Of<"restore">["over"], hasMail: boolean): void {
  checkUntouched(row, over, { mail: hasMail, children: false });
  checkAtRest(row, { timer: false, answer: false });
}

/**
 * As it was; but it counts as changed now, and so does what a person last wrote in it: else it would be the stalest of all as soon
 * as it is back, or begin anew with the next message. What it was before it began anew may have been put away in the middle of a
 * turn, which is not gone on with.
 */
export function restoredRow({ session }: Archive, atMs: number): Session {
  const rest: Pick<Session, "state" | "signal"> =
    session.state.kind === "ended" ? session : { state: { kind: "idle" }, signal: "none" };
  const interactedAtMs = session.interactedAtMs > 0 ? atMs : 0;
  return { ...session, state: rest.state, signal: rest.signal, updatedAtMs: atMs, interactedAtMs };
}

/** The same, in the place of another of its key. Whoever saw the settings of that one has not seen these. */
export function swappedRow(archive: Archive, present: Session, atMs: number): Session {
  const row = restoredRow(archive, atMs);
  const { parent, root, depth } = present;
  const isTree = row.tree !== null || present.tree !== null;
  return {
    ...{ ...row, parent, root, depth },
    settingsVersion: Math.max(row.settingsVersion, present.settingsVersion) + 1,
    usage: largerOf(row.usage, present.usage),
    tree: isTree ? largerOf(row.tree ?? row.usage, present.tree ?? present.usage) : null,
  };
}

function largerOf(one: Usage, other: Usage): Usage {
  const names = Object.keys(one) as (keyof Usage)[];
  return Object.fromEntries(
    names.map((name) => [name, Math.max(one[name], other[name])]),
  ) as unknown as Usage;
}

export function noSuchArchive(id: string): Fault {
  return new Fault("not_found", `there is no archive ${id}`);
}

/** For whoever asks for the entries of what is out of the way. */
export function isArchived(transcript: string, { id, key }: { id: string; key: SessionKey }): Fault {
  return new Fault(
    "not_found",
    `transcript ${transcript} of ${key} is archived: restore archive ${id} first`,
  );
}

/** Whether an archive is one that a list asks for. */
export function isWanted(
  archive: Pick<Archive, "id" | "key" | "agent" | "packedBytes"> & Pick<Session, "parent">,
  query: ArchiveQuery,
): boolean {
  return (
    (query.id === undefined || archive.id === query.id) &&
    (query.idPrefix === undefined || archive.id.startsWith(query.idPrefix)) &&
    (query.key === undefined || archive.key === query.key) &&
    (query.parent === undefined || archive.parent === query.parent) &&
    (query.agent === undefined || archive.agent === query.agent) &&
    (query.packed === undefined || (archive.packedBytes !== null) === query.packed)
  );
}
