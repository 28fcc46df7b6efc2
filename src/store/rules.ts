// Rules
//
// What a change does to a session's row, and when it is refused: pure functions, the same for every engine.
// An engine looks up the row, asks here, and keeps the answer.
//
//   Owns:      expectations (S3, S4) and the arithmetic of rows.
//   Does not:  touch a table or a file.

import { Fault } from "../base/fault.ts";
import { redacted } from "../base/redact.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session, Usage } from "../sessions/session.ts";
import type { Change } from "./change.ts";
import type { Changed, SessionQuery } from "./store.ts";

export type Of<Do extends Change["do"]> = Extract<Change, { readonly do: Do }>;

/** Refuses whoever is not the owner, or knows an older history than there is. */
export function checkAppend(
  row: Session,
  change: Pick<Of<"append">, "fence" | "after">,
  fence: number,
): void {
  checkFence(row.key, change.fence, fence);
  if (change.after !== row.transcript.lastSeq) {
    throw new Fault(
      "stale_writer",
      `${row.key} is at entry ${row.transcript.lastSeq}, the writer knew ${change.after}`,
    );
  }
}

/** A context cannot start after the entry that the conversation goes back to. */
export function checkContext(row: Session, change: Pick<Of<"append">, "rewindTo" | "contextSeq">): void {
  const { contextSeq } = row.transcript;
  if (change.rewindTo !== null && change.rewindTo.seq < contextSeq && change.contextSeq === null)
    throw new Fault(
      "bad_input",
      `the context of ${row.key} starts at entry ${contextSeq}: going back to ${change.rewindTo.seq}, say where it starts then`,
    );
}

/** What the engine found out while it made the lines. */
export interface Appended {
  readonly count: number;
  readonly bytes: number;
  readonly leafId: string;
  readonly jumped: boolean;
  readonly title: string | null;
  readonly contextSeq: number | null;
  readonly contextTokens: number | null; // null: no entry of these speaks of it
  readonly isPersonal: boolean; // a person wrote just now; what a fork copies was written to another
}

export function appendedRow(row: Session, appended: Appended, atMs: number): Session {
  const { transcript } = row;
  return {
    ...row,
    transcript: {
      ...transcript,
      lastSeq: transcript.lastSeq + appended.count,
      leafId: appended.leafId,
      bytes: transcript.bytes + appended.bytes,
      contextSeq: appended.contextSeq ?? transcript.contextSeq,
      contextTokens: appended.contextTokens ?? (appended.jumped ? 0 : transcript.contextTokens),
      jumpSeq: appended.jumped ? transcript.lastSeq + 1 : transcript.jumpSeq,
    },
    title: row.title === "" ? (appended.title ?? "") : row.title,
    updatedAtMs: atMs,
    interactedAtMs: appended.isPersonal ? atMs : row.interactedAtMs,
  };
}

/** The changes that concern one row and nothing else. */
export type RowChange = Of<"run"> | Of<"reroute"> | Of<"signal"> | Of<"revive"> | Of<"set"> | Of<"charge">;

export function changedRow(row: Session, change: RowChange, fence: number, atMs: number): Session {
  switch (change.do) {
    case "run":
      checkFence(row.key, change.fence, fence);
      if (row.state.kind === "ended") throw new Fault("ended", `${row.key} has ended`);
      return { ...row, state: change.state, updatedAtMs: atMs };
    case "reroute":
      checkFence(row.key, change.fence, fence);
      return { ...row, route: change.route, origin: change.origin, updatedAtMs: atMs };
    case "signal":
      // A kill is never taken back; what has ended has nothing left to hear.
      if (row.signal === "kill" || row.state.kind === "ended") return row;
      return { ...row, signal: change.signal, updatedAtMs: atMs };
    case "revive":
      // A kill was meant for the life that it ended, and for none after it.
      if (row.state.kind !== "ended") return row;
      return { ...row, state: { kind: "idle" }, signal: "none", updatedAtMs: atMs };
    case "set":
      if (change.version !== null && change.version !== row.settingsVersion) {
        throw new Fault(
          "stale_writer",
          `the settings of ${row.key} are at version ${row.settingsVersion}, not ${change.version}`,
        );
      }
      return {
        ...row,
        settings: { ...row.settings, ...change.settings },
        settingsVersion: row.settingsVersion + 1,
        updatedAtMs: atMs,
      };
    case "charge":
      return {
        ...row,
        usage: addUsage(row.usage, change.usage),
        tree: row.tree && addUsage(row.tree, change.usage),
        updatedAtMs: atMs,
      };
  }
}

/** The row of an ancestor whose descendant has used something: it has not changed otherwise, so it is not newer. */
export function chargedAbove(row: Session, usage: Partial<Usage>): Session {
  return { ...row, tree: addUsage(row.tree ?? row.usage, usage) };
}

/** The rows above one, nearest first. Where a parent was deleted, its root is the next that is known. */
export function* above(row: Session, find: (key: SessionKey) => Session | null): Generator<Session> {
  let at = row;
  while (at.parent !== null) {
    const next: Session | null = find(at.parent) ?? (at.parent === at.root ? null : find(at.root));
    if (next === null) return;
    yield next;
    at = next;
  }
}

