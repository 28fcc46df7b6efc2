// A session goes back to an older entry and goes on from there, in the same file: nothing is lost, and nothing of what came
// after is shown.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { LocalStore, openLog, RealWorld, type Entry, type Session } from "../../src/index.ts";
import { textOf } from "../../src/transcript/entry.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { readLikePi } from "../pi/like.ts";
import { childOf, MAIN, until } from "./family.ts";
import { reportsIn } from "./giving.ts";
import { calling, compactionsIn, Mind, minded, prose, shownOf } from "./mind.ts";
import { fault, Gate, notesIn, saying, Stage, tool } from "./stage.ts";

const LOOK = tool("look", () => Promise.resolve("seen"));

/** Main after these messages were answered, one turn each. */
async function talked(t: TestContext, ...messages: readonly string[]) {
  const mind = new Mind();
  const stage = await Stage.open(t, minded(["look"], { sizeTokens: 8_000 }), {
    models: [mind],
    tools: [LOOK],
  });
  for (const message of messages) await answered(stage, message);
  return { stage, mind };
}

async function answered(stage: Stage, message: string): Promise<string> {
  const { outcome, reason, text } = await stage.sessions.ask(MAIN, message);
  assert.equal(outcome, "done", reason ?? "");
  return text;
}

function rewind(stage: Stage, seq: number) {
  return stage.sessions.call("rewind", { sessionKey: MAIN, seq });
}

/** The entry that ended the turn of this number, from 1 on. */
async function endOf(stage: Stage, turn: number): Promise<number> {
  const ends = (await stage.entries(MAIN)).filter((entry) => notesIn([entry], "turn-ended").length > 0);
  return ends[turn - 1]?.seq ?? assert.fail(`there is no turn ${turn}`);
}

/** What the store says of a home that is closed; the row is made again from the file in between, and must be the same. */
async function rebuilt(stage: Stage): Promise<Session["transcript"]> {
  const file = await stage.file(MAIN);
  await stage.close();
  const nowMs = new RealWorld().nowMs();
  assert.deepEqual((await fsck(stage.home, nowMs, () => {})).findings, []);
  const before = await tailOf(stage.home);
  assert.deepEqual(rebuild(stage.home, nowMs, () => {}).lost, []);
  const after = await tailOf(stage.home);
  assert.deepEqual(after, before);
  assert.deepEqual((await fsck(stage.home, nowMs, () => {})).findings, []);
  assert.equal(readLikePi(file)?.branch.at(-1)?.["id"], after.leafId);
  await stage.reopen();
  return after;
}

async function tailOf(home: string): Promise<Session["transcript"]> {
  const store = await LocalStore.open(home, {
    world: new RealWorld(),
    log: openLog("silent"),
    died: () => {},
  });
  try {
    const page = await store.sessions({ limit: 10, cursor: null });
    const row = page.rows.find(({ key }) => key === MAIN);
    return row?.transcript ?? assert.fail("main is gone");
  } finally {
    await store.close();
  }
}

/** The ids of the conversation as pi finds them, and as the store does. */
async function paths(stage: Stage): Promise<readonly [pi: unknown, ours: unknown]> {
  const file = await stage.file(MAIN);
  await stage.close();
  const pi = readLikePi(file)?.branch.map((entry) => entry["id"]);
  const ours = (await activePath(stage.home)).map(({ id }) => id);
  await stage.reopen();
  return [pi, ours];
}

async function activePath(home: string): Promise<Entry[]> {
  const { id } = await tailOf(home);
  const store = await LocalStore.open(home, {
    world: new RealWorld(),
    log: openLog("silent"),
    died: () => {},
  });
  const path: Entry[] = [];
  for await (const entry of store.entries(id, { from: 1 })) if (entry.type !== "gap") path.push(entry);
  await store.close();
  return path;
}

