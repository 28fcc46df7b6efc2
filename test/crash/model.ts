// Model: what a store must show after a number of commits, as plain data. It follows the words of store.ts and not the
// rules that the engines share, so that a mistake in those shows too. Accounts are never changed, only replaced: a
// judge can hold many possible worlds at once.

import type { Letter, Outgoing, Route } from "../../src/mail/letter.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { RunState, Settings, Signal, Usage } from "../../src/sessions/session.ts";
import { DEFAULT_SETTINGS, NO_USAGE, type Of } from "../../src/store/rules.ts";
import type { Change } from "../../src/store/store.ts";
import type { Timer } from "../../src/timers/timer.ts";
import type { BlobName, Draft } from "../../src/transcript/entry.ts";

/** One entry, by what the workload knows of it. */
export interface Written {
  readonly text: string;
  readonly after: number; //           the seq that it continues; 0: it is the first
  readonly mailId: string | null; //   the letter it came in; null: none
  readonly blob: BlobName | null; //   null: it has none
}

/** All that one session must show. */
export interface Account {
  readonly transcript: string;
  readonly copied: number;
  readonly entries: readonly Written[];
  readonly state: RunState;
  readonly route: Route | null;
  readonly signal: Signal;
  readonly settings: Settings;
  readonly settingsVersion: number;
  readonly usage: Usage;
  readonly mail: readonly Letter[]; // what waits, oldest first
  readonly timers: Readonly<Record<string, Timer>>;
  readonly outbox: Readonly<Record<string, Omit<Outgoing, "postedAtMs">>>;
}

export type Accounts = ReadonlyMap<SessionKey, Account>;

/** What there is after one commit. Null: one of its expectations is not met, so it cannot have happened. */
export function afterCommit(accounts: Accounts, changes: readonly Change[]): Accounts | null {
  const next = new Map(accounts);
  for (const change of changes) {
    const key = keyOf(next, change);
    const account = key === null ? undefined : next.get(key);
    if (key === null || (account === undefined) !== (change.do === "open")) return null;
    if (change.do === "delete") {
      next.delete(key);
      continue;
    }
    const made = account === undefined ? opened(next, change) : changed(account, change);
    if (made === null) return null;
    next.set(key, made);
  }
  return next;
}

/** The session that a change is about; null: there is none. */
function keyOf(accounts: Accounts, change: Change): SessionKey | null {
  const having = (ids: (account: Account) => object, id: string): SessionKey | null =>
    [...accounts].find(([, account]) => id in ids(account))?.[0] ?? null;
  switch (change.do) {
    case "post":
      return change.to.find((key) => accounts.has(key) && accounts.get(key)?.state.kind !== "ended") ?? null;
    case "setTimer":
      return change.timer.key;
    case "clearTimer":
      return having(({ timers }) => timers, change.id);
    case "send":
      return change.outgoing.key;
    case "restore":
    case "purge":
    case "setJob":
    case "clearJob":
      return null;
    case "settle":
      return having(({ outbox }) => outbox, change.id);
    default:
      return change.key;
  }
}

function opened(accounts: Accounts, change: Change): Account | null {
  if (change.do !== "open") return null;
  const copied = change.copy === null ? [] : copyOf(accounts, change.copy);
  return {
    transcript: change.transcript,
    copied: copied.length,
    entries: copied,
    state: { kind: "idle" },
    route: null,
    signal: "none",
    settings: { ...DEFAULT_SETTINGS, ...change.settings },
    settingsVersion: 1,
    usage: NO_USAGE,
    mail: [],
    timers: {},
    outbox: {},
  };
}

/** A part of the active path, numbered anew, each entry after the other. */
function copyOf(accounts: Accounts, copy: NonNullable<Of<"open">["copy"]>): Written[] {
  const source = accounts.get(copy.of)?.entries ?? [];
  return activePath(source)
    .filter((seq) => seq >= copy.fromSeq && seq <= copy.throughSeq)
    .flatMap((seq) => source[seq - 1] ?? [])
    .map((entry, at) => ({ ...entry, after: at }));
}

