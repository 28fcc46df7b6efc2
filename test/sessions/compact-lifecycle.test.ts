// What a compaction cuts off and must not be forgotten: the turn that is under way, who is to be answered, children that work.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ConfigInput, Message, Outgoing, Parts, Request } from "../../src/index.ts";
import { textOf } from "../../src/transcript/entry.ts";
import { Forward } from "../fixtures/forward.ts";
import { childOf, childrenOf, endings, MAIN, until } from "./family.ts";
import { reportsIn } from "./giving.ts";
import { calling, compactionsIn, Mind, minded, prose, shownOf } from "./mind.ts";
import { Gate, notesIn, saying, Stage, tool } from "./stage.ts";

const LOOK = tool("look", () => Promise.resolve("seen"));
const WORK = "agent:main:thread:work";
const FROM = { channel: "door", chatType: "direct", peer: "ada" } as const;

/** A step that takes room. */
const LONG = calling(["look", { words: prose(700) }]);

interface Scene {
  readonly stage: Stage;
  readonly mind: Mind;
  readonly gate: Gate;
  readonly delivered: readonly Outgoing[];
}

async function scene(t: TestContext, more: object = {}, parts: Parts = {}): Promise<Scene> {
  const [mind, gate, delivered] = [new Mind(), new Gate(), [] as Outgoing[]];
  const door = (outgoing: Outgoing): Promise<void> => {
    delivered.push(outgoing);
    return Promise.resolve();
  };
  const names = ["look", "gate", "sessions_spawn", "sessions_yield", "subagents"];
  const { agents } = minded(names, { sizeTokens: 8_000 });
  const config: ConfigInput = { agents: { defaults: { ...agents?.["defaults"], ...more } } };
  const given = { models: [mind], tools: [LOOK, gate.tool], channels: { door }, ...parts };
  return { stage: await Stage.open(t, config, given), mind, gate, delivered };
}

/** What was said last to whoever is asked. */
function lastOf({ messages }: Request): string {
  const message = messages.at(-1) as Message;
  return textOf({ type: "message", message });
}

/** Enough that a summary is worth it. */
async function talk(stage: Stage, key = MAIN): Promise<void> {
  for (const at of [1, 2]) await stage.sessions.ask(key, `Message ${at}. ${prose(1_500)}`);
}

async function compacted(stage: Stage, key = MAIN): Promise<void> {
  const { outcome, tokensAfter, reason } = await stage.sessions.call("compact", { sessionKey: key });
  assert.deepEqual([outcome, reason, tokensAfter === null], ["done", null, false]);
}

async function answersIn(stage: Stage, key: string): Promise<number> {
  return (await stage.messages(key)).filter(({ role }) => role === "assistant").length;
}

