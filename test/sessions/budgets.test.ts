// What children may use: steps, tokens and money, of their own and of everybody above them.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ConfigInput } from "../../src/index.ts";
import { childOf, childrenOf, endings, MAIN, named, reports, spawn, THEN, until, YIELD } from "./family.ts";
import { spawnsOf } from "./giving.ts";
import { Gate, Glass, saying, Stage } from "./stage.ts";

/** Four steps. */
const LONG = ["one", "two", "three"].flatMap((word) => [`!say ${word}`, "!call session_status", THEN]);

function main(agent: NonNullable<ConfigInput["agents"]>[string]): ConfigInput {
  return { agents: { main: agent } };
}

/** Main gives tasks and waits for all of them. How its turn ended, and what it heard. */
async function family(
  stage: Stage,
  ...lines: readonly string[]
): Promise<{ outcome: string; heard: string[] }> {
  const { outcome } = await stage.sessions.ask(MAIN, [...lines, YIELD, THEN, "!say over"].join("\n"));
  return { outcome, heard: await endings(stage, MAIN) };
}

describe("limits that a child was given", () => {
  test("of steps: it stops with what it had said, and its parent goes on", async (t) => {
    const stage = await Stage.open(t);
    const { outcome, heard } = await family(stage, spawn(LONG, { limits: { stepsPerTurn: 2 } }));
    const child = await childOf(stage, MAIN);
    assert.equal(outcome, "done");
    assert.deepEqual(heard, [`${child}: came to a limit: the turn took 2 steps, as many as it may`]);
    assert.match((await reports(stage, MAIN))[0] ?? "", /\nWhat it had said:\ntwo$/);
    assert.match((await stage.sessions.status(child)).why, /^ended \(limit\): the turn took 2 steps/);
    assert.equal((await stage.sessions.status(child)).usage.steps, 2);
  });

  test("are never wider than its agent's", async (t) => {
    const stage = await Stage.open(t, main({ limits: { stepsPerTurn: 3 } }));
    const { heard } = await family(stage, spawn(LONG, { limits: { stepsPerTurn: 100 } }));
    assert.match(heard[0] ?? "", /: came to a limit: the turn took 3 steps/);
  });

  for (const [what, limits, words] of [
    [
      "tokens",
      { tokens: 100 }, // more than its task, less than its first step
      /: came to a limit: it and its sub-agents may use 100 tokens in all, have used \d{3,}, and this step takes at least \d+ \(limits\.tokens\)$/,
    ],
    [
      "cost",
      { cost: 0.000001 },
      /: came to a limit: it and its sub-agents may cost \$0\.000001 in all, and have cost \$0\.\d{4} \(limits\.cost\)$/,
    ],
  ] as const)
    test(`of ${what}: it ends before its next step; its sibling and its parent do not`, async (t) => {
      const stage = await Stage.open(t);
      const more = { model: "rehearsal/large" };
      const tasks = [spawn(LONG, { ...more, limits, name: "poor" }), spawn(LONG, { ...more, name: "rich" })];
      const { outcome, heard } = await family(stage, ...tasks);
      assert.equal(outcome, "done");
      const [poor = "", rich = ""] = heard.toSorted();
      assert.match(poor, words);
      assert.equal(rich, `${named("rich")}: done`);
      assert.equal((await stage.sessions.status(named("poor"))).usage.steps, 1);
      const again = spawn("!say again", { name: "poor", resumeIfExists: true });
      await family(stage, again);
      assert.match((await endings(stage, MAIN)).at(-1) ?? "", words, "it has used it up for good");
    });

  test("of tokens: a step that shows the model more than is left is not begun", async (t) => {
    const stage = await Stage.open(t);
    const { outcome, heard } = await family(stage, spawn(LONG, { limits: { tokens: 1 } }));
    const child = await childOf(stage, MAIN);
    assert.equal(outcome, "done");
    const least = Math.ceil(LONG.join("\n").length / 4);
    const words = `may use 1 tokens in all, have used 0, and this step takes at least ${least} (limits.tokens)`;
    assert.deepEqual(heard, [`${child}: came to a limit: it and its sub-agents ${words}`]);
    assert.equal((await stage.sessions.status(child)).usage.steps, 0);
  });

  test("hold for what its own children use too", async (t) => {
    const stage = await Stage.open(t);
    const child = spawn([spawn("!say used", { name: "leaf" }), YIELD, THEN, "!say never"], {
      limits: { tokens: 100 },
    });
    const { heard } = await family(stage, child);
    const key = await childOf(stage, MAIN);
    const { usage } = await stage.sessions.status(key);
    const words = `and its sub-agents may use 100 tokens in all, have used ${usage.input + usage.output}, and this step takes at least `;
    const [own = "", ...others] = heard;
    assert.deepEqual(others, []);
    assert.ok(own.startsWith(`${key}: came to a limit: it ${words}`), own);
    const [leaf = ""] = await endings(stage, key);
    assert.ok(leaf.startsWith(`${named("leaf")}: came to a limit: ${key} ${words}`), leaf);
    assert.equal((await stage.sessions.status(named("leaf"))).usage.steps, 0);
  });
});

