// A restart is no event: processes that are killed while sessions work for each other, and what the next one makes of it.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Tool } from "../../src/index.ts";
import { Program } from "../fixtures/program.ts";
import { MAIN, spawn } from "./family.ts";
import { giving, heardOf, lastSpawn, reportsIn } from "./giving.ts";
import { notesIn, Stage, tool } from "./stage.ts";

const INDEX = JSON.stringify(fileURLToPath(new URL("../../src/index.ts", import.meta.url)));

/**
 * Sessions in a process of their own, with tools that leave a mark beside the home:
 *   mark     nothing else; it is not run again
 *   hold     returns when there is a file that says so
 *   poison   kills the process, when in its first life `holders` others hold; it may be run again
 */
const LIFE = `
  const { open: openSessions, openLog: logTo, tool, z } = await import(${INDEX});
  const nap = (ms) => new Promise((wake) => setTimeout(wake, ms));
  const mark = (what) => appendFileSync(home + ".marks", what + "\\n");
  const look = async (isSo) => { while (!(await isSo())) await nap(5); };
  const { readFileSync } = await import("node:fs");
  const marks = (what) => existsSync(home + ".marks") ? readFileSync(home + ".marks", "utf8").split("\\n").filter((line) => line === what).length : 0;
  let held = 0;
  const input = z.object({ what: z.string().default("") });
  const tools = [
    tool({ name: "mark", description: "marks", input, replay: "never", run: async ({ what }) => (mark(what), "marked") }),
    tool({ name: "hold", description: "holds", input, replay: "safe", run: async () => {
      held += 1;
      await look(() => existsSync(home + ".open"));
      return "through";
    } }),
    tool({ name: "poison", description: "kills", input, replay: "safe", run: async () => {
      if (marks("poison") === 0) await look(() => held >= holders);
      mark("poison");
      process.kill(process.pid, "SIGKILL");
      await nap(60_000);
    } }),
  ];
  const holders = Number(process.env.HOLDERS);
  const sessions = await openSessions({ home }, { log: logTo("silent"), tools });
  void forever();
`;

interface Home {
  readonly stage: Stage;
  /** Another process with these sessions. */
  readonly live: (source: string, holders?: number) => Program;
  /** How often a tool has left this mark, in all processes. */
  readonly marks: (what: string) => number;
  readonly letGo: () => void;
}

/** A home that is closed. The stage opens it in this process, where no tool kills. */
async function home(t: TestContext): Promise<Home> {
  const isOpen = (): boolean => existsSync(`${stage.home}.open`);
  const hold = tool("hold", async (_input, { signal }) => {
    while (!isOpen() && !signal.aborted) await new Promise((wake) => setTimeout(wake, 5));
    return "through";
  });
  const safe = (of: Tool): Tool => ({ ...of, replay: "safe" });
  const poison = tool("poison", () => Promise.resolve("nothing happened"));
  const marking = tool("mark", () => Promise.resolve("not marked"));
  const stage: Stage = await Stage.open(t, {}, { tools: [safe(hold), safe(poison), marking] });
  await stage.close();
  const marks = (what: string): number => {
    const path = `${stage.home}.marks`;
    if (!existsSync(path)) return 0;
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line === what).length;
  };
  return {
    stage,
    live: (source, holders = 0) =>
      new Program(t, { home: stage.home, source: LIFE + source, env: { HOLDERS: String(holders) } }),
    marks,
    letGo: () => writeFileSync(`${stage.home}.open`, ""),
  };
}

/** A line of a program: main is asked, under an id by which the answer is found in every later life. */
function asking(key: string, script: string): string {
  return `await sessions.send(${JSON.stringify(key)}, ${JSON.stringify(script)}, { id: "asked" });\n`;
}

const TOPICS = ["owls", "bees", "elms"];
const TASKS = TOPICS.map((topic) =>
  spawn(
    `!call mark {"what":"${topic}"}\n!then\n!call hold {"what":"${topic}"}\n!then\n!say all about ${topic}`,
    { name: topic },
  ),
);

