// What is known of sessions: what they used, what they are called, what was said, and what survives a loss of the index.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  calls,
  LocalStore,
  mainKey,
  DEFAULT_AGENT,
  openLog,
  RealWorld,
  SimulatedWorld,
  subagentKey,
  type CallName,
  type Input,
} from "../../src/index.ts";
import { PINS_MAX } from "../../src/limits.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { fault, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";
const LARGE = { agents: { main: { model: "rehearsal/large" } } };

describe("usage", () => {
  test("is what the transcript adds up to", async (t) => {
    const look = tool("look", () => Promise.resolve("seen"));
    const stage = await Stage.open(t, LARGE, { tools: [look] });
    for (const message of ["hello", "!call look\n!call look\n!then\n!verbose 50", "!fail local"])
      await stage.sessions.ask(MAIN, message);
    const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, steps: 0, toolCalls: 0 };
    for (const message of await stage.messages(MAIN)) {
      if (message.role === "toolResult") sum.toolCalls += 1;
      if (message.role !== "assistant" || message.stopReason === "error") continue;
      const { cost, ...tokens } = message.usage;
      for (const [name, amount] of Object.entries(tokens)) sum[name as keyof typeof tokens] += amount;
      sum.cost += cost?.total ?? 0;
      sum.steps += 1;
    }
    const { usage, tokens, cost, context } = await stage.sessions.status(MAIN);
    const { modelMs: _modelMs, wallMs: _wallMs, toolCpuMs: _cpu, toolPeakBytes: _peak, ...counted } = usage;
    assert.deepEqual(counted, sum);
    assert.ok(sum.cost > 0 && sum.steps === 3 && sum.toolCalls === 2);
    assert.deepEqual([tokens, cost], [sum.input + sum.output, sum.cost]);
    assert.ok(context.tokens > 0 && context.tokens < context.window);
  });

  test("of a tree is that of its root and of all below it", async (t) => {
    const stage = await Stage.open(t, LARGE);
    await stage.sessions.ask(MAIN, "hello");
    const { usage: own } = await stage.sessions.status(MAIN);
    await stage.close();
    const world = new RealWorld();
    const store = await LocalStore.open(stage.home, { world, log: openLog("silent"), died: () => {} });
    const child = subagentKey(mainKey(DEFAULT_AGENT), "a");
    const grandchild = subagentKey(child, "b");
    for (const [key, parent] of [
      [child, mainKey(DEFAULT_AGENT)],
      [grandchild, child],
    ] as const)
      await store.commit([
        {
          do: "open",
          key,
          transcript: world.newId(),
          cwd: "/",
          parent,
          settings: {},
          copy: null,
          ifExists: "refuse",
        },
        { do: "charge", key, usage: { input: 100, cost: 1 } },
      ]);
    await store.close();
    await stage.reopen();
    const { usage, tree } = await stage.sessions.status(MAIN);
    assert.deepEqual(usage, own);
    const billionth = (dollars: number): number => Math.round(dollars * 1e9); // Sums depend on their order, by a hair.
    assert.deepEqual([tree.input, billionth(tree.cost)], [own.input + 200, billionth(own.cost + 2)]);
    const below = await stage.sessions.status(child);
    assert.deepEqual([below.usage.input, below.tree.input, below.root, below.depth], [100, 200, MAIN, 1]);
    const { sessions } = await stage.sessions.list({ parent: MAIN });
    assert.deepEqual(
      sessions.map(({ sessionKey }) => sessionKey),
      [child],
    );
  });
});

