// Letters to one session: none is lost, none is doubled, and each does to a running turn what its mode says.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Fault, LocalStore, openLog, parseKey, RealWorld, type Store } from "../../src/index.ts";
import { MAILBOX_LETTERS_MAX, TOOLS_PARALLEL_MAX } from "../../src/limits.ts";
import { LETTERS_COUNTED_MAX } from "../../src/calls/limits.ts";
import { scratch } from "../fixtures/home.ts";
import { fault, Gate, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";

/** Sends until there is room. How often there was none, and the receipt. */
async function sendPatiently(
  stage: Stage,
  message: string,
  id: string,
): Promise<{ readonly refusals: number; readonly repeated: boolean }> {
  for (let refusals = 0; ; refusals += 1) {
    try {
      const { repeated } = await stage.sessions.send(MAIN, message, { id });
      return { refusals, repeated };
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "mailbox_full") throw error;
      assert.ok(error.retry);
      await new Promise((wake) => setTimeout(wake, 2));
    }
  }
}

/** A store in which some verbs are others. */
function instead(store: Store, verbs: Partial<Store>): Store {
  return new Proxy<Store>(store, {
    get: (of, name) => {
      if (Object.hasOwn(verbs, name)) return Reflect.get(verbs, name);
      const member: unknown = Reflect.get(of, name);
      return typeof member === "function" ? (member.bind(of) as unknown) : member;
    },
  });
}

async function localStore(t: TestContext): Promise<LocalStore> {
  const parts = { world: new RealWorld(), log: openLog("silent"), died: () => {} };
  return await LocalStore.open(scratch(t), parts);
}

describe("ten thousand letters", () => {
  const CALLERS = 50;
  const EACH = 200;

  test("of many callers, sent again and again, are each there once and in their sender's order", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { model: "rehearsal/large" } } });
    await stage.sessions.stop(MAIN); // so that the mailbox is full for a while
    let refusals = 0;
    let repeats = 0;
    const call = async (caller: number): Promise<void> => {
      for (let at = 0; at < EACH; at += 1) {
        const id = `${caller}/${at}`;
        const attempts = Array.from({ length: at % 5 === 0 ? 2 : 1 }, () => sendPatiently(stage, id, id));
        for (const receipt of await Promise.all(attempts)) {
          refusals += receipt.refusals;
          repeats += receipt.repeated ? 1 : 0;
        }
      }
    };
    const calling = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters >= LETTERS_COUNTED_MAX);
    await stage.sessions.cont(MAIN);
    await calling;
    await stage.rest(MAIN);

    const letters = await stage.letters(MAIN);
    assert.equal(letters.length, CALLERS * EACH);
    assert.equal(new Set(letters).size, CALLERS * EACH);
    const next = Array.from({ length: CALLERS }, () => 0);
    for (const letter of letters) {
      const [caller = 0, at = 0] = letter.split("/").map(Number);
      assert.equal(at, next[caller], `caller ${caller}`);
      next[caller] = at + 1;
    }
    assert.equal(repeats, (CALLERS * EACH) / 5);
    assert.deepEqual(new Set(await stage.outcomes(MAIN)), new Set(["done"]));
  });
});

describe("the id of a letter", () => {
  test("with other content is a conflict, and with the same a repeat, also after a restart", async (t) => {
    const stage = await Stage.open(t);
    const first = await stage.sessions.ask(MAIN, "!say one", { id: "mine" });
    await stage.reopen();
    const again = await stage.sessions.ask(MAIN, "!say one", { id: "mine" });
    assert.deepEqual([first.repeated, again.repeated], [false, true]);
    assert.deepEqual([again.id, again.text, again.endSeq], [first.id, first.text, first.endSeq]);
    await assert.rejects(stage.sessions.send(MAIN, "!say two", { id: "mine" }), fault("conflict", /mine/));
    assert.deepEqual(await stage.letters(MAIN), ["!say one"]);
  });

  test("is a channel's and an account's own: two of them may both have a message 1", async (t) => {
    const stage = await Stage.open(t, { session: { dmScope: "main" } });
    const from = { chatType: "direct", peer: "ann", id: "1" } as const;
    const sent = [
      await stage.sessions.receive({ ...from, channel: "telegram" }, "a"),
      await stage.sessions.receive({ ...from, channel: "discord" }, "b"),
      await stage.sessions.receive({ ...from, channel: "discord", account: "second" }, "c"),
      await stage.sessions.receive({ ...from, channel: "telegram" }, "a"),
    ];
    assert.deepEqual(
      sent.map(({ repeated }) => repeated),
      [false, false, false, true],
    );
    await stage.rest(MAIN);
    assert.deepEqual((await stage.letters(MAIN)).toSorted(), ["a", "b", "c"]);
  });
});