describe("a process that is killed while three children work", () => {
  test("is gone on with by the next: nothing runs twice, and what is resumed says so", async (t) => {
    const { stage, live, marks, letGo } = await home(t);
    const isWaiting = `async () => held === 3 && (await sessions.status("main")).state === "waiting"`;
    const program = live(`${asking(MAIN, giving(...TASKS))} await look(${isWaiting}); say("all hold");`);
    assert.equal(await program.hear(), "all hold");
    await program.kill();

    await stage.reopen();
    const keys = TOPICS.map((topic) => `agent:main:thread:${topic}`);
    for (const key of keys) {
      const why = /^step 3 of a turn since .*: runs hold, resumed after a restart$/;
      await stage.until(async () => why.test((await stage.sessions.status(key)).why));
      assert.equal((await stage.sessions.status(key)).lastTurn, null, "it has not ended");
    }
    const { state, why } = await stage.sessions.status(MAIN);
    assert.equal(state, "waiting");
    assert.match(why, /^waits for its children since /);
    letGo();
    const { outcome, text } = await stage.sessions.wait(MAIN, "asked");
    assert.equal(outcome, "done");
    for (const topic of TOPICS) assert.match(text, new RegExp(`Its answer:\nall about ${topic}`));

    for (const [at, key] of keys.entries()) {
      const entries = await stage.entries(key);
      const spoken = (await stage.messages(key)).filter(({ role }) => role === "assistant");
      assert.equal(spoken.length, 3, "what was answered before is not asked again");
      assert.deepEqual(
        notesIn(entries, "turn-resumed").map((note) => note["why"]),
        ["restarted"],
      );
      assert.equal(marks(TOPICS[at] ?? ""), 1);
      assert.equal((await stage.sessions.status(key)).lastTurn?.outcome, "done");
    }
    assert.deepEqual(notesIn(await stage.entries(MAIN), "turn-resumed"), [], "who rests was at no risk");
    assert.equal((await reportsIn(stage, MAIN)).length, 3);
    assert.equal(notesIn(await stage.entries(MAIN), "turn-started").length, 1);
  });

  test("with a parent that waits in its turn, which waits on in the next process", async (t) => {
    const { stage, live, letGo } = await home(t);
    const script = [...TASKS, "!then", "!wait", "!then", "!results"].join("\n");
    const isWaiting = `async () => held === 3 && /runs subagents/.test((await sessions.status("main")).why)`;
    const program = live(`${asking(MAIN, script)} await look(${isWaiting}); say("all hold");`);
    await program.hear();
    await program.kill();
    await stage.reopen();
    const why = /: runs subagents, resumed after a restart: agent:main:thread:owls, /;
    await stage.until(async () => why.test((await stage.sessions.status(MAIN)).why));
    letGo();
    const { outcome, text } = await stage.sessions.wait(MAIN, "asked");
    assert.equal(outcome, "done");
    assert.match(text, /"why": ?"all have reported"/);
    for (const topic of TOPICS) assert.match(text, new RegExp(`Its answer:\nall about ${topic}`));
    assert.equal((await reportsIn(stage, MAIN)).length, 3);
  });

  for (const marked of [1, 2])
    test(`at any moment, ${marked} of them having begun, comes to the same end`, async (t) => {
      const { stage, live, marks, letGo } = await home(t);
      const begun = `() => ${JSON.stringify(TOPICS)}.filter((topic) => marks(topic) > 0).length >= ${marked}`;
      const program = live(`${asking(MAIN, giving(...TASKS))} await look(${begun}); say("begun");`);
      await program.hear();
      await program.kill();
      letGo();
      await stage.reopen();
      const { outcome, text } = await stage.sessions.wait(MAIN, "asked");
      assert.equal(outcome, "done");
      for (const topic of TOPICS) {
        assert.match(text, new RegExp(`Its answer:\nall about ${topic}`));
        assert.ok(marks(topic) <= 1, `${topic} ran twice`);
        assert.deepEqual(await stage.outcomes(`agent:main:thread:${topic}`), ["done"]);
      }
      await stage.rest(MAIN);
      assert.equal((await reportsIn(stage, MAIN)).length, 3);
    });
});

/** Lives one after the other, until one is not killed by what runs in it. How many were. */
async function livesUntil(live: () => Program, deathsMax: number): Promise<number> {
  for (let deaths = 0; deaths <= deathsMax; deaths += 1) {
    const { code, complaint } = await live().ended;
    if (code === 0) return deaths;
    assert.equal(code, null, complaint); // Only a kill is a death that we look for.
  }
  throw new Error(`it died more than ${deathsMax} times`);
}