describe("a list", () => {
  test("has every agent's main session from the first start", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const { sessions, next } = await stage.sessions.list();
    assert.deepEqual(sessions.map(({ sessionKey, kind, state }) => [sessionKey, kind, state]).toSorted(), [
      ["agent:coder:main", "main", "idle"],
      [MAIN, "main", "idle"],
    ]);
    assert.equal(next, null);
  });

  test("is by agent, kind, state, label, title and time, newest first, in pages without gap or repeat", async (t) => {
    const world = new SimulatedWorld(1);
    const stage = await Stage.open(t, { agents: { coder: {} } }, { world });
    const keys = Array.from({ length: 12 }, (_, at) => `agent:${at % 3 ? "main" : "coder"}:channel:c${at}`);
    for (const [at, key] of keys.entries()) {
      world.pass(1_000);
      await stage.sessions.ask(key, `Topic ${at} of ours`);
    }
    const lateMs = world.nowMs();
    await stage.sessions.set("agent:main:channel:c4", { label: "The plan" });
    await stage.sessions.stop("agent:main:channel:c5");
    const found = async (query: Input<"list">): Promise<string[]> =>
      (await stage.sessions.list(query)).sessions.map(({ sessionKey }) => sessionKey);

    const paged: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await stage.sessions.list({ kind: "channel", limit: 5, ...(cursor ? { cursor } : {}) });
      paged.push(...page.sessions.map(({ sessionKey }) => sessionKey));
      if (page.next === null) break;
      cursor = page.next;
    }
    assert.deepEqual(paged.toSorted(), keys.toSorted());
    const newest = paged.filter((key) => !/c[45]$/.test(key));
    assert.deepEqual(newest, keys.filter((key) => !/c[45]$/.test(key)).toReversed());
    assert.equal((await found({ agent: "coder", kind: "channel" })).length, 4);
    assert.deepEqual(await found({ label: "The plan" }), ["agent:main:channel:c4"]);
    assert.deepEqual(await found({ title: "The pl" }), ["agent:main:channel:c4"]);
    assert.deepEqual(await found({ title: "Topic 7" }), ["agent:main:channel:c7"]);
    assert.deepEqual(await found({ title: "Topic 4" }), [], "the label is its title now");
    assert.deepEqual((await found({ updatedSinceMs: lateMs, kind: "channel" })).toSorted(), [
      "agent:main:channel:c11",
      "agent:main:channel:c4",
      "agent:main:channel:c5",
    ]);
    assert.deepEqual(await found({ state: "running" }), []);
    assert.deepEqual(await found({ agent: "ghost" }), []);
  });
});

test("entries are pinned and unpinned, so many at most, and only those that are there", async (t) => {
  const stage = await Stage.open(t);
  for (let at = 0; at <= PINS_MAX; at += 1) await stage.sessions.send(MAIN, String(at), { mode: "followup" });
  await stage.rest(MAIN);
  const ids = (await stage.entries(MAIN)).flatMap((entry) =>
    entry.type === "message" && entry.message.role === "user" ? [entry.id] : [],
  );
  await Promise.all(ids.slice(0, 1).map((id) => stage.sessions.pin(MAIN, id)));
  for (const id of ids.slice(1, PINS_MAX)) await stage.sessions.pin(MAIN, id);
  await assert.rejects(stage.sessions.pin(MAIN, ids[PINS_MAX] ?? ""), fault("bad_input", /32 entries/));
  await stage.sessions.pin(MAIN, ids[0] ?? "", false);
  const { settings } = await stage.sessions.pin(MAIN, ids[PINS_MAX] ?? "");
  assert.deepEqual(settings.pins, ids.slice(1));
  assert.deepEqual((await stage.sessions.status(MAIN)).settings.pins, ids.slice(1));
});

test("history is paged back to the beginning without gap or repeat, and secrets are taken out", async (t) => {
  const stage = await Stage.open(t);
  const secrets = ["sk-abcdefghijklmnopqrstuvwx", "hunter2hunter2", "ghp_0123456789abcdefghijklmn"];
  await stage.sessions.ask(MAIN, `Key ${secrets[0]}, password=${secrets[1]}\n!say I keep ${secrets[2]} safe`);
  for (let at = 0; at < 60; at += 1) await stage.sessions.send(MAIN, `!say ${at}`, { mode: "followup" });
  await stage.rest(MAIN);
  const pages: { readonly seq: number; readonly text: string }[][] = [];
  for (let before: number | undefined; ;) {
    const page = await stage.sessions.history(MAIN, { limit: 7, ...(before ? { before } : {}) });
    pages.unshift(page.entries);
    if (page.next === null) break;
    before = page.next;
  }
  const told = pages.flat();
  const there = (await stage.entries(MAIN)).filter(({ type }) => type !== "custom");
  assert.ok(told.length > 120);
  assert.deepEqual(
    told.map(({ seq }) => seq),
    there.map(({ seq }) => seq),
  );
  const text = JSON.stringify(told);
  for (const secret of secrets) assert.ok(!text.includes(secret), secret);
  assert.match(text, /\[redacted: key\].*password=\[redacted\]/);
  assert.match(JSON.stringify(there), /hunter2hunter2/, "the transcript keeps what was said");
});

