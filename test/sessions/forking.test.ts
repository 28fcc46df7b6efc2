// A fork: a new session from any entry of another, which goes its own way.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import {
  MemoryStore,
  parseKey,
  RealWorld,
  type Entry,
  type Message,
  type Parts,
  type Settings,
} from "../../src/index.ts";
import { isMadeUp } from "../../src/routing/key.ts";
import { fault, Gate, Glass, notesIn, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";
const LOOK = tool("look", () => Promise.resolve("seen"));

/** Main after these messages were answered, one turn each. */
async function talked(t: TestContext, messages: readonly string[], parts: Parts = {}): Promise<Stage> {
  const stage = await Stage.open(t, {}, { tools: [LOOK], ...parts });
  for (const message of messages) await asked(stage, MAIN, message);
  return stage;
}

async function asked(stage: Stage, key: string, message: string): Promise<string> {
  const { outcome, reason, text } = await stage.sessions.ask(key, message);
  assert.equal(outcome, "done", reason ?? "");
  return text;
}

/** The entry that ended the turn of this number, from 1 on. */
function endOf(entries: readonly Entry[], turn: number): Entry {
  const ends = entries.filter((entry) => notesIn([entry], "turn-ended").length > 0);
  const end = ends[turn - 1];
  assert.ok(end, `there is a turn ${turn}`);
  return end;
}

/** What providers insist on: results directly after the answer that called for them, each once. */
function mustBeValid(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      assert.ok(open.includes(message.toolCallId), "a result has its call");
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    assert.deepEqual(open, [], "a call has its result");
    if (message.role === "assistant")
      open = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
  }
  assert.deepEqual(open, []);
  assert.equal(messages[0]?.role, "user");
}

