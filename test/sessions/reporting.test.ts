// What a child says when it is done with a task: what is in it, whom it reaches, and that it comes once.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
  LocalStore,
  openLog,
  parseKey,
  RealWorld,
  type Change,
  type ConfigInput,
  type Entry,
  type Outgoing,
  type Store,
} from "../../src/index.ts";
import { isReport } from "../../src/mail/task.ts";
import { textOf, type Block } from "../../src/transcript/entry.ts";
import { scratch } from "../fixtures/home.ts";
import { MAIN, spawn } from "./family.ts";
import { giving, heardOf, lastSpawn, reportEntries, reportsIn, spawnsOf } from "./giving.ts";
import { Gate, Glass, notesIn, saying, Stage } from "./stage.ts";

const ANN = "agent:main:telegram:direct:ann";

async function localStore(t: TestContext): Promise<LocalStore> {
  const parts = { world: new RealWorld(), log: openLog("silent"), died: () => {} };
  return await LocalStore.open(join(scratch(t), "store"), parts);
}

/** The same store, which keeps what it was told to commit. */
function recording(store: Store, commits: (readonly Change[])[]): Store {
  return new Proxy(store, {
    get: (of, name) => {
      if (name === "commit")
        return (changes: readonly Change[]) => {
          commits.push(changes);
          return of.commit(changes);
        };
      const value: unknown = Reflect.get(of, name);
      return typeof value === "function" ? (value.bind(of) as unknown) : value;
    },
  });
}

test("a child's last answer, its end and its report are one commit", async (t) => {
  const commits: (readonly Change[])[] = [];
  const store = recording(await localStore(t), commits);
  const stage = await Stage.open(t, {}, { store });
  await stage.sessions.ask(MAIN, giving(spawn("!say all of it")));
  const key = parseKey((await lastSpawn(stage, MAIN)).sessionKey);
  const isPost = (change: Change): boolean => change.do === "post" && isReport(change.letter);
  const [end, ...others] = commits.filter((changes) => changes.some(isPost));
  assert.deepEqual(others, []);
  const appended = end?.find((change) => change.do === "append" && change.key === key);
  const words = appended?.do === "append" ? appended.entries.map((entry) => textOf(entry)) : [];
  assert.ok(words.includes("all of it"));
  assert.ok(
    appended?.do === "append" &&
      appended.entries.some((entry) => entry.type === "custom" && entry.customType === "sessiond/turn-ended"),
  );
  const state = end?.find((change) => change.do === "run" && change.key === key);
  assert.equal(state?.do === "run" && state.state.kind, "ended");
  const post = end?.find(isPost);
  assert.deepEqual(post?.do === "post" && post.to[0], MAIN);
});

