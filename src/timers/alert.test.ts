import assert from "node:assert/strict";
import { test } from "node:test";
import { Beating, HEART, MAIN } from "../../test/timers/beating.ts";
import { HOUR_MS } from "../../test/timers/stage.ts";
import { MAILBOX_LETTERS_MAX } from "../limits.ts";
import type { Outgoing } from "../mail/letter.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import { letterOf } from "../store/contract/samples.ts";
import { heartbeatEnded, isNothing } from "./alert.ts";
import { ALERT_HEAD_CHARS_MAX } from "./limits.ts";

const HALF_HOUR_MS = 30 * 60_000;

/** An agent that has something to look after, and one beat of it that waits for an answer. */
async function beating(...of: ConstructorParameters<typeof Beating>): Promise<Beating> {
  const at = new Beating(...of);
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(HALF_HOUR_MS);
  return at;
}

function heart(heartbeat: object) {
  return { agents: { main: { heartbeat } } } as const;
}

async function outbox(at: Beating): Promise<readonly Outgoing[]> {
  return (await at.stage.at.store.outbox({ refused: false })).rows;
}

async function alerts(at: Beating): Promise<string[]> {
  return (await at.waiting(MAIN)).map(({ content }) => {
    const [block] = content;
    return (block?.type === "text" ? block.text : "").split("\n\n").at(-1) ?? "";
  });
}

test("an answer that says that nothing needs attention is known as that, and no other", () => {
  const nothing = [
    "HEARTBEAT_OK",
    " HEARTBEAT_OK\n",
    "**HEARTBEAT_OK**",
    "`HEARTBEAT_OK`.",
    "HEARTBEAT_OK - all is quiet",
    "All quiet. HEARTBEAT_OK",
    "NO_REPLY",
    "",
    "\n",
  ];
  for (const text of nothing) assert.equal(isNothing(text), true, JSON.stringify(text));
  const something = [
    "The disk is full.",
    "heartbeat ok",
    "I would say HEARTBEAT_OK, but the disk is full",
    "HEARTBEAT_OK for the mail. The disk, however, is full by now and somebody has to look.",
    "HEARTBEAT_O",
    "OK",
  ];
  for (const text of something) assert.equal(isNothing(text), false, JSON.stringify(text));
});

test("nothing is told to anybody of a beat that found nothing", async (test) => {
  const at = await beating(test);
  assert.equal(await at.answer("HEARTBEAT_OK"), "ok");
  assert.deepEqual(await at.waiting(MAIN), []);
  assert.deepEqual(await outbox(at), []);
});

test("an alert goes to main as a letter of the heartbeat, and main answers where it was last written to from", async (test) => {
  const at = await beating(test);
  const route = { channel: "pigeon", to: "ann", thread: null };
  await at.stage.at.store.commit([{ do: "reroute", key: MAIN, fence: 0, route, origin: null }]);
  assert.equal(await at.answer(" The disk is full. \n"), "alert");
  const [letter, ...others] = await at.waiting(MAIN);
  assert.ok(letter && others.length === 0);
  assert.match(letter.id, /^cause:heartbeat:main:\d+:alert$/);
  assert.deepEqual(letter.from, { kind: "inter_session", source: HEART, tool: null });
  assert.deepEqual(letter.replyTo, route);
  assert.deepEqual(await alerts(at), ["The disk is full."]);
  const { told } = await at.pulse();
  assert.equal(told[0]?.head, "The disk is full.");
});

test("the same alert is told once a day, others are told at once, and each is remembered for itself", async (test) => {
  const at = await beating(test);
  const said: string[] = [];
  for (let n = 0; n < 50; n += 1) {
    const text = n % 2 === 0 ? "The disk is full." : "Ann waits\nfor an answer.";
    const came = await at.answer(n % 4 === 1 ? text.replaceAll(/\s/g, "  ") : text);
    if (came !== "repeated") said.push(`${n} ${came}`);
    await at.stage.pass(HALF_HOUR_MS);
  }
  assert.deepEqual(said, ["0 alert", "1 alert", "48 alert", "49 alert"]);
  assert.equal((await at.waiting(MAIN)).length, 4);
});

test("an alert holds until a beat is answered that does not say it again, and holds again when one does", async (test) => {
  const at = await beating(test);
  const holds = async (): Promise<string[]> =>
    (await at.pulse()).told.flatMap(({ head, isOver }) => (isOver ? [] : [head]));
  const said = async (text: string, more = {}): Promise<string[]> => {
    await at.answer(text, more);
    await at.stage.pass(HALF_HOUR_MS);
    return await holds();
  };
  assert.deepEqual(await said("The disk is full."), ["The disk is full."]);
  assert.deepEqual(await said("", { outcome: "failed", reason: "nobody is there" }), ["The disk is full."]);
  assert.deepEqual(await said("Ann waits."), ["Ann waits."]);
  assert.deepEqual(await said("HEARTBEAT_OK"), []);
  assert.deepEqual(
    await said("The disk is full."),
    ["The disk is full."],
    "it is not told again, and so it is",
  );
});