test("a status has the limits in force: who set them, and the budgets above that hold too", async (t) => {
  const stage = await Stage.open(t, main({ limits: { cost: 2, turnSeconds: 60 } }));
  await family(stage, spawn("!say hi", { name: "poor", limits: { tokens: 90_000, stepsPerTurn: 9 } }));
  const above = await stage.sessions.status(MAIN);
  assert.deepEqual(above.limits, {
    ...{ stepsPerTurn: 200, turnSeconds: 60, tokens: null, cost: 2 },
    ...{ ofSession: [], above: [] },
  });
  const { input, output, cacheRead, cacheWrite, cost } = above.tree;
  const used = { tokens: input + output + cacheRead + cacheWrite, cost };
  assert.ok(used.tokens > 0);
  assert.deepEqual((await stage.sessions.status(named("poor"))).limits, {
    ...{ stepsPerTurn: 9, turnSeconds: 60, tokens: 90_000, cost: 2 },
    ofSession: ["stepsPerTurn", "tokens"],
    above: [{ sessionKey: MAIN, tokens: null, cost: 2, used }],
  });
  await stage.sessions.set(MAIN, { limits: { cost: 5 } });
  const { limits } = await stage.sessions.status(MAIN);
  assert.deepEqual([limits.cost, limits.turnSeconds, limits.ofSession], [5, 60, ["cost"]]);
});

describe("limits that a later task brings", () => {
  const more = { name: "poor", resumeIfExists: true };
  const limitsOf = async (stage: Stage): Promise<unknown> =>
    (await stage.sessions.status(named("poor"))).settings.limits;

  const usual = { turnSeconds: null, cost: null };

  test("only narrow those of the same name, if an agent above brings them; others stay", async (t) => {
    const stage = await Stage.open(t);
    await family(stage, spawn("!say 1", { ...more, limits: { tokens: 90_000, stepsPerTurn: 9 } }));
    await family(stage, spawn("!say 2", { ...more, limits: { stepsPerTurn: 5 } }));
    assert.deepEqual(await limitsOf(stage), { ...usual, tokens: 90_000, stepsPerTurn: 5 });
    await family(stage, spawn("!say 3", { ...more, limits: { tokens: 100_000, stepsPerTurn: 50 } }));
    assert.deepEqual(await limitsOf(stage), { ...usual, tokens: 90_000, stepsPerTurn: 5 });
    assert.deepEqual(await stage.outcomes(named("poor")), ["done", "done", "done"]);
  });

  test("replace those of the same name, if a person brings them; others stay", async (t) => {
    const stage = await Stage.open(t);
    await family(stage, spawn("!say 1", { ...more, limits: { tokens: 90_000, stepsPerTurn: 9 } }));
    await stage.sessions.spawn("!say 2", { ...more, limits: { stepsPerTurn: 50 } });
    assert.deepEqual(await limitsOf(stage), { ...usual, tokens: 90_000, stepsPerTurn: 50 });
    await stage.sessions.spawn("!say 3", { ...more, limits: { tokens: 100_000 } });
    assert.deepEqual(await limitsOf(stage), { ...usual, tokens: 100_000, stepsPerTurn: 50 });
    await stage.rest(named("poor"));
  });

  test("are refused, if they come from a sibling or from below: nobody gets round a budget so", async (t) => {
    const stage = await Stage.open(t);
    const wide = spawn("!say 2", { ...more, limits: { tokens: 1_000_000, stepsPerTurn: 8 } });
    const narrow = spawn("!say 2", { ...more, limits: { tokens: 1 } });
    const both = [wide, THEN, narrow];
    const child = spawn([spawn(both, { name: "leaf" }), YIELD], { ...more, limits: { tokens: 90_000 } });
    await family(stage, child);
    await family(stage, spawn(both, { name: "brother" }));
    await stage.rest(named("poor"));
    for (const name of ["leaf", "brother"]) {
      const refused = `sessions_spawn failed: limits: ${named("poor")} did not come of you; it goes on as it is, leave them out (forbidden)`;
      assert.deepEqual(await spawnsOf(stage, named(name)), [refused, refused], name);
    }
    assert.deepEqual(await limitsOf(stage), { ...usual, tokens: 90_000, stepsPerTurn: null });
    await family(stage, spawn([spawn("!say 2", more), YIELD], { name: "sister" }));
    assert.deepEqual(await stage.outcomes(named("poor")), ["done", "done"], "without them it goes on");
  });
});