describe("where it begins", () => {
  test("from the end: it knows what its source knew, and is a process of its own", async (t) => {
    const stage = await talked(t, ["The number is 7.", "The colour is red."]);
    await stage.sessions.set(MAIN, { model: "rehearsal/large", nice: 3, label: "Numbers", pinned: true });
    const source = await stage.sessions.status(MAIN);
    const forked = await stage.sessions.fork(MAIN, { name: "what if", label: "What if" });
    assert.deepEqual(forked, {
      sessionKey: "agent:main:thread:what%20if",
      from: MAIN,
      throughSeq: source.entries,
      entries: source.entries,
    });
    const fork = await stage.sessions.status(forked.sessionKey);
    assert.deepEqual(
      [fork.kind, fork.parent, fork.root, fork.depth, fork.state, fork.waitingLetters],
      ["thread", null, forked.sessionKey, 0, "idle", 0],
    );
    assert.deepEqual([fork.tokens, fork.usage.steps, fork.title], [0, 0, "What if"]);
    const { label: _label, ...settings } = source.settings;
    assert.deepEqual(fork.settings, { ...settings, label: "What if", pinned: false });
    assert.match(await asked(stage, forked.sessionKey, "!list"), /1\. "The number is 7\."\n2\. "The colour/);
  });

  test("without a name it is given one, each time another", async (t) => {
    const stage = await talked(t, ["The number is 7."]);
    const forks = [await stage.sessions.fork(MAIN), await stage.sessions.fork(MAIN)];
    for (const { sessionKey } of forks) {
      assert.match(sessionKey, /^agent:main:thread:fork-[\da-f]{8}$/);
      assert.equal(isMadeUp(parseKey(sessionKey)), true);
    }
    assert.notEqual(forks[0]?.sessionKey, forks[1]?.sessionKey);
    await assert.rejects(
      stage.sessions.fork(MAIN, { name: "fork-20260101" }),
      fault("bad_input", /looks like one that is made up/),
    );
  });

  test("with an id it is the same fork however often, and at once, it is asked for", async (t) => {
    const stage = await talked(t, ["One.", "Two."]);
    const { seq } = endOf(await stage.entries(MAIN), 1);
    const ask = (more: object = {}) => stage.sessions.fork(MAIN, { seq, id: "1", ...more });
    const forks = await Promise.all([ask(), ask(), ask()]);
    const [first] = forks;
    for (const each of [...forks, await ask()]) assert.deepEqual(each, first);
    assert.equal(isMadeUp(parseKey(first?.sessionKey ?? "")), true);
    assert.deepEqual(await stage.letters(first?.sessionKey ?? ""), ["One."]);
    const others = [await ask({ id: "2" }), await ask({ seq: seq - 1 })];
    assert.equal(new Set([first, ...others].map((each) => each?.sessionKey)).size, 3);
    for (const more of [{ name: "x" }, { seq: undefined }])
      await assert.rejects(ask(more), fault("bad_input", /an id stands in place of a name/));
    await stage.sessions.call("rewind", { sessionKey: MAIN, seq: 1 });
    assert.deepEqual(await ask(), first, "also when its source has gone another way");
    const looks = `fork-${"0a1b2c3d".repeat(4)}`;
    await assert.rejects(stage.sessions.fork(MAIN, { name: looks }), fault("bad_input", /made up/));
  });

  test("from the middle, by an entry's id or its number", async (t) => {
    const stage = await talked(t, ["One.", "Two.", "Three."]);
    const { id, seq } = endOf(await stage.entries(MAIN), 2);
    const forks = [await stage.sessions.fork(MAIN, { entry: id }), await stage.sessions.fork(MAIN, { seq })];
    for (const { sessionKey, throughSeq, entries } of forks) {
      assert.deepEqual([throughSeq, entries], [seq, seq]);
      assert.deepEqual(await stage.letters(sessionKey), ["One.", "Two."]);
      assert.match(await asked(stage, sessionKey, "And now?"), /Earlier here you said "One\."/);
    }
    assert.deepEqual(await stage.letters(MAIN), ["One.", "Two.", "Three."]);
  });

  test("from any entry the next model call is valid, also between a call and its result", async (t) => {
    const glass = new Glass();
    const script = "Look.\n!call look\n!call look\n!then\n!call look\n!then\n!say so it is";
    const stage = await talked(t, ["One.", script], { models: [glass] });
    const entries = await stage.entries(MAIN);
    for (const { seq } of entries) {
      const { sessionKey, throughSeq } = await stage.sessions.fork(MAIN, { seq, name: `from ${seq}` });
      assert.ok(throughSeq <= seq);
      await stage.sessions.set(sessionKey, { model: glass.id });
      await asked(stage, sessionKey, "And now?");
      const { messages = [] } = glass.requests.at(-1) ?? {};
      mustBeValid(messages);
      assert.match(JSON.stringify(messages.at(-1)), /And now\?/);
      assert.ok(!JSON.stringify(messages).includes("There is no result"), "no call was copied without one");
    }
    assert.equal(glass.requests.length, entries.length);
  });

  test("a turn that runs can be forked: what it waits for is left out, and it goes on", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [LOOK, gate.tool] });
    const sent = await stage.sessions.send(MAIN, "Go.\n!call look\n!then\n!call gate\n!then\n!say through");
    await gate.reached();
    const { sessionKey } = await stage.sessions.fork(MAIN);
    const copied = await stage.messages(sessionKey);
    assert.deepEqual(
      copied.map(({ role }) => role),
      ["user", "assistant", "toolResult"],
    );
    assert.equal(await asked(stage, sessionKey, "!say I do not wait"), "I do not wait");
    gate.open();
    assert.equal((await stage.sessions.wait(MAIN, sent.id)).text, "through");
    assert.deepEqual(await stage.outcomes(sessionKey), ["done"], "nobody goes on with a copied turn");
  });

  test("a fork after damage begins after it, and one before it ends before it", async (t) => {
    const stage = await talked(t, ["One.", "Two.", "Three.", "Four."]);
    const entries = await stage.entries(MAIN);
    const file = await stage.file(MAIN);
    await stage.close();
    const broken = endOf(entries, 2);
    const lines = readFileSync(file, "utf8").split("\n");
    const at = lines.findIndex((line) => line.includes(`"${broken.id}"`));
    lines[at] = "x".repeat(Buffer.byteLength(lines[at] ?? ""));
    writeFileSync(file, lines.join("\n"));
    await stage.reopen();
    const after = await stage.sessions.fork(MAIN);
    assert.deepEqual(await stage.letters(after.sessionKey), ["Three.", "Four."]);
    const before = await stage.sessions.fork(MAIN, { seq: broken.seq - 1 });
    assert.deepEqual(await stage.letters(before.sessionKey), ["One.", "Two."]);
    await assert.rejects(stage.sessions.fork(MAIN, { seq: broken.seq }), fault("not_found", /can be read/));
  });
});

