// Waiting for children: in the turn, or by letting it rest until they have reported; and what a restart does to either.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { unlessAborted } from "../../src/base/waiting.ts";
import type { ConfigInput } from "../../src/index.ts";
import { MAIN, spawn } from "./family.ts";
import { giving, heardOf, lastSpawn, reportsIn } from "./giving.ts";
import { Gate, Glass, notesIn, saying, Stage } from "./stage.ts";

const named = (name: string): string => `agent:main:thread:${name}`;

/** A task that stays at a gate of its own, which is called like it. */
function gated(name: string): string {
  return spawn(`!call ${name}\n!then\n!say all about ${name}`, { name });
}

async function withGates(t: TestContext, ...names: readonly string[]) {
  const gates = new Map(names.map((name) => [name, new Gate(name)]));
  const stage = await Stage.open(t, {}, { tools: [...gates.values()].map(({ tool }) => tool) });
  const open = (name: string): void => gates.get(name)?.open();
  return { stage, gates, open };
}

async function isResting(stage: Stage): Promise<boolean> {
  return (await stage.sessions.status(MAIN)).state === "waiting";
}

/** How often main's model has spoken. */
async function spoken(stage: Stage): Promise<number> {
  return (await stage.messages(MAIN)).filter(({ role }) => role === "assistant").length;
}

async function turns(stage: Stage): Promise<number> {
  return notesIn(await stage.entries(MAIN), "turn-started").length;
}

describe("a turn that was yielded", () => {
  test("goes on when the last of those it waits for has reported, and not before", async (t) => {
    const { stage, open } = await withGates(t, "owls", "bees", "elms");
    const names = ["owls", "bees", "elms"];
    const asked = stage.sessions.ask(MAIN, giving(...names.map(gated)));
    await stage.until(() => isResting(stage));
    const before = await spoken(stage);
    for (const [at, name] of ["bees", "owls"].entries()) {
      open(name);
      await stage.until(async () => (await reportsIn(stage, MAIN)).length === at + 1);
      await stage.until(() => isResting(stage));
    }
    assert.equal(await spoken(stage), before, "the model was not asked for a part of it");
    const { why } = await stage.sessions.status(MAIN);
    assert.match(why, /^waits for its children since /);
    open("elms");
    const { outcome, text } = await asked;
    assert.equal(outcome, "done");
    for (const name of names) assert.match(text, new RegExp(`Its answer:\nall about ${name}`));
    assert.deepEqual([await spoken(stage), await turns(stage)], [before + 1, 1]);
  });

  test("for some of them by name goes on without the others, whose reports come later", async (t) => {
    const { stage, open } = await withGates(t, "owls", "bees");
    const only = `!call sessions_yield ${JSON.stringify({ sessionKeys: [named("owls")] })}`;
    const script = [gated("owls"), gated("bees"), "!then", only, "!then", "!results"].join("\n");
    const asked = stage.sessions.ask(MAIN, script);
    await stage.until(() => isResting(stage));
    open("owls");
    const { text } = await asked;
    assert.match(text, /all about owls/);
    assert.doesNotMatch(text, /all about bees/);
    assert.equal((await stage.sessions.status(named("bees"))).state, "running");
    open("bees");
    const heard = await heardOf(stage, MAIN, 2);
    assert.deepEqual(
      heard.map((report) => report.split("\n").at(-1)),
      ["all about owls", "all about bees"],
    );
    assert.equal(await turns(stage), 2);
  });

  test("is gone on with when a person writes; the children go on, and report later", async (t) => {
    const { stage, open } = await withGates(t, "owls");
    const asked = stage.sessions.ask(MAIN, giving(gated("owls")));
    await stage.until(() => isResting(stage));
    const { text } = await stage.sessions.ask(MAIN, "!say never mind them");
    assert.equal(text, "never mind them");
    assert.equal((await asked).text, "never mind them", "it is the same turn");
    assert.deepEqual([await turns(stage), (await reportsIn(stage, MAIN)).length], [1, 0]);
    assert.equal((await stage.sessions.status(named("owls"))).state, "running");
    open("owls");
    assert.equal((await heardOf(stage, MAIN, 1)).length, 1);
    assert.equal(await turns(stage), 2);
  });

  test("is refused when there is nobody to wait for, or not those that were named", async (t) => {
    const stage = await Stage.open(t);
    const { text } = await stage.sessions.ask(MAIN, "!call sessions_yield\n!then\n!results");
    assert.match(text, /no task of yours is in flight, so there is nobody to wait for: just go on/);
    const other = `!call sessions_yield {"sessionKeys":["${named("nobody")}"]}\n!then\n!results`;
    const refused = await stage.sessions.ask(MAIN, other);
    assert.match(refused.text, /agent:main:thread:nobody has no task of yours, or has reported/);
    assert.deepEqual(await stage.outcomes(MAIN), ["done", "done"]);
  });
});

