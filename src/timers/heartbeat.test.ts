import assert from "node:assert/strict";
import { test } from "node:test";
import { Beating, HEART, MAIN } from "../../test/timers/beating.ts";
import { DAY_MS, HOUR_MS } from "../../test/timers/stage.ts";
import { Fault } from "../base/fault.ts";
import { subagentKey } from "../routing/key.ts";
import { heartbeatDue } from "./heartbeat.ts";
import { cameIn, timerOf } from "./pulse.ts";

const MINUTE_MS = 60_000;

function heart(heartbeat: object) {
  return { agents: { main: { heartbeat } } } as const;
}

function textOf(content: readonly { readonly type: string }[] | undefined): string {
  const [block] = content ?? [];
  return block && "text" in block ? String(block.text) : "";
}

test("an agent beats as often as it is configured, and each beat is a letter in the background", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "- look at the mail");
  await at.start();
  for (let n = 0; n < 4; n += 1) {
    await at.stage.pass(30 * MINUTE_MS);
    const [letter, ...others] = await at.waiting();
    assert.ok(letter && others.length === 0);
    assert.match(letter.id, /^cause:heartbeat:main:\d+$/);
    assert.deepEqual(letter.from, { kind: "internal_system", cause: "heartbeat" });
    assert.equal(letter.class, "background");
    assert.equal(letter.mode, "followup");
    assert.deepEqual([letter.replyTo?.channel, letter.replyTo?.to], ["timer", "heartbeat:main"]);
    assert.match(
      textOf(letter.content),
      /^It is Thursday.*HEARTBEAT_OK[\s\S]*\n\n# HEARTBEAT\.md\n\n- look at the mail$/,
    );
    assert.equal(await at.answer("HEARTBEAT_OK"), "ok");
  }
});

test("B3: an agent without a task costs nothing: no session, no letter, after a week", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  await at.start();
  await at.stage.pass(7 * DAY_MS);
  assert.equal(await at.stage.at.store.session(HEART), null);
  assert.deepEqual(await at.waiting(MAIN), []);
  assert.equal((await at.stage.at.row(MAIN)).transcript.lastSeq, 0);
  assert.equal(at.looks, 7 * 48);
  assert.deepEqual(new Set(at.came.map(({ came }) => came)), new Set(["nothing"]));
});

test("a task that cannot be read is said once, and again when it is for another reason", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", new Fault("bad_input", "it leads outside"));
  await at.start();
  await at.stage.pass(3 * HOUR_MS);
  const said = (): number => at.logged.filter((line) => line.includes("cannot be read")).length;
  assert.equal(said(), 1);
  at.tasks.set("main", new Fault("bad_input", "it is not a file"));
  await at.stage.pass(3 * HOUR_MS);
  assert.equal(said(), 2);
  assert.equal(await at.stage.at.store.session(HEART), null);
});

