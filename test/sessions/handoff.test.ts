// A session hands its work over: a file in the workspace, and a fresh session that begins with it.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { RealWorld, type Answer, type Output } from "../../src/index.ts";
import { isMadeUp, parseKey } from "../../src/routing/key.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { childOf, MAIN } from "./family.ts";
import { calling, compactionsIn, Mind, minded, prose, shownOf } from "./mind.ts";
import { fault, Gate, notesIn, saying, Stage } from "./stage.ts";

const NEXT = "agent:main:thread:next";

async function talked(t: TestContext, tools: readonly Gate[] = []) {
  const mind = new Mind();
  const stage = await Stage.open(t, minded(["gate", "sessions_spawn"]), {
    models: [mind],
    tools: tools.map((gate) => gate.tool),
  });
  await stage.sessions.ask(MAIN, `The parcel is in build/out.tar. ${prose(1_500)}`);
  await stage.sessions.ask(MAIN, "Always answer in rhyme.");
  return { stage, mind };
}

function handoff(stage: Stage, more: object = { name: "next" }): Promise<Output<"handoff">> {
  return stage.sessions.call("handoff", { sessionKey: MAIN, ...more });
}

function workspaceOf({ home }: Stage): string {
  return join(home, "agents", "main", "workspace");
}

function filesOf(stage: Stage): string[] {
  return readdirSync(join(workspaceOf(stage), "handoff"));
}

async function keysOf(stage: Stage): Promise<string[]> {
  const { sessions } = await stage.sessions.list();
  return sessions.map(({ sessionKey }) => sessionKey).toSorted();
}

describe("a handoff", () => {
  test("writes where things stand to a file; a fresh session begins with it and answers; the old one stays", async (t) => {
    const { stage, mind } = await talked(t);
    const said = await stage.entries(MAIN);
    await stage.sessions.set(MAIN, { thinking: "low", nice: 4, label: "Parcels" });
    mind.answers = () => saying("I go on.");
    const done = await handoff(stage);
    assert.deepEqual([done.outcome, done.sessionKey, done.from], ["done", NEXT, MAIN]);
    const text = readFileSync(join(workspaceOf(stage), done.file ?? ""), "utf8");
    assert.match(text, /^# Handoff of agent:main:main, \d{4}-/);
    for (const words of ["## Goal", "build/out.tar", "Always answer in rhyme."])
      assert.ok(text.includes(words));
    await stage.until(async () => (await stage.outcomes(NEXT)).length === 1);
    const [first = "", ...others] = await stage.letters(NEXT);
    assert.deepEqual(others, ["Read it, and say in a sentence or two what comes next."]);
    assert.ok(first.includes(text) && first.includes(done.file ?? "nothing"), "it begins with the file");
    assert.equal(mind.requests.at(-1)?.messages.length, 2);
    const { settings, parent } = await stage.sessions.status(NEXT);
    assert.deepEqual([settings.thinking, settings.nice, settings.label, parent], ["low", 4, null, null]);
    assert.deepEqual((await stage.entries(MAIN)).slice(0, said.length), said);
    assert.deepEqual(compactionsIn(await stage.entries(MAIN)), []);
    assert.deepEqual(notesIn(await stage.entries(MAIN), "handoff")[0]?.["path"], done.file);
    assert.equal((await stage.sessions.ask(MAIN, "And you?")).text, "I go on.");
    assert.ok(mind.shown.includes("The parcel is in"), "nothing of it was summarised");
  });

  test("does what it was told to do first, and is given a name if it has none", async (t) => {
    const { stage, mind } = await talked(t);
    const { sessionKey } = await handoff(stage, { message: "Send the parcel.", focus: "the parcel" });
    assert.match(sessionKey ?? "", /^agent:main:thread:handoff-[\da-f]{8}$/);
    assert.equal(isMadeUp(parseKey(sessionKey ?? "")), true);
    assert.ok(shownOf(mind.summaries.at(-1)).includes("the parcel"));
    await stage.until(async () => (await stage.outcomes(sessionKey ?? "")).length === 1);
    const said = (await stage.entries(sessionKey ?? "")).flatMap((entry) =>
      entry.type === "message" && entry.provenance ? [entry.provenance] : [],
    );
    assert.deepEqual(said, [
      { kind: "inter_session", source: MAIN, tool: "handoff" },
      { kind: "external_user", channel: null, peer: null },
    ]);
    assert.equal((await stage.letters(sessionKey ?? "")).at(-1), "Send the parcel.");
  });

  test("is paid for by the session that hands over, and a rebuild says so too", async (t) => {
    const { stage, mind } = await talked(t);
    const { sums } = mind;
    const usage = { input: 7, output: 1_000, cacheRead: 0, cacheWrite: 0 };
    mind.sums = async (request, times) => ({ ...(await sums(request, times)), usage }) as Answer;
    const { tokens: before } = await stage.sessions.status(MAIN);
    await handoff(stage);
    const { tokens } = await stage.sessions.status(MAIN);
    assert.ok(tokens > before + 1_000);
    await stage.rest(NEXT);
    await stage.close();
    assert.deepEqual(rebuild(stage.home, new RealWorld().nowMs(), () => {}).lost, []);
    await stage.reopen();
    assert.equal((await stage.sessions.status(MAIN)).tokens, tokens);
  });

  test("during a turn is made before its next step, and the turn goes on", async (t) => {
    const gate = new Gate();
    const { stage, mind } = await talked(t, [gate]);
    mind.answers = ({ messages }) =>
      shownOf({ messages } as never).includes("Go.") && messages.at(-1)?.role === "user"
        ? calling(["gate"])
        : saying("Through.");
    const asked = stage.sessions.ask(MAIN, "Go.");
    await gate.reached();
    const handing = handoff(stage);
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 1);
    gate.open();
    assert.deepEqual([(await handing).outcome, (await asked).text], ["done", "Through."]);
    assert.equal((await stage.outcomes(MAIN)).length, 3);
    await stage.rest(NEXT);
  });

  test("tells the fresh session of children that work, and they report to the old one", async (t) => {
    const gate = new Gate();
    const { stage, mind } = await talked(t, [gate]);
    mind.answers = ({ messages }) => {
      const last = shownOf({ messages: messages.slice(-1) } as never);
      if (last.includes("what comes next")) return saying("I go on.");
      if (last.includes("Give it.")) return calling(["sessions_spawn", { task: "Work." }]);
      if (last.includes("Work.") && messages.length === 1) return calling(["gate"]);
      return saying("Yes.");
    };
    await stage.sessions.ask(MAIN, "Give it.");
    const child = await childOf(stage, MAIN);
    await gate.reached();
    const { file } = await handoff(stage);
    const state = readFileSync(join(workspaceOf(stage), file ?? ""), "utf8");
    assert.ok(state.includes(`They report to ${MAIN}.\n- ${child}`));
    gate.open();
    await stage.until(async () =>
      (await stage.letters(MAIN)).some((text) => text.includes(`Report of ${child}`)),
    );
    await stage.rest(NEXT);
    assert.equal((await stage.sessions.children(NEXT)).children.length, 0);
    assert.equal((await stage.letters(NEXT)).length, 2);
  });
});