describe("the next answer", () => {
  test("sees exactly what was said up to any entry of an idle session, also after a restart", async (t) => {
    const { stage, mind } = await talked(t, "One.");
    mind.answers = (_request, times) =>
      times === 2 ? calling(["look"], ["look"]) : saying(`Answer ${times}.`);
    await answered(stage, "Two.");
    await answered(stage, "Three.");
    const said = await stage.entries(MAIN);
    let [least, times] = [Infinity, 0];
    for (const { seq } of said.toReversed()) {
      if (seq > least) continue; // Its calls were not settled there: that was left out already.
      const { outcome, to } = await rewind(stage, seq);
      assert.equal(outcome, "done");
      if (seq % 3 === 0) await stage.reopen();
      await answered(stage, "And now?");
      const { messages = [] } = mind.requests.at(-1) ?? {};
      const kept = said.filter((entry) => entry.seq <= to);
      const shown = messages.slice(0, -1).map((message) => textOf({ type: "message", message }));
      assert.deepEqual(
        shown,
        kept.filter(({ type }) => type === "message").map(textOf),
        `back to ${seq}, which is ${to}`,
      );
      await rewind(stage, to); // so that what was said there is left behind too
      [least, times] = [to, times + 1];
    }
    const [pi, ours] = await paths(stage);
    assert.deepEqual(pi, ours);
    await rebuilt(stage);
    const letters = readFileSync(await stage.file(MAIN), "utf8").split('"And now?"').length - 1;
    assert.equal(letters, times, "every branch is in the file");
  });

  for (const role of ["assistant", "toolResult"])
    test(`leaves out an answer whose calls have no results at the ${role}'s entry`, async (t) => {
      const { stage, mind } = await talked(t);
      mind.answers = (_request, times) => (times === 1 ? calling(["look"], ["look"]) : saying("Looked."));
      await answered(stage, "Look.");
      const entries = await stage.entries(MAIN);
      const first = (of: string): number =>
        entries.find((entry) => entry.type === "message" && entry.message.role === of)?.seq ?? 0;
      assert.equal((await rewind(stage, first(role))).to, first("user"));
      await answered(stage, "And now?");
      assert.deepEqual(
        mind.requests.at(-1)?.messages.map((message) => message.role),
        ["user", "user"],
      );
      const last = entries.findLast((entry) => entry.type === "message")?.seq ?? 0;
      assert.equal((await rewind(stage, last)).to, last, "a branch that was left can be gone back to");
      await answered(stage, "And now?");
      assert.deepEqual(
        mind.requests.at(-1)?.messages.map((message) => message.role),
        ["user", "assistant", "toolResult", "toolResult", "assistant", "user"],
      );
      await rebuilt(stage);
    });
});