describe("two ways", () => {
  test("source and fork go on without each other, and so does a fork of a fork", async (t) => {
    const stage = await talked(t, ["One."]);
    const first = await stage.sessions.fork(MAIN, { name: "first" });
    const before = await stage.bytes(MAIN);
    await asked(stage, first.sessionKey, "Two.");
    const second = await stage.sessions.fork(first.sessionKey, { name: "second" });
    await asked(stage, second.sessionKey, "Three.");
    assert.equal(await stage.bytes(MAIN), before, "nothing is written to the source");
    await asked(stage, first.sessionKey, "Four.");
    await asked(stage, MAIN, "Five.");
    assert.deepEqual(await stage.letters(MAIN), ["One.", "Five."]);
    assert.deepEqual(await stage.letters(first.sessionKey), ["One.", "Two.", "Four."]);
    assert.deepEqual(await stage.letters(second.sessionKey), ["One.", "Two.", "Three."]);
  });

  test("a restart changes nothing", async (t) => {
    const stage = await talked(t, ["One.", "Two."]);
    const messages = (await stage.entries(MAIN)).filter(({ type }) => type === "message");
    const [, pinned, asking, last] = messages;
    for (const each of [pinned, last]) await stage.sessions.pin(MAIN, each?.id ?? "");
    const { sessionKey } = await stage.sessions.fork(MAIN, { seq: asking?.seq ?? 0, name: "later" });
    const before = await stage.entries(sessionKey);
    const status = await stage.sessions.status(sessionKey);
    assert.deepEqual(status.settings.pins, [pinned?.id], "of the pins those that are there");
    await stage.reopen();
    assert.deepEqual(await stage.entries(sessionKey), before);
    assert.deepEqual((await stage.sessions.status(sessionKey)).settings, status.settings);
    assert.match(await asked(stage, sessionKey, "!list"), /1\. "One\."\n2\. "Two\."/);
    await asked(stage, MAIN, "Three.");
    assert.ok(!(await stage.letters(sessionKey)).includes("Three."));
  });
});

describe("what is refused", () => {
  test("names, entries and keys that cannot be", async (t) => {
    const stage = await talked(t, ["One."]);
    const fork = stage.sessions.fork.bind(stage.sessions);
    const { entries } = await stage.sessions.status(MAIN);
    await fork(MAIN, { name: "taken" });
    await assert.rejects(
      fork(MAIN, { name: "taken" }),
      fault("exists", /agent:main:thread:taken; choose another name, or write to that one/),
    );
    await assert.rejects(fork(MAIN, { name: "" }), fault("bad_input", /name/));
    await assert.rejects(fork(MAIN, { name: "x".repeat(300) }), fault("bad_input", /bytes/));
    await assert.rejects(fork(MAIN, { seq: 0 }), fault("bad_input", /seq/));
    await assert.rejects(
      fork(MAIN, { seq: entries + 1 }),
      fault("not_found", new RegExp(`name one from 1 to ${entries}`)),
    );
    await assert.rejects(
      fork(MAIN, { entry: "nobody" }),
      fault("not_found", /no entry "nobody" among the last 10000 .* by its seq/),
    );
    await assert.rejects(fork(MAIN, { entry: "a", seq: 1 }), fault("bad_input", /not by both/));
    await assert.rejects(fork("agent:main:thread:nobody"), fault("not_found", /there is no session/));
    await assert.rejects(fork("nonsense"), fault("bad_input", /not a session key/));
    assert.equal((await stage.sessions.list({})).sessions.length, 2);
  });

  test("a session in which nothing was said has nothing to fork", async (t) => {
    const stage = await talked(t, []);
    await assert.rejects(stage.sessions.fork(MAIN), fault("not_found", /nothing was said/));
    await assert.rejects(stage.sessions.fork(MAIN, { seq: 1 }), fault("not_found", /it has none yet/));
  });
});