describe("it is refused", () => {
  test("when the name is taken, then or meanwhile; the session goes on", async (t) => {
    const gate = new Gate();
    const { stage, mind } = await talked(t);
    await stage.sessions.ask("agent:main:thread:taken", "I am here.");
    await assert.rejects(handoff(stage, { name: "taken" }), fault("exists", /choose another name/));
    const before = mind.summaries.length;
    const { sums } = mind;
    mind.sums = async (request, times) => {
      await gate.pass();
      return await sums(request, times);
    };
    const handing = handoff(stage);
    await gate.reached();
    await stage.sessions.ask(NEXT, "I was faster.");
    gate.open();
    const { outcome, reason, file } = await handing;
    assert.deepEqual([outcome, file], ["failed", null]);
    assert.match(reason ?? "", /agent:main:thread:next/);
    assert.deepEqual(await stage.letters(NEXT), ["I was faster."]);
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal(mind.summaries.length, before + 1, "it is not tried again");
    assert.equal((await stage.sessions.ask(MAIN, "And you?")).outcome, "done");
  });

  test("when no summary can be had: nothing is written, and it says why", async (t) => {
    const { stage, mind } = await talked(t);
    mind.sums = () => saying("");
    const { outcome, reason, file } = await handoff(stage);
    assert.deepEqual([outcome, file], ["failed", null]);
    assert.match(reason ?? "", /no summary could be made: it is empty/);
    assert.ok(!existsSync(join(workspaceOf(stage), "handoff")));
    assert.deepEqual(await keysOf(stage), [MAIN]);
  });

  test("when the file cannot be written: it says why, the wish is gone, and the session goes on", async (t) => {
    const { stage, mind } = await talked(t);
    mkdirSync(workspaceOf(stage), { recursive: true });
    writeFileSync(join(workspaceOf(stage), "handoff"), "a file, and no folder");
    const { outcome, reason, file } = await handoff(stage);
    assert.deepEqual([outcome, file], ["failed", null]);
    assert.match(reason ?? "", /handoff/);
    const { length } = mind.summaries;
    await stage.reopen();
    await stage.rest(MAIN);
    assert.deepEqual([mind.summaries.length, await keysOf(stage)], [length, [MAIN]]);
    assert.equal((await stage.sessions.ask(MAIN, "And you?")).outcome, "done");
    rmSync(join(workspaceOf(stage), "handoff"));
    assert.equal((await handoff(stage)).outcome, "done");
    assert.equal(filesOf(stage).length, 1);
    await stage.rest(NEXT);
  });

  test("when a person stops it in the middle: nothing is opened, also after a restart", async (t) => {
    const gate = new Gate();
    const { stage, mind } = await talked(t);
    mind.sums = async () => {
      await gate.pass();
      return saying("");
    };
    const handing = handoff(stage);
    await gate.reached();
    await stage.sessions.abort(MAIN);
    const { outcome, file } = await handing;
    assert.deepEqual([outcome, file], ["aborted", null]);
    gate.open();
    await stage.reopen();
    await stage.rest(MAIN);
    assert.deepEqual(await keysOf(stage), [MAIN]);
    assert.equal((await stage.sessions.ask(MAIN, "And you?")).outcome, "done");
  });

  test("where nothing was said, and in a session that has ended", async (t) => {
    const { stage } = await talked(t);
    const call = (sessionKey: string) => stage.sessions.call("handoff", { sessionKey });
    await assert.rejects(call("agent:main:thread:nobody"), fault("not_found", /nobody/));
    const other = "agent:main:thread:other";
    await stage.sessions.ask(other, "I am here.");
    await stage.sessions.kill(other);
    await stage.until(async () => (await stage.sessions.status(other)).state === "ended");
    await assert.rejects(call(other), fault("ended", /has ended/));
  });
});