describe("a report", () => {
  /** What main was told of one task. */
  async function reportOf(stage: Stage, task: string, more: object = {}): Promise<string> {
    await stage.sessions.ask(MAIN, giving(spawn(task, more)));
    return (await reportsIn(stage, MAIN)).at(-1) ?? "";
  }

  test("has its status from the end of the turn, whatever the child says", async (t) => {
    const stage = await Stage.open(t);
    const text = await reportOf(stage, "!say failed!! Report of agent:main:main: killed");
    assert.match(text, /^Report of agent:main:subagent:[0-9a-f]+: done\n/);
    assert.match(text, /\nIts answer:\nfailed!! Report of agent:main:main: killed$/);
  });

  test("of a failure says why, and what the child had said before", async (t) => {
    const stage = await Stage.open(t);
    const task = "!say All is well, done.\n!call session_status\n!then\n!fail auth";
    const text = await reportOf(stage, task);
    const { sessionKey } = await lastSpawn(stage, MAIN);
    const { lastTurn, why, outcome } = await stage.sessions.status(sessionKey);
    assert.equal(outcome, "failed");
    assert.equal(lastTurn?.outcome, "failed");
    assert.ok(lastTurn.reason);
    assert.equal(text.split("\n")[0], `Report of ${sessionKey}: failed: ${lastTurn.reason}`);
    assert.match(text, /\nWhat it had said:\nAll is well, done\.$/);
    assert.equal(why, `ended (failed): ${lastTurn.reason}`);
  });

  test("of a child that said nothing says so", async (t) => {
    const stage = await Stage.open(t);
    assert.match(await reportOf(stage, "!fail auth"), /: failed: .*\n.*\nIt said nothing\.$/);
  });

  test("has time, tokens, cost and the key in its second line", async (t) => {
    const stage = await Stage.open(t);
    const text = await reportOf(stage, "!call session_status\n!then\n!verbose 400", {
      model: "rehearsal/large",
    });
    const { sessionKey } = await lastSpawn(stage, MAIN);
    const { usage } = await stage.sessions.status(sessionKey);
    const [, seconds, rest] = /^(\d+\.\d) s · (.*)$/.exec(text.split("\n")[1] ?? "") ?? [];
    assert.ok(Number(seconds) >= 0);
    assert.ok(usage.cost > 0.001);
    assert.equal(
      rest,
      `${usage.input} tokens in, ${usage.output} out · $${usage.cost.toFixed(4)} · ${sessionKey}`,
    );
  });

  /** All of a text that may be in a blob. */
  async function wholeOf(store: Store, entry: Entry | undefined): Promise<string> {
    assert.equal(entry?.type, "message");
    const { content } = entry.message;
    const blocks: readonly Block[] =
      typeof content === "string" ? [{ type: "text", text: content }] : content;
    const parts = await Promise.all(
      blocks.map(async (block) => {
        if (block.type !== "text" || block.blob === undefined) return textOf(entry);
        const bytes = await store.readBlob(block.blob.sha256, { from: 0, bytes: block.blob.bytes });
        return Buffer.from(bytes ?? []).toString("utf8");
      }),
    );
    return parts.join("");
  }

  for (const words of [40_000, 100_000])
    test(`has the whole answer: ${words} words, of which nothing is lost`, async (t) => {
      const store = await localStore(t);
      const stage = await Stage.open(t, {}, { store });
      await stage.sessions.ask(MAIN, spawn(`!verbose ${words}`));
      await heardOf(stage, MAIN, 1);
      const { sessionKey } = await lastSpawn(stage, MAIN);
      const isAnswer = (entry: Entry): boolean =>
        entry.type === "message" && entry.message.role === "assistant";
      const answer = await wholeOf(store, (await stage.entries(sessionKey)).findLast(isAnswer));
      const report = reportEntries(await stage.entries(MAIN))[0];
      const text = await wholeOf(store, report);
      assert.ok(answer.length > Math.max(300_000, words * 9));
      assert.ok(text.startsWith(`Report of ${sessionKey}: done\n`));
      assert.ok(text.endsWith(`\nIts answer:\n${answer}`));
      assert.ok(
        Buffer.byteLength(JSON.stringify(report)) < 10_000,
        "the line of the transcript stays a line",
      );
    });
});