describe("the budget of a root", () => {
  for (const [what, limits, words] of [
    [
      "tokens",
      { tokens: 200 }, // more than it is told, less than its first step
      /and its sub-agents may use 200 tokens in all, have used \d{3,}, and this step takes at least \d+ \(limits\.tokens\)$/,
    ],
    [
      "cost",
      { cost: 0.000001 },
      /and its sub-agents may cost \$0\.000001 in all, and have cost \$0\.\d{4} \(limits\.cost\)$/,
    ],
  ] as const)
    test(`of ${what} is everybody's below it: when it is used up children report so, and it stops too`, async (t) => {
      const stage = await Stage.open(t, main({ model: "rehearsal/large", limits }));
      const { outcome } = await family(stage, spawn(LONG), spawn(LONG));
      assert.equal(outcome, "limit");
      const children = await childrenOf(stage, MAIN);
      assert.equal(children.length, 2);
      for (const key of children) {
        const { why, usage } = await stage.sessions.status(key);
        assert.ok(why.startsWith(`ended (limit): ${MAIN} and`), why);
        assert.match(why, words);
        assert.equal(usage.steps, 0);
      }
      await stage.until(async () => (await reports(stage, MAIN)).length === 2);
      const { outcome: next, reason } = await stage.sessions.ask(MAIN, "!say more");
      assert.equal(next, "limit");
      assert.match(reason ?? "", /^it and/);
      assert.match(reason ?? "", words);
      assert.equal((await stage.sessions.ask("agent:main:direct:ann", "!say free")).text, "free");
    });

  test("is counted over restarts, and what a deleted child used stays counted", async (t) => {
    const stage = await Stage.open(t);
    await family(stage, spawn("!verbose 1000", { cleanup: "delete" }));
    const { tree, usage } = await stage.sessions.status(MAIN);
    assert.ok(tree.output > usage.output + 1_000, "the child's is in it");
    const tokens = tree.input + tree.output;
    for (const limit of [tokens, tokens + 1]) {
      await stage.reopen(main({ limits: { tokens: limit } }));
      const { outcome, reason } = await stage.sessions.ask(MAIN, "!say more");
      assert.equal(outcome, "limit");
      const words = `it and its sub-agents may use ${limit} tokens in all, have used ${tokens}, and this step takes`;
      assert.ok(reason?.startsWith(words), reason ?? "");
    }
    await stage.reopen(main({ limits: { tokens: tokens + 10_000 } }));
    assert.equal((await stage.sessions.ask(MAIN, "!say more")).text, "more");
  });

  test("is as its agent's configuration says, until a person gives the session another", async (t) => {
    const stage = await Stage.open(t, main({ limits: { tokens: 1 } }));
    assert.equal((await stage.sessions.ask(MAIN, "!say more")).outcome, "limit");
    await stage.sessions.set(MAIN, { limits: { tokens: 100_000 } });
    assert.equal((await stage.sessions.ask(MAIN, "!say more")).text, "more");
    await stage.sessions.set(MAIN, { limits: null });
    assert.equal((await stage.sessions.ask(MAIN, "!say more")).outcome, "limit");
  });

  /** So many children of main begin at once, each with a step that stands at a gate and uses two tokens. */
  async function crowd(t: TestContext, size: number, tokens: number, task: string) {
    const gate = new Gate();
    const glass = new Glass(async () => {
      await gate.pass();
      return saying("through");
    });
    const stage = await Stage.open(t, main({ model: "glass/one", limits: { tokens } }), { models: [glass] });
    const spawned = await Promise.all(
      Array.from({ length: size }, () => stage.sessions.spawn(task, { parent: MAIN, announce: false })),
    );
    const ended = Promise.all(spawned.map(({ sessionKey, id }) => stage.sessions.wait(sessionKey, id)));
    const states = async (): Promise<string[]> =>
      await Promise.all(spawned.map(async (each) => (await stage.sessions.status(each.sessionKey)).state));
    await gate.reached(3);
    await stage.until(async () => (await states()).every((state) => state === "running"));
    assert.equal(glass.requests.length, 3, "the others wait: neither asked nor refused");
    gate.open();
    const outcomes = (await ended).map(({ outcome }) => outcome);
    for (const { sessionKey } of spawned) await until(stage, sessionKey, "ended");
    return { outcomes: outcomes.toSorted(), asked: glass.requests.length };
  }

  test("lets in no more of many steps that begin at once than it has room for", async (t) => {
    const { outcomes, asked } = await crowd(t, 12, 3, "go"); // a step reserves 1
    assert.deepEqual(outcomes, [...Array<string>(3).fill("done"), ...Array<string>(9).fill("limit")]);
    assert.equal(asked, 3);
  });

  test("lets in those that wait, when the others used less than they had reserved", async (t) => {
    const { outcomes, asked } = await crowd(t, 8, 30, "x".repeat(40)); // a step reserves 10
    assert.deepEqual(outcomes, Array<string>(8).fill("done"));
    assert.equal(asked, 8);
  });
});