test("the transcripts alone restore what was set, used and said", async (t) => {
  const stage = await Stage.open(t);
  await stage.sessions.set(MAIN, {
    label: "The plan",
    model: "rehearsal/large",
    thinking: "high",
    verbose: "on",
    sendPolicy: "deny",
    queueMode: "collect",
    nice: 3,
    pinned: true,
  });
  await stage.sessions.ask(MAIN, "Remember me.", { mode: "followup" });
  const before = await stage.sessions.status(MAIN);
  const entries = await stage.entries(MAIN);
  await stage.close();
  const { lost } = rebuild(stage.home, new RealWorld().nowMs(), () => {});
  assert.deepEqual(lost, []);
  await stage.reopen();
  const after = await stage.sessions.status(MAIN);
  assert.deepEqual(after.settings, before.settings);
  assert.deepEqual([after.tokens, after.cost, after.title], [before.tokens, before.cost, before.title]);
  assert.deepEqual(await stage.entries(MAIN), entries);
  const { text } = await stage.sessions.ask(MAIN, "!list", { mode: "followup" });
  assert.match(text, /1\. "Remember me\."/);
});

/** Those that only agents make are shown by what agents do; tokens are a gateway's. */
type PersonsCall = Exclude<
  CallName,
  "join" | "yield" | "subagents" | "cron" | "tokens" | "createToken" | "revokeToken"
>;

test("what every call gives is of the shape that the table says", async (t) => {
  const stage = await Stage.open(t, {}, { channels: {} });
  const { sessions } = stage;
  const chat = {
    channel: "pigeon",
    chatType: "direct",
    peer: "ann",
    message: "!call session_status",
  } as const;
  const received = await sessions.call("receive", chat);
  const { sessionKey, id } = received;
  await sessions.wait(sessionKey, id);
  const said = (await stage.entries(sessionKey)).find(({ type }) => type === "message");
  const [refused] = (await sessions.outbox({ refused: true })).answers; // there is no pigeon
  await sessions.ask("agent:main:thread:gone", "!say hi");
  for (const name of ["kept", "erased"]) await sessions.ask(`agent:main:thread:${name}`, "!say hi");
  const kept = await sessions.status("agent:main:thread:kept");
  const erased = await sessions.call("archive", { sessionKey: "agent:main:thread:erased" });
  const inputs: { readonly [Name in PersonsCall]: Input<Name> } = {
    send: { sessionKey: MAIN, message: "!say hi" },
    receive: { ...chat, id: "again" },
    ask: { sessionKey: MAIN, message: "!say hi" },
    wait: { sessionKey, id },
    abort: { sessionKey },
    stop: { sessionKey },
    cont: { sessionKey },
    status: { sessionKey },
    list: {},
    history: { sessionKey },
    mail: { sessionKey },
    entries: { sessionKey },
    result: { sessionKey, ref: said?.id ?? "" },
    trace: { sessionKey },
    search: { text: "hi" },
    set: { sessionKey, label: "A" },
    pin: { sessionKey, entry: said?.id ?? "" },
    fork: { sessionKey },
    spawn: { task: "!slow 60000", name: "a child" },
    children: { sessionKey: MAIN },
    steer: { sessionKey: "agent:main:thread:a%20child", message: "Go on." },
    kill: { sessionKey: "agent:main:thread:a%20child" },
    remove: { sessionKey: "agent:main:thread:gone" },
    outbox: { refused: true },
    redeliver: { id: refused?.id ?? "" },
    overview: {},
    whoami: {},
    models: {},
    config: {},
    testModel: { model: "rehearsal/default" },
    context: { sessionKey },
    compact: { sessionKey },
    handoff: { sessionKey, name: "fresh" },
    rewind: { sessionKey: "agent:main:thread:fresh", seq: 1 },
    writeMemory: { path: "memory/tea.md", text: "hi" },
    memory: {},
    readMemory: { path: "memory/tea.md" },
    searchMemory: { text: "hi" },
    heartbeats: {},
    beat: { agent: "main" },
    addJob: { cron: "0 9 * * 1-5", message: "!say hi", name: "morning" },
    jobs: {},
    job: { job: "morning" },
    editJob: { job: "morning", enabled: false },
    runJob: { job: "morning" },
    jobRuns: { job: "morning" },
    jobTimes: { job: "morning" },
    removeJob: { job: "morning" },
    upkeepPlan: {},
    upkeep: {},
    archive: { sessionKey: "agent:main:thread:kept" },
    archives: {},
    restore: { id: kept.transcript },
    purgeArchive: { id: erased.archive },
    reset: { sessionKey: MAIN, model: "rehearsal/default" },
    command: { sessionKey: MAIN, text: "/status" },
    commands: {},
  };
  for (const name of Object.keys(inputs) as PersonsCall[]) {
    if (name === "rewind") await stage.rest("agent:main:thread:fresh");
    const output = await sessions.call(name, inputs[name] as Input<"list">);
    assert.deepEqual(calls[name].output.parse(output), output, name);
  }
});
