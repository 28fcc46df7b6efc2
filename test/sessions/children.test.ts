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