describe("a turn that a compaction cut, and then a restart", () => {
  for (const where of ["model", "tool"] as const)
    test(`goes on when a ${where} was at work, and is answered once where it was asked`, async (t) => {
      const { stage, mind, gate, delivered } = await scene(t);
      let isFirst = true;
      mind.answers = async () => {
        if (mind.summaries.length === 0) return LONG;
        if (where === "tool" && isFirst) return calling(["gate"]);
        if (where === "model") await gate.pass();
        return saying("All of it.");
      };
      const { sessionKey, id } = await stage.sessions.receive(FROM, "Look at all of it.");
      await gate.reached();
      isFirst = false;
      const [compaction] = compactionsIn(await stage.entries(sessionKey));
      assert.ok(compaction?.summary.includes("Look at all of it."), "what was asked for stays");
      await stage.reopen();
      gate.open();
      const { outcome, text } = await stage.sessions.wait(sessionKey, id);
      assert.deepEqual([outcome, text], ["done", "All of it."]);
      await stage.until(
        async () => delivered.length > 0 && (await stage.sessions.outbox()).answers.length === 0,
      );
      assert.deepEqual(
        delivered.map(({ content, route }) => [content, route.to]),
        [[[{ type: "text", text: "All of it." }], "ada"]],
      );
      const entries = await stage.entries(sessionKey);
      assert.deepEqual(
        ["turn-started", "turn-resumed", "turn-ended"].map((note) => notesIn(entries, note).length),
        [1, 1, 1],
      );
      assert.equal(notesIn(entries, "turn-ended")[0]?.["steps"], await answersIn(stage, sessionKey));
    });

  test("has taken the steps that it took before: its limit holds", async (t) => {
    const { stage, mind, gate } = await scene(t, { limits: { stepsPerTurn: 12 } });
    let isFirst = true;
    mind.answers = async () => {
      if (mind.summaries.length > 0 && isFirst) await gate.pass();
      return LONG;
    };
    const { id } = await stage.sessions.send(MAIN, "Look for ever.");
    await gate.reached();
    isFirst = false;
    await stage.reopen();
    const { outcome } = await stage.sessions.wait(MAIN, id);
    assert.deepEqual([outcome, await answersIn(stage, MAIN)], ["limit", 12]);
  });

  test("knows its deadline: the child ends when its time is up, and reports", async (t) => {
    const world = new Forward();
    const { stage, mind, gate } = await scene(t, {}, { world });
    mind.answers = async (request) => {
      if (lastOf(request) === "Give it.")
        return calling(["sessions_spawn", { task: "Look for ever.", timeoutSeconds: 10 }]);
      if (!shownOf(request).includes("Look for ever.") || shownOf(request).includes("Give it."))
        return saying("Yes.");
      if (mind.summaries.length > 0) await gate.pass();
      return LONG;
    };
    await stage.sessions.ask(MAIN, "Give it.");
    const child = await childOf(stage, MAIN);
    await gate.reached();
    assert.equal(compactionsIn(await stage.entries(child)).length, 1);
    await stage.reopen();
    await gate.reached(2);
    world.put(15_000);
    await until(stage, child, "ended");
    assert.equal((await stage.outcomes(child)).at(-1), "timeout");
    await stage.until(async () => (await endings(stage, MAIN)).length === 1);
    assert.match((await endings(stage, MAIN))[0] ?? "", /ran out of time/);
  });
});

describe("a child that works while its parent is summarised", () => {
  /** Main has given a task to a child, which stands at the gate. What main says next is up to `then`. */
  async function given(t: TestContext, then: (request: Request) => ReturnType<typeof calling>, key = MAIN) {
    const set = await scene(t);
    const { stage, mind, gate } = set;
    mind.answers = async (request) => {
      if (lastOf(request) === "Give it.") return calling(["sessions_spawn", { task: "Work." }]);
      if (!shownOf(request).includes("via sessions_spawn]]")) return then(request);
      await gate.pass();
      return saying("It is done.");
    };
    await stage.sessions.ask(key, "Give it.");
    await talk(stage, key);
    await gate.reached();
    return { ...set, child: await childOf(stage, key) };
  }

  test("is in the summary, in `children` and in `status`, and its report is heard", async (t) => {
    const { stage, mind, gate, child } = await given(t, () => saying("Yes."));
    const before = await stage.sessions.children(MAIN);
    await compacted(stage);
    const [compaction] = compactionsIn(await stage.entries(MAIN));
    assert.ok(compaction?.summary.includes(child));
    await stage.reopen();
    await stage.sessions.ask(MAIN, "And now?");
    assert.ok(mind.shown.includes(child), "the model knows of it");
    const { children } = await stage.sessions.children(MAIN);
    assert.deepEqual(
      children.map(({ sessionKey, state }) => [sessionKey, state]),
      before.children.map(({ sessionKey, state }) => [sessionKey, state]),
    );
    gate.open();
    await stage.until(async () => (await reportsIn(stage, MAIN)).length === 1);
    await stage.rest(MAIN);
    assert.match((await reportsIn(stage, MAIN))[0] ?? "", /It is done\./);
  });

  test("is waited for by a yield after it, and by nobody once it has reported", async (t) => {
    const { stage, gate } = await given(t, (request) =>
      lastOf(request).startsWith("Wait") ? calling(["sessions_yield"]) : saying("Yes."),
    );
    await compacted(stage);
    const waiting = stage.sessions.ask(MAIN, "Wait for it.");
    await until(stage, MAIN, "waiting");
    gate.open();
    assert.equal((await waiting).outcome, "done");
    await stage.sessions.ask(MAIN, "Wait once more.");
    const last = (await stage.results(MAIN)).at(-1);
    assert.match(last?.text ?? "", /nobody to wait for/);
  });

  test("is waited for by a yield before it, also when that was cut off and the process started anew", async (t) => {
    const { stage, mind, gate, child } = await given(t, (request) =>
      lastOf(request).startsWith("Wait") ? calling(["sessions_yield"]) : saying("I heard of it."),
    );
    const { id } = await stage.sessions.send(MAIN, `Wait for it. ${prose(1_500)}`);
    await until(stage, MAIN, "waiting");
    const asked = mind.requests.length;
    await compacted(stage);
    await until(stage, MAIN, "waiting");
    await stage.reopen();
    assert.equal(mind.requests.length, asked, "nobody was asked meanwhile");
    assert.equal((await stage.sessions.status(MAIN)).state, "waiting");
    assert.match((await stage.sessions.status(MAIN)).why, /waits for its children/);
    gate.open();
    const { outcome, text } = await stage.sessions.wait(MAIN, id);
    assert.deepEqual([outcome, text], ["done", "I heard of it."]);
    assert.equal(
      mind.requests.filter((request) => shownOf(request).includes(`Report of ${child}`)).length,
      1,
    );
    assert.ok(mind.shown.includes(`Report of ${child}`));
    assert.equal(notesIn(await stage.entries(MAIN), "turn-started").length, 4);
  });

  test("ends with a session that is killed after it", async (t) => {
    const { stage, child } = await given(t, () => saying("Yes."), WORK);
    await compacted(stage, WORK);
    await stage.reopen();
    await stage.sessions.kill(WORK);
    for (const key of [WORK, child]) await until(stage, key, "ended");
    assert.deepEqual(await stage.outcomes(child), ["killed"]);
  });

  test("is not waited for by a turn that only summarises, when a rewind went back to a yield", async (t) => {
    const { stage } = await given(t, (request) =>
      lastOf(request).startsWith("Wait") ? calling(["sessions_yield"]) : saying("Never mind."),
    );
    const { id } = await stage.sessions.send(MAIN, "Wait for it.");
    await until(stage, MAIN, "waiting");
    const resting = (await stage.sessions.status(MAIN)).entries;
    await stage.sessions.ask(MAIN, "Go on without it.");
    await stage.sessions.wait(MAIN, id);
    await stage.rest(MAIN);
    await stage.sessions.call("rewind", { sessionKey: MAIN, seq: resting });
    await compacted(stage);
    assert.equal((await stage.sessions.status(MAIN)).state, "idle");
    assert.equal((await stage.sessions.ask(MAIN, "And now?")).text, "Never mind.");
  });
});

