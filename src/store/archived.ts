// What may go out of the way, and how it comes back: pure, the same for every engine.

import { Fault } from "../base/fault.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
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

/** Refuses to bring back what is not there, what is packed, or what would take the place of another. */
export function checkRestore(id: string, archive: Archive | null, exists: boolean): asserts archive {
  if (archive === null) throw noSuchArchive(id);
  if (archive.packedBytes !== null) throw new Fault("busy", `archive ${id} is packed: unpack it first`);
  if (exists)
    throw new Fault(
      "exists",
      `${archive.key} has a session now; archive that one first, in the same commit if you like`,
    );
}

/**
 * As it was; but it counts as changed now, so that it is not the stalest of all as soon as it is back. What it was before it
 * began anew may have been put away in the middle of a turn, which is not gone on with.
 */
export function restoredRow({ session }: Archive, atMs: number): Session {
  const rest: Pick<Session, "state" | "signal"> =
    session.state.kind === "ended" ? session : { state: { kind: "idle" }, signal: "none" };
  return { ...session, state: rest.state, signal: rest.signal, updatedAtMs: atMs };
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
export function isWanted(archive: Archive, query: ArchiveQuery): boolean {
  return (
    (query.id === undefined || archive.id === query.id) &&
    (query.key === undefined || archive.key === query.key) &&
    (query.agent === undefined || archive.agent === query.agent) &&
    (query.packed === undefined || (archive.packedBytes !== null) === query.packed)
  );
}
