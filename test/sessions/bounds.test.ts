// How far children go: generations, tasks in flight, tools and agents; and what stays of them.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ConfigInput } from "../../src/index.ts";
import {
  act,
  childOf,
  childrenOf,
  endings,
  MAIN,
  named,
  reports,
  RESULTS,
  spawn,
  THEN,
  until,
  YIELD,
} from "./family.ts";
import { fault, Gate, Stage } from "./stage.ts";

type Agents = NonNullable<ConfigInput["agents"]>;

/** What main heard of one child. */
async function told(stage: Stage, task: readonly string[], more: object = {}): Promise<string> {
  return (await stage.sessions.ask(MAIN, [spawn(task, more), YIELD, THEN, RESULTS].join("\n"))).text;
}

describe("generations", () => {
  /** A child that spawns a child that spawns, and so on; each says what its own tools gave. */
  function descent(generation: number, last: number): string {
    const own = generation < last ? [descent(generation + 1, last), YIELD, THEN, RESULTS] : ["!say the last"];
    return spawn(own, { name: `g${generation}` });
  }

  for (const [depth, subagents] of [
    [3, {}],
    [1, { depth: 1 }],
    [0, { depth: 0 }],
  ] as const)
    test(`there are ${depth} below a session ${"depth" in subagents ? "when that is configured" : "by itself"}`, async (t) => {
      const stage = await Stage.open(t, { agents: { main: { subagents } } });
      const { text } = await stage.sessions.ask(
        MAIN,
        [descent(1, depth + 1), YIELD, THEN, RESULTS].join("\n"),
      );
      const last = depth === 0 ? MAIN : named(`g${depth}`);
      const words = `${last} is ${depth} generations below its root, and agents.main.subagents.depth is ${depth}`;
      assert.ok(text.includes(`sessions_spawn failed: ${words}: it spawns none. Do this yourself`), text);
      for (let each = 1; each <= depth; each += 1)
        assert.equal((await stage.sessions.status(named(`g${each}`))).depth, each);
      await assert.rejects(
        stage.sessions.status(named(`g${depth + 1}`)),
        fault("not_found", /there is no session/),
      );
      if (depth > 0) return;
      await assert.rejects(
        stage.sessions.spawn("!say hi", { parent: MAIN }),
        fault("forbidden", /it spawns none/),
      );
    });
});

test("so many tasks are in flight at once; what has reported counts for nothing", async (t) => {
  const gate = new Gate();
  const agents: Agents = { main: { subagents: { children: 2 } } };
  const stage = await Stage.open(t, { agents }, { tools: [gate.tool] });
  const named = spawn("!say three", { name: "three" });
  const asked = stage.sessions.ask(
    MAIN,
    [spawn("!call gate"), spawn("!call gate"), named, YIELD, THEN, RESULTS].join("\n"),
  );
  await gate.reached(2);
  gate.open();
  const { text } = await asked;
  const words = `${MAIN} has 2 tasks in flight, as many as agents.main.subagents.children allows: wait for some of them`;
  assert.ok(text.includes(`sessions_spawn failed: ${words}`), text);
  assert.equal((await reports(stage, MAIN)).length, 2);
  const quick = [spawn("!say a"), spawn("!say b"), YIELD, THEN];
  await stage.sessions.ask(MAIN, [...quick, ...quick, ...quick, "!say over"].join("\n"));
  assert.equal((await reports(stage, MAIN)).length, 8);
  assert.deepEqual(
    (await stage.results(MAIN)).filter(({ isError }) => isError).map(({ tool }) => tool),
    ["sessions_spawn"],
  );
});

