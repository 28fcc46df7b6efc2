// Numbers of entries, as a shell sees them: log shows them, and rewind, pin and result take them.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry, Output } from "../../src/index.ts";
import { Daemon } from "../gateway/daemon.ts";
import { NO_TERMINAL as skip, ran, started, terminal, type Ran } from "./stage.ts";

const MAIN = "agent:main:main";

interface Stage {
  readonly daemon: Daemon;
  readonly run: (...words: readonly string[]) => Promise<Ran>;
}

async function stage(t: TestContext, ...messages: readonly string[]): Promise<Stage> {
  const daemon = await Daemon.start(t);
  for (const message of messages) await daemon.call("ask", { sessionKey: MAIN, message });
  return { daemon, run: (...words) => ran(t, daemon, ...words) };
}

/** The number in the line of the log that ends so. */
async function numberOf(run: Stage["run"], end: string): Promise<string> {
  const { out } = await run("log", "main");
  const line = out.split("\n").findLast((each) => each.endsWith(end)) ?? "";
  return /#(\d+) /.exec(line)?.[1] ?? "";
}

describe("numbers of entries", { concurrency: 2 }, () => {
  test("rewind takes one that log shows; then log, with -n too, is about what is left", async (t) => {
    const messages = Array.from({ length: 8 }, (_, at) => `!say answer ${at + 1}`);
    const { daemon, run } = await stage(t, ...messages);
    const back = await numberOf(run, "answer 3");
    assert.equal((await run("rewind", "main", back)).exit, 0);
    const last = (await run("log", "main", "-n", "3")).out;
    assert.match(last, new RegExp(`answer 3\n.*answer 3\n.*went back to #${back}, from #32\n$`));
    assert.equal((await run("log", "main")).out.includes("answer 4"), false);
    const { entries } = await daemon.call("entries", { sessionKey: MAIN, last: 2 });
    assert.deepEqual(
      (entries as unknown as readonly Entry[]).map(({ seq }) => seq > Number(back)),
      [false, true],
    );
  });

  test("pin and result take one; context and log say what is pinned; what is no message is refused", async (t) => {
    const { daemon, run } = await stage(t, "!say remember the milk");
    const seq = await numberOf(run, "agent      remember the milk");
    assert.equal((await run("result", "main", seq)).out, "remember the milk");
    assert.equal((await run("pin", "main", seq)).out, `${MAIN}: entry ${seq} pinned\n`);
    assert.match(
      (await run("context")).out,
      new RegExp(`^ {2}1 entry pinned\n {4}#${seq} remember the milk$`, "m"),
    );
    const { pins } = await daemon.call("context", {});
    assert.deepEqual([pins.length, pins[0]?.seq], [1, Number(seq)]);
    assert.match((await run("log", "main")).out, /agent {6}\(pinned\) remember the milk\n/);
    const note = await run("pin", "main", "1");
    assert.equal(note.exit, 64);
    assert.match(note.err, /entry 1 of agent:main:main is neither a message nor a tool's result/);
    assert.equal((await run("pin", "main", "999")).exit, 66);
    assert.equal((await run("pin", "main", seq, "--off")).exit, 0);
    assert.deepEqual((await daemon.call("context", {})).pins, []);
  });

  test("a result that is read from beyond its end says so", async (t) => {
    const { run } = await stage(t, "!say short");
    const past = await run("result", "main", await numberOf(run, "agent      short"), "--from", "99");
    assert.deepEqual([past.exit, past.out], [0, ""]);
    assert.equal(past.err, "(byte 99 is past the end: there are 5 bytes)\n");
  });
});

describe("what a session refuses", { concurrency: 2 }, () => {
  test("in a turn and while it is paused it says what helps, and never to kill it", async (t) => {
    const { daemon, run } = await stage(t, "hello");
    started(t, daemon, ["send", "main", "!slow 3600000", "--wait"]);
    while ((await daemon.call("status", {})).state !== "running") await sleep(20);
    const running = await run("rewind", "main", "2");
    assert.equal(running.exit, 75);
    assert.match(running.err, /^sessiond: agent:main:main is in a turn\n {2}wait until .* `abort`/);
    await run("abort", "main");
    await run("stop", "main");
    while (!["idle", "paused"].includes((await daemon.call("status", {})).state)) await sleep(20);
    for (const words of [
      ["rewind", "main", "2"],
      ["compact", "main"],
      ["handoff", "main"],
    ]) {
      const paused = await run(...words);
      assert.equal(paused.exit, 75);
      assert.match(paused.err, /^sessiond: agent:main:main is paused\n {2}`cont` lets it go on/);
      assert.doesNotMatch(paused.err, /kill/);
    }
    const json = JSON.parse((await run("compact", "main", "--json")).out) as {
      readonly error: { readonly todo: string };
    };
    assert.match(json.error.todo, /^`cont`/);
  });

  test("an entry that is not there names those that are", async (t) => {
    const { run } = await stage(t, "hello");
    const none = await run("rewind", "main", "99");
    assert.equal(none.exit, 66);
    assert.match(none.err, /has no entry 99 .*; it has \d+\n {2}name another: `log` shows the numbers\n$/);
  });
});

test("who waits for a step that runs is told so, and what was asked for is done without them", async (t) => {
  const { daemon, run } = await stage(t, "!say one", "!say two");
  started(t, daemon, ["send", "main", "!slow 3600000", "--wait"]);
  while ((await daemon.call("status", {})).state !== "running") await sleep(20);
  const waiting = started(t, daemon, ["compact", "main"]);
  let err = "";
  waiting.process.stderr?.on("data", (text: string) => (err += text));
  while (!err.includes("it is done anyway")) await sleep(20);
  waiting.process.kill("SIGINT");
  assert.equal((await waiting.ran).exit, 130);
  const waits = async (): Promise<Output<"status">["waitingLetters"]> =>
    (await daemon.call("status", {})).waitingLetters;
  assert.equal(await waits(), 1);
  await run("abort", "main");
  while ((await waits()) > 0) await sleep(20);
});

describe("a chat", { timeout: 120_000 }, () => {
  test("shows the active path of before, and says where one can go back to", { skip }, async (t) => {
    const { daemon, run } = await stage(t, "!say one", "!say two", "!say three");
    const back = await numberOf(run, "agent      two");
    await run("rewind", "main", back);
    const chat = terminal(t, daemon, "chat");
    await chat.seen(new RegExp(`two[^]*went back to #${back}`));
    assert.doesNotMatch(chat.out, /three|damage/);
    chat.type("/rewind\r");
    await chat.seen(new RegExp(`#${back} assistant: two[^]*/rewind <number>`));
    chat.type("!say four\r");
    await chat.seen(/four[^]*four/);
    assert.doesNotMatch(chat.out, /damage/);
    chat.type("\x04");
    assert.equal(await chat.ended(), 0);
  });

  test("has its help in columns, and says how to get to the session that goes on", { skip }, async (t) => {
    const { daemon } = await stage(t, "!say one");
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/rehearsal\/default/);
    chat.type("/help\r");
    await chat.seen(/Ctrl-J/);
    const columns = [/\/handoff .*?\] +(?=writes)/, /\/stop +(?=stops)/].map(
      (at) => at.exec(chat.out)?.[0].length,
    );
    assert.ok(columns[0] !== undefined && columns[0] === columns[1], String(columns));
    chat.type("/handoff go on\r");
    await chat.seen(/goes on from agent:main:main[^]*sessiond chat agent:main:thread:handoff-\w+/);
    chat.type("\x04");
    assert.equal(await chat.ended(), 0);
  });
});