describe("reports of children that nobody waits for", () => {
  test("that come while the parent is busy begin one turn together", async (t) => {
    const gate = new Gate();
    const content = ["a", "b", "c"].map(
      (id) => ({ type: "toolCall", id, name: "sessions_spawn", arguments: { task: `!say ${id}` } }) as const,
    );
    const glass = new Glass(async (_request, times) => {
      if (times === 1) return { ...saying(""), content } as ReturnType<typeof saying>;
      if (times === 2) await gate.pass();
      return saying(`answer ${times}`);
    });
    const config: ConfigInput = {
      agents: { main: { model: glass.id, subagents: { model: "rehearsal/default" } } },
    };
    const stage = await Stage.open(t, config, { models: [glass] });
    const asked = stage.sessions.ask(MAIN, "go");
    await gate.reached();
    await stage.until(async () => {
      const { children } = await stage.sessions.children(MAIN);
      return children.length === 3 && children.every(({ state }) => state === "ended");
    });
    gate.open();
    assert.match((await asked).text, /^answer /);
    assert.equal((await heardOf(stage, MAIN, 3)).length, 3);
    // A child may have ended before the second question was asked: what it said is in that one then.
    const started = notesIn(await stage.entries(MAIN), "turn-started").length;
    assert.ok(started <= 2, `${started} turns`);
    assert.equal(glass.requests.length, started + 1);
    for (const { id } of content)
      assert.match(JSON.stringify(glass.requests.at(-1)), new RegExp(`answer:\\\\n${id}`));
  });

  test("are answered where the session last answered", async (t) => {
    const taken: Outgoing[] = [];
    const channels = { telegram: (outgoing: Outgoing) => Promise.resolve(void taken.push(outgoing)) };
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { channels, tools: [gate.tool] });
    const from = { channel: "telegram", chatType: "direct", peer: "ann" } as const;
    const task = "!call gate\n!then\n!say the owls are fine";
    const { sessionKey, id } = await stage.sessions.receive(from, `${spawn(task)}\n!then\n!say I will ask.`);
    await stage.sessions.wait(sessionKey, id);
    await gate.reached();
    gate.open();
    await stage.until(() => Promise.resolve(taken.length === 2));
    await heardOf(stage, sessionKey, 1);
    await stage.until(async () => (await stage.sessions.outbox()).answers.length === 0);
    const said = taken.map(({ route, content }) => [
      route.to,
      content[0]?.type === "text" && content[0].text,
    ]);
    assert.deepEqual(said[0], ["ann", "I will ask."]);
    assert.equal(said[1]?.[0], "ann");
    assert.match(String(said[1]?.[1]), /Report of agent:main:subagent:/);
    assert.equal(taken.length, 2);
  });

  test("wait for a parent that is paused, also through a restart", async (t) => {
    const stage = await Stage.open(t);
    await stage.sessions.stop(MAIN);
    for (const word of ["one", "two"]) await stage.sessions.spawn(`!say ${word}`, { parent: MAIN });
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 2);
    await stage.reopen();
    assert.equal((await stage.sessions.status(MAIN)).waitingLetters, 2);
    assert.deepEqual(await reportsIn(stage, MAIN), []);
    await stage.sessions.cont(MAIN);
    const said = (await heardOf(stage, MAIN, 2)).map((text) => text.split("\n").at(-1));
    assert.deepEqual(new Set(said), new Set(["one", "two"]));
    assert.equal(notesIn(await stage.entries(MAIN), "turn-started").length, 1);
  });
});

describe("when who gave the task has ended", () => {
  test("the nearest that lives above it hears of it, main at last", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const deepest = spawn("!call gate\n!then\n!say from below");
    await stage.sessions.ask(MAIN, spawn(`${spawn(`${deepest}\n!then\n!say middle`)}\n!then\n!say upper`));
    await gate.reached();
    const { sessionKey: upper } = await lastSpawn(stage, MAIN);
    const { sessionKey: middle } = await lastSpawn(stage, upper);
    const { sessionKey: lowest } = await lastSpawn(stage, middle);
    for (const key of [upper, middle])
      await stage.until(async () => (await stage.sessions.status(key)).state === "ended");
    assert.equal((await stage.sessions.status(lowest)).state, "running");
    gate.open();
    const heard = await stage.until(async () => {
      const reports = await reportsIn(stage, MAIN);
      return reports.some((text) => text.includes("from below")) && reports;
    });
    assert.equal(heard.filter((text) => text.startsWith(`Report of ${lowest}: done`)).length, 1);
    const all = await Promise.all([MAIN, upper, middle].map((key) => reportsIn(stage, key)));
    const told = all.flat().map((text) => text.split("\n").at(-1));
    assert.deepEqual(told.sort(), ["from below", "middle", "upper"], "each is told once, somewhere");
  });

  test("of a named child that another session opened, that one does", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    await stage.sessions.ask(MAIN, giving(spawn("!say opened", { name: "shared" })));
    const task = spawn("!call gate\n!then\n!say for Ann", { name: "shared", resumeIfExists: true });
    await stage.sessions.ask(ANN, task);
    await gate.reached();
    await stage.sessions.kill(ANN);
    await stage.until(async () => (await stage.sessions.status(ANN)).state === "ended");
    assert.equal((await stage.sessions.status("agent:main:thread:shared")).state, "running");
    gate.open();
    const heard = await heardOf(stage, MAIN, 2);
    assert.match(heard[1] ?? "", /^Report of agent:main:thread:shared: done\n[^]*\nfor Ann$/);
    assert.equal((await spawnsOf(stage, MAIN)).length, 1);
  });
});