describe("tools of a child", () => {
  const WRITE = '!call write {"path":"a.txt","content":"a"}';

  test("are those that it was given, and its own child never gets more", async (t) => {
    const stage = await Stage.open(t);
    const tools = { allow: ["read", "session*"], deny: ["sessions_send"] };
    const look = [
      WRITE,
      '!call sessions_send {"sessionKey":"agent:main:main","message":"hi"}',
      THEN,
      RESULTS,
    ];
    const wide = spawn(look, { name: "wide", tools: { allow: ["write", "read", "sessions_send", "edit"] } });
    const heir = spawn(look, { name: "heir" });
    const text = await told(stage, [...look.slice(0, 2), wide, heir, YIELD, THEN, RESULTS], {
      name: "child",
      tools,
    });
    const [child, ...others] = [named("child"), named("wide"), named("heir")];
    const shown = async (key: string): Promise<string[]> =>
      (await stage.results(key)).filter(({ isError }) => isError).map((each) => each.text);
    const own = await shown(child);
    assert.equal(own.length, 2);
    for (const words of own) {
      assert.match(
        words,
        /^There is no tool "(?:write|sessions_send)"\. You have: .*\bsessions_spawn\b.*\bread\b/,
      );
      assert.doesNotMatch(
        words.slice(words.indexOf("You have")),
        /\b(?:write|edit|exec|sessions_send|subagents)\b/,
      );
    }
    assert.deepEqual(await shown(others[1] ?? ""), own, "who is given nothing else has the same");
    for (const words of await shown(others[0] ?? "")) assert.match(words, /You have: read\.$/);
    assert.equal((await shown(others[0] ?? "")).length, 2);
    assert.match(text, /Its answer:/);
    assert.equal((await stage.results(MAIN)).filter(({ isError }) => isError).length, 0);
  });

  test("keep it from having others do for it what it may not", async (t) => {
    const stage = await Stage.open(t);
    await told(stage, ["!say here"], { name: "free" });
    const tools = { deny: ["write"] };
    const ask = spawn(WRITE, { name: "free", resumeIfExists: true });
    await told(stage, [ask], { name: "bound", tools });
    const [refused] = await stage.results(named("bound"));
    assert.equal(refused?.isError, true);
    assert.match(refused?.text ?? "", /agent:main:thread:free may use tools that you may not/);
    assert.match(refused?.text ?? "", /forbidden/);
    assert.deepEqual(await stage.outcomes(named("free")), ["done"]);
    const back = await told(stage, ["!say for you"], { name: "bound", resumeIfExists: true });
    assert.match(back, /Its answer:\nfor you/, "who may more may use who may less");
  });
});

test("another agent's sub-agent is there for who may ask it, with its root's workspace and tools", async (t) => {
  const agents: Agents = {
    main: { subagents: { agents: ["coder"] }, tools: { deny: ["write"] } },
    coder: { tools: { exec: true, deny: ["edit"], visibility: "all" } },
    other: {},
  };
  const stage = await Stage.open(t, { agents });
  for (const agent of ["main", "coder"]) {
    const workspace = join(stage.home, "agents", agent, "workspace");
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, "whose.txt"), `this is ${agent}'s`);
  }
  const task = [
    '!call read {"path":"whose.txt"}',
    '!call write {"path":"a.txt","content":"a"}',
    '!call session_status {"sessionKey":"agent:other:main"}',
    spawn("!say back", { agent: "main" }),
    THEN,
    RESULTS,
  ];
  await told(stage, task, { agent: "coder" });
  const child = await childOf(stage, MAIN);
  assert.match(child, /^agent:coder:/);
  const results = await stage.results(child);
  const [read, write, status, back] = ["read", "write", "session_status", "sessions_spawn"].map((tool) =>
    results.find((each) => each.tool === tool),
  );
  assert.match(read?.text ?? "", /this is main's/);
  assert.match(write?.text ?? "", /^There is no tool "write"\. You have: (?!.*\b(?:edit|exec|process)\b)/);
  assert.match(status?.text ?? "", /there is no session agent:other:main that you may see/);
  assert.match(back?.text ?? "", /agents\.coder\.subagents\.agents does not name main; there are: coder/);
  const lines = [spawn("!say no", { agent: "other" }), spawn("!say no", { agent: "nobody" })];
  await stage.sessions.ask(MAIN, lines.join("\n"));
  const [other, nobody] = (await stage.results(MAIN)).slice(-2);
  assert.match(
    other?.text ?? "",
    /agents\.main\.subagents\.agents does not name other; there are: main, coder/,
  );
  assert.match(nobody?.text ?? "", /agent "nobody" is not configured; there are: main, coder, other/);
  assert.equal((await childrenOf(stage, MAIN)).length, 1);
});