describe("by an agent", () => {
  const forking = (input: object): string =>
    `Fork.\n!call sessions_fork ${JSON.stringify(input)}\n!then\n!results`;

  test("it forks itself from within a turn: a child, without the call that made it", async (t) => {
    const stage = await talked(t, ["The number is 7."]);
    const text = await asked(stage, MAIN, `!call look\n!then\n${forking({ name: "idea" })}`);
    const { sessionKey, from } = JSON.parse(text.slice(text.indexOf("{"))) as Record<string, string>;
    assert.ok(sessionKey);
    assert.deepEqual(
      (await stage.results(sessionKey)).map(({ tool: name }) => name),
      ["look"],
    );
    assert.deepEqual([sessionKey, from], ["agent:main:thread:idea", MAIN]);
    const { parent, root, depth } = await stage.sessions.status(sessionKey);
    assert.deepEqual([parent, root, depth], [MAIN, MAIN, 1]);
    assert.match(
      await asked(stage, sessionKey, "What is the number?"),
      /Earlier here you said "The number is 7\."/,
    );
    const { tree, usage } = await stage.sessions.status(MAIN);
    assert.equal(tree.steps, usage.steps + 1, "what it uses is counted for its root");
    assert.match(await asked(stage, MAIN, forking({ name: "idea" })), /; choose another name.*\(exists\)/);
  });

  test("it forks only what it may see", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { tools: { visibility: "self" } } } });
    await asked(stage, "agent:main:thread:secret", "The code is 1234.");
    const text = await asked(stage, MAIN, forking({ sessionKey: "agent:main:thread:secret" }));
    assert.match(text, /tools\.visibility is self.*forbidden/);
    assert.equal((await stage.sessions.list({})).sessions.length, 2);
  });

  test("a chain of forks ends where sub-agents would", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { subagents: { depth: 1 } } } });
    await asked(stage, MAIN, forking({ name: "child" }));
    const child = "agent:main:thread:child";
    assert.match(
      await asked(stage, child, forking({ name: "grandchild" })),
      /subagents\.depth is 1.*forbidden/,
    );
    const { sessionKey } = await stage.sessions.fork(child, { name: "by a person" });
    assert.equal((await stage.sessions.status(sessionKey)).depth, 0);
  });

  test("what it makes may do no more than itself, nor than what it forked", async (t) => {
    const store = new MemoryStore(new RealWorld());
    const stage = await Stage.open(t, { agents: { main: { tools: { visibility: "all" } } } }, { store });
    const open = async (key: string, settings: Partial<Settings>): Promise<void> => {
      const opened = { transcript: new RealWorld().newId(), cwd: "", parent: null, copy: null } as const;
      await store.commit([{ do: "open", key: parseKey(key), ...opened, settings, ifExists: "refuse" }]);
    };
    const narrow = { allow: ["sessions_fork", "read"], deny: [] };
    const other = { allow: null, deny: ["write"] };
    await open("agent:main:thread:narrow", {
      tools: [narrow],
      nice: 5,
      sendPolicy: "deny",
      limits: { stepsPerTurn: 3, turnSeconds: null, tokens: 1_000_000, cost: null },
    });
    await open("agent:main:thread:other", {
      tools: [other],
      nice: -5,
      limits: { stepsPerTurn: 9, turnSeconds: 60, tokens: null, cost: null },
    });
    await asked(stage, "agent:main:thread:other", "One.");
    const made = { sessionKey: "agent:main:thread:other", name: "made" };
    await asked(stage, "agent:main:thread:narrow", forking(made));
    const { settings } = await stage.sessions.status("agent:main:thread:made");
    assert.deepEqual(
      [settings.tools, settings.nice, settings.sendPolicy, settings.limits],
      [[other, narrow], 5, "deny", { stepsPerTurn: 3, turnSeconds: 60, tokens: 1_000_000, cost: null }],
    );
    await asked(stage, "agent:main:thread:narrow", forking({ name: "itself" }));
    const itself = await stage.sessions.status("agent:main:thread:itself");
    assert.deepEqual(itself.settings.tools, [narrow], "the same scope is there once");
  });
});
