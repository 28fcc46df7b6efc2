// Rules
//
// What a change does to a session's row, and when it is refused: pure functions, the same for every engine.
// An engine looks up the row, asks here, and keeps the answer.
//
//   Owns:      expectations (S3, S4) and the arithmetic of rows.
//   Does not:  touch a table or a file.

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { Letter } from "../mail/letter.ts";
import { describeKey, type SessionKey } from "../routing/key.ts";
import type { Session, Settings, Usage } from "../sessions/session.ts";
import type { Header } from "../transcript/entry.ts";
import { NO_TOKENS } from "../transcript/fold.ts";
import { bounded } from "./check.ts";
import type { Change, Changed, SessionQuery } from "./store.ts";

export type Of<Do extends Change["do"]> = Extract<Change, { readonly do: Do }>;

export const DEFAULT_SETTINGS: Settings = {
  label: null,
  model: null,
  thinking: null,
  verbose: null,
  sendPolicy: null,
  queueMode: null,
  nice: 0,
  pinned: false,
  pins: [],
  tools: [],
  limits: null,
  oneShot: null,
  deleteAtEnd: false,
};

export const NO_USAGE: Usage = {
  ...NO_TOKENS,
  steps: 0,
  toolCalls: 0,
  modelMs: 0,
  wallMs: 0,
  toolCpuMs: 0,
  toolPeakBytes: 0,
};

/** Nobody is born below one that has ended, or is to die: a kill must reach everybody. */
export function checkParent(parent: Session | null): void {
  if (parent !== null && (parent.state.kind === "ended" || parent.signal === "kill"))
    throw new Fault("ended", `${parent.key} has ended, or is being killed: it has no more children`);
}

/** The row of a new session. Its transcript holds the header line and nothing else. */
export function openedRow(
  change: Pick<Of<"open">, "key" | "transcript" | "parent" | "settings">,
  parent: Session | null,
  headerBytes: number,
  atMs: number,
): Session {
  const { kind, agent } = describeKey(change.key);
  return {
    key: change.key,
    agent,
    kind,
    parent: change.parent,
    root: parent?.root ?? change.key,
    depth: parent === null ? 0 : parent.depth + 1,
    bornAtMs: atMs,
    state: { kind: "idle" },
    route: null,
    origin: null,
    transcript: {
      id: change.transcript,
      lastSeq: 0,
      leafId: null,
      bytes: headerBytes,
      contextSeq: 1,
      firstSeq: 1,
      jumpSeq: 0,
      copied: 0,
    },
    signal: "none",
    settings: { ...DEFAULT_SETTINGS, ...change.settings },
    settingsVersion: 1,
    usage: NO_USAGE,
    tree: null,
    title: "",
    updatedAtMs: atMs,
    interactedAtMs: 0,
  };
}

/** The first line of a new transcript. It names the transcript that it came from: its parent's, or the one it copied. */
export function headerOf(
  change: Pick<Of<"open">, "key" | "transcript" | "cwd">,
  from: {
    readonly parent: Session | null;
    readonly source: Session | null;
    readonly copied: number;
    readonly atMs: number;
  },
): Header {
  const origin = from.parent ?? from.source;
  return {
    type: "session",
    version: 3,
    id: change.transcript,
    timestamp: new Date(from.atMs).toISOString(),
    cwd: change.cwd,
    key: change.key,
    agent: describeKey(change.key).agent,
    ...(origin ? { parentSession: `${origin.transcript.id}.jsonl` } : {}),
    ...(from.parent ? { child: true } : {}),
    ...(from.copied > 0 ? { copied: from.copied } : {}),
  };
}

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

/** The letter that a change comes with; null: it comes alone. */
export function companionOf(change: Pick<Change, "do">): string | null {
  return (change as { readonly with?: string }).with ?? null;
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
  const prefix = query.titlePrefix?.toLowerCase();
  return (
    (query.agent === undefined || row.agent === query.agent) &&
    (query.kind === undefined || row.kind === query.kind) &&
    (query.state === undefined || row.state.kind === query.state) &&
    (query.parent === undefined || row.parent === query.parent) &&
    (query.label === undefined || row.settings.label === query.label) &&
    (prefix === undefined || shownTitle(row).toLowerCase().startsWith(prefix)) &&
    (query.updatedSinceMs === undefined || row.updatedAtMs >= query.updatedSinceMs)
  );
}

/** The letter as it is kept, and a print of it by which a repeat is told from another letter under the same id. */
export function sealLetter(letter: Letter): { readonly body: string; readonly print: string } {
  const { id, ...rest } = letter;
  const body = bounded(`letter ${id}`, rest);
  return { body, print: createHash("sha256").update(body).digest("base64url") };
}

/**
 * People and what sessions send share a bounded mailbox. The system's own letters always find room, and so do reports and
 * answers to what a session sent: there are no more of them than it has sent, and the commit that ends a turn must not fail on them.
 */
export function isCapped({ from }: Letter): boolean {
  if (from.kind === "inter_session") return from.tool !== null && from.tool !== "report";
  return from.kind === "external_user";
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

/** The next address of a letter whose recipient ended, or null when none is left that can read it. */
export function forwardTo(
  others: readonly SessionKey[],
  stateOf: (key: SessionKey) => Session["state"]["kind"] | null,
): { readonly to: SessionKey; readonly others: readonly SessionKey[] } | null {
  for (const [at, key] of others.entries()) {
    const state = stateOf(key);
    if (state !== null && state !== "ended") return { to: key, others: others.slice(at + 1) };
  }
  return null;
}

/** Refuses an end over letters that have no other address (S7): whoever posted them was told that they will be read. */
export function checkRead(key: SessionKey, unread: number): void {
  if (unread > 0) throw new Fault("unread", `letters wait for ${key} that nobody else could read: ${unread}`);
}

/** Why a letter reached nobody: a name that is not there, or only sessions that have ended. */
export function nobodyReads(to: readonly SessionKey[], anyExists: boolean): Fault {
  const names = to.join(", ");
  return anyExists
    ? new Fault("ended", `${names}: ended`)
    : new Fault("not_found", `there is no session ${names}`);
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
