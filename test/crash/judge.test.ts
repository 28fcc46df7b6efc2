// The judge is what both campaigns rely on: it must let pass what may be, and nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import type { Change } from "../../src/store/change.ts";
import { judge } from "./judge.ts";
import { Ledger, type Said } from "./ledger.ts";
import { afterCommit, type Account, type Accounts } from "./model.ts";

const KEY = namedKey(DEFAULT_AGENT, "one");
const OTHER = namedKey(DEFAULT_AGENT, "other");

function opening(key = KEY, transcript = "first"): Change {
  const rest = { cwd: "/", parent: null, settings: {}, copy: null, ifExists: "refuse" } as const;
  return { do: "open", key, transcript, ...rest };
}

function append(after: number, text: string, rewindTo: number | null = null): Change {
  const message = { role: "user", content: [{ type: "text", text }], timestamp: 0 } as const;
  return {
    do: "append",
    key: KEY,
    fence: 0,
    after,
    entries: [{ type: "message", timestamp: "", message }],
    rewindTo: rewindTo === null ? null : { id: String(rewindTo), seq: rewindTo },
    contextSeq: null,
  };
}

function post(id: string): Change {
  const from = { kind: "internal_system", cause: "test" } as const;
  const letter = {
    id,
    from,
    class: "background",
    mode: "followup",
    content: [],
    replyTo: null,
    origin: null,
  } as const;
  return { do: "post", to: [KEY], letter };
}

const set = (label: string): Change => ({ do: "set", key: KEY, version: null, settings: { label } });
const due = (dueAtMs: number, expectDueAtMs: number | null): Change => {
  return { do: "setTimer", timer: { id: "t", key: KEY, dueAtMs, body: null }, expectDueAtMs };
};
const send: Change = {
  do: "send",
  outgoing: { id: "o", key: KEY, route: { channel: "c", to: "t", thread: null }, content: [] },
};
const ending: Change = {
  do: "run",
  key: KEY,
  fence: 0,
  state: { kind: "ended", atMs: 1, outcome: "done", reason: null },
};
const ROUTE = { channel: "c", to: "elsewhere", thread: null };

/** What there is after these commits. */
function world(...commits: readonly (readonly Change[])[]): Accounts {
  return commits.reduce<Accounts>(
    (accounts, changes) => afterCommit(accounts, changes) ?? accounts,
    new Map(),
  );
}

/** Commits that were acknowledged, and commits that were under way. */
function ledgerOf(
  done: readonly (readonly Change[])[],
  underway: readonly (readonly Change[])[] = [],
): Ledger {
  const ledger = new Ledger();
  const attempts = [...done, ...underway].map((changes, at) => ({
    name: String(at),
    changes,
    fate: "accepted" as const,
  }));
  for (const attempt of attempts) ledger.hear({ attempt });
  for (const at of done.keys()) ledger.hear({ done: String(at) });
  return ledger;
}

function problems(ledger: Ledger, accounts: Accounts): readonly string[] {
  return judge(ledger, { accounts, problems: [] }).problems;
}

const BEGUN = [opening(), append(0, "a")];

/** One acknowledged change of each kind; of all of them something is seen. */
const CHANGES: readonly (readonly [what: string, change: Change])[] = [
  ["an entry", append(1, "b")],
  ["a rewind", append(1, "b", 1)],
  ["a letter", post("cause:1")],
  ["a state", { do: "run", key: KEY, fence: 0, state: { kind: "queued", sinceMs: 1 } }],
  ["a route", { do: "reroute", key: KEY, fence: 0, route: ROUTE, origin: null }],
  ["a signal", { do: "signal", key: KEY, signal: "pause" }],
  ["an end", ending],
  ["a setting", set("named")],
  ["a charge", { do: "charge", key: KEY, usage: { steps: 1 } }],
  ["a timer", due(1, null)],
  ["an answer", send],
  ["a deletion", { do: "delete", key: KEY, expect: null }],
];

for (const [what, change] of CHANGES) {
  test(`${what} that was acknowledged must be there; one that was under way may be`, () => {
    const [before, after] = [world(BEGUN), world(BEGUN, [change])];
    assert.deepEqual(problems(ledgerOf([BEGUN, [change]]), after), []);
    assert.notDeepEqual(problems(ledgerOf([BEGUN, [change]]), before), []);
    assert.deepEqual(problems(ledgerOf([BEGUN], [[change]]), after), []);
    assert.deepEqual(problems(ledgerOf([BEGUN], [[change]]), before), []);
    assert.notDeepEqual(problems(ledgerOf([BEGUN]), after), [], "nobody tried it");
  });
}

test("a commit that was under way is there whole or not at all", () => {
  const both = [append(1, "b"), post("cause:1")];
  for (const half of both) assert.notDeepEqual(problems(ledgerOf([BEGUN], [both]), world(BEGUN, [half])), []);
  assert.deepEqual(problems(ledgerOf([BEGUN], [both]), world(BEGUN, both)), []);
});