test("why the newest beat failed is known until one succeeds", async (test) => {
  const at = await beating(test);
  const failed = async (outcome: "failed" | "aborted" | "timeout" | "done", reason: string | null) => {
    await at.answer("HEARTBEAT_OK", { outcome, reason });
    await at.stage.pass(HALF_HOUR_MS);
    const { failures, trouble } = await at.pulse();
    return [failures, trouble];
  };
  assert.deepEqual(await failed("failed", "no key"), [1, "no key"]);
  assert.deepEqual(await failed("failed", "it is away"), [2, "it is away"]);
  assert.deepEqual(await failed("aborted", "a person"), [2, "it is away"]);
  assert.deepEqual(await failed("timeout", "an hour"), [3, "timeout: an hour"], "another end is named");
  assert.deepEqual(await failed("done", null), [0, null]);
});

test("an alert that is remembered in part says so", async (test) => {
  const at = await beating(test);
  const head = async (text: string): Promise<string | undefined> => {
    await at.answer(text);
    await at.stage.pass(HALF_HOUR_MS);
    return (await at.pulse()).told[0]?.head;
  };
  const whole = "x".repeat(ALERT_HEAD_CHARS_MAX);
  assert.equal(await head(whole), whole);
  assert.equal(await head(`${whole}y`), `${whole.slice(1)}…`);
});

test("the end of a beat that is heard of twice is told once, also after a crash between the two", async (test) => {
  const at = await beating(test);
  const [beat] = await at.waiting();
  const id = beat?.replyTo?.thread ?? "";
  const end = { outcome: "done", reason: null, text: "The disk is full." } as const;
  assert.equal(await at.answer(end.text), "alert");
  const fresh = new Map(); // A new process knows nothing but what the store has.
  at.parts = { ...at.parts, troubles: fresh };
  assert.equal(await at.ended(id, end), null);
  await at.stage.pass(HALF_HOUR_MS);
  assert.equal(await at.ended(id, end), null, "also when another has begun since");
  assert.equal((await at.waiting(MAIN)).length, 1);
});

test("to the route: it is sent as it is to where main was last written to from, if answers of main may go there", async (test) => {
  const at = await beating(test, heart({ to: "route" }));
  const { store } = at.stage.at;
  assert.equal(await at.answer("one"), "alert");
  assert.deepEqual(await alerts(at), ["one"], "there is no route: main is told");
  const next = async (text: string, channel: string): Promise<void> => {
    const route = { channel, to: "ann", thread: null };
    await store.commit([{ do: "reroute", key: MAIN, fence: 0, route, origin: null }]);
    await at.stage.pass(HALF_HOUR_MS);
    assert.equal(await at.answer(text), "alert");
  };
  await next("two", "pigeon");
  const sent = await outbox(at);
  assert.deepEqual(
    sent.map(({ key, route, content }) => [key, route.channel, route.to, content]),
    [[HEART, "pigeon", "ann", [{ type: "text", text: "two" }]]],
  );
  await next("three", "no such channel");
  await store.commit([{ do: "set", key: MAIN, version: null, settings: { sendPolicy: "deny" } }]);
  await next("four", "pigeon");
  assert.deepEqual(await alerts(at), ["one", "three", "four"]);
  assert.equal((await outbox(at)).length, 1);
});

test("to nobody: it stays in the transcript, and the list shows it", async (test) => {
  const at = await beating(test, heart({ to: "none" }));
  assert.equal(await at.answer("The disk is full."), "alert");
  assert.deepEqual(await at.waiting(MAIN), []);
  assert.equal((await at.pulse()).told[0]?.head, "The disk is full.");
});

test("main hears of it once when beats fail again and again, and again after one that did not", async (test) => {
  const at = await beating(test);
  const fails = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      assert.equal(await at.answer("", { outcome: "failed", reason: "no model answers" }), "failed");
      await at.stage.pass(HALF_HOUR_MS);
    }
  };
  await fails(4);
  assert.deepEqual(await at.waiting(MAIN), []);
  await fails(8);
  const [notice, ...others] = await at.waiting(MAIN);
  assert.ok(notice && others.length === 0);
  assert.match(JSON.stringify(notice.content), /failed 5 times in a row \(no model answers\)/);
  assert.equal(await at.answer("", { outcome: "aborted", reason: "somebody stopped it" }), "skipped");
  assert.equal((await at.pulse()).failures, 12, "what somebody stops neither fails nor succeeds");
  await at.stage.pass(HALF_HOUR_MS);
  assert.equal(await at.answer("HEARTBEAT_OK"), "ok");
  assert.equal((await at.pulse()).failures, 0);
  await at.stage.pass(HALF_HOUR_MS);
  await fails(5);
  assert.equal((await at.waiting(MAIN)).length, 2);
});