describe("while a turn runs", () => {
  const GATES = "!call gate\n".repeat(TOOLS_PARALLEL_MAX);

  async function opened(t: TestContext, config: Parameters<typeof Stage.open>[1] = {}) {
    const gate = new Gate();
    const notes: string[] = [];
    const note = tool("note", () => {
      notes.push("noted");
      return Promise.resolve("noted");
    });
    const stage = await Stage.open(t, config, { tools: [gate.tool, note] });
    return { stage, gate, notes };
  }

  test("a letter that steers enters before the next model call, and calls not yet started are skipped", async (t) => {
    const { stage, gate, notes } = await opened(t);
    const first = stage.sessions.ask(MAIN, `${GATES}!call note\n!call note\n!then\n!say not this`);
    await gate.reached(TOOLS_PARALLEL_MAX);
    const { id } = await stage.sessions.send(MAIN, "!say this instead");
    gate.open();
    assert.equal((await first).text, "this instead");
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "this instead");
    assert.deepEqual(notes, []);
    assert.deepEqual(await stage.outcomes(MAIN), ["done"], "it is one turn");
    const messages = await stage.messages(MAIN);
    assert.deepEqual(
      messages.map(({ role }) => role),
      [
        "user",
        "assistant",
        ...Array.from({ length: TOOLS_PARALLEL_MAX + 2 }, () => "toolResult"),
        "user",
        "assistant",
      ],
    );
    const skipped = (await stage.results(MAIN)).filter(({ tool }) => tool === "note");
    assert.deepEqual(
      skipped.map(({ text, isError }) => [text, isError]),
      Array.from({ length: 2 }, () => ["It was not run: a new message came in. Read it first.", true]),
    );
  });

  test("a letter that follows up waits, skips nothing, and has a turn of its own", async (t) => {
    const { stage, gate, notes } = await opened(t);
    const first = stage.sessions.ask(MAIN, `${GATES}!call note\n!then\n!say the first`);
    await gate.reached(TOOLS_PARALLEL_MAX);
    const second = stage.sessions.ask(MAIN, "!say the second", { mode: "followup" });
    const third = stage.sessions.ask(MAIN, "!say the third", { mode: "followup" });
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 2);
    gate.open();
    const texts = (await Promise.all([first, second, third])).map(({ text }) => text);
    assert.deepEqual(texts, ["the first", "the second", "the third"]);
    assert.deepEqual(notes, ["noted"]);
    assert.equal((await stage.outcomes(MAIN)).length, 3);
  });

  test("letters that are collected make one turn together", async (t) => {
    const { stage, gate } = await opened(t, { session: { collectMs: 0 } });
    const first = stage.sessions.ask(MAIN, "!call gate\n!then\n!say the first");
    await gate.reached();
    const sent = [];
    for (const text of ["!say a", "!say b", "!say c"])
      sent.push(await stage.sessions.send(MAIN, text, { mode: "collect" }));
    gate.open();
    assert.equal((await first).text, "the first");
    for (const { id } of sent) assert.equal((await stage.sessions.wait(MAIN, id)).text, "a\nb\nc");
    assert.deepEqual(await stage.outcomes(MAIN), ["done", "done"]);
  });

  test("a letter that interrupts ends the turn, every call with a result, and has the next", async (t) => {
    const { stage, gate, notes } = await opened(t);
    const first = stage.sessions.ask(MAIN, `${GATES}!call note\n!then\n!say never said`);
    await gate.reached(TOOLS_PARALLEL_MAX);
    const second = await stage.sessions.ask(MAIN, "!say now this", { mode: "interrupt" });
    assert.deepEqual([second.outcome, second.text], ["done", "now this"]);
    assert.deepEqual([(await first).outcome, (await first).text], ["aborted", ""]);
    assert.deepEqual(await stage.outcomes(MAIN), ["aborted", "done"]);
    assert.deepEqual(notes, []);
    const results = await stage.results(MAIN);
    assert.equal(results.length, TOOLS_PARALLEL_MAX + 1);
    assert.ok(results.every(({ isError }) => isError));
  });

  test("a letter that interrupts is answered also when it comes between two steps", async (t) => {
    const gate = new Gate();
    const look = new Gate();
    let isHeld = false;
    const local = await localStore(t);
    // The turn reads its row between steps, if it has changed: this read takes as long as the test wants.
    const session: Store["session"] = async (key) => {
      if (isHeld) await look.pass();
      return await local.session(key);
    };
    const stage = await Stage.open(t, {}, { store: instead(local, { session }), tools: [gate.tool] });
    const first = stage.sessions.ask(MAIN, "!call gate\n!then\n!say never said");
    await gate.reached();
    await stage.sessions.set(MAIN, { nice: 1 });
    isHeld = true;
    gate.open();
    await look.reached();
    const { id } = await stage.sessions.send(MAIN, "!say now this", { mode: "interrupt" });
    isHeld = false;
    look.open();
    assert.equal((await first).outcome, "aborted");
    const second = await stage.sessions.wait(MAIN, id);
    assert.deepEqual([second.outcome, second.text], ["done", "now this"]);
  });

  test("a letter does not interrupt the turn that has taken it, even if it was read before it was told of", async (t) => {
    const gate = new Gate();
    const receipt = new Gate();
    const local = await localStore(t);
    const commit: Store["commit"] = async (changes) => {
      const committed = await local.commit(changes);
      const isEarly = changes.some((each) => each.do === "post" && each.letter.id.endsWith(":early"));
      if (isEarly) await receipt.pass();
      return committed;
    };
    const stage = await Stage.open(t, {}, { store: instead(local, { commit }), tools: [gate.tool] });
    const early = stage.sessions.ask(MAIN, "!call gate", { id: "early", mode: "interrupt" });
    await receipt.reached();
    const late = stage.sessions.ask(MAIN, "!then\n!say both");
    await gate.reached();
    receipt.open();
    await stage.until(async () => (await stage.sessions.status(MAIN)).state === "running");
    gate.open();
    assert.deepEqual([(await early).text, (await late).text], ["both", "both"]);
    assert.deepEqual(await stage.letters(MAIN), ["!call gate", "!then\n!say both"]);
  });

  test("the session's own mode decides where a letter names none", async (t) => {
    const { stage, gate } = await opened(t);
    await stage.sessions.set(MAIN, { queueMode: "followup" });
    const first = stage.sessions.ask(MAIN, "!call gate\n!then\n!say the first");
    await gate.reached();
    const { id } = await stage.sessions.send(MAIN, "!say the second");
    gate.open();
    assert.equal((await first).text, "the first");
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "the second");
  });
});