test("of a value the last acknowledged one stands, or a later one that was under way", () => {
  const older = world(BEGUN, [due(1, null)]);
  const told = ledgerOf([BEGUN, [due(1, null)], [due(2, 1)]]);
  assert.notDeepEqual(problems(told, older), []);
  for (const last of [2, 3]) {
    const ledger = ledgerOf([BEGUN, [due(1, null)], [due(2, 1)]], [[due(3, 2)]]);
    assert.deepEqual(problems(ledger, world(BEGUN, [due(last, null)])), []);
  }
});

test("a commit under way may come before one that was acknowledged", () => {
  const ledger = (): Ledger => {
    const heard = ledgerOf([BEGUN]);
    const said: Said[] = [
      { attempt: { name: "x", changes: [set("under way")], fate: "accepted" } },
      { attempt: { name: "y", changes: [set("told")], fate: "accepted" } },
      { done: "y" },
    ];
    for (const each of said) heard.hear(each);
    return heard;
  };
  assert.deepEqual(problems(ledger(), world(BEGUN, [set("told")])), []);
  assert.deepEqual(problems(ledger(), world(BEGUN, [set("under way")], [set("told")])), []);
  assert.notDeepEqual(problems(ledger(), world(BEGUN, [set("told")], [set("under way")])), []);
});

test("a session that is opened anew has nothing of the one before it", () => {
  const gone: Change = { do: "delete", key: KEY, expect: null };
  const anew = world([opening(KEY, "second")]);
  const ledger = (): Ledger =>
    ledgerOf([BEGUN, [post("cause:1"), due(1, null), send], [gone], [opening(KEY, "second")]]);
  assert.deepEqual(problems(ledger(), anew), []);
  const [account] = anew.values();
  const [old] = world(BEGUN, [post("cause:1"), due(1, null), send]).values();
  assert.ok(account && old);
  for (const kept of ["entries", "mail", "timers", "outbox"] as const) {
    const mixed: Account = { ...account, [kept]: old[kept] };
    assert.notDeepEqual(problems(ledger(), new Map([[KEY, mixed]])), [], kept);
  }
});

test("what was there at one comparison must be there at the next, whoever was told", () => {
  const ledger = ledgerOf([BEGUN], [[post("cause:1")]]);
  assert.deepEqual(problems(ledger, world(BEGUN, [post("cause:1")])), []);
  assert.notDeepEqual(problems(ledger, world(BEGUN)), []);
});

test("a session that was revived lives, hears no signal, and has all else that it had", () => {
  const revive: Change = { do: "revive", key: KEY };
  const over = [...BEGUN, { do: "signal", key: KEY, signal: "kill" }, ending] as const;
  const [before, after] = [world(over), world(over, [revive, post("cause:1")])];
  assert.deepEqual(problems(ledgerOf([over, [revive, post("cause:1")]]), after), []);
  assert.notDeepEqual(problems(ledgerOf([over, [revive, post("cause:1")]]), before), []);
  assert.deepEqual(problems(ledgerOf([over], [[revive, post("cause:1")]]), before), []);
  const [account] = after.values();
  assert.ok(account);
  assert.deepEqual([account.state.kind, account.signal, account.entries.length], ["idle", "none", 1]);
  assert.equal(afterCommit(world(BEGUN), [revive])?.get(KEY)?.state.kind, "idle");
});

test("nothing ends over unread mail, and nothing that has ended gets any or runs", () => {
  assert.equal(afterCommit(world(BEGUN, [post("cause:1")]), [ending]), null);
  for (const change of [post("cause:1"), ending])
    assert.equal(afterCommit(world(BEGUN, [ending]), [change]), null);
});

test("an attempt that must be refused is a problem when it is not, and any other when it is", () => {
  const stale = { name: "s", changes: [append(7, "x")], fate: "refused" } as const;
  const heard = (...said: readonly Said[]): readonly string[] => {
    const ledger = ledgerOf([BEGUN]);
    for (const each of said) ledger.hear(each);
    return problems(ledger, world(BEGUN));
  };
  assert.deepEqual(heard({ attempt: stale }, { refused: "s", why: "stale_writer" }), []);
  assert.deepEqual(heard({ attempt: stale }), []);
  assert.notDeepEqual(heard({ attempt: stale }, { done: "s" }), []);
  const fine = { ...stale, changes: [append(1, "x")], fate: "accepted" } as const;
  assert.notDeepEqual(heard({ attempt: fine }, { refused: "s", why: "stale_writer" }), []);
});

test("a session that nobody opened is a problem, and so is one that is gone", () => {
  assert.notDeepEqual(problems(ledgerOf([BEGUN]), world(BEGUN, [opening(OTHER, "other")])), []);
  assert.notDeepEqual(problems(ledgerOf([BEGUN]), new Map()), []);
});