describe("before a compaction", () => {
  test("the context is what it was, byte for byte; after it again what it is then", async (t) => {
    const { stage, mind } = await talked(t);
    const messages = Array.from({ length: 6 }, (_, at) => `Message ${at}. ${prose(1_500)}`);
    for (const message of messages) await answered(stage, message);
    const [compaction] = compactionsIn(await stage.entries(MAIN));
    assert.ok(compaction, "it was compacted");
    const before = mind.requests.length;
    const whole = mind.requests[3]; // up to the fourth message: none was cut off yet
    assert.equal((await rewind(stage, await endOf(stage, 3))).outcome, "done");
    await stage.reopen();
    await answered(stage, messages[3] ?? "");
    const again = mind.requests.at(-1);
    const plain = (request: typeof whole): unknown => [
      request?.system,
      request?.tools,
      request?.messages.map(({ role, content }) => [role, content]),
    ];
    assert.deepEqual(plain(again), plain(whole));
    assert.equal(shownOf(again).startsWith(shownOf(mind.requests[2]).slice(0, -1)), true, "the same bytes");
    assert.equal(mind.requests.length, before + 1);
    const { contextSeq, jumpSeq } = await rebuilt(stage);
    assert.deepEqual([contextSeq, jumpSeq > compaction.seq], [1, true]);
    const { compaction: last } = await stage.sessions.call("context", { sessionKey: MAIN });
    assert.equal(last, null, "nothing of that path was summarised");
    await rewind(stage, compaction.seq); // It is on the branch that was left.
    await answered(stage, "And now?");
    assert.ok(mind.shown.includes("Summary of the conversation so far"));
    const there = await rebuilt(stage);
    assert.ok(there.contextSeq > 1 && there.contextSeq <= compaction.seq);
  });

  test("a fork does not go back to before what it was forked with", async (t) => {
    const { stage } = await talked(t);
    for (let at = 0; compactionsIn(await stage.entries(MAIN)).length < 1; at += 1)
      await answered(stage, `Message ${at}. ${prose(1_500)}`);
    const { sessionKey } = await stage.sessions.fork(MAIN, { name: "forked" });
    const back = stage.sessions.call("rewind", { sessionKey, seq: 1 });
    await assert.rejects(back, fault("not_found", /in the session that it came from/));
  });

  test("and between two of them it is that of the older one", async (t) => {
    const { stage, mind } = await talked(t);
    for (let at = 0; compactionsIn(await stage.entries(MAIN)).length < 2; at += 1)
      await answered(stage, `Message ${at}. ${prose(1_500)}`);
    const [first, second] = compactionsIn(await stage.entries(MAIN));
    const ends = (await stage.entries(MAIN)).filter((entry) => notesIn([entry], "turn-ended").length > 0);
    const between = ends.find(({ seq }) => seq > (first?.seq ?? 0));
    assert.ok(first && second && between && between.seq < second.seq);
    await rewind(stage, between.seq);
    await answered(stage, "And now?");
    assert.ok(mind.shown.includes(JSON.stringify(first.summary).slice(1, -1)));
    assert.ok(!mind.shown.includes(JSON.stringify(second.summary).slice(1, -1)));
    const kept = (await stage.entries(MAIN)).find(({ id }) => id === first.firstKeptEntryId);
    assert.equal((await rebuilt(stage)).contextSeq, kept?.seq ?? first.seq);
  });
});

describe("it is refused", () => {
  test("while a turn is under way", async (t) => {
    const gate = new Gate();
    const mind = new Mind();
    const stage = await Stage.open(t, minded(["gate"]), { models: [mind], tools: [gate.tool] });
    mind.answers = (_request, times) => (times === 1 ? calling(["gate"]) : saying("Through."));
    const asked = answered(stage, "Go.");
    await gate.reached();
    await assert.rejects(rewind(stage, 1), fault("busy", /in a turn/));
    gate.open();
    assert.equal(await asked, "Through.");
  });

  test("when something was said since it was asked for: of two at once one happens", async (t) => {
    const { stage } = await talked(t, "One.", "Two.", "Three.");
    const [one, two] = [await endOf(stage, 1), await endOf(stage, 2)];
    const both = await Promise.allSettled([rewind(stage, one), rewind(stage, two)]);
    const refused = both.filter((each) => each.status === "rejected");
    assert.equal(refused.length, 1);
    fault("stale_writer", /something was said since: it is at entry \d+, and was at \d+/)(refused[0]?.reason);
    assert.equal(notesIn(await stage.entries(MAIN), "rewound").length, 1);
    await stage.rest(MAIN);
  });

  test("without an entry, with two, with one that is not there, and where nothing was said", async (t) => {
    const { stage } = await talked(t, "One.");
    const call = (input: object) => stage.sessions.call("rewind", { sessionKey: MAIN, ...input });
    await assert.rejects(call({}), fault("bad_input", /name the entry/));
    await assert.rejects(call({ seq: 1, entry: "x" }), fault("bad_input", /name the entry/));
    await assert.rejects(call({ seq: 99 }), fault("not_found", /no entry 99/));
    await assert.rejects(call({ entry: "nobody-1" }), fault("not_found", /nobody-1/));
    const other = "agent:main:thread:other";
    await assert.rejects(
      stage.sessions.call("rewind", { sessionKey: other, seq: 1 }),
      fault("not_found", /agent:main:thread:other/),
    );
    const [first] = await stage.entries(MAIN);
    assert.equal((await call({ entry: first?.id ?? "" })).to, 1);
  });
});

