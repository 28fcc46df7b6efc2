// Stopping in order, ids, and what agents may not learn: each of these was once wrong.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  Fault,
  LocalStore,
  MemoryStore,
  RealWorld,
  openLog,
  parseKey,
  type ConfigInput,
} from "../../src/index.ts";
import { fault, Gate, Glass, notesIn, saying, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";

describe("closing", () => {
  test("does not wait for a model that is being asked, whenever it comes", async (t) => {
    const glass = new Glass(() => new Promise(() => {}));
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    for (let n = 0; n < 12; n += 1) {
      await stage.sessions.send(MAIN, `message ${n}`);
      for (let turns = 0; turns < n; turns += 1) await new Promise((wake) => setImmediate(wake));
      await stage.reopen(); // it would not end: the model never answers
    }
  });

  test("as often as one likes in the middle of a turn does not give the turn up", async (t) => {
    let isSilent = true;
    const glass = new Glass(() => (isSilent ? new Promise(() => {}) : Promise.resolve(saying("at last"))));
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const { id } = await stage.sessions.send(MAIN, "hi");
    for (let n = 1; n <= 6; n += 1) {
      await stage.until(() => Promise.resolve(glass.requests.length >= n));
      await stage.reopen();
    }
    await stage.until(() => Promise.resolve(glass.requests.length >= 7));
    isSilent = false;
    await stage.reopen();
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "at last");
    const left = notesIn(await stage.entries(MAIN), "turn-left");
    assert.ok(left.length >= 6);
  });

  test("in the middle of a run of a job is no failure of it: the run counts as what it comes to", async (t) => {
    let isSilent = true;
    const glass = new Glass(() => (isSilent ? new Promise(() => {}) : Promise.resolve(saying("at last"))));
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const job = { every: "1h", message: "look", failuresMax: 1, delivery: "none" } as const;
    const { id } = await stage.sessions.call("addJob", job);
    await stage.sessions.call("runJob", { job: id });
    for (let n = 1; n <= 3; n += 1) {
      await stage.until(() => Promise.resolve(glass.requests.length >= n));
      await stage.reopen();
    }
    isSilent = false;
    await stage.reopen();
    const told = await stage.until(async () => {
      const seen = await stage.sessions.call("job", { job: id });
      return seen.last !== null && seen;
    });
    assert.deepEqual([told.last?.outcome, told.last?.note, told.failures], ["done", "at last", 0]);
    assert.equal(told.enabled, true);
  });
});

describe("an id", () => {
  test("counts within a session: the same one elsewhere is another message", async (t) => {
    const { sessions } = await Stage.open(t);
    const first = await sessions.ask(MAIN, "!say one", { id: "1" });
    const second = await sessions.ask("agent:main:thread:other", "!say one", { id: "1" });
    assert.deepEqual([first.repeated, second.repeated, second.text], [false, false, "one"]);
    const chat = (peer: string) =>
      sessions.receive({ channel: "telegram", chatType: "direct", peer }, "hello", { id: "1" });
    const [ann, bob, again] = [await chat("ann"), await chat("bob"), await chat("ann")];
    assert.deepEqual([ann.repeated, bob.repeated, again.repeated], [false, false, true]);
    assert.equal(again.seq, ann.seq, "it is the first receipt again");
    await sessions.send("agent:main:telegram:direct:ann", "other words", { id: "telegram::1" });
  });

  test("of the sender's own is enough to wait by, and one that is not known is said not to be", async (t) => {
    const { sessions } = await Stage.open(t);
    await sessions.send(MAIN, "!say here", { id: "mine" });
    assert.equal((await sessions.wait(MAIN, "mine")).text, "here");
    await assert.rejects(sessions.wait(MAIN, "nobody's"), fault("not_found", /no message "nobody's"/));
  });
});

describe("a session that may not see others", () => {
  const config: ConfigInput = { agents: { main: {}, coder: {} } };

  test("is told nothing of them by a list: no row, no title, no cursor, and not whether there are any", async (t) => {
    const { sessions } = await Stage.open(t, config);
    for (const peer of ["ann", "bob", "cleo"])
      await sessions.ask(`agent:main:x:direct:${peer}`, `the merger of ${peer} closes friday`);
    const eve = "agent:main:x:direct:eve";
    for (const query of [
      { title: "", limit: 1 },
      { title: "the merger" },
      { agent: "coder" },
      { limit: 1 },
      {},
    ]) {
      const { text } = await sessions.ask(
        eve,
        `!call sessions_list ${JSON.stringify(query)}\n!then\n!results`,
      );
      const listed = JSON.parse(text) as { sessions: { sessionKey: string }[]; next: string | null };
      assert.equal(listed.next, null);
      assert.ok(listed.sessions.every(({ sessionKey }) => sessionKey === eve));
    }
  });

  test("sees its own tree, page by page, and main sees all of its agent", async (t) => {
    const stage = await Stage.open(t, config);
    await stage.close();
    const died = (): never => assert.fail();
    const store = await LocalStore.open(stage.home, { world: new RealWorld(), log: openLog("silent"), died });
    const root = parseKey("agent:main:thread:root");
    const opening = { do: "open", cwd: "", settings: {}, copy: null, ifExists: "refuse" } as const;
    const ids = new RealWorld();
    await store.commit([
      { ...opening, key: root, parent: null, transcript: ids.newId() },
      ...Array.from({ length: 5 }, (_, n) => ({
        ...{ ...opening, parent: root, transcript: ids.newId() },
        key: parseKey(`agent:main:thread:child-${n}`),
      })),
    ]);
    await store.close();
    await stage.reopen();
    const seen = async (key: string, query: object): Promise<string[]> => {
      const script = `!call sessions_list ${JSON.stringify(query)}\n!then\n!results`;
      const { text } = await stage.sessions.ask(key, script);
      const page = JSON.parse(text) as { sessions: { sessionKey: string }[]; next: string | null };
      const rest = page.next === null ? [] : await seen(key, { ...query, cursor: page.next });
      return [...page.sessions.map(({ sessionKey }) => sessionKey), ...rest];
    };
    assert.equal(new Set(await seen("agent:main:thread:child-3", { limit: 100 })).size, 6);
    assert.equal((await seen(root, { parent: root })).length, 5);
    assert.equal((await seen(MAIN, {})).length, 7, "main, the root and its children");
  });
});