describe("a session that was summarised", () => {
  test("is forked as it is: the fork knows the summary, and nothing that was cut off", async (t) => {
    const { stage, mind } = await scene(t);
    await stage.sessions.ask(MAIN, `The number is 7. ${prose(1_500)}`);
    await talk(stage);
    await compacted(stage);
    const [compaction] = compactionsIn(await stage.entries(MAIN));
    const { sessionKey } = await stage.sessions.fork(MAIN);
    await stage.sessions.ask(sessionKey, "And now?");
    const forked = shownOf(mind.requests.at(-1));
    assert.ok(forked.includes(JSON.stringify(compaction?.summary).slice(1, -1)));
    assert.ok(!forked.includes(prose(1_500)));
    await stage.reopen();
    await stage.sessions.ask(MAIN, "And now?");
    const own = mind.requests.at(-1);
    const plain = (request: Request | undefined) =>
      request?.messages.map(({ role, content }) => [role, content]);
    assert.deepEqual(plain(mind.requests.at(-2)), plain(own));
  });

  test("gives a child its context: the summary is there, its own task comes last, and it reports", async (t) => {
    const { stage, mind } = await scene(t);
    await talk(stage);
    await compacted(stage);
    mind.answers = (request) => {
      if (lastOf(request) === "Give it.")
        return calling(["sessions_spawn", { task: "Work.", context: "fork" }]);
      return saying(lastOf(request).includes("Work.") ? "It is done." : "Yes.");
    };
    await stage.sessions.ask(MAIN, "Give it.");
    await stage.until(async () => (await reportsIn(stage, MAIN)).length === 1);
    await stage.rest(MAIN);
    assert.match((await reportsIn(stage, MAIN))[0] ?? "", /It is done\./);
    const child = mind.requests.find((request) => lastOf(request).includes("Work."));
    assert.ok(shownOf(child).includes("## Goal"));
    assert.equal((await childrenOf(stage, MAIN)).length, 1);
  });
});