describe("around it", () => {
  test("the note says whether it returned to what had been left, and how much it left itself", async (t) => {
    const { stage } = await talked(t, "One.", "Two.", "Three.");
    const all = (await stage.sessions.status(MAIN)).entries;
    const told = async (seq: number): Promise<unknown> => {
      await rewind(stage, seq);
      const { left, isReturn } = notesIn((await stage.entries(MAIN)).slice(-1), "rewound")[0] ?? {};
      return { left, isReturn };
    };
    const first = await endOf(stage, 1);
    assert.deepEqual(await told(first), { left: 4, isReturn: false });
    assert.deepEqual(await told(all), { left: 0, isReturn: true }, "all of it is there again");
    assert.deepEqual(await told(first), { left: 4, isReturn: false });
    await answered(stage, "Four.");
    assert.deepEqual(await told(all), { left: 2, isReturn: true }, "what was said since");
    assert.deepEqual(await told(all), { left: 0, isReturn: false }, "it was there");
  });

  test("followers see the note, and a fork begins with the path as it is", async (t) => {
    const { stage, mind } = await talked(t, "One.", "Two.", "Three.");
    const from = (await stage.sessions.status(MAIN)).entries;
    const to = await endOf(stage, 1);
    await rewind(stage, to);
    for await (const event of stage.sessions.follow(MAIN, { from })) {
      if (event.type !== "entry") continue;
      const { contextTokens } = await stage.sessions.status(MAIN);
      const data = { to, from, contextTokens, left: 4, isReturn: false };
      assert.deepEqual(notesIn([event.entry], "rewound"), [data]);
      break;
    }
    await answered(stage, "Four.");
    const { sessionKey } = await stage.sessions.fork(MAIN);
    assert.deepEqual(await stage.letters(sessionKey), ["One.", "Four."]);
    await stage.sessions.ask(sessionKey, "And now?");
    assert.doesNotMatch(mind.shown, /Two|Three/);
    await assert.rejects(stage.sessions.fork(MAIN, { seq: to + 1 }), fault("not_found", /nothing|no entry/));
  });

  test("a child that was given its task before, and has reported since, is not waited for again", async (t) => {
    const mind = new Mind();
    const gate = new Gate();
    const tools = ["sessions_spawn", "sessions_yield", "gate"];
    const stage = await Stage.open(t, minded(tools), { models: [mind], tools: [gate.tool] });
    let asked = 0;
    mind.answers = (request) => {
      if (!shownOf(request).includes("Give it."))
        return asked++ === 0 ? calling(["gate"]) : saying("All done.");
      const last = request.messages.at(-1);
      if (last?.role === "user" && textOf({ type: "message", message: last }).startsWith("Wait"))
        return calling(["sessions_yield"]);
      return request.messages.length === 1 ? calling(["sessions_spawn", { task: "Work." }]) : saying("Yes.");
    };
    await answered(stage, "Give it.");
    const child = await childOf(stage, MAIN);
    const given = (await stage.sessions.status(MAIN)).entries;
    await answered(stage, "Something else.");
    gate.open();
    await until(stage, child, "ended");
    await stage.until(async () => (await reportsIn(stage, MAIN)).length === 1);
    await stage.rest(MAIN);
    await rewind(stage, given);
    await stage.reopen();
    await answered(stage, "Wait for it.");
    const { text, isError } = (await stage.results(MAIN)).at(-1) ?? { text: "", isError: false };
    assert.match(text, /nobody to wait for/);
    assert.equal(isError, true);
    assert.deepEqual(notesIn(await stage.entries(MAIN), "tasks-left").length, 1);
  });
});