export function addUsage(usage: Usage, more: Partial<Usage>): Usage {
  const sum: Record<string, number> = { ...usage };
  for (const [name, amount] of Object.entries(more)) {
    sum[name] = name === "toolPeakBytes" ? Math.max(usage.toolPeakBytes, amount) : (sum[name] ?? 0) + amount;
  }
  return sum as unknown as Usage;
}

/** Refuses to delete what is not what the deleter saw. `has` is what there is by now. */
export function checkUntouched(
  row: Session,
  expect: Of<"delete">["expect"],
  has: { readonly mail: boolean; readonly children: boolean },
): void {
  if (expect === null) return;
  const { id, lastSeq } = row.transcript;
  if (expect.transcript === id && expect.lastSeq === lastSeq && !has.mail && !has.children) return;
  const more = `${has.mail ? ", and mail waits" : ""}${has.children ? ", and it has a child" : ""}`;
  const now = `transcript ${id}, entry ${lastSeq}${more}`;
  throw new Fault("stale_writer", `something has happened to ${row.key} since: it is at ${now}`);
}

/** Refuses who saw another record than there is; null: there is none. */
export function checkVersion(change: Of<"setJob"> | Of<"clearJob">, version: number | null): void {
  if (change.expectVersion === version) return;
  const id = change.do === "setJob" ? change.job.id : change.id;
  const now = version === null ? "is not there" : `is at version ${version}`;
  throw new Fault("stale_writer", `job ${id} ${now}, not at ${change.expectVersion ?? "none"}`);
}

/** Refuses who saw another timer than there is; null: there is none. */
export function checkDue(id: string, due: number | null, expected: number | null): void {
  if (due !== expected) throw new Fault("stale_writer", `timer ${id} is due at ${due}, not at ${expected}`);
}

/** Refuses what was read for a change, if the session is another one of the same key by now. */
export function checkSame(key: SessionKey, isSame: boolean): void {
  if (!isSame) throw new Fault("stale_writer", `${key} was deleted, or began anew, meanwhile`);
}

export function checkFence(key: SessionKey, given: number, held: number): void {
  if (given !== held)
    throw new Fault("stale_writer", `${key} has another owner now (fence ${held}, the writer has ${given})`);
}

/** What a list and a search by title go by: the label, else the first words a person wrote. */
export function shownTitle(row: Session): string {
  return row.settings.label ?? row.title;
}

/** Whether a session is one that a list asks for. */
export function isMatch(row: Session, query: SessionQuery): boolean {
  return (
    (query.agent === undefined || row.agent === query.agent) &&
    (query.kind === undefined || row.kind === query.kind) &&
    (query.state === undefined || row.state.kind === query.state) &&
    (query.parent === undefined || row.parent === query.parent) &&
    (query.label === undefined || row.settings.label === query.label) &&
    (query.titlePrefix === undefined || hasPrefix(row, query.titlePrefix)) &&
    (query.updatedSinceMs === undefined || row.updatedAtMs >= query.updatedSinceMs) &&
    (query.text === undefined || hasWords(row, query.text))
  );
}

/**
 * Nor does it begin with a secret that is not shown (hasWords). The index has the title as it is, and so has the cursor of a list by
 * title, which stands between two titles: whoever opens that can read the one before it.
 */
function hasPrefix(row: Session, titlePrefix: string): boolean {
  const title = shownTitle(row);
  const prefix = titlePrefix.toLowerCase();
  return [title, redacted(title)].every((each) => each.toLowerCase().startsWith(prefix));
}

/** Secrets are not looked through: who asked for longer and longer words could else read one out. */
function hasWords(row: Session, text: string): boolean {
  const shown = `${row.key}\n${redacted(shownTitle(row))}`.toLowerCase();
  const words = text.toLowerCase().split(/\s+/);
  return words.every((word) => shown.includes(word)); // an empty one, beside a blank, is everywhere
}

/** What waits for a session's owner beside what its row says. */
export interface Waits {
  readonly mail: boolean;
  /** An answer that is to be delivered: its owner does that, so that no two do. */
  readonly answers: boolean;
}

export const NOTHING_WAITS: Waits = { mail: false, answers: false };

/** Whether somebody should look after the session. What has ended, or is paused and shall stay so, only delivers. */
export function hasWork(row: Session, waits: Waits): boolean {
  if (waits.answers) return true;
  if (row.state.kind === "ended") return false;
  if (row.signal === "kill") return true;
  const busy = row.state.kind === "queued" || row.state.kind === "running";
  if (row.signal === "pause") return busy || row.state.kind === "waiting"; // to be parked
  return busy || waits.mail || row.state.kind === "paused"; // paused, and the wish to pause is gone
}

/**
 * Adds one session's change to what the feed will tell of a group of commits. The last word on a session
 * counts, but a deletion is told even if the key is opened anew: followers keep things by key.
 */
export function tell(told: Map<string, Changed>, changed: Changed): void {
  told.delete(changed.key);
  if (changed.deleted) told.delete(`deleted ${changed.key}`);
  told.set(changed.deleted ? `deleted ${changed.key}` : changed.key, changed);
}

export function noSuchEntry(key: SessionKey, seq: number): Fault {
  return new Fault("not_found", `${key} has no entry ${seq} on its active path`);
}
