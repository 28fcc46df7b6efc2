// Programs that agents run: who may, what a model is told of them, and that nothing of them is left, whatever ends them.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { ConfigInput, Parts } from "../../src/index.ts";
import { afterwards } from "../fixtures/home.ts";
import { Program } from "../fixtures/program.ts";
import { alive, DAEMON } from "../sandbox/stage.ts";
import { Stage, tool } from "./stage.ts";

const skip = process.platform === "linux" ? false : "trees are found through /proc";
const MAIN = "agent:main:main";

/** It ignores SIGTERM itself, and so does what it waits for. */
const STUBBORN = "trap '' TERM; while :; do sleep 1; done";
const UNKNOWN = "It may or may not have taken effect: check before you repeat it.";

function run(command: string, more: object = {}): string {
  return `!call exec ${JSON.stringify({ command, ...more })}`;
}

/** A program in JavaScript, as a command for a shell. Its text has no single quotes. */
function script(source: string): string {
  return `exec "${process.execPath}" -e '${source}'`;
}

/** A stage whose agent may run programs. Those that were seen on it are gone after the test, also when it fails. */
class Shop {
  readonly stage: Stage;
  readonly workspace: string;
  readonly #ids: Set<string>;

  static async open(test: TestContext, more: ConfigInput = {}, parts: Parts = {}): Promise<Shop> {
    const ids = new Set<string>();
    // By itself, not by what is tested: it may be broken.
    afterwards(test, () => {
      for (let left = alive([...ids]); left.length > 0; left = alive([...ids])) left.forEach(kill);
    });
    return new Shop(await Stage.open(test, { ...EXEC, ...more }, parts), ids);
  }

  private constructor(stage: Stage, ids: Set<string>) {
    this.stage = stage;
    this.workspace = join(stage.home, "agents", "main", "workspace");
    this.#ids = ids;
  }

  /** Of all programs that are written down now; and they are remembered. */
  get records(): readonly string[] {
    const ids = readdirSync(join(this.stage.home, "processes")).map((name) => name.replace(".json", ""));
    for (const id of ids) this.#ids.add(id);
    return ids;
  }

