// Runs that others meddle with: who edits their job, writes into their turn, or lets the machine sleep.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAILBOX_LETTERS_MAX } from "../../src/limits.ts";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { letterOf } from "../../src/store/contract/samples.ts";
import { editJob, removeJob } from "../../src/timers/jobs.ts";
import { RUN_LOST_MS } from "../../src/timers/limits.ts";
import { MAIN, Office } from "./office.ts";
import { MINUTE_MS } from "./specs.ts";
import { HOUR_MS } from "./stage.ts";

const THREAD = namedKey(DEFAULT_AGENT, "news");

/** Ann writes to main through the pigeon. */
async function writes(office: Office, message: string): Promise<void> {
  const [gateway] = office.gateways;
  await gateway?.sessions.call("receive", { channel: "pigeon", chatType: "direct", peer: "ann", message });
}

/** Main has a route, and what was said for that is forgotten. */
async function met(office: Office): Promise<void> {
  await writes(office, "hello");
  await office.pass(1_000);
  office.flown.length = 0;
}

function words({ flown }: Office): string[] {
  return flown.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : "")));
}

test("an edit while a run goes on is for the next one: its time and its delivery are those that it was begun with", async (test) => {
  const office = new Office(test);
  await office.start();
  const atMs = office.world.nowMs() + MINUTE_MS;
  const loft = { kind: "webhook", channel: "pigeon", to: "the loft" } as const;
  const times = {
    schedule: { kind: "every", everyMs: 3 * HOUR_MS, fromMs: atMs },
    timeoutMs: 2 * HOUR_MS,
  } as const;
  await office.add("j", { ...times, message: `!slow ${50 * MINUTE_MS}`, delivery: loft });
  await office.pass(MINUTE_MS + 1_000);
  const edit = { timeoutMs: MINUTE_MS, delivery: { kind: "none" } } as const;
  await office.tell(editJob(await office.job("j"), edit, office.world.nowMs()).changes);
  await office.pass(HOUR_MS);
  const job = await office.job("j");
  assert.deepEqual([job.runs[0]?.outcome, job.current], ["done", null]);
  assert.deepEqual(words(office), ["done."]);
  assert.deepEqual(
    (await office.timers()).map(({ id }) => id),
    ["job:j"],
    "its deadline is off",
  );
});

test("a job that is removed while it runs leaves no timer behind, and its run has no more time than before", async (test) => {
  const office = new Office(test);
  await office.start();
  const schedule = { kind: "at", atMs: office.world.nowMs() + MINUTE_MS, zone: "UTC" } as const;
  const target = { kind: "session", key: THREAD } as const;
  const turns = { done: 5 * MINUTE_MS, timeout: HOUR_MS } as const;
  await office.add("done", { schedule, target, message: `!slow ${turns.done}` });
  await office.add("timeout", { schedule, message: `!slow ${turns.timeout}` });
  await office.pass(MINUTE_MS + 1_000);
  const late = (await office.job("timeout")).current?.key ?? assert.fail();
  for (const id of ["done", "timeout"]) await office.tell(removeJob(await office.job(id)));
  assert.equal((await office.timers()).length, 2, "both are bounded");
  await office.pass(6 * MINUTE_MS);
  assert.equal((await office.said(THREAD)).at(-1), "assistant: done.");
  assert.deepEqual(
    (await office.timers()).map(({ key }) => key),
    [late],
  );
  await office.pass(6 * MINUTE_MS);
  const { state } = (await office.store.session(late)) ?? assert.fail();
  assert.deepEqual([state.kind, "outcome" in state && state.outcome], ["ended", "timeout"]);
  assert.deepEqual(await office.timers(), []);
});

test("a machine that slept for hours in the middle of a run does not lose it: its time is up when it wakes", async (test) => {
  const office = new Office(test);
  await office.start();
  const schedule = {
    kind: "every",
    everyMs: 12 * HOUR_MS,
    fromMs: office.world.nowMs() + MINUTE_MS,
  } as const;
  await office.add("j", { schedule, message: `!slow ${MINUTE_MS}`, timeoutMs: 10 * MINUTE_MS });
  await office.pass(MINUTE_MS + 1_000);
  office.world.offMs += 2 * HOUR_MS;
  await office.pass(5 * MINUTE_MS);
  assert.deepEqual(
    (await office.job("j")).runs.map(({ outcome }) => outcome),
    ["timeout"],
  );
});

test("what a person wrote into a job's turn is answered there, and not told a second time by the job", async (test) => {
  const office = new Office(test);
  await office.start();
  await met(office);
  const message = "!slow 2000\n!call session_status {}\n!then\n!slow 5000";
  const schedule = { kind: "at", atMs: office.world.nowMs() + MINUTE_MS, zone: "UTC" } as const;
  const target = { kind: "session", key: MAIN } as const;
  await office.add("j", { schedule, target, message, delivery: { kind: "route", of: [MAIN] } });
  await office.pass(MINUTE_MS + 500);
  await writes(office, "!say to ann");
  await office.pass(5 * MINUTE_MS);
  assert.deepEqual(words(office), ["to ann"]);
  assert.equal((await office.job("j")).runs[0]?.outcome, "done");
});

