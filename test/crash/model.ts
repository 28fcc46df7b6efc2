// Model: what a store must show after a number of commits, as plain data. It follows the words of store.ts and not the
// rules that the engines share, so that a mistake in those shows too. Accounts are never changed, only replaced: a
// judge can hold many possible worlds at once.

import type { Letter, Outgoing, Route } from "../../src/mail/letter.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { RunState, Settings, Signal, Usage } from "../../src/sessions/session.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../../src/store/opened.ts";
import type { Of } from "../../src/store/rules.ts";
import type { Change, Untouched } from "../../src/store/change.ts";
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
  readonly older: readonly string[]; // files that the same history began in, oldest first
  readonly copied: number;
  readonly before: number; //          how many entries there were when the conversation began anew; 0: it never did
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

/** Under which an archive stands among the accounts. No session can be called that. */
export function archiveName(key: SessionKey, id: string): SessionKey {
  return `archive ${key} ${id}` as SessionKey;
}

/** What there is after one commit. Null: one of its expectations is not met, so it cannot have happened. */
export function afterCommit(accounts: Accounts, changes: readonly Change[]): Accounts | null {
  const next = new Map(accounts);
  for (const change of changes) {
    if (change.do === "archive" || change.do === "restore" || change.do === "purge") {
      if (!moved(next, change)) return null;
      continue;
    }
    const key = keyOf(next, change);
    const account = key === null ? undefined : next.get(key);
    if (key === null || (account === undefined) !== (change.do === "open")) return null;
    // What it was stays beside it.
    if (change.do === "rotate" && change.keep === "nothing" && account !== undefined)
      next.set(archiveName(key, account.transcript), { ...account, mail: [], timers: {}, outbox: {} });
    if (change.do === "post" && isPutAway(next, key, change.letter.id)) continue;
    if (change.do === "delete") {
      next.delete(key);
      // And what was put away under its name.
      for (const name of next.keys()) if (name.startsWith(`archive ${key} `)) next.delete(name);
      continue;
    }
    const made = account === undefined ? opened(next, change) : changed(account, change);
    if (made === null) return null;
    next.set(key, made);
  }
  return next;
}

/** A letter that was taken before the conversation began anew is known all the same. */
function isPutAway(accounts: Accounts, key: SessionKey, letter: string): boolean {
  return [...accounts].some(
    ([name, { entries }]) =>
      name.startsWith(`archive ${key} `) && entries.some(({ mailId }) => mailId === letter),
  );
}

/** Out of the way, back, or gone for good. False: it cannot have happened. */
function moved(
  accounts: Map<SessionKey, Account>,
  change: Extract<Change, { readonly do: "archive" | "restore" | "purge" }>,
): boolean {
  if (change.do === "archive") {
    const account = accounts.get(change.key);
    if (account === undefined || !isAtRest(account, change.expect)) return false;
    accounts.delete(change.key);
    accounts.set(archiveName(change.key, account.transcript), account);
    return true;
  }
  const found = [...accounts].find(
    ([name]) => name.startsWith("archive ") && name.endsWith(` ${change.archive}`),
  );
  if (found === undefined) return false;
  const [name, account] = found;
  const key = name.split(" ")[1] as SessionKey;
  accounts.delete(name);
  if (change.do === "purge") return true;
  // What began anew in the middle of a turn does not go on with it.
  const isOver = account.state.kind === "ended";
  const back: Account = isOver ? account : { ...account, state: { kind: "idle" }, signal: "none" };
  const present = accounts.get(key);
  if ((present === undefined) !== (change.over === null)) return false;
  accounts.set(key, present === undefined ? back : swapped(back, present));
  if (present === undefined || change.over === null) return present === undefined;
  accounts.set(archiveName(key, present.transcript), { ...present, mail: [], timers: {}, outbox: {} });
  return isAtRest({ ...present, timers: {}, outbox: {} }, change.over);
}

/** What goes by the key stays, and what was used is the more of the two. */
function swapped(back: Account, present: Account): Account {
  const { mail, timers, outbox } = present;
  const names = Object.keys(back.usage) as (keyof Usage)[];
  const usage = names.map((name) => [name, Math.max(back.usage[name], present.usage[name])]);
  return {
    ...{ ...back, mail, timers, outbox, usage: Object.fromEntries(usage) as Usage },
    settingsVersion: Math.max(back.settingsVersion, present.settingsVersion) + 1,
  };
}

function isAtRest(account: Account, expect: Untouched): boolean {
  const { state, signal, mail, timers, outbox, entries, before, transcript } = account;
  return (
    (state.kind === "ended" || (state.kind === "idle" && signal === "none")) &&
    [mail, Object.keys(timers), Object.keys(outbox)].every(({ length }) => length === 0) &&
    expect.transcript === transcript &&
    expect.lastSeq === before + entries.length
  );
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
    case "archive":
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
    older: [],
    copied: copied.length,
    before: 0,
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
  const { entries, before } = accounts.get(copy.of) ?? { entries: [], before: 0 };
  return activePath(entries, before)
    .filter((seq) => seq >= copy.fromSeq && seq <= copy.throughSeq)
    .flatMap((seq) => entries[seq - before - 1] ?? [])
    .map((entry, at) => ({ ...entry, after: at }));
}

/** The numbers of the entries that lead to the last one. */
export function activePath(entries: readonly Written[], before: number): number[] {
  const path: number[] = [];
  for (let seq = before + entries.length; seq > before; seq = entries[seq - before - 1]?.after ?? 0)
    path.push(seq);
  return path.toReversed();
}

function changed(account: Account, change: Change): Account | null {
  switch (change.do) {
    case "append":
      return change.after === lastOf(account) ? appended(account, change) : null;
    case "rotate":
      return change.after === lastOf(account) ? rotated(account, change) : null;
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

function lastOf({ before, entries }: Account): number {
  return before + entries.length;
}

function appended(account: Account, { entries, rewindTo }: Of<"append">): Account {
  const last = lastOf(account);
  const leaf = account.entries.length === 0 ? 0 : last;
  const more = entries.map((draft, at) => writtenOf(draft, at === 0 ? (rewindTo?.seq ?? leaf) : last + at));
  return { ...account, entries: [...account.entries, ...more] };
}

/** The entries are the same, in one file more; or there are none. */
function rotated(account: Account, { transcript, keep }: Of<"rotate">): Account {
  if (keep === "context") return { ...account, transcript, older: [...account.older, account.transcript] };
  return { ...account, transcript, older: [], copied: 0, before: lastOf(account), entries: [] };
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