describe("what is brought along", () => {
  test("is looked at when sessions are opened, and named when it is wrong", async (t) => {
    const ok = tool("ok", () => Promise.resolve("ok"));
    const { run: _run, ...noRun } = ok;
    for (const [parts, words] of [
      [{ tool: [ok] }, /tool/],
      [{ tools: [noRun] }, /tools\[0\].*run/],
      [{ tools: [{ ...ok, input: {} }] }, /tools\[0\]\.input is a schema of zod/],
      [{ tools: [{ ...ok, name: "a b" }] }, /tools\[0\]\.name/],
      [{ tools: [ok, ok] }, /two tools are called ok/],
      [{ tools: [{ ...ok, name: "session_status" }] }, /session_status/],
      [{ channels: { fax: 5 } }, /channels\.fax.*function/],
      [{ channels: { session: () => {} } }, /kept for answers between sessions/],
      [{ models: [{ id: "x" }] }, /models\[0\] is a model/],
    ] as const)
      await assert.rejects(Stage.open(t, {}, parts as unknown as object), fault("bad_input", words));
    const stage = await Stage.open(t, { agents: { main: { tools: { allow: ["sessions_lst"] } } } });
    assert.match(JSON.stringify(stage.heard), /names a tool that is not there/);
  });

  test("when it breaks in the middle of a turn ends that turn with the reason, and the session goes on", async (t) => {
    const answers: unknown[] = [null, { kind: "reply", content: [{ type: "toolCall" }], usage: {} }, 7];
    const glass = new Glass((_request, times) =>
      Promise.resolve((times > answers.length ? saying("fine") : answers[times - 1]) as never),
    );
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    for (const _ of answers) {
      const { outcome, reason } = await stage.sessions.ask(MAIN, "hi");
      assert.equal(outcome, "failed");
      assert.match(reason ?? "", /glass\/one broke: it gave something that is no answer/);
    }
    assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "fine");
  });

  test("may say a lot about its failure, and little of it is kept", async (t) => {
    const failed = {
      kind: "failed",
      why: "auth",
      message: "x".repeat(20_000_000),
      retryAfterMs: null,
      throttled: false,
    } as const;
    const glass = new Glass(() => Promise.resolve(failed));
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const { reason } = await stage.sessions.ask(MAIN, "hi");
    assert.ok((reason?.length ?? Infinity) <= 2_000);
  });
});

test("a letter that steers enters the running turn also when hundreds wait before it", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const first = stage.sessions.ask(MAIN, "!call gate\n!then\n!say never");
  await gate.reached();
  for (let n = 0; n < 210; n += 1) await stage.sessions.send(MAIN, "!say later", { mode: "followup" });
  const steering = stage.sessions.ask(MAIN, "!say steered", { mode: "steer" });
  await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters >= 100);
  await new Promise((wake) => setTimeout(wake, 20)); // until it was told
  gate.open();
  assert.equal((await first).text, "steered");
  assert.equal((await steering).text, "steered");
});

describe("a letter is not lost", () => {
  test("when its agent is configured no longer: it waits until the agent is back", async (t) => {
    const both: ConfigInput = { agents: { main: {}, coder: {} } };
    const coder = "agent:coder:main";
    const stage = await Stage.open(t, both);
    await stage.sessions.stop(coder);
    const { id } = await stage.sessions.send(coder, "!say still here");
    await stage.reopen({ agents: { main: {} } });
    await assert.rejects(stage.sessions.send(coder, "hi"), fault("not_found", /"coder" is not configured/));
    await stage.sessions.cont(coder);
    await stage.until(() =>
      Promise.resolve(/the agent of agent:coder:main is not configured/.test(stage.log)),
    );
    assert.equal((await stage.sessions.ask(MAIN, "!say others go on")).text, "others go on");
    await stage.reopen(both);
    assert.equal((await stage.sessions.wait(coder, id)).text, "still here");
  });

  test("when the disk is full at any commit of its turn: the turn goes on when there is room", async (t) => {
    for (const full of [1, 2, 3]) {
      const store = new MemoryStore(new RealWorld());
      const look = tool("look", () => Promise.resolve("seen"));
      const stage = await Stage.open(t, {}, { store, tools: [{ ...look, replay: "safe" }] });
      const commit = store.commit.bind(store);
      let commits = 0;
      store.commit = async (changes) => {
        const isOfTurn = changes.some((change) => change.do === "append");
        if (isOfTurn && ++commits === full) throw new Fault("disk_full", "no room");
        return await commit(changes);
      };
      const { text } = await stage.sessions.ask(MAIN, "!call look\n!then\n!say after all");
      assert.equal(text, "after all", `commit ${full}`);
      assert.equal((await stage.results(MAIN)).length, 1);
      assert.deepEqual(await stage.outcomes(MAIN), ["done"]);
      assert.match(stage.log, /no room/);
      await stage.close();
    }
  });
});