describe("a wait in the turn", () => {
  test("is over when all have reported, and their reports follow", async (t) => {
    const { stage, gates, open } = await withGates(t, "owls", "bees");
    const script = [gated("owls"), gated("bees"), "!then", "!wait", "!then", "!results"].join("\n");
    const asked = stage.sessions.ask(MAIN, script);
    for (const [name, gate] of gates) {
      await gate.reached();
      open(name);
    }
    const { text } = await asked;
    assert.match(text, /"why": ?"all have reported"/);
    for (const name of ["owls", "bees"]) assert.match(text, new RegExp(`Its answer:\nall about ${name}`));
    assert.equal(await turns(stage), 1);
  });

  test("that took too long says who has reported and who has not; they go on", async (t) => {
    const { stage, open } = await withGates(t, "owls", "bees");
    const wait = '!wait {"timeoutSeconds":1}';
    const script = [gated("owls"), gated("bees"), "!then", wait, "!then", "!results"].join("\n");
    const asked = stage.sessions.ask(MAIN, script);
    await stage.until(async () => /runs subagents/.test((await stage.sessions.status(MAIN)).why));
    open("owls");
    await asked;
    const result = (await stage.results(MAIN)).find(({ tool }) => tool === "subagents");
    assert.deepEqual(JSON.parse(result?.text ?? ""), {
      reported: [named("owls")],
      pending: [named("bees")],
      why: "the time is up",
    });
    open("bees");
    assert.equal((await heardOf(stage, MAIN, 2)).length, 2);
  });

  test("is broken by a person who writes", async (t) => {
    const { stage, gates, open } = await withGates(t, "owls");
    const script = [gated("owls"), "!then", "!wait", "!then", "!results"].join("\n");
    const asked = stage.sessions.ask(MAIN, script);
    await gates.get("owls")?.reached();
    await stage.until(async () => /runs subagents/.test((await stage.sessions.status(MAIN)).why));
    assert.equal((await stage.sessions.ask(MAIN, "!say me first")).text, "me first");
    assert.equal((await asked).text, "me first");
    const result = (await stage.results(MAIN)).find(({ tool }) => tool === "subagents");
    assert.deepEqual(JSON.parse(result?.text ?? ""), {
      reported: [],
      pending: [named("owls")],
      why: "a new message came in",
    });
    open("owls");
    await heardOf(stage, MAIN, 1);
  });

  test("for nobody is over at once", async (t) => {
    const stage = await Stage.open(t);
    const { text } = await stage.sessions.ask(MAIN, "!wait\n!then\n!results");
    assert.match(text, /no task of yours is in flight/);
  });
});

describe("over a restart", () => {
  /** Children whose model does not answer until it may, however often it is asked. */
  async function slow(t: TestContext) {
    const gate = new Gate();
    const glass = new Glass(async ({ signal }) => {
      await unlessAborted(gate.pass(), signal);
      return saying("all of it");
    });
    const config: ConfigInput = { agents: { main: { subagents: { model: glass.id } } } };
    return { stage: await Stage.open(t, config, { models: [glass] }), gate, glass };
  }

  const TASKS = [spawn("look", { name: "one" }), spawn("look", { name: "two" })];
  const REST = ["!then", "!call sessions_yield", "!then", "!results"];
  const WAIT = ["!then", "!wait", "!then", "!results"];

  /** Both are told of once, whatever was going on in between. */
  async function judge(stage: Stage): Promise<void> {
    const heard = await heardOf(stage, MAIN, 2);
    const first = heard.map((text) => text.split("\n")[0]);
    assert.deepEqual(first.sort(), [`Report of ${named("one")}: done`, `Report of ${named("two")}: done`]);
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal((await reportsIn(stage, MAIN)).length, 2);
    for (const name of ["one", "two"]) assert.deepEqual(await stage.outcomes(named(name)), ["done"]);
    assert.ok((await stage.outcomes(MAIN)).every((outcome) => outcome === "done"));
  }

  for (const [what, more] of [
    ["has nothing more to do", []],
    ["rests", REST],
    ["waits in its turn", WAIT],
  ] as const)
    test(`while children work and their parent ${what}, each is heard of once`, async (t) => {
      const { stage, gate } = await slow(t);
      const { id } = await stage.sessions.send(MAIN, [...TASKS, ...more].join("\n"));
      await gate.reached(2);
      if (more === REST) await stage.until(() => isResting(stage));
      await stage.reopen();
      await gate.reached(4);
      await stage.reopen();
      gate.open();
      await judge(stage);
      const { outcome, text } = await stage.sessions.wait(MAIN, id);
      assert.equal(outcome, "done");
      if (more.length > 0) assert.equal(text.match(/Its answer:\nall of it/g)?.length, 2);
    });

  test("just after they ended, each is heard of once", async (t) => {
    const { stage, gate } = await slow(t);
    await stage.sessions.send(MAIN, [...TASKS, ...REST].join("\n"));
    await gate.reached(2);
    await stage.until(() => isResting(stage));
    gate.open();
    await stage.until(async () => (await stage.outcomes(named("one"))).length === 1);
    await stage.reopen();
    await judge(stage);
  });

  test("a parent that was paused while it rested goes on when it may", async (t) => {
    const { stage, gate } = await slow(t);
    const { id } = await stage.sessions.send(MAIN, [...TASKS, ...REST].join("\n"));
    await gate.reached(2);
    await stage.until(() => isResting(stage));
    await stage.sessions.stop(MAIN);
    gate.open();
    await stage.until(async () => (await stage.outcomes(named("two"))).length === 1);
    await stage.until(async () => (await stage.outcomes(named("one"))).length === 1);
    await stage.reopen();
    await stage.sessions.cont(MAIN);
    await judge(stage);
    assert.match((await stage.sessions.wait(MAIN, id)).text, /all of it/);
  });

  test("a child with a key of its own has ended, and stays so", async (t) => {
    const { stage, gate, glass } = await slow(t);
    await stage.sessions.send(MAIN, giving(spawn("look")));
    await gate.reached();
    gate.open();
    await heardOf(stage, MAIN, 1);
    const { sessionKey } = await lastSpawn(stage, MAIN);
    const { length } = glass.requests;
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal((await stage.sessions.status(sessionKey)).state, "ended");
    assert.equal(glass.requests.length, length, "nobody is asked again");
  });
});