describe("a turn that kills its process again and again", () => {
  test("is given up when it did so alone, its parent is told, and those beside it finish", async (t) => {
    const { stage, live, marks, letGo } = await home(t);
    const calm = ["calm", "mild"];
    const tasks = calm.map((name) => spawn("!call hold\n!then\n!say fine", { name }));
    const script = giving(...tasks, spawn("!say I try.\n!call poison\n!then\n!say survived"));
    // It ends in order when the poisoned one has ended. Until then each life is a death.
    const isOver = `async () => (await sessions.children("main", { limit: 200 })).children.some(({ state }) => state === "ended")`;
    let first = asking(MAIN, script);
    const next = (): Program => {
      const source = `${first} await look(${isOver}); await sessions.close(); process.exit(0);`;
      first = "";
      return live(source, 2);
    };
    assert.equal(await livesUntil(next, 8), 3, "with the others twice, then alone");
    assert.equal(marks("poison"), 3);

    letGo();
    await stage.reopen();
    const { sessionKey } = await lastSpawn(stage, MAIN);
    const { outcome, text } = await stage.sessions.wait(MAIN, "asked");
    assert.equal(outcome, "done");
    const reason =
      /the process died 3 times at this point of the turn, the last time while no other was being/;
    const { state, why, lastTurn } = await stage.sessions.status(sessionKey);
    assert.equal(state, "ended");
    assert.match(why, /^ended \(interrupted\): /);
    assert.equal(lastTurn?.outcome, "interrupted");
    assert.match(lastTurn.reason ?? "", reason);
    assert.match(lastTurn.reason ?? "", /to try again, send the message again$/);
    assert.match(
      text,
      new RegExp(`^Report of ${sessionKey}: was given up after restarts: ${reason.source}`, "m"),
    );
    assert.match(text, /What it had said:\nI try\./);
    for (const name of calm) {
      assert.match(text, new RegExp(`^Report of agent:main:thread:${name}: done$`, "m"));
      assert.deepEqual(await stage.outcomes(`agent:main:thread:${name}`), ["done"]);
    }
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal((await reportsIn(stage, MAIN)).length, 3);
    assert.equal((await stage.outcomes(sessionKey)).length, 1, "what was given up is not taken up again");
  });

  test("of a person is answered with the reason, and can be tried again when the trouble is gone", async (t) => {
    const { stage, live, marks } = await home(t);
    const key = "agent:main:telegram:direct:ann";
    const isOver = `async () => (await sessions.status("${key}")).lastTurn !== null`;
    let first = asking(key, "!call poison\n!then\n!say survived");
    const next = (): Program => {
      const source = `${first} await look(${isOver}); await sessions.close(); process.exit(0);`;
      first = "";
      return live(source);
    };
    assert.equal(await livesUntil(next, 8), 3);
    await stage.reopen();
    const { outcome, reason } = await stage.sessions.wait(key, "asked");
    assert.equal(outcome, "interrupted");
    assert.match(reason ?? "", /^the process died 3 times at this point of the turn/);
    const { state, lastTurn } = await stage.sessions.status(key);
    assert.deepEqual([state, lastTurn?.outcome, lastTurn?.reason], ["idle", outcome, reason]);
    const [result] = await stage.results(key);
    assert.equal(result?.isError, true);
    assert.match(result.text, /It may or may not have taken effect/);
    const again = await stage.sessions.ask(key, "!call poison\n!then\n!say survived");
    assert.deepEqual([again.outcome, again.text], ["done", "survived"]);
    assert.equal(marks("poison"), 3);
    assert.deepEqual(await heardOf(stage, MAIN, 0), []);
  });

  test("with every run of a job is a failure of each: the job is disabled, and kills nobody any more", async (t) => {
    const { stage, live, marks } = await home(t);
    const job = { every: "1s", name: "deadly", message: "!call poison", failuresMax: 2, delivery: "none" };
    const isOver = `async () => (await sessions.call("job", { job: "deadly" })).why !== null`;
    let first = `await sessions.call("addJob", ${JSON.stringify(job)});`;
    const next = (): Program => {
      const source = `${first} await look(${isOver}); await sessions.close(); process.exit(0);`;
      first = "";
      return live(source);
    };
    assert.equal(await livesUntil(next, 12), 6, "three times in each of two runs");
    assert.equal(marks("poison"), 6);
    await stage.reopen();
    const { state, failures, why } = await stage.sessions.call("job", { job: "deadly" });
    assert.deepEqual([state, failures], ["disabled", 2]);
    assert.match(why ?? "", /^2 runs in a row failed, the last one interrupted: the process died 3 times at/);
    const { runs } = await stage.sessions.call("jobRuns", { job: "deadly" });
    const ran = runs.filter(({ outcome }) => outcome !== "skipped");
    assert.deepEqual(
      ran.map(({ outcome }) => outcome),
      ["interrupted", "interrupted"],
    );
  });
});
