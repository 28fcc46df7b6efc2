// What people want done to a session's history is done once, whatever dies on the way, or it is said why not.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { RealWorld, type ConfigInput } from "../../src/index.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { Program } from "../fixtures/program.ts";
import { childOf, endings, MAIN, until } from "./family.ts";
import { calling, compactionsIn, Mind, minded, prose } from "./mind.ts";
import { Gate, notesIn, saying, Stage } from "./stage.ts";

const INDEX = JSON.stringify(fileURLToPath(new URL("../../src/index.ts", import.meta.url)));
const NEXT = "agent:main:thread:next";
const CONFIG: ConfigInput = { agents: { defaults: { tools: { allow: [] } } } };

/** Each wish, and what only the commit has that fulfils it. */
const WISHES = {
  compact: { input: {}, words: '"type":"compaction"' },
  handoff: { input: { name: "next" }, words: '"sessiond/handoff"' },
  rewind: { input: { seq: 4 }, words: '"sessiond/rewound"' },
} as const;

type Wish = keyof typeof WISHES;

/** Main, in a home that is closed: some long messages were answered by the rehearsal. */
async function talked(t: TestContext): Promise<Stage> {
  const stage = await Stage.open(t, CONFIG);
  for (const at of [1, 2, 3]) await stage.sessions.ask(MAIN, `Message ${at}. ${prose(1_500)}`);
  await stage.close();
  return stage;
}

/** A life that dies just before or just after that commit; one that is not asked finds the wish, if it is still there. */
async function dies(
  t: TestContext,
  { home }: Stage,
  of: { readonly wish: Wish; readonly isAsked: boolean; readonly when: "before" | "after" },
): Promise<void> {
  const { input, words } = WISHES[of.wish];
  const asking = `sessions.call(${JSON.stringify(of.wish)}, ${JSON.stringify({ sessionKey: MAIN, ...input })}).catch(() => {});`;
  const program = new Program(t, {
    home,
    source: `
      const { open: openSessions, openLog: logTo } = await import(${INDEX});
      const store = await open();
      const commit = store.commit.bind(store);
      store.commit = async (changes) => {
        if (!JSON.stringify(changes).includes(${JSON.stringify(words)})) return await commit(changes);
        if (${of.when === "after"}) await commit(changes);
        process.kill(process.pid, "SIGKILL");
        return await new Promise(() => {});
      };
      const sessions = await openSessions({ home, ...${JSON.stringify(CONFIG)} }, { log: logTo("silent"), store });
      ${of.isAsked ? asking : ""}
      await forever();
    `,
  });
  assert.equal((await program.ended).code, null, "it was killed");
}

/** It happened once, and nothing is left to do. */
async function mustBeDone(stage: Stage, wish: Wish): Promise<void> {
  await stage.rest(MAIN);
  const entries = await stage.entries(MAIN);
  const { sessions } = await stage.sessions.list();
  const done = {
    compact: compactionsIn(entries).length,
    handoff: notesIn(entries, "handoff").length,
    rewind: notesIn(entries, "rewound").length,
  };
  assert.deepEqual(done, { compact: 0, handoff: 0, rewind: 0, [wish]: 1 });
  assert.equal(sessions.length, wish === "handoff" ? 2 : 1);
  if (wish === "handoff") await onlyOne(stage);
  const { outcome } = await stage.sessions.ask(MAIN, "!say And on it goes.");
  assert.equal(outcome, "done");
  await stage.close();
  assert.deepEqual((await fsck(stage.home, new RealWorld().nowMs(), () => {})).findings, []);
}

async function onlyOne(stage: Stage): Promise<void> {
  await stage.rest(NEXT);
  const [letter = "", ...others] = await stage.letters(NEXT);
  const folder = join(stage.home, "agents", "main", "workspace", "handoff");
  const [file = "", ...more] = readdirSync(folder);
  assert.deepEqual([others.length, more.length], [1, 0]);
  assert.ok(letter.includes(readFileSync(join(folder, file), "utf8")), "it begins with what the file says");
}

describe("a process that dies", () => {
  for (const wish of Object.keys(WISHES) as Wish[]) {
    test(`again and again just before it is done: ${wish} happens once`, async (t) => {
      const stage = await talked(t);
      await dies(t, stage, { wish, isAsked: true, when: "before" });
      await dies(t, stage, { wish, isAsked: false, when: "before" });
      await stage.reopen();
      await mustBeDone(stage, wish);
    });

    test(`just after it was done: ${wish} does not happen again`, async (t) => {
      const stage = await talked(t);
      await dies(t, stage, { wish, isAsked: true, when: "after" });
      await stage.reopen();
      await mustBeDone(stage, wish);
    });
  }

  test("of it, at the same place always, is not asked for ever: the wish is given up with its turn", async (t) => {
    const stage = await talked(t);
    await dies(t, stage, { wish: "compact", isAsked: true, when: "before" });
    for (let times = 0; times < 2; times += 1)
      await dies(t, stage, { wish: "compact", isAsked: false, when: "before" });
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal((await stage.outcomes(MAIN)).at(-1), "interrupted");
    assert.equal(compactionsIn(await stage.entries(MAIN)).length, 0);
    assert.ok(!existsSync(join(stage.home, "agents", "main", "workspace", "handoff")));
    assert.equal((await stage.sessions.ask(MAIN, "!say And on it goes.")).text, "And on it goes.");
  });
});