  /** Processes of all programs that were ever seen here. */
  get alive(): readonly number[] {
    return alive([...this.#ids]);
  }

  file(name: string): string {
    return join(this.workspace, name);
  }

  read(name: string): string {
    return existsSync(this.file(name)) ? readFileSync(this.file(name), "utf8") : "";
  }

  async begun(programs: number): Promise<void> {
    await this.stage.until(async () => this.records.length === programs);
  }

  async nothingIsLeft(): Promise<void> {
    await this.stage.until(async () => this.records.length === 0);
    assert.deepEqual(this.alive, []); // A record goes only after its processes.
  }
}

const EXEC: ConfigInput = { agents: { main: { tools: { exec: true } } } };

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}

describe("whether an agent may run programs", () => {
  test("no, until its configuration says so: the model has no such tool, and people can see it", async (t) => {
    const { sessions } = await Stage.open(t);
    const { text } = await sessions.ask(
      MAIN,
      `${run("echo hi")}\n!call process {"action":"list"}\n!then\n!results`,
    );
    assert.match(text ?? "", /^There is no tool "exec"\. You have: .*\bread\b/);
    assert.match(text ?? "", /^There is no tool "process"\./m);
    assert.equal((await sessions.status(MAIN)).exec, "off");
  });

  test("yes, and that nothing confines them is to be seen; for the other agents it is still no", async (t) => {
    const agents = { ...EXEC.agents, coder: {} };
    const { sessions } = await Stage.open(t, { agents });
    const { text } = await sessions.ask(MAIN, `${run("echo $((6 * 7))")}\n!then\n!results`);
    assert.match(text ?? "", /^42\n\[exit 0, /);
    assert.equal((await sessions.status(MAIN)).exec, "not sandboxed");
    assert.equal((await sessions.status("agent:coder:main")).exec, "off");
  });

  test("deny wins", async (t) => {
    const tools = { exec: true, allow: ["exec", "process"], deny: ["exec"] };
    const { sessions } = await Stage.open(t, { agents: { main: { tools } } });
    const { text } = await sessions.ask(MAIN, `${run("echo hi")}\n!then\n!results`);
    assert.equal(text, 'There is no tool "exec". You have: process.');
    assert.equal((await sessions.status(MAIN)).exec, "off");
  });
});

describe("what a program is given", () => {
  test("the workspace and a short environment, in which no key is", async (t) => {
    process.env["SOME_API_KEY"] = "very secret";
    afterwards(t, () => delete process.env["SOME_API_KEY"]);
    const shop = await Shop.open(t);
    const { text } = await shop.stage.sessions.ask(MAIN, `${run("pwd; env")}\n!then\n!results`);
    assert.ok(text?.startsWith(`${shop.workspace}\n`), text ?? "");
    assert.match(text, /^PATH=/m);
    assert.doesNotMatch(await shop.stage.bytes(MAIN), /very secret|SOME_API_KEY/);
  });

  test("a folder inside the workspace; one outside is refused, and nothing is run", async (t) => {
    const { stage, ...shop } = await Shop.open(t);
    const outside = ["..", "below/../..", "/", stage.home].map((folder) => run("touch here", { folder }));
    const lines = [
      '!call write {"path":"below/a.txt","content":"a"}',
      "!then",
      run("ls", { folder: "below" }),
    ];
    await stage.sessions.ask(MAIN, [...lines, ...outside].join("\n"));
    const results = (await stage.results(MAIN)).filter((each) => each.tool === "exec");
    const refused = results.filter(({ text }) => !text.startsWith("a.txt\n[exit 0, "));
    assert.equal(results.length, refused.length + 1);
    assert.equal(refused.length, outside.length);
    for (const { text, isError } of refused) {
      assert.match(text, /^exec failed: ".*" leads outside of the workspace/);
      assert.ok(isError);
    }
    assert.deepEqual(readdirSync(shop.workspace), ["below"]);
    assert.equal((await stage.sessions.ask(MAIN, "!say on")).text, "on");
  });

  test("at most so many slots as are configured: others wait, which people can see, and all are run", async (t) => {
    const shop = await Shop.open(t, { scheduler: { processes: 2 } });
    const { sessions } = shop.stage;
    const each = "echo + >> log; while [ ! -e open ]; do sleep 0.05; done; echo - >> log";
    const { id } = await sessions.send(MAIN, Array.from({ length: 6 }, () => run(each)).join("\n"));
    const { inUse, waiting } = await shop.stage.until(async () => {
      const { processes } = await sessions.call("overview", {});
      const all = processes.inUse.interactive + processes.waiting.interactive;
      return all === 6 && shop.read("log").length >= 4 && processes;
    });
    assert.deepEqual([inUse.interactive, waiting.interactive], [2, 4]);
    assert.equal(shop.read("log"), "+\n+\n");
    writeFileSync(shop.file("open"), "");
    assert.equal((await sessions.wait(MAIN, id)).outcome, "done");
    let [running, most] = [0, 0];
    const signs = shop.read("log").trim().split("\n");
    for (const sign of signs) most = Math.max(most, (running += sign === "+" ? 1 : -1));
    assert.deepEqual([signs.length, running, most], [12, 0, 2]);
  });
});

describe("what programs use", { skip }, () => {
  test("is in the usage of the session: the time of all, and the peak of the largest", async (t) => {
    const { stage } = await Shop.open(t);
    const { sessions } = stage;
    const busy = script(
      "const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);",
    );
    const large = script(
      "const held = Buffer.alloc(64 * 1024 * 1024, 1); setTimeout(() => held.length, 10_000);",
    );
    await sessions.ask(MAIN, run(busy));
    const { usage: first } = await sessions.status(MAIN);
    assert.ok(first.toolCpuMs >= 290, `${first.toolCpuMs} ms`);
    await sessions.ask(MAIN, run(busy));
    const { usage: second } = await sessions.status(MAIN);
    assert.ok(second.toolCpuMs >= first.toolCpuMs + 290, `${first.toolCpuMs} and ${second.toolCpuMs} ms`);
    await sessions.ask(MAIN, run(large));
    const { usage: third } = await sessions.status(MAIN);
    assert.ok(third.toolPeakBytes >= 64 * 1024 * 1024, `${third.toolPeakBytes} bytes`);
    await sessions.ask(MAIN, run("true"));
    assert.equal((await sessions.status(MAIN)).usage.toolPeakBytes, third.toolPeakBytes);
  });
});

describe("programs that are aborted", { skip }, () => {
  test("in a step of fifty calls: the turn ends, nothing is left, and the model learns of each what became of it", async (t) => {
    const shop = await Shop.open(t);
    const { sessions } = shop.stage;
    const short = Array.from({ length: 40 }, (_, at) => `echo short ${at}`);
    const long = [`${DAEMON}; touch daemon; sleep 1000`, `touch stubborn; ${STUBBORN}`];
    const asleep = Array.from({ length: 8 }, () => "sleep 1000");
    const calls = [...short, ...long, ...asleep];
    assert.equal(calls.length, 50);
    const { id } = await sessions.send(MAIN, calls.map((each) => run(each)).join("\n"));
    await shop.stage.until(async () => (await shop.stage.results(MAIN)).length === 40);
    await shop.begun(8);
    assert.match((await shop.stage.sessions.status(MAIN)).why, /^step \d of a turn since .*: runs exec$/);
    await shop.stage.until(async () => ["daemon", "stubborn"].every((name) => existsSync(shop.file(name))));
    await shop.stage.until(async () => shop.alive.length > 16); // each has its launcher
    assert.equal((await sessions.abort(MAIN)).accepted, true);
    assert.equal((await sessions.wait(MAIN, id)).outcome, "aborted");
    await shop.nothingIsLeft();
    const results = await shop.stage.results(MAIN);
    const count = (words: RegExp): number => results.filter(({ text }) => words.test(text)).length;
    assert.equal(count(/^short \d+\n\[exit 0, /), 40);
    assert.equal(count(new RegExp(`^exec was given up: .*\\. ${UNKNOWN}$`)), 8);
    assert.equal(count(/^It was not run: /), 2);
    assert.match((await sessions.ask(MAIN, "!list")).text ?? "", /2 user, .* 50 toolResult/);
  });

  test("while fifty of them run at once, in seven sessions: nothing is left of any", async (t) => {
    const shop = await Shop.open(t, { scheduler: { processes: 64 } });
    const { sessions } = shop.stage;
    const programs = [`${DAEMON}; touch daemon; sleep 1000`, `touch stubborn; ${STUBBORN}`];
    while (programs.length < 50) programs.push("sleep 1000 & sleep 1000");
    const keys = Array.from({ length: 7 }, (_, at) => `agent:main:direct:peer-${at}`);
    const sent = await Promise.all(
      keys.map((key, at) =>
        sessions.send(
          key,
          programs
            .filter((_each, nth) => nth % 7 === at)
            .map((each) => run(each))
            .join("\n"),
        ),
      ),
    );
    await shop.begun(50);
    await shop.stage.until(async () => ["daemon", "stubborn"].every((name) => existsSync(shop.file(name))));
    await Promise.all(keys.map((key) => sessions.abort(key)));
    for (const [at, key] of keys.entries())
      assert.equal((await sessions.wait(key, sent[at]?.id ?? "")).outcome, "aborted");
    await shop.nothingIsLeft();
    for (const key of keys) assert.equal((await sessions.ask(key, "!say here")).text, "here");
    const { processes } = await sessions.call("overview", {});
    assert.deepEqual([processes.inUse.interactive, processes.waiting.interactive], [0, 0]);
  });
});

test(
  "a program has the time that its agent's tools have, from when it begins; what it said is kept",
  { skip },
  async (t) => {
    const agents = { main: { tools: { exec: true }, limits: { toolSeconds: 1 } } };
    const shop = await Shop.open(t, { agents, scheduler: { processes: 1 } });
    const line = run("echo begun; sleep 100");
    await shop.stage.sessions.ask(MAIN, `${line}\n${line}`);
    const results = await shop.stage.results(MAIN);
    for (const { text } of results)
      assert.match(text, /^begun\n(?:Terminated\n)?\[ended because it ran longer than 1\.\d s, /);
    assert.equal(results.length, 2);
    await shop.nothingIsLeft();
  },
);

describe("programs in the background", { skip }, () => {
  test("go on after their turn, and are read, written to and ended in later ones", async (t) => {
    const shop = await Shop.open(t);
    const { sessions } = shop.stage;
    const tell = async (line: string): Promise<string> =>
      (await sessions.ask(MAIN, `${line}\n!then\n!results`)).text ?? "";
    const started = await tell(run(`${DAEMON}; while read -r line; do echo "heard $line"; done`, BACKGROUND));
    const id = /\[(p-[0-9a-f]{8}) runs in the background; /.exec(started)?.[1] ?? assert.fail(started);
    const act = (more: object): string => `!call process ${JSON.stringify({ id, ...more })}`;
    assert.match(await tell(act({ action: "write", input: "you\n" })), /^Written: 4 characters/);
    await shop.stage.until(async () => (await tell(act({ action: "read" }))).includes("heard you"));
    assert.equal(shop.records.length, 1);
    assert.ok(shop.alive.length > 2);
    const { programs } = await sessions.call("overview", {});
    assert.deepEqual(
      programs.map(({ sessionKey }) => sessionKey),
      [MAIN],
    );
    const other = `!call process ${JSON.stringify({ action: "kill", id })}\n!then\n!results`;
    const { text } = await sessions.ask("agent:main:direct:eve", other);
    assert.match(text ?? "", /^There is no "p-.*This session has no background processes\.$/);
    assert.match(await tell(act({ action: "kill" })), /heard you/);
    assert.deepEqual([shop.records, shop.alive], [[], []]);
    assert.match(await tell('!call process {"action":"list"}'), new RegExp(`^${id}: (?!runs)`));
  });

  test("end with their session, and no other's do", async (t) => {
    const end = tool("end_session", async (_input, { session }) => ({
      content: "so be it",
      changes: [{ do: "signal", key: session.key, signal: "kill" }],
    }));
    const shop = await Shop.open(t, {}, { tools: [end] });
    const { sessions } = shop.stage;
    const begin = run(`${DAEMON}; ${STUBBORN}`, BACKGROUND);
    await sessions.ask(MAIN, begin);
    const [kept = ""] = shop.records;
    const ann = "agent:main:direct:ann";
    await sessions.ask(ann, begin);
    assert.equal(shop.records.length, 2);
    await sessions.send(ann, "!call end_session\n!then\n!say never");
    await shop.stage.until(async () => (await sessions.status(ann)).state === "ended");
    await shop.stage.until(async () => shop.records.length === 1);
    assert.deepEqual(shop.records, [kept]);
    // A program that sleeps again and again has another child from one look to the next: they agree when nobody else lives.
    await shop.stage.until(async () => isDeepStrictEqual(shop.alive, alive([kept])));
    assert.ok(shop.alive.length > 2);
  });
});

const BACKGROUND = { background: true };

describe("a gateway that stops", { skip }, () => {
  test("by close() leaves nothing running; the model is told that nobody knows, and the session goes on", async (t) => {
    const shop = await Shop.open(t);
    const { sessions } = shop.stage;
    await sessions.ask("agent:main:direct:ann", run(`${DAEMON}; sleep 1000`, BACKGROUND));
    const { id } = await sessions.send(MAIN, `${run(ONCE)}\n!then\n!results`);
    await shop.stage.until(async () => existsSync(shop.file("ran")));
    assert.equal(shop.records.length, 2);
    await shop.stage.close();
    assert.deepEqual([shop.records, shop.alive], [[], []]);
    await shop.stage.reopen();
    await told(shop, id);
  });

  test("by SIGKILL leaves programs, and the next start ends them before anything goes on", async (t) => {
    const shop = await Shop.open(t);
    await shop.stage.close();
    const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));
    const config = { ...EXEC, home: shop.stage.home };
    const program = new Program(t, {
      home: shop.stage.home,
      source: `
        const library = await import(${JSON.stringify(index)});
        const sessions = await library.open(${JSON.stringify(config)}, { log: openLog("silent") });
        const { id } = await sessions.send("${MAIN}", ${JSON.stringify(`${run(ONCE)}\n!then\n!results`)});
        say(id);
        await forever();`,
    });
    const id = await program.hear();
    assert.ok(typeof id === "string");
    await shop.stage.until(async () => existsSync(shop.file("ran")));
    await shop.begun(1);
    await program.kill();
    assert.ok(shop.alive.length > 2, "they outlive it: nobody else ends them");
    await shop.stage.reopen();
    assert.deepEqual([shop.records, shop.alive], [[], []]);
    await told(shop, id);
  });
});

/** Whoever runs it twice leaves two lines. */
const ONCE = `${DAEMON}; echo once >> ran; ${STUBBORN}`;

async function told({ stage, ...shop }: Shop, id: string): Promise<void> {
  const { text } = await stage.sessions.wait(MAIN, id);
  assert.equal(text, `The process stopped while this ran. ${UNKNOWN}`);
  assert.equal(readFileSync(join(shop.workspace, "ran"), "utf8"), "once\n");
  assert.equal((await stage.sessions.ask(MAIN, "!say on")).text, "on");
}