describe("letters that wait", () => {
  test("are so many at most; a repeat of one of them is still known", async (t) => {
    const stage = await Stage.open(t);
    await stage.sessions.stop(MAIN);
    const sends = Array.from({ length: MAILBOX_LETTERS_MAX }, (_, at) =>
      stage.sessions.send(MAIN, String(at), { id: String(at) }),
    );
    await Promise.all(sends);
    await assert.rejects(stage.sessions.send(MAIN, "one more"), fault("mailbox_full", /agent:main:main/));
    assert.equal((await stage.sessions.send(MAIN, "7", { id: "7" })).repeated, true);
    await stage.sessions.cont(MAIN);
    await stage.rest(MAIN);
    assert.equal((await stage.letters(MAIN)).length, MAILBOX_LETTERS_MAX);
    assert.equal((await stage.sessions.ask(MAIN, "!say again")).text, "again");
  });

  test("when everything is closed are answered after the next start", async (t) => {
    const stage = await Stage.open(t);
    const sends = ["!say a", "!say b"].map((text) => stage.sessions.send(MAIN, text, { mode: "followup" }));
    const sent = await Promise.all(sends);
    await stage.close(); // perhaps before either turn began
    await stage.reopen();
    const answers = [];
    for (const { id } of sent) answers.push((await stage.sessions.wait(MAIN, id)).text);
    assert.deepEqual(answers, ["a", "b"]);
    assert.deepEqual(await stage.outcomes(MAIN), ["done", "done"]);
  });

  test("because another program posted them are answered after the next start", async (t) => {
    const stage = await Stage.open(t);
    await stage.close();
    const world = new RealWorld();
    const store = await LocalStore.open(stage.home, { world, log: openLog("silent"), died: () => {} });
    const letter = {
      id: "ext:mailer:1",
      from: { kind: "external_user", channel: null, peer: null },
      class: "interactive",
      mode: null,
      content: [{ type: "text", text: "!say delivered" }],
      replyTo: null,
      origin: null,
    } as const;
    await store.commit([{ do: "post", to: [parseKey(MAIN)], letter }]);
    await store.close();
    await stage.reopen();
    assert.equal((await stage.sessions.wait(MAIN, letter.id)).text, "delivered");
  });

  test("a turn that is left for a restart ends after it, and its tool does not run again", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const { id } = await stage.sessions.send(MAIN, "!call gate\n!then\n!results");
    await gate.reached();
    const closing = stage.close();
    gate.open();
    await closing;
    await stage.reopen();
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "through");
    assert.equal((await stage.results(MAIN)).length, 1);
  });
});
