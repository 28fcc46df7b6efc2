import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../config/config.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import { born, NO_USAGE } from "../store/opened.ts";
import { Budgets, type Estimate } from "./budget.ts";
import type { Session } from "./session.ts";

const ROOT = parseKey("agent:main:main");
const CHILD = parseKey("agent:main:subagent:a");
const GRANDCHILD = parseKey("agent:main:subagent:a:subagent:b");
const TEN: Estimate = { least: 0, likely: { tokens: 10, cost: 0.1 } };
const UNKNOWN: Estimate = { least: 0, likely: null };
const NEVER = new AbortController().signal;

interface Given {
  readonly tokens?: number;
  readonly cost?: number;
  readonly used?: number;
}

/** A root, its child and its grandchild. What the one below used is in the tree of those above. */
function family(given: Partial<Record<SessionKey, Given>>): Map<SessionKey, Session> {
  const rows = new Map<SessionKey, Session>();
  let parent: Session | null = null;
  for (const key of [ROOT, CHILD, GRANDCHILD]) {
    const { tokens = null, cost = null, used = 0 } = given[key] ?? {};
    const limits = { stepsPerTurn: null, turnSeconds: null, tokens, cost };
    const opening = { key, transcript: "t", cwd: "", parent: parent?.key ?? null, settings: { limits } };
    const { row }: { row: Session } = born(opening, { parent, source: null, copied: 0, atMs: 0 });
    parent = { ...row, tree: { ...NO_USAGE, input: used, cost: used / 100 } };
    rows.set(key, parent);
  }
  return rows;
}

function budgetsOf(rows: Map<SessionKey, Session>, agents: ReadonlyMap<string, Agent> = new Map()): Budgets {
  return new Budgets({ agents, find: async (key) => rows.get(key) ?? null });
}

function rowIn(rows: Map<SessionKey, Session>, key: SessionKey): Session {
  const row = rows.get(key);
  assert.ok(row);
  return row;
}

test("a tree without a budget lets everybody in", async () => {
  const rows = family({});
  for (const key of rows.keys())
    assert.equal(typeof (await budgetsOf(rows).reserve(rowIn(rows, key), () => TEN, NEVER)), "function");
});

test("a budget holds for all below it, and says whose it is", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 100 } });
  const refused = await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), () => TEN, NEVER);
  assert.match(String(refused), /^agent:main:main and its sub-agents may use 100 tokens in all/);
  const own = await budgetsOf(rows).reserve(rowIn(rows, ROOT), () => TEN, NEVER);
  assert.match(String(own), /^it and its sub-agents may use 100 tokens/);
});

test("a child's own budget holds for it, and not for its parent", async () => {
  const rows = family({ [CHILD]: { cost: 0.5, used: 50 } });
  assert.match(
    String(await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), () => TEN, NEVER)),
    /may cost \$0.5 in all/,
  );
  assert.equal(typeof (await budgetsOf(rows).reserve(rowIn(rows, ROOT), () => TEN, NEVER)), "function");
});

test("steps that begin together do not all find the same room: others wait until something is given back", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 75 } });
  const budgets = budgetsOf(rows);
  const begun: (() => void)[] = [];
  const tries = [1, 2, 3, 4, 5].map(async () => {
    const giveBack = await budgets.reserve(rowIn(rows, GRANDCHILD), () => TEN, NEVER);
    assert.ok(typeof giveBack === "function");
    begun.push(giveBack);
  });
  await Promise.all(tries.slice(0, 3));
  await new Promise(setImmediate);
  assert.equal(begun.length, 3, "75, 85 and 95 are below 100; 105 is not");
  for (const n of [0, 1]) {
    begun[n]?.();
    await tries[3 + n];
    assert.equal(begun.length, 4 + n);
  }
});

test("who waits for room hears when it is used up, and can be called off", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 95 } });
  const budgets = budgetsOf(rows);
  const giveBack = await budgets.reserve(rowIn(rows, ROOT), () => TEN, NEVER);
  const waiting = budgets.reserve(rowIn(rows, CHILD), () => TEN, NEVER);
  const off = new AbortController();
  const calledOff = budgets.reserve(rowIn(rows, CHILD), () => TEN, off.signal);
  off.abort(new Error("no more"));
  await assert.rejects(calledOff, /no more/);
  const root = rowIn(rows, ROOT);
  rows.set(ROOT, { ...root, tree: { ...(root.tree ?? NO_USAGE), input: 101 } });
  assert.ok(typeof giveBack === "function");
  giveBack();
  assert.match(String(await waiting), /may use 100 tokens in all, have used 101/);
});

test("a step that shows more than is left is not begun", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 60 } });
  const step: Estimate = { least: 41, likely: null };
  const refused = await budgetsOf(rows).reserve(rowIn(rows, ROOT), () => step, NEVER);
  assert.match(String(refused), /have used 60, and this step takes at least 41/);
});

test("an agent's configured budget holds for each of its sessions, unless a session has its own", async () => {
  const rows = family({ [ROOT]: { used: 60 } });
  const agents = new Map([["main", { limits: { tokens: 50, cost: null } } as unknown as Agent]]);
  assert.match(
    String(await budgetsOf(rows, agents).reserve(rowIn(rows, ROOT), () => TEN, NEVER)),
    /50 tokens/,
  );
  const raised = family({ [ROOT]: { tokens: 1_000, used: 60 } });
  assert.equal(
    typeof (await budgetsOf(raised, agents).reserve(rowIn(raised, ROOT), () => TEN, NEVER)),
    "function",
  );
});

test("a first step is taken for one like those before it", async () => {
  const rows = family({ [ROOT]: { cost: 1, used: 80 } });
  const root = rowIn(rows, ROOT);
  rows.set(ROOT, { ...root, tree: { ...(root.tree ?? NO_USAGE), steps: 8 } }); // $0.10 each
  const budgets = budgetsOf(rows);
  let begun = 0;
  for (let n = 0; n < 4; n += 1)
    void budgets.reserve(rowIn(rows, CHILD), () => UNKNOWN, NEVER).then(() => (begun += 1));
  await new Promise(setImmediate);
  assert.equal(begun, 2, "$0.80 and $0.90 are below $1");
});

test("where a parent was deleted, the budget of the root still holds", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 100 } });
  rows.delete(CHILD);
  assert.match(
    String(await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), () => TEN, NEVER)),
    /agent:main:main/,
  );
});
