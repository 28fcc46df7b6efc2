import assert from "node:assert/strict";
import { test } from "node:test";
import { Gate, notesIn, Stage } from "./stage.ts";

const MAIN = "agent:main:main";

/** The letters of a session that are reports. */
async function reports(stage: Stage, key: string): Promise<string[]> {
  return (await stage.letters(key)).filter((text) => text.startsWith("Report of "));
}

function spawn(task: string, more: object = {}): string {
  return `!spawn ${JSON.stringify({ task, ...more })}`;
}

test("three children work at the same time, each alone with its task, and their answers come back", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const topics = ["owls", "bees", "elms"];
  const tasks = topics.map((topic) =>
    spawn(`Look into ${topic}.\n!call gate\n!then\n!say all about ${topic}`),
  );
  const asked = stage.sessions.ask(MAIN, [...tasks, "!call sessions_yield", "!then", "!results"].join("\n"));
  await gate.reached(3); // All three are at work: nobody waits for another.
  const { children } = await stage.sessions.children(MAIN);
  assert.deepEqual(
    new Set(children.map(({ state, inFlight }) => `${state} ${inFlight}`)),
    new Set(["running true"]),
  );
  await stage.until(async () => (await stage.sessions.status(MAIN)).state === "waiting");
  gate.open();
  const { outcome, text } = await asked;
  assert.equal(outcome, "done");
  for (const topic of topics) assert.match(text, new RegExp(`Its answer:\nall about ${topic}`));
  assert.equal((await reports(stage, MAIN)).length, 3);
  for (const { sessionKey } of children) {
    const status = await stage.sessions.status(sessionKey);
    assert.equal(status.state, "ended");
    assert.match(status.why, /^ended \(done\)/);
    assert.equal((await stage.letters(sessionKey)).length, 1, "it was shown nothing but its task");
  }
  const started = notesIn(await stage.entries(MAIN), "turn-started");
  assert.equal(started.length, 1, "one turn, from the question to the answer");
});

test("a turn that waits for children can be stopped, also after a restart; they go on", async (t) => {
  const stage = await Stage.open(t);
  const ask = [spawn("!slow 86400000"), "!call sessions_yield", "!then", "!say all"].join("\n");
  await stage.sessions.send(MAIN, ask);
  await stage.until(async () => (await stage.sessions.status(MAIN)).state === "waiting");
  assert.match((await stage.sessions.status(MAIN)).why, /^waits for its children since/);
  await stage.reopen();
  const [child] = (await stage.sessions.children(MAIN)).children;
  assert.equal(child?.inFlight, true, "it is read from the transcript");
  assert.deepEqual(await stage.sessions.abort(MAIN), { sessionKey: MAIN, accepted: true });
  await stage.until(async () => (await stage.sessions.status(MAIN)).lastTurn?.outcome === "aborted");
  assert.equal((await stage.sessions.status(child?.sessionKey ?? "")).state, "running");
  await stage.sessions.kill(child?.sessionKey ?? "");
  await stage.until(async () => (await reports(stage, MAIN)).length === 1);
  await stage.rest(MAIN);
  assert.deepEqual(await stage.outcomes(MAIN), ["aborted", "done"]);
});

test("200 children at once: none fails, all report, each once", async (t) => {
  const stage = await Stage.open(t);
  const tasks = Array.from({ length: 200 }, (_, n) => spawn(`!say child ${n} is done`));
  const { outcome, text } = await stage.sessions.ask(
    MAIN,
    [...tasks, "!call sessions_yield", "!then", "!results"].join("\n"),
  );
  assert.equal(outcome, "done");
  const found = [...text.matchAll(/^child (\d+) is done$/gm)].map(([, n]) => Number(n));
  assert.deepEqual(
    found.toSorted((a, b) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  );
  assert.equal((await reports(stage, MAIN)).length, 200);
});