describe("what stays of a child", () => {
  /** Those that are on the disk, of a home that was opened just now. */
  function transcripts(stage: Stage): string[] {
    const files = readdirSync(join(stage.home, "agents", "main", "sessions"));
    return files.filter((name) => name.endsWith(".jsonl")).map((name) => name.replace(".jsonl", ""));
  }

  for (const [how, end] of [
    ["that is done", "!say my last words"],
    ["that came to a limit", "!say my last words\n!call session_status"],
  ] as const)
    test(`is nothing but its report, of one ${how} and is to be deleted`, async (t) => {
      const stage = await Stage.open(t);
      const text = await told(stage, [end], { cleanup: "delete", limits: { stepsPerTurn: 1 } });
      assert.match(text, /:\nmy last words/);
      assert.deepEqual(await childrenOf(stage, MAIN), []);
      assert.equal((await reports(stage, MAIN)).length, 1);
      await stage.reopen();
      assert.deepEqual(transcripts(stage), [(await stage.sessions.status(MAIN)).transcript]);
      assert.equal((await stage.sessions.list({ kind: "subagent" })).sessions.length, 0);
    });

  test("is all of one that is to stay: it waits for the next message, and a named one that runs once ends", async (t) => {
    const stage = await Stage.open(t);
    await told(stage, ["!say first"], { mode: "session" });
    const child = await childOf(stage, MAIN);
    await stage.rest(child);
    assert.match((await stage.sessions.ask(child, "!list")).text, /^3 messages: 2 user, 1 assistant/);
    assert.equal((await stage.sessions.status(child)).state, "idle");
    await told(stage, ["!say once"], { name: "once", mode: "run" });
    await until(stage, named("once"), "ended");
    assert.equal((await reports(stage, MAIN)).length, 2, "what people asked it is not reported");
  });

  test("is not told to who did not want to hear", async (t) => {
    const stage = await Stage.open(t);
    const lines = [spawn("!say quietly", { announce: false }), THEN, YIELD, act("wait"), THEN, "!say on"];
    assert.equal((await stage.sessions.ask(MAIN, lines.join("\n"))).text, "on");
    await until(stage, await childOf(stage, MAIN), "ended");
    await stage.rest(MAIN);
    assert.deepEqual(await endings(stage, MAIN), []);
    const [, rest, wait] = await stage.results(MAIN);
    for (const result of [rest, wait]) assert.match(result?.text ?? "", /no task of yours is in flight/);
  });
});

for (const line of ["!wait", YIELD])
  test(`two that give each other tasks never wait for each other: ${line} is refused to the second`, async (t) => {
    const stage = await Stage.open(t);
    const again = { resumeIfExists: true };
    const second = [
      spawn("!say for the second", { name: "first", ...again }),
      THEN,
      line,
      THEN,
      "!say went on",
    ];
    const first = [spawn(second, { name: "second", ...again }), line, THEN, RESULTS];
    const text = await told(stage, first, { name: "first" });
    assert.match(text, /Its answer:\n[^]*Report of agent:main:thread:second: done\n.*\nIts answer:\nwent on/);
    const refused = (await stage.results(named("second"))).find(({ isError }) => isError);
    assert.match(
      refused?.text ?? "",
      /waits for agent:main:thread:second, and both would wait for ever \(would_deadlock/,
    );
    await stage.until(async () => (await reports(stage, named("second"))).length === 1);
    for (const key of [named("first"), named("second"), MAIN]) await stage.rest(key);
    assert.match((await reports(stage, named("second")))[0] ?? "", /Its answer:\nfor the second/);
    assert.deepEqual(await endings(stage, MAIN), [`${named("first")}: done`]);
  });
