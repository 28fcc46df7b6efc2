import assert from "node:assert/strict";
import { join } from "node:path";
import { mkdirSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { alive, DAEMON, KEY, OTHER_KEY, Stage, until } from "../../test/sandbox/stage.ts";
import type { Agent } from "../config/config.ts";
import type { Session } from "../sessions/session.ts";
import { execTools } from "./exec.ts";
import type { Calling, Result, Tool } from "./tool.ts";

const skip = process.platform === "linux" ? false : "trees are found through /proc";

/** The two tools, on a stage. */
class Shop {
  readonly stage: Stage;
  readonly started: string[]; // ids of all processes
  readonly tools: readonly Tool[];

  constructor(test: TestContext) {
    this.stage = new Stage(test);
    this.started = this.stage.ids;
    const { processes, world, home } = this.stage;
    const start = processes.start.bind(processes);
    test.mock.method(processes, "start", async (starting: Parameters<typeof start>[0]) => {
      const running = await start(starting);
      this.started.push(running.id);
      return running;
    });
    const folderOf = async (_agent: Agent, path: string | null): Promise<string> => join(home, path ?? "");
    this.tools = execTools({ processes, world, folderOf });
  }

  async call(
    name: "exec" | "process",
    input: object,
    more: { key?: typeof KEY; signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const { key = KEY, signal = new AbortController().signal } = more;
    const tool = this.tools.find((each) => each.name === name);
    const given = await tool?.input["~standard"].validate(input);
    if (!tool || !given || given.issues)
      throw new Error(`the arguments are wrong: ${JSON.stringify(given?.issues)}`);
    const session = { key, root: key, settings: { nice: 0 } } as Session;
    const agent = { id: "main", limits: { toolSeconds: 60 } } as Agent;
    const calling: Calling = { session, agent, class: "interactive", cause: "cause:test", signal };
    const result = (await tool.run(given.value, calling)) as Result;
    return { text: String(result.content), isError: result.isError === true, used: result.used ?? null };
  }

  exec(command: string, more: object = {}): Promise<Answer> {
    return this.call("exec", { command, ...more });
  }

  /** The id of a new background process. */
  async begin(command: string, more: object = {}): Promise<string> {
    const { text } = await this.exec(command, { background: true, ...more });
    return /\[(p-[0-9a-f]{8}) /.exec(text)?.[1] ?? assert.fail(text);
  }
}

interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly used: Result["used"] | null;
}

test("exec tells what was printed, how it ended and what it used", { skip }, async (test) => {
  const shop = new Shop(test);
  mkdirSync(join(shop.stage.home, "below"));
  const good = await shop.exec("cat; pwd; echo $ANTHROPIC_API_KEY", { folder: "below", input: "given\n" });
  assert.match(good.text, /^given\n.*\/below\n\n\[exit 0, \d+\.\d s, cpu \d+\.\d s, \d+ MiB\]$/);
  assert.equal(good.isError, false);
  assert.ok(good.used);
  const bad = await shop.exec("echo oh >&2; exit 4");
  assert.match(bad.text, /^oh\n\[exit 4, /);
  assert.equal(bad.isError, true);
  assert.match((await shop.exec("kill -9 $$")).text, /exit 137 \(SIGKILL\)/);
});

test("keys of the gateway do not reach a command", { skip }, async (test) => {
  process.env["SOME_API_KEY"] = "very secret";
  test.after(() => delete process.env["SOME_API_KEY"]);
  const { text } = await new Shop(test).exec("env");
  assert.match(text, /^PATH=/m);
  assert.doesNotMatch(text, /very secret/);
});

test(
  "E1: of fifty commands at once, one with a daemon, nothing is left, and all is accounted",
  { skip },
  async (test) => {
    const shop = new Shop(test);
    const node = `exec "${process.execPath}" -e`;
    const scripts = Array.from({ length: 47 }, (_, at) => `echo ${at}; sleep 0.${at % 5}`);
    const busy = `${node} 'const until = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < until);'`;
    const large = `${node} 'const held = Buffer.alloc(64 * 1024 * 1024, 1); setTimeout(() => held.length, 1500);'`;
    const results = await Promise.all(
      [...scripts, busy, large, `${DAEMON}; sleep 0.5`].map((each) => shop.exec(each)),
    );
    assert.equal(shop.started.length, 50);
    assert.deepEqual(alive(shop.started), []);
    assert.deepEqual(shop.stage.records, []);
    for (const [at, { text }] of results.slice(0, 47).entries())
      assert.match(text, new RegExp(`^${at}\n\\[exit 0, `));
    assert.ok((results[47]?.used?.cpuMs ?? 0) >= 200);
    assert.ok((results[48]?.used?.peakBytes ?? 0) >= 48 * 1024 * 1024);
    assert.match(
      results[49]?.text ?? "",
      /^daemon\n(?:Killed\n)?\[exit 0, .*\]\n\[\d process(?:es)? that it left behind w.* ended; use background: true/,
    );
  },
);

test(
  "E1: a command that takes too long is ended with all it started, and its output is told",
  { skip },
  async (test) => {
    const shop = new Shop(test);
    const { text, isError } = await shop.exec("trap '' TERM; echo begun; sleep 1000 & sleep 1000", {
      seconds: 0.5,
    });
    assert.match(text, /^begun\n\[ended because it ran longer than 0\.\d s, /);
    assert.equal(isError, true);
    assert.deepEqual(alive(shop.started), []);
  },
);

test("E1: a call that is aborted rejects when everything is gone", { skip }, async (test) => {
  const shop = new Shop(test);
  const stop = new AbortController();
  const called = shop.call("exec", { command: `${DAEMON}; sleep 1000` }, { signal: stop.signal });
  const rejected = assert.rejects(called, /enough/);
  await until(() => shop.started.length === 1 && alive(shop.started).length > 3);
  stop.abort(new Error("enough"));
  await rejected;
  assert.deepEqual(alive(shop.started), []);
});

test("a command waits for a slot before its time begins; a look at those in the background does not", (test) => {
  const waits = new Shop(test).tools.filter((each) => each.process === true).map(({ name }) => name);
  assert.deepEqual(waits, ["exec"]);
});

test("of fifty megabytes, head and tail are kept", { skip }, async (test) => {
  const shop = new Shop(test);
  const { text } = await shop.exec("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last");
  assert.match(text, /^first\nx+\n\[\d+ characters were left out here\]\nx+\nlast\n\[exit 0/);
  assert.ok(text.length < 300_000);
});

test(
  "a background process goes on, is read, written to and killed, and its end is remembered",
  { skip },
  async (test) => {
    const shop = new Shop(test);
    const id = await shop.begin("echo on; cat; exit 5");
    assert.match(
      (await shop.call("process", { action: "list" })).text,
      new RegExp(`^${id}: runs, \\d+ s: echo on; cat; exit 5$`),
    );
    assert.match(
      (await shop.call("process", { action: "read", id })).text,
      /^on\n\[p-.*: runs; read on from 3\]$/,
    );
    await shop.call("process", { action: "write", id, input: "words\n", end: true });
    await until(async () => (await shop.call("process", { action: "list" })).text.includes(": exit 5"));
    const first = await shop.call("process", { action: "read", id, from: 3 });
    assert.match(first.text, /^words\n\[p-.*: exit 5; read on from 9\]$/);
    assert.ok(first.used);
    assert.equal((await shop.call("process", { action: "read", id })).used, null); // charged once
    assert.match((await shop.call("process", { action: "write", id, input: "x" })).text, /has ended/);

    const stubborn = await shop.begin(`trap '' TERM; ${DAEMON}; sleep 1000`);
    assert.match((await shop.call("process", { action: "kill", id: stubborn })).text, /killed by SIGKILL/);
    assert.deepEqual(alive(shop.started), []);
  },
);

test("a background process that ends at once is told so, with its output", { skip }, async (test) => {
  const { text, isError } = await new Shop(test).exec("echo no; exit 2", { background: true });
  assert.match(text, /^no\n\[p-[0-9a-f]{8} ended already: exit 2; /);
  assert.equal(isError, true);
});

test("a session sees only its own background processes", { skip }, async (test) => {
  const shop = new Shop(test);
  const id = await shop.begin("sleep 1000");
  const other = { key: OTHER_KEY };
  assert.match((await shop.call("process", { action: "list" }, other)).text, /no background processes/);
  const killed = await shop.call("process", { action: "kill", id }, other);
  assert.equal(killed.isError, true);
  assert.equal(shop.stage.processes.of(KEY).length, 1);
});

test(
  "there are at most sixteen background processes of a session, also when they are started at once",
  { skip },
  async (test) => {
    const shop = new Shop(test);
    const all = await Promise.all(
      Array.from({ length: 18 }, () => shop.exec("sleep 1000", { background: true })),
    );
    const refused = all.filter(({ isError }) => isError);
    assert.equal(refused.length, 2);
    assert.match(refused[0]?.text ?? "", /16 background processes of this session run already/);
    const { text } = await shop.exec("sleep 1000", { background: true });
    assert.match(text, /p-[0-9a-f]{8} \(sleep 1000\)/);
    await shop.stage.processes.killAll(KEY);
    await shop.begin("true");
  },
);

test("the last outcomes are remembered, and what was printed long ago is not", { skip }, async (test) => {
  const shop = new Shop(test);
  for (let batch = 0; batch < 3; batch += 1)
    await Promise.all(Array.from({ length: 12 }, () => shop.begin("true")));
  assert.equal((await shop.call("process", { action: "list" })).text.split("\n").length, 32);
  const id = await shop.begin("head -c 1000000 /dev/zero | tr '\\0' y");
  const { text } = await shop.call("process", { action: "read", id });
  assert.match(
    text,
    /^\[737856 characters before this are not kept any more\]\ny{65536}\n\[p-.*, 196608 more characters are there\]$/,
  );
});

test("arguments have bounds", { skip }, async (test) => {
  const shop = new Shop(test);
  for (const input of [
    { command: "" },
    { command: "x".repeat(100_001) },
    { command: "a", seconds: -1 },
    { command: "a", b: 1 },
  ])
    await assert.rejects(shop.call("exec", input), /the arguments are wrong/);
  await assert.rejects(shop.call("process", { action: "eat" }), /the arguments are wrong/);
  assert.deepEqual(shop.started, []);
});
