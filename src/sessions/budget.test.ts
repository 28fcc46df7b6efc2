import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../config/config.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import { NO_USAGE, openedRow } from "../store/rules.ts";
import { Budgets, type Spent } from "./budget.ts";
import type { Session } from "./session.ts";

const ROOT = parseKey("agent:main:main");
const CHILD = parseKey("agent:main:subagent:a");
const GRANDCHILD = parseKey("agent:main:subagent:a:subagent:b");
const TEN: Spent = { tokens: 10, cost: 0.1 };

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
    const born = { key, transcript: "t", parent: parent?.key ?? null, settings: { limits } };
    const row: Session = openedRow(born, parent, 0, 0);
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
    assert.equal(typeof (await budgetsOf(rows).reserve(rowIn(rows, key), TEN)), "function");
});

test("a budget holds for all below it, and says whose it is", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 100 } });
  const refused = await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), TEN);
  assert.match(String(refused), /^agent:main:main and its sub-agents may use 100 tokens in all/);
  const own = await budgetsOf(rows).reserve(rowIn(rows, ROOT), TEN);
  assert.match(String(own), /^it and its sub-agents may use 100 tokens/);
});

test("a child's own budget holds for it, and not for its parent", async () => {
  const rows = family({ [CHILD]: { cost: 0.5, used: 50 } });
  assert.match(String(await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), TEN)), /may cost \$0.5 in all/);
  assert.equal(typeof (await budgetsOf(rows).reserve(rowIn(rows, ROOT), TEN)), "function");
});

test("steps that begin together do not all find the same room, and what is given back can be had again", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 75 } });
  const budgets = budgetsOf(rows);
  const tries = await Promise.all(
    [ROOT, CHILD, GRANDCHILD, CHILD, GRANDCHILD].map((key) => budgets.reserve(rowIn(rows, key), TEN)),
  );
  const given = tries.filter((each) => typeof each === "function");
  assert.equal(given.length, 3, "75, 85 and 95 are below 100; 105 is not");
  given[0]?.();
  assert.equal(typeof (await budgets.reserve(rowIn(rows, CHILD), TEN)), "function");
  assert.equal(typeof (await budgets.reserve(rowIn(rows, CHILD), TEN)), "string");
});

test("an agent's configured budget holds for each of its sessions, and the smaller of two counts", async () => {
  const rows = family({ [ROOT]: { tokens: 1_000, used: 60 } });
  const agents = new Map([["main", { limits: { tokens: 50, cost: null } } as unknown as Agent]]);
  assert.match(String(await budgetsOf(rows, agents).reserve(rowIn(rows, ROOT), TEN)), /50 tokens/);
});

test("a first step is taken for one like those before it", async () => {
  const rows = family({ [ROOT]: { cost: 1, used: 80 } });
  const root = rowIn(rows, ROOT);
  rows.set(ROOT, { ...root, tree: { ...(root.tree ?? NO_USAGE), steps: 8 } }); // $0.10 each
  const budgets = budgetsOf(rows);
  const tries = [null, null, null, null].map(() => budgets.reserve(rowIn(rows, CHILD), null));
  const begun = (await Promise.all(tries)).filter((each) => typeof each === "function");
  assert.equal(begun.length, 2, "$0.80 and $0.90 are below $1");
});

test("where a parent was deleted, the budget of the root still holds", async () => {
  const rows = family({ [ROOT]: { tokens: 100, used: 100 } });
  rows.delete(CHILD);
  assert.match(String(await budgetsOf(rows).reserve(rowIn(rows, GRANDCHILD), TEN)), /agent:main:main/);
});