test("a main session that was killed hears of an alert, as of any message", async (test) => {
  const at = await beating(test);
  const ended = { kind: "ended", atMs: 0, outcome: "killed", reason: null } as const;
  await at.stage.at.store.commit([{ do: "run", key: MAIN, fence: 0, state: ended }]);
  assert.equal(await at.answer("The disk is full."), "alert");
  assert.deepEqual(await alerts(at), ["The disk is full."]);
});

test("a beat that ends when heartbeats were turned off is told all the same; of an agent that is gone it is not", async (test) => {
  const at = await beating(test);
  await at.start(heart({ everyMinutes: 0 }));
  const end = { outcome: "done", reason: null, text: "The disk is full." } as const;
  const changes = await heartbeatEnded(at.parts, { agent: "main", beat: "1" }, end);
  assert.deepEqual(
    changes.map((change) => change.do),
    ["post"],
  );
  assert.deepEqual(await heartbeatEnded(at.parts, { agent: "ghost", beat: "1" }, end), []);
});

test("a day later is a day later, also when the machine slept", async (test) => {
  const at = await beating(test);
  await at.answer("The disk is full.");
  at.stage.world.offMs = 25 * HOUR_MS;
  await at.stage.pass(HALF_HOUR_MS);
  assert.equal(await at.answer("The disk is full."), "alert");
});

/** A conversation that a person wrote into from somewhere, at a time. */
async function wrote(
  at: Beating,
  name: string,
  more: { readonly route?: boolean } = {},
): Promise<SessionKey> {
  const { at: corner } = at.stage;
  const key = parseKey(`agent:main:${name}`);
  const route = more.route === false ? null : { channel: "pigeon", to: name, thread: null };
  await corner.store.commit([corner.opening(key, { ifExists: "keep" })]);
  const message = { role: "user", content: "hello", timestamp: 0 } as const;
  const provenance = { kind: "external_user", channel: "pigeon", peer: "ann" } as const;
  const timestamp = new Date(at.stage.world.nowMs()).toISOString();
  await corner.append(key, [{ type: "message", timestamp, message, provenance }]);
  await corner.store.commit([{ do: "reroute", key, fence: 0, route, origin: null }]);
  await at.stage.pass(1_000);
  return key;
}

test("to the route, where nobody ever wrote to main: to whom the person wrote last, and never into a group", async (test) => {
  const at = await beating(test, heart({ to: "route" }));
  await wrote(at, "direct:old");
  const newest = await wrote(at, "direct:newest");
  await wrote(at, "pigeon:group:all");
  await wrote(at, "thread:here", { route: false });
  const rows = (await at.stage.at.store.sessions({ agent: "main" })).rows;
  assert.ok(rows.some(({ key, interactedAtMs }) => key === newest && interactedAtMs > 0));
  assert.equal(await at.answer("The disk is full."), "alert");
  const sent = await outbox(at);
  assert.deepEqual(
    sent.map(({ key, route }) => [key, route.to]),
    [[HEART, "direct:newest"]],
  );
  assert.deepEqual(await at.waiting(MAIN), []);
});

test("an alert that main's mailbox has no room for is not taken as told: it is when it is found again", async (test) => {
  const at = await beating(test);
  const { store } = at.stage.at;
  const ids = Array.from({ length: MAILBOX_LETTERS_MAX }, (_, n) => `cause:${n}`);
  await store.commit(ids.map((id) => ({ do: "post", to: [MAIN], letter: letterOf(id, "x") })));
  assert.equal(await at.answer("The disk is full."), "alert");
  assert.equal(await store.waiting(MAIN, 2_000), MAILBOX_LETTERS_MAX);
  assert.match(at.logged.join(""), /an alert was not told: 1000 letters wait for agent:main:main/);
  await store.commit([{ do: "take", key: MAIN, fence: 0, ids }]);
  await at.stage.pass(HALF_HOUR_MS);
  assert.equal(await at.answer("The disk is full."), "alert");
  assert.deepEqual(await alerts(at), ["The disk is full."]);
});

test("B5: an end that its door has given up is found by the next beat, once", async (test) => {
  const at = await beating(test);
  const { store } = at.stage.at;
  const [beat] = await at.waiting();
  assert.ok(beat?.replyTo);
  const text = JSON.stringify({ outcome: "done", reason: null, text: "The disk is full." });
  const outgoing = { id: "end", key: HEART, route: beat.replyTo, content: [{ type: "text", text }] } as const;
  await store.commit([
    { do: "take", key: HEART, fence: 0, ids: [beat.id] },
    { do: "send", outgoing },
    { do: "settle", id: "end", refused: "given up after 8 tries: the disk is full" },
  ]);
  await at.stage.pass(HALF_HOUR_MS);
  assert.deepEqual(await alerts(at), ["The disk is full."]);
  const { over, last, told } = await at.pulse();
  assert.deepEqual([over, last?.came, told.length], [beat.replyTo.thread, "began", 1]);
  assert.deepEqual((await store.outbox({ refused: true })).rows, []);
  await at.answer("HEARTBEAT_OK");
  await at.stage.pass(HALF_HOUR_MS);
  assert.equal((await at.waiting(MAIN)).length, 1);
});