/** The numbers of the entries that lead to the last one. */
export function activePath(entries: readonly Written[]): number[] {
  const path: number[] = [];
  for (let seq = entries.length; seq > 0; seq = entries[seq - 1]?.after ?? 0) path.push(seq);
  return path.toReversed();
}

function changed(account: Account, change: Change): Account | null {
  switch (change.do) {
    case "append":
      return change.after === account.entries.length ? appended(account, change) : null;
    case "take": {
      const mail = account.mail.filter(({ id }) => !change.ids.includes(id));
      return mail.length + change.ids.length === account.mail.length ? { ...account, mail } : null;
    }
    case "post":
      return isKnown(account, change.letter.id)
        ? account
        : { ...account, mail: [...account.mail, change.letter] };
    case "run":
      return mayRun(account, change.state) ? { ...account, state: change.state } : null;
    case "reroute":
      return { ...account, route: change.route };
    case "signal":
      return account.signal === "kill" || account.state.kind === "ended"
        ? account
        : { ...account, signal: change.signal };
    case "revive":
      return account.state.kind === "ended"
        ? { ...account, state: { kind: "idle" }, signal: "none" }
        : account;
    case "set":
      return change.version === null || change.version === account.settingsVersion
        ? {
            ...account,
            settings: { ...account.settings, ...change.settings },
            settingsVersion: account.settingsVersion + 1,
          }
        : null;
    case "charge":
      return { ...account, usage: charged(account.usage, change.usage) };
    default:
      return waiting(account, change);
  }
}

/** An end is final, and none comes over unread mail. No letter of the workload has a second address. */
function mayRun({ state, mail }: Account, next: RunState): boolean {
  return state.kind !== "ended" && (next.kind !== "ended" || mail.length === 0);
}

/** Things that wait for a time, and answers that wait for a door. */
function waiting(account: Account, change: Change): Account | null {
  const { timers, outbox } = account;
  switch (change.do) {
    case "setTimer":
      return (timers[change.timer.id]?.dueAtMs ?? null) === change.expectDueAtMs
        ? { ...account, timers: { ...timers, [change.timer.id]: change.timer } }
        : null;
    case "clearTimer":
      return timers[change.id]?.dueAtMs === change.expectDueAtMs
        ? { ...account, timers: without(timers, change.id) }
        : null;
    case "send":
      return change.outgoing.id in outbox
        ? null
        : { ...account, outbox: { ...outbox, [change.outgoing.id]: { ...change.outgoing, refused: null } } };
    case "settle": {
      const outgoing = outbox[change.id];
      if (outgoing === undefined) return null;
      const { refused } = change;
      return {
        ...account,
        outbox:
          refused === null
            ? without(outbox, change.id)
            : { ...outbox, [change.id]: { ...outgoing, refused } },
      };
    }
    default:
      return null;
  }
}

function appended(account: Account, { entries, rewindTo }: Of<"append">): Account {
  const last = account.entries.length;
  const more = entries.map((draft, at) => writtenOf(draft, at === 0 ? (rewindTo?.seq ?? last) : last + at));
  return { ...account, entries: [...account.entries, ...more] };
}

/** Also for lines of a file, which are drafts with a few fields more. */
export function writtenOf(draft: Draft, after: number): Written {
  const content = draft.type === "message" ? draft.message.content : [];
  const [block] = typeof content === "string" ? [] : content;
  return {
    text: block?.type === "text" ? block.text : "",
    after,
    mailId: draft.type === "message" ? (draft.mailId ?? null) : null,
    blob: block?.blob ?? null,
  };
}

/** A letter that waits or was taken is there once, however often it is posted. */
function isKnown(account: Account, id: string): boolean {
  return (
    account.mail.some((letter) => letter.id === id) || account.entries.some((entry) => entry.mailId === id)
  );
}

function charged(usage: Usage, more: Partial<Usage>): Usage {
  const sums = Object.entries(usage).map(([name, amount]) => {
    const added = more[name as keyof Usage] ?? 0;
    return [name, name === "toolPeakBytes" ? Math.max(amount, added) : amount + added];
  });
  return Object.fromEntries(sums) as Usage;
}

function without<Value>(from: Readonly<Record<string, Value>>, id: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name !== id));
}