test("B4: while a beat goes on others are skipped, also while it only waits to be read", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(2 * HOUR_MS);
  assert.deepEqual(
    at.came.map(({ came }) => came),
    ["began", "skipped", "skipped", "skipped"],
  );
  const { store } = at.stage.at;
  const [beat] = await at.waiting();
  const running = { kind: "running", sinceMs: 0, turn: "t", step: 1 } as const;
  await store.commit([
    { do: "take", key: HEART, fence: 0, ids: [beat?.id ?? ""] },
    { do: "run", key: HEART, fence: 0, state: running },
  ]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(at.came.at(-1)?.came, "skipped");
  // What its children do belongs to it, too.
  const child = await at.stage.at.open("", { key: subagentKey(HEART, "1"), parent: HEART });
  await store.commit([
    { do: "run", key: HEART, fence: 0, state: { kind: "idle" } },
    { do: "run", key: child, fence: 0, state: running },
  ]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(at.came.at(-1)?.came, "skipped");
  await store.commit([{ do: "run", key: child, fence: 0, state: { kind: "idle" } }]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(at.came.at(-1)?.came, "began");
});

test("a heartbeat session that is paused is left alone; one that was killed goes on", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(30 * MINUTE_MS);
  await at.answer("HEARTBEAT_OK");
  const { store } = at.stage.at;
  await store.commit([{ do: "signal", key: HEART, signal: "pause" }]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(at.came.at(-1)?.came, "skipped");
  const ended = { kind: "ended", atMs: 0, outcome: "killed", reason: null } as const;
  await store.commit([{ do: "run", key: HEART, fence: 0, state: ended }]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(at.came.at(-1)?.came, "began");
  assert.equal((await at.stage.at.row(HEART)).state.kind, "idle");
});

test("B1: beats that were missed are not made up for: there is one, and then the next", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "look");
  await at.start();
  at.stage.world.offMs = 5 * DAY_MS; // The machine slept.
  await at.stage.pass(MINUTE_MS);
  assert.deepEqual(
    at.came.map(({ came }) => came),
    ["began"],
  );
  assert.equal(await at.answer("HEARTBEAT_OK"), "ok");
  await at.stage.pass(30 * MINUTE_MS);
  assert.deepEqual(
    at.came.map(({ came }) => came),
    ["began", "ok", "began"],
  );
});

test("it beats within its hours only, by the clock on the wall, over both changes of it", async (test) => {
  for (const day of ["2026-03-28", "2026-10-24"]) {
    const activeHours = { from: "08:00", to: "20:00", timezone: "Europe/Zurich" };
    const at = new Beating(test, heart({ everyMinutes: 60, activeHours }));
    at.stage.world.offMs =
      Date.parse(`${day}T00:00:00+0${day.includes("-03-") ? 1 : 2}:00`) - at.stage.world.nowMs();
    await at.start();
    await at.stage.pass(3 * DAY_MS - 2 * HOUR_MS);
    const wall = (ms: number): number =>
      Number(
        new Date(ms).toLocaleTimeString("en-GB", { timeZone: "Europe/Zurich", hour: "2-digit" }).slice(0, 2),
      );
    const hours = at.came.map(({ atMs }) => wall(atMs));
    const whole = Array.from({ length: 12 }, (_, n) => 8 + n);
    assert.deepEqual(hours, [...whole, ...whole, ...whole], day);
  }
});

test("one that comes too late for its hours is passed over until they begin again", async (test) => {
  const activeHours = { from: "08:00", to: "20:00", timezone: "UTC" };
  const at = new Beating(test, heart({ everyMinutes: 60, activeHours }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(7 * HOUR_MS);
  at.stage.world.offMs = 16 * HOUR_MS; // It slept until 23:00.
  await at.stage.pass(HOUR_MS);
  assert.deepEqual(
    at.came.map(({ came }) => came),
    ["skipped"],
  );
  await at.stage.pass(9 * HOUR_MS);
  assert.equal(at.came.at(-1)?.came, "began");
  assert.equal(new Date(at.came.at(-1)?.atMs ?? 0).getUTCHours(), 8);
});

test("the session has the model that the configuration says, also when that changes", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30, model: "rehearsal/small" }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(30 * MINUTE_MS);
  const model = async (): Promise<string | null> => (await at.stage.at.row(HEART)).settings.model;
  assert.equal(await model(), "rehearsal/small");
  await at.answer("HEARTBEAT_OK");
  await at.stage.at.store.commit([{ do: "set", key: HEART, version: null, settings: { model: "x/y" } }]);
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(await model(), "rehearsal/small");
  await at.answer("HEARTBEAT_OK");
  await at.start(heart({ everyMinutes: 30 }));
  await at.stage.pass(30 * MINUTE_MS);
  assert.equal(await model(), null);
});

test("a start fits timers to the configuration, and changes nothing that fits", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  await at.start();
  const due = async (agent = "main"): Promise<number | null> =>
    (await timerOf(at.stage.at.store, agent))?.dueAtMs ?? null;
  const first = await due();
  await at.start();
  assert.equal(await due(), first);
  assert.ok(first !== null && first <= at.stage.world.nowMs() + 30 * MINUTE_MS);
  await at.start(heart({ everyMinutes: 10_080 }));
  assert.notEqual(await due(), first);
  await at.start({ agents: { main: { heartbeat: { everyMinutes: 0 } }, coder: {} } });
  assert.equal(await due(), null);
  assert.ok((await due("coder")) !== null);
  await at.start({ agents: { main: {} } });
  assert.ok((await due()) !== null);
  // Of an agent that is gone nothing stays, once it was due.
  await at.stage.pass(HOUR_MS);
  assert.equal(await due("coder"), null);
});

test("what a start moves keeps what is remembered", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(30 * MINUTE_MS);
  await at.answer("The disk is full.");
  await at.start(heart({ everyMinutes: 45 }));
  assert.equal((await at.pulse()).told.length, 1);
});

test("a beat that ends in the moment in which the next one fires is not forgotten", async (test) => {
  const at = new Beating(test, heart({ everyMinutes: 30 }));
  at.tasks.set("main", "look");
  await at.start();
  await at.stage.pass(30 * MINUTE_MS);
  const { store } = at.stage.at;
  const timer = await timerOf(store, "main");
  assert.ok(timer);
  const fired = await heartbeatDue(at.parts, timer); // It is read,
  assert.equal(await at.answer("The disk is full."), "alert"); // then the beat before it ends,
  const firing = store.commit([{ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs }, ...fired]);
  await assert.rejects(firing, (error: unknown) => error instanceof Fault && error.code === "stale_writer");
  assert.equal((await at.pulse()).told.length, 1);
  await at.stage.pass(30 * MINUTE_MS);
  assert.deepEqual([at.came.at(-1)?.came, (await at.pulse()).told.length], ["began", 1]);
});

test("fifty agents beat each at its own time, and each as often", async (test) => {
  const names = Array.from({ length: 50 }, (_, n) => `agent${n}`);
  const agents = Object.fromEntries(names.map((name) => [name, {}]));
  const at = new Beating(test, { agents });
  await at.start();
  await at.stage.pass(DAY_MS);
  const minutes = new Map<number, number>();
  for (const { atMs } of at.came)
    minutes.set(Math.floor(atMs / MINUTE_MS) % 30, (minutes.get(Math.floor(atMs / MINUTE_MS) % 30) ?? 0) + 1);
  assert.equal(at.came.length, 51 * 48); // main is always there
  assert.ok(Math.max(...minutes.values()) < 8 * 48, "they are spread");
});

test("who counts is told what each beat came to, and nothing of other timers", () => {
  const other = { id: "job:1", key: MAIN, dueAtMs: 0, body: { last: { came: "ok" } } };
  assert.equal(cameIn({ do: "setTimer", timer: other, expectDueAtMs: null }), null);
  assert.equal(cameIn({ do: "clearTimer", id: "heartbeat:main", expectDueAtMs: 0 }), null);
});