describe("a summary that was asked for", () => {
  /** Main, whose summariser stands at the gate. */
  async function gated(t: TestContext, tools: readonly Gate[] = []) {
    const mind = new Mind();
    const gate = new Gate("summariser");
    const given = tools.map((each) => each.tool);
    const stage = await Stage.open(t, minded(["gate", "sessions_spawn"]), { models: [mind], tools: given });
    const sums = mind.sums;
    const key = "agent:main:thread:work";
    for (const at of [1, 2, 3]) await stage.sessions.ask(key, `Message ${at}. ${prose(1_500)}`);
    mind.sums = async (request, times) => {
      await gate.pass();
      return await sums(request, times);
    };
    const compact = () => stage.sessions.call("compact", { sessionKey: key });
    return { stage, mind, gate, key, compact };
  }

  test("is stopped by a person, and does not come again", async (t) => {
    const { stage, mind, gate, key, compact } = await gated(t);
    const wished = compact();
    await gate.reached();
    assert.match((await stage.sessions.status(key)).why, /summarises/);
    await stage.sessions.abort(key);
    const { outcome, reason, tokensAfter } = await wished;
    assert.deepEqual([outcome, reason, tokensAfter], ["aborted", "a person stopped it", null]);
    await stage.reopen();
    await stage.rest(key);
    assert.deepEqual([mind.summaries.length, compactionsIn(await stage.entries(key)).length], [1, 0]);
  });

  test("is made by the next process when this one is closed in the middle of it", async (t) => {
    const { stage, gate, key, compact } = await gated(t);
    const wished = compact().catch((error: unknown) => error);
    await gate.reached();
    await stage.reopen();
    await wished;
    await gate.reached(2);
    gate.open();
    await stage.rest(key);
    assert.equal(compactionsIn(await stage.entries(key)).length, 1);
  });

  test("ends with a session that is killed; who wrote meanwhile hears of it too", async (t) => {
    const { stage, gate, key, compact } = await gated(t);
    const wished = compact();
    await gate.reached();
    const asked = stage.sessions.ask(key, "Are you there?", { mode: "followup" });
    await stage.until(async () => (await stage.sessions.status(key)).waitingLetters === 2);
    await stage.sessions.kill(key);
    assert.deepEqual([(await wished).outcome, (await asked).outcome], ["killed", "killed"]);
    await stage.until(async () => (await stage.sessions.status(key)).state === "ended");
    assert.equal((await stage.letters(key)).at(-1), "Are you there?");
  });

  test("and waits for a turn that is killed ends with it, unsaid", async (t) => {
    const work = new Gate();
    const { stage, mind, key, compact } = await gated(t, [work]);
    mind.answers = () => calling(["gate"]);
    const asked = stage.sessions.ask(key, "Go.");
    await work.reached();
    const wished = compact();
    await stage.until(async () => (await stage.sessions.status(key)).waitingLetters === 1);
    await stage.sessions.kill(key);
    assert.deepEqual([(await asked).outcome, (await wished).outcome], ["killed", "killed"]);
    assert.equal((await stage.letters(key)).at(-1), "Go.", "a wish is never written down");
  });

  test("twice at once is made once; the second finds too little left", async (t) => {
    const { gate, compact } = await gated(t);
    gate.open();
    const both = await Promise.all([compact(), compact()]);
    assert.deepEqual(
      both.map(({ outcome }) => outcome),
      ["done", "done"],
    );
    assert.equal(both.filter(({ tokensAfter }) => tokensAfter !== null).length, 1);
    const reason = both.find(({ tokensAfter }) => tokensAfter === null)?.reason;
    assert.equal(reason, "there is too little to summarise yet");
  });

  test("is heard before a message that waits behind it", async (t) => {
    const { stage, mind, gate, key, compact } = await gated(t);
    mind.answers = () => saying("Here.");
    const wished = compact();
    await gate.reached();
    const asked = stage.sessions.ask(key, "Are you there?");
    gate.open();
    assert.deepEqual([(await wished).outcome, (await asked).text], ["done", "Here."]);
    assert.ok(mind.shown.includes("## Goal"));
  });

  test("of a child in its last step is over with the child, which reports", async (t) => {
    const work = new Gate();
    const { stage, mind } = await gated(t);
    mind.answers = async ({ messages }) => {
      const isChild = JSON.stringify(messages).includes("via sessions_spawn]]");
      if (!isChild)
        return messages.length === 1 ? calling(["sessions_spawn", { task: "Work." }]) : saying("Yes.");
      await work.pass();
      return saying("It is done.");
    };
    await stage.sessions.ask(MAIN, "Give it.");
    await work.reached();
    const child = await childOf(stage, MAIN);
    const wished = Promise.all([
      stage.sessions.call("compact", { sessionKey: child }),
      stage.sessions.call("handoff", { sessionKey: child }),
    ]);
    await stage.until(async () => (await stage.sessions.status(child)).waitingLetters === 2);
    work.open();
    for (const { outcome, reason } of await wished)
      assert.deepEqual([outcome, reason], ["failed", "the session ended before it was done"]);
    await until(stage, child, "ended");
    await stage.until(async () => (await endings(stage, MAIN)).length === 1);
    assert.deepEqual(await stage.outcomes(child), ["done"]);
  });
});
