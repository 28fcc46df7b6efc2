// Kill: what a child runs ends with it, whatever it does against that, and whoever dies meanwhile.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { ConfigInput } from "../../src/index.ts";
import { afterwards } from "../fixtures/home.ts";
import { Program } from "../fixtures/program.ts";
import { alive, DAEMON } from "../sandbox/stage.ts";
import { childOf, childrenOf, endings, MAIN, reports, RESULTS, spawn, THEN, until, YIELD } from "./family.ts";
import { Stage } from "./stage.ts";

const skip = process.platform === "linux" ? false : "trees are found through /proc";
const EXEC: ConfigInput = { agents: { main: { tools: { exec: true } } } };
const STUBBORN = "trap '' TERM; while :; do sleep 1; done";

function run(command: string, more: object = {}): string {
  return `!call exec ${JSON.stringify({ command, ...more })}`;
}

/** A stage whose agent may run programs. Those that were seen on it are gone after the test, also when it fails. */
class Yard {
  readonly stage: Stage;
  readonly #ids: Set<string>;

  static async open(test: TestContext): Promise<Yard> {
    const ids = new Set<string>();
    // By itself, not by what is tested: it may be broken.
    afterwards(test, () => {
      for (let left = alive([...ids]); left.length > 0; left = alive([...ids])) left.forEach(end);
    });
    return new Yard(await Stage.open(test, EXEC), ids);
  }

  private constructor(stage: Stage, ids: Set<string>) {
    this.stage = stage;
    this.#ids = ids;
  }

  /** Processes of all programs that were ever seen here. */
  get alive(): readonly number[] {
    const records = readdirSync(join(this.stage.home, "processes"));
    for (const name of records) this.#ids.add(name.replace(".json", ""));
    return alive([...this.#ids]);
  }

  file(name: string): string {
    return join(this.stage.home, "agents", "main", "workspace", name);
  }

  /** The programs have made these files, and so are at work. */
  async made(...names: readonly string[]): Promise<void> {
    await this.stage.until(async () => names.every((name) => existsSync(this.file(name))));
    assert.ok(this.alive.length >= names.length);
  }

  async isEmpty(): Promise<void> {
    await this.stage.until(async () => this.alive.length === 0);
    await this.stage.until(async () => readdirSync(join(this.stage.home, "processes")).length === 0);
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}

for (const [what, command] of [
  ["waits for its own children", "sleep 1000 & sleep 1000 & touch begun; wait"],
  ["ignores SIGTERM", `touch begun; ${STUBBORN}`],
  ["has made itself a daemon", `${DAEMON}; touch begun; sleep 1000`],
  ["has left a daemon and ended", `${DAEMON}; touch begun`],
] as const)
  test(`nothing is left of a program that ${what} when its session is killed`, { skip }, async (t) => {
    const yard = await Yard.open(t);
    const { stage } = yard;
    const task = [run(command), THEN, "!slow 3600000"];
    const asked = stage.sessions.ask(MAIN, [spawn(task), YIELD, THEN, RESULTS].join("\n"));
    await yard.made("begun");
    const child = await childOf(stage, MAIN);
    await stage.sessions.kill(child);
    assert.match((await asked).text, new RegExp(`Report of ${child}: was killed`));
    await yard.isEmpty();
    assert.equal((await reports(stage, MAIN)).length, 1);
  });

test(
  "programs of a whole family end with it, those in the background too; those of others go on",
  { skip },
  async (t) => {
    const yard = await Yard.open(t);
    const { stage } = yard;
    await stage.sessions.ask("agent:main:direct:ann", run("touch hers; sleep 1000", { background: true }));
    await yard.made("hers");
    const hers = yard.alive;
    const program = (name: string): string => `${DAEMON}; touch ${name}; ${STUBBORN}`;
    const leaf = spawn([run(program("one"), { background: true }), run(program("two"))]);
    const middle = spawn([leaf, run(program("three"), { background: true }), THEN, YIELD]);
    const asked = stage.sessions.ask(MAIN, [middle, YIELD].join("\n"));
    await yard.made("one", "two", "three");
    await stage.sessions.kill(await childOf(stage, MAIN));
    assert.equal((await asked).outcome, "done");
    await stage.until(async () => yard.alive.length === hers.length);
    assert.deepEqual(yard.alive, hers);
  },
);

describe("a gateway that dies by SIGKILL", { skip }, () => {
  /** A gateway in a process of its own. It says the key of the only child of main when that is there. */
  function gateway(t: TestContext, home: string, script: string, after: string): Program {
    const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));
    return new Program(t, {
      home,
      source: `
        const library = await import(${JSON.stringify(index)});
        const config = ${JSON.stringify({ ...EXEC, home })};
        const sessions = await library.open(config, { log: openLog("silent") });
        const { id } = await sessions.send("${MAIN}", ${JSON.stringify(script)});
        const childOf = async (key) => {
          for (;;) {
            const { children: [child] } = await sessions.children(key);
            if (child !== undefined) return child.sessionKey;
          }
        };
        say(id);
        ${after}
        await forever();`,
    });
  }

  const PROGRAM = `${DAEMON}; echo once >> begun; ${STUBBORN}`;

  test("leaves programs of a child: the next start ends them, the child is told, and its parent hears", async (t) => {
    const yard = await Yard.open(t);
    const { stage } = yard;
    await stage.close();
    const script = [spawn([run(PROGRAM), THEN, RESULTS]), YIELD, THEN, RESULTS].join("\n");
    const program = gateway(t, stage.home, script, "");
    const id = String(await program.hear());
    await yard.made("begun");
    await program.kill();
    assert.ok(yard.alive.length > 0, "they outlive it: nobody else ends them");
    await stage.reopen();
    assert.deepEqual(yard.alive, []);
    const { text } = await stage.sessions.wait(MAIN, id);
    assert.match(text, /: done\n.*\nIts answer:\nThe process stopped while this ran\./);
    assert.equal((await reports(stage, MAIN)).length, 1);
  });

  test("with a kill that was durable and not done yet: the next start does it, once", async (t) => {
    const yard = await Yard.open(t);
    const { stage } = yard;
    await stage.close();
    const middle = spawn([spawn(run(PROGRAM)), YIELD]);
    const kill = `
      while (!existsSync(${JSON.stringify(yard.file("begun"))})) await new Promise((wake) => setTimeout(wake, 5));
      await sessions.kill(await childOf("${MAIN}"));
      process.kill(process.pid, "SIGKILL");`;
    const program = gateway(t, stage.home, [middle, YIELD, THEN, RESULTS].join("\n"), kill);
    const id = String(await program.hear());
    await program.ended;
    await stage.reopen();
    await yard.isEmpty();
    const child = await childOf(stage, MAIN);
    assert.match((await stage.sessions.wait(MAIN, id)).text, new RegExp(`Report of ${child}: was killed`));
    for (const key of [child, ...(await childrenOf(stage, child))]) await until(stage, key, "ended");
    assert.equal((await endings(stage, MAIN)).filter((each) => each.startsWith(`${child}: `)).length, 1);
  });
});