test("the time of a job does not end what a person waits for in the same turn; alone it ends", async (test) => {
  const office = new Office(test);
  await office.start();
  await met(office);
  const message = "!slow 2000\n!call session_status {}\n!then\n!slow 5000";
  const schedule = { kind: "at", atMs: office.world.nowMs() + MINUTE_MS, zone: "UTC" } as const;
  const more = { target: { kind: "session", key: MAIN }, message, timeoutMs: 3_000 } as const;
  await office.add("j", { schedule, ...more });
  await office.pass(MINUTE_MS + 500);
  await writes(office, "!slow 4000");
  await office.pass(5 * MINUTE_MS);
  assert.deepEqual(words(office), ["done."]);
  assert.equal((await office.job("j")).runs[0]?.outcome, "done");
  assert.equal(await office.store.waiting(MAIN, 10), 0, "the order that came too late is gone");
  const again = { kind: "at", atMs: office.world.nowMs() + MINUTE_MS, zone: "UTC" } as const;
  await office.add("alone", { ...more, schedule: again });
  await office.pass(2 * MINUTE_MS);
  assert.equal((await office.job("alone")).runs[0]?.outcome, "timeout");
});

test("a reader that ends in the moment in which it is told leaves the answer to main, and main answers its own person", async (test) => {
  const office = new Office(test);
  const sessions = await office.start();
  await met(office);
  await sessions.call("send", { sessionKey: THREAD, message: "!say hi" });
  await office.add("j", {
    schedule: { kind: "at", atMs: office.world.nowMs() + MINUTE_MS, zone: "UTC" },
    message: "!say the news",
    delivery: { kind: "session", key: THREAD },
  });
  const ended = { kind: "ended", atMs: 0, outcome: "killed", reason: null } as const;
  office.commit = async (changes) => {
    const isTold = changes.some((change) => change.do === "post" && change.letter.id.endsWith(":answer"));
    const isAlive = (await office.store.session(THREAD))?.state.kind !== "ended";
    if (isTold && isAlive)
      await office.store.commit([{ do: "run", key: THREAD, fence: await fenceOf(office), state: ended }]);
    return await office.store.commit(changes);
  };
  await office.pass(2 * MINUTE_MS);
  const told = (await office.said(MAIN)).filter((line) =>
    /^user: What came of job "[^\n]*" \(j\)/.test(line),
  );
  assert.equal(told.length, 1);
  assert.equal(office.flown.length, 1, "what main makes of it goes to whom it speaks with");
});

async function fenceOf(office: Office): Promise<number> {
  for (let fence = 0; ; fence += 1)
    try {
      await office.store.commit([{ do: "reroute", key: THREAD, fence, route: null, origin: null }]);
      return fence;
    } catch {
      assert.ok(fence < 100, "the fence of the thread is found");
    }
}

test("a mailbox that is full takes no more answers of jobs, and the record says so", async (test) => {
  const office = new Office(test);
  const sessions = await office.start();
  await sessions.call("send", { sessionKey: THREAD, message: "!say hi" });
  await office.pass(1_000);
  await sessions.call("stop", { sessionKey: THREAD });
  const many = Array.from({ length: MAILBOX_LETTERS_MAX }, (_, n) => letterOf(`cause:${n}`, "x"));
  await office.store.commit(many.map((letter) => ({ do: "post", to: [THREAD], letter })));
  await office.add("j", { message: "!say the news", delivery: { kind: "session", key: THREAD } });
  await office.pass(3 * MINUTE_MS);
  assert.equal(await office.store.waiting(THREAD, MAILBOX_LETTERS_MAX + 10), MAILBOX_LETTERS_MAX);
  const job = await office.job("j");
  assert.deepEqual([job.counts.ran, job.failures], [3, 0]);
  assert.equal(job.runs[0]?.note, "the news");
  assert.match(job.runs[0]?.untold ?? "", /^not told: 1000 letters wait for /);
  assert.match(office.logged.join(""), /the answer of a run was not told: 1000 letters wait/);
});

test("two gateways that start in the same moment both start, and every heart has its timer", async (test) => {
  const names = ["a", "b", "c"];
  const agents = Object.fromEntries(names.map((name) => [name, { heartbeat: { everyMinutes: 30 } }]));
  const office = new Office(test, { agents: { defaults: {}, ...agents } });
  await Promise.all([office.start(), office.start()]);
  const beats = (await office.timers()).map(({ id }) => id).filter((id) => id.startsWith("heartbeat:"));
  assert.deepEqual(new Set(beats), new Set(["main", ...names].map((name) => `heartbeat:${name}`)));
});

test("J1: a job without its alarm, or with a wrong one, has it again after a start; else nothing is committed for that", async (test) => {
  const office = new Office(test);
  await (await office.start()).close();
  for (const id of ["none", "other", "right"]) await office.add(id, { message: "!say hi" });
  const atMs = (await office.job("right")).nextAtMs ?? 0;
  const other = { id: "job:other", key: MAIN, dueAtMs: atMs + HOUR_MS, body: { job: "other" } };
  await office.store.commit([
    { do: "clearTimer", id: "job:none", expectDueAtMs: atMs },
    { do: "setTimer", timer: other, expectDueAtMs: atMs },
  ]);
  const before = office.commits.length;
  await office.start();
  const set = office.commits.slice(before).flat();
  assert.deepEqual(set.flatMap((change) => (change.do === "setTimer" ? [change.timer.id] : [])).toSorted(), [
    "job:none",
    "job:other",
  ]);
  await office.pass(MINUTE_MS);
  for (const id of ["none", "other", "right"]) assert.equal((await office.job(id)).counts.ran, 1, id);
});

test("one that is lost is a failure of the job", async (test) => {
  const office = new Office(test);
  await office.start();
  office.commit = (changes) =>
    office.store.commit(
      changes.filter((change) => change.do !== "send" || change.outgoing.route.channel !== "timer"),
    );
  const target = { kind: "session", key: THREAD } as const;
  await office.add("j", { target, message: "!say hi", timeoutMs: 5_000, failuresMax: 1 });
  await office.pass(2 * MINUTE_MS + RUN_LOST_MS);
  const job = await office.job("j");
  assert.deepEqual([job.runs[0]?.outcome, job.runs[1]?.outcome, job.isEnabled], ["skipped", "lost", false]);
});
