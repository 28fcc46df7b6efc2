import assert from "node:assert/strict";
import { test } from "node:test";
import { Beating, HEART, MAIN } from "../../test/timers/beating.ts";
import { HOUR_MS } from "../../test/timers/stage.ts";
import type { Outgoing } from "../mail/letter.ts";
import { heartbeatEnded, isNothing } from "./alert.ts";

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
  assert.match(JSON.stringify(notice.content), /failed 5 times in a row \(failed: no model answers\)/);
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
