// How full its context is, of a session that nobody has in memory: its row knows, also after a restart.

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { RealWorld } from "../../src/index.ts";
import { detailsOf } from "../../src/context/compaction.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { MAIN } from "./family.ts";
import { compactionsIn, Mind, minded, prose } from "./mind.ts";
import { notesIn, Stage } from "./stage.ts";

/** Main after these messages were answered. */
async function talked(t: TestContext, ...messages: readonly string[]): Promise<Stage> {
  const stage = await Stage.open(t, minded([], { sizeTokens: 8_000 }), { models: [new Mind()] });
  for (const message of messages) await answered(stage, message);
  return stage;
}

async function answered(stage: Stage, message: string): Promise<void> {
  const { outcome, reason } = await stage.sessions.ask(MAIN, message);
  assert.equal(outcome, "done", reason ?? "");
}

/** As a list of many shows it, which reads no transcript. */
async function shown(stage: Stage): Promise<number | null> {
  const { sessions } = await stage.sessions.call("list", {});
  const row = sessions.find(({ sessionKey }) => sessionKey === MAIN);
  return row === undefined ? assert.fail("main is not in the list") : row.contextTokens;
}

/** What each answer says that its context was. */
async function counts(stage: Stage): Promise<number[]> {
  return (await stage.messages(MAIN)).flatMap((message) => {
    if (message.role !== "assistant") return [];
    const { input, output, cacheRead, cacheWrite } = message.usage;
    return [input + output + cacheRead + cacheWrite];
  });
}

/** The same by the list, by the session's own status, after a restart, and when the row is made again of the file. */
async function sameEverywhere(stage: Stage, tokens: number | null): Promise<void> {
  const { context } = await stage.sessions.status(MAIN);
  assert.deepEqual([await shown(stage), context.tokens], [tokens, tokens ?? 0]);
  await stage.reopen();
  assert.equal(await shown(stage), tokens);
  await stage.close();
  const nowMs = new RealWorld().nowMs();
  assert.deepEqual((await fsck(stage.home, nowMs, () => {})).findings, []);
  assert.deepEqual(rebuild(stage.home, nowMs, () => {}).lost, []);
  await stage.reopen();
  assert.equal(await shown(stage), tokens);
}

describe("of a session at rest", () => {
  test("it is what the last answer counted, also after a restart", async (t) => {
    const stage = await talked(t);
    await sameEverywhere(stage, null); // nobody has said anything yet
    for (const message of ["One.", "Two."]) await answered(stage, message);
    const told = await counts(stage);
    assert.equal(told.length, 2);
    assert.ok((told[0] ?? 0) < (told[1] ?? 0));
    await sameEverywhere(stage, told[1] ?? null);
  });

  test("a compaction says it before anybody answers again", async (t) => {
    const stage = await talked(t, ...Array.from({ length: 3 }, (_, at) => `Message ${at}. ${prose(1_500)}`));
    assert.equal((await stage.sessions.call("compact", { sessionKey: MAIN })).outcome, "done");
    const made = compactionsIn(await stage.entries(MAIN)).at(-1);
    const left = detailsOf(made)?.tokensAfter ?? 0;
    assert.ok(left > 0 && left < ((await counts(stage)).at(-1) ?? 0));
    await sameEverywhere(stage, left);
  });

  test("after a rewind it is what it was there, and after a reset nobody has said", async (t) => {
    const stage = await talked(t, "One.", "Two.", "Three.");
    const told = await counts(stage);
    const end = (await stage.entries(MAIN)).find((entry) => notesIn([entry], "turn-ended").length > 0);
    const back = await stage.sessions.call("rewind", { sessionKey: MAIN, seq: end?.seq ?? 0 });
    assert.equal(back.outcome, "done");
    await sameEverywhere(stage, told[0] ?? null);
    await stage.sessions.call("reset", { sessionKey: MAIN });
    await sameEverywhere(stage, null);
  });
});

test("a row that an older version wrote does not know it until the next answer; its status does", async (t) => {
  const stage = await talked(t, "One.");
  const told = await counts(stage);
  await stage.close();
  const database = new DatabaseSync(join(stage.home, "state.sqlite"));
  database.exec("UPDATE sessions SET body = json_remove(body, '$.tail.contextTokens')");
  database.close();
  assert.deepEqual((await fsck(stage.home, new RealWorld().nowMs(), () => {})).findings, []);
  await stage.reopen();
  const { context } = await stage.sessions.status(MAIN);
  assert.deepEqual([await shown(stage), context.tokens], [null, told[0]]);
  await answered(stage, "Two.");
  await sameEverywhere(stage, (await counts(stage))[1] ?? null);
});
