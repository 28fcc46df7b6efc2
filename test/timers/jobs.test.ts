// Jobs on the whole system, in simulated time: from the alarm to the answer.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Fault } from "../../src/base/fault.ts";
import { openLog } from "../../src/base/log.ts";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { pages } from "../../src/store/contract/corner.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import type { Change } from "../../src/store/change.ts";
import { editJob, removeJob } from "../../src/timers/jobs.ts";
import { runAsked } from "../../src/timers/firing.ts";
import type { Job } from "../../src/timers/job.ts";
import { RUN_LOST_MS } from "../../src/timers/limits.ts";
import { alarmAtMs } from "../../src/timers/schedule.ts";
import { MAIN, Office } from "./office.ts";
import { MINUTE_MS } from "./specs.ts";
import { afterwards, scratch } from "../fixtures/home.ts";
import { DAY_MS, HOUR_MS, Settable } from "./stage.ts";

const THREAD = namedKey(DEFAULT_AGENT, "news");

/** How the runs of a job ended, oldest first. */
function outcomes({ runs }: Job): (string | null)[] {
  return runs.map(({ outcome }) => outcome).toReversed();
}

async function outbox(office: Office, refused: boolean) {
  return await pages((page) => office.store.outbox({ ...page, refused }));
}

/** Somebody writes to main through the pigeon, so that main has a route. */
async function wrote(office: Office, text = "hello"): Promise<void> {
  const [gateway] = office.gateways;
  await gateway?.sessions.call("receive", {
    channel: "pigeon",
    chatType: "direct",
    peer: "ann",
    message: text,
  });
  await office.pass(1_000);
  office.flown.length = 0;
}

describe("a job with fresh sessions", () => {
  test("F1, F3: runs at its time, in a session that knows nothing of earlier runs, and ends with it", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { message: "!list", model: "rehearsal/small", thinking: "low" });
    await office.pass(MINUTE_MS - 1);
    assert.equal((await office.job("j")).current, null);
    await office.pass(2 * MINUTE_MS);
    const job = await office.job("j");
    assert.deepEqual(outcomes(job), ["done", "done"]);
    assert.deepEqual(job.counts, { ran: 2, skipped: 0, coalesced: 0 });
    for (const { key, note } of job.runs) {
      assert.ok(key !== null);
      const row = await office.store.session(key);
      assert.deepEqual(
        [row?.state.kind, row?.settings.model, row?.settings.thinking],
        ["ended", "rehearsal/small", "low"],
      );
      assert.equal(row?.settings.limits?.turnSeconds, 600);
      assert.match(note ?? "", /^1 messages: 1 user/);
      const [asked] = await office.said(key);
      assert.match(
        asked ?? "",
        /^user: Job "!list" \(j\), due at 2026-01-01 01:0\d \(Europe\/Zurich\):\n\n!list$/,
      );
    }
    assert.notEqual(job.runs[0]?.key, job.runs[1]?.key);
    assert.deepEqual(
      (await office.timers()).map(({ id }) => id),
      ["job:j"],
      "no deadline is left",
    );
    assert.deepEqual(await outbox(office, false), []);
  });

  test("its time is up: what it does ends, and that is a failure", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { message: `!slow ${HOUR_MS}`, timeoutMs: 5_000, failuresMax: 2 });
    await office.pass(MINUTE_MS + 6_000);
    const job = await office.job("j");
    assert.deepEqual(outcomes(job), ["timeout"]);
    assert.equal(job.runs[0]?.endedAtMs, (job.runs[0]?.startedAtMs ?? 0) + 5_000);
    assert.equal(job.failures, 1);
  });

  test("one whose turns fail is disabled, and main is told of it once", async (test) => {
    const office = new Office(test);
    await office.start();
    await wrote(office);
    await office.add("j", { name: 'the "news"', message: "!fail auth", failuresMax: 3 });
    await office.pass(DAY_MS);
    const job = await office.job("j");
    assert.deepEqual(outcomes(job), ["failed", "failed", "failed"]);
    assert.deepEqual([job.isEnabled, job.nextAtMs], [false, null]);
    assert.match(job.why ?? "", /^3 runs in a row failed, the last one failed: /);
    const told = (await office.said(MAIN)).filter((line) => line.includes("is disabled: 3 runs"));
    assert.equal(told.length, 2, "the letter, and the rehearsal that quotes it");
    assert.equal(office.flown.length, 1, "who speaks with main hears of it");
    const [gateway] = office.gateways;
    assert.ok(gateway);
    const edited = editJob(job, { isEnabled: true, message: "!say well" }, office.world.nowMs());
    await office.tell(edited.changes);
    await office.pass(MINUTE_MS);
    const again = await office.job("j");
    assert.deepEqual(
      [again.isEnabled, again.why, again.failures, again.runs[0]?.note],
      [true, null, 0, "well"],
    );
  });

  test("what is due once is over then", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { schedule: { kind: "at", atMs: office.world.nowMs() + 90_000, zone: "UTC" } });
    await office.pass(HOUR_MS);
    const job = await office.job("j");
    assert.deepEqual([outcomes(job), job.isEnabled, job.nextAtMs, job.why], [["done"], false, null, null]);
  });

  test("F2: an agent that is not configured any more runs nothing, and the record says so", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { failuresMax: 1 });
    const { system } = office.gateways[0] ?? assert.fail();
    Object.assign(system.jobs, { workspaceOf: () => null });
    await office.pass(MINUTE_MS);
    const job = await office.job("j");
    assert.deepEqual([outcomes(job), job.isEnabled], [["failed"], false]);
    assert.match(job.runs[0]?.note ?? "", /there is no agent "main" any more/);
  });
});

describe("a job with a session of its own", () => {
  test("the session is opened by the first run, and the conversation carries over", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { target: { kind: "session", key: THREAD }, message: "!list" });
    await office.pass(3 * MINUTE_MS);
    const job = await office.job("j");
    assert.deepEqual(outcomes(job), ["done", "done", "done"]);
    assert.match(job.runs[0]?.note ?? "", /^5 messages: 3 user/);
    const row = await office.store.session(THREAD);
    assert.deepEqual([row?.state.kind, row?.route], ["idle", null], "a timer is nobody to answer later");
    assert.deepEqual(
      (await office.timers()).map(({ id }) => id),
      ["job:j"],
      "no deadline is left",
    );
  });

  test("its time is up: its turn ends, and the session goes on", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await office.add("j", {
      target: { kind: "session", key: THREAD },
      message: `!slow ${HOUR_MS}`,
      timeoutMs: 5_000,
    });
    await office.pass(MINUTE_MS + 5_000);
    assert.deepEqual(outcomes(await office.job("j")), ["timeout"]);
    const sent = await sessions.call("send", { sessionKey: THREAD, message: "!say here" });
    await office.pass(100);
    assert.ok((await office.said(THREAD)).includes("assistant: here"), sent.id);
  });

  test("its time is up before its turn came: it never begins", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await office.add("j", { target: { kind: "session", key: THREAD }, message: "!say hi", timeoutMs: 5_000 });
    await sessions.call("send", { sessionKey: THREAD, message: `!slow ${2 * MINUTE_MS}` });
    await office.pass(2 * MINUTE_MS + 1_000);
    const [first] = (await office.job("j")).runs.toReversed();
    assert.equal(first?.outcome, "timeout");
    assert.match(first?.note ?? "", /5 s that it was given are over/);
  });

  test("F2: one that was killed is not woken: the run fails, and says why", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await office.add("j", { target: { kind: "session", key: THREAD }, failuresMax: 2 });
    await office.pass(MINUTE_MS);
    await sessions.call("kill", { sessionKey: THREAD });
    await office.pass(HOUR_MS);
    const job = await office.job("j");
    assert.deepEqual([outcomes(job), job.isEnabled], [["done", "failed", "failed"], false]);
    assert.match(job.runs[0]?.note ?? "", /has ended/);
    assert.doesNotMatch(office.logged.join(""), /a timer was not fired/);
  });

  test("F2: one that no message opens is gone: the run fails", async (test) => {
    const office = new Office(test);
    await office.start();
    const key = "agent:main:subagent:gone" as typeof THREAD;
    await office.add("j", { target: { kind: "session", key } });
    await office.pass(MINUTE_MS);
    assert.match((await office.job("j")).runs[0]?.note ?? "", /^its session is gone: there is no session/);
  });

  test("killed by a person while it runs: no failure of the job", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await office.add("j", { target: { kind: "session", key: THREAD }, message: `!slow ${HOUR_MS}` });
    await office.pass(MINUTE_MS + 1_000);
    await sessions.call("abort", { sessionKey: THREAD });
    await office.pass(1_000);
    const job = await office.job("j");
    assert.deepEqual([outcomes(job), job.failures], [["killed"], 0]);
  });
});

describe("the answer of a run", () => {
  test("goes to a session as a letter, once, and to main when that one is gone", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await wrote(office);
    await sessions.call("send", { sessionKey: THREAD, message: "!say hi" });
    await office.add("j", { message: "!say the news", delivery: { kind: "session", key: THREAD } });
    await office.pass(MINUTE_MS);
    const letters = (await office.said(THREAD)).filter((line) =>
      /^user: What came of job "[^\n]*" \(j\)/.test(line),
    );
    assert.equal(letters.length, 1);
    assert.match(letters[0] ?? "", /due at 2026-01-01 01:01 \(Europe\/Zurich\):\n\nthe news$/);
    await sessions.call("kill", { sessionKey: THREAD });
    await office.pass(MINUTE_MS);
    const main = (await office.said(MAIN)).filter((line) => line.includes("What came of job "));
    assert.equal(main.filter((line) => line.startsWith("user: ")).length, 1);
    assert.equal(office.flown.length, 1, "what main makes of it goes to whom it speaks with");
  });

  test("goes to where main was last written to from, or through a channel, as it was said", async (test) => {
    const office = new Office(test);
    await office.start();
    await wrote(office);
    await office.add("route", { message: "!say by route", delivery: { kind: "route", of: [MAIN] } });
    const webhook = { kind: "webhook", channel: "pigeon", to: "the loft" } as const;
    await office.add("hook", { message: "!say by hook", delivery: webhook });
    await office.pass(MINUTE_MS);
    const flown = office.flown.map(({ route, content }) => [route.to, content]);
    assert.deepEqual(
      new Map(flown as [string, unknown][]),
      new Map<string, unknown>([
        ["ann", [{ type: "text", text: "by route" }]],
        ["the loft", [{ type: "text", text: "by hook" }]],
      ]),
    );
    await office.pass(1_000);
    assert.equal(office.flown.length, 2, "once");
  });

  test("that says nothing goes nowhere; a failure is told in short words", async (test) => {
    const office = new Office(test);
    await office.start();
    await wrote(office);
    const delivery = { kind: "webhook", channel: "pigeon", to: "the loft" } as const;
    await office.add("silent", { message: "!say NO_REPLY", delivery });
    await office.add("broken", { name: "news", message: "!fail auth", delivery });
    await office.pass(MINUTE_MS);
    const texts = office.flown.map(({ content }) =>
      content.map((block) => ("text" in block ? block.text : "")).join(),
    );
    assert.equal(texts.length, 1);
    assert.match(
      texts[0] ?? "",
      /^Job "news" \(broken\), due at 2026-01-01 01:01 \(Europe\/Zurich\): failed: /,
    );
  });

  test("that may not leave, or has no channel, is refused and stays visible", async (test) => {
    const rules = [{ action: "deny", match: { channel: "pigeon" } }];
    const office = new Office(test, {
      session: { dmScope: "main", sendPolicy: { default: "allow", rules } },
    } as never);
    await office.start();
    await wrote(office);
    for (const channel of ["pigeon", "owl"])
      await office.add(channel, { message: "!say it", delivery: { kind: "webhook", channel, to: "x" } });
    await office.add("route", { message: "!say it", delivery: { kind: "route", of: [MAIN] } });
    await office.pass(MINUTE_MS);
    assert.deepEqual(office.flown, []);
    const refused = (await outbox(office, true)).filter(({ id }) => id.startsWith("job:"));
    const why = new Map(refused.map(({ id, refused: of }) => [id.split(":")[1], of]));
    assert.match(why.get("pigeon") ?? "", /rule 1 of session.sendPolicy.*denies/);
    assert.match(why.get("route") ?? "", /denies/);
    assert.match(why.get("owl") ?? "", /there is no channel "owl"/);
    for (const id of ["pigeon", "owl", "route"]) assert.deepEqual(outcomes(await office.job(id)), ["done"]);
  });
});

describe("whatever happens", () => {
  test("F1: a commit that fails after it was durable starts no second run, and ends none twice", async (test) => {
    const office = new Office(test);
    await office.start();
    let broken = 0;
    office.commit = async (changes) => {
      const receipt = await office.store.commit(changes);
      if (changes.some(({ do: what }) => what === "setJob") && broken++ % 2 === 0)
        throw new Error("the wire broke");
      return receipt;
    };
    const delivery = { kind: "webhook", channel: "pigeon", to: "x" } as const;
    await office.add("j", { message: "!say hi", delivery });
    await office.pass(20 * MINUTE_MS);
    const job = await office.job("j");
    assert.equal(job.counts.ran, 20);
    assert.equal(new Set(job.runs.map(({ dueAtMs }) => dueAtMs)).size, job.runs.length);
    assert.ok(job.runs.every(({ outcome }) => outcome === "done"));
    await office.pass(30_000);
    assert.equal(office.flown.length, 20);
  });

  test("F1: of several gateways one starts a run", async (test) => {
    const office = new Office(test);
    for (let n = 0; n < 3; n += 1) await office.start();
    await office.add("j", { message: "!say hi" });
    await office.pass(10 * MINUTE_MS + 30_000);
    const job = await office.job("j");
    assert.deepEqual([job.counts.ran, job.current], [10, null]);
    const posts = office.commits.flat().filter((change) => change.do === "post");
    assert.equal(posts.filter(({ letter }) => letter.id.startsWith("cause:job:j:")).length, 10);
    assert.doesNotMatch(office.logged.join(""), /a timer was not fired/);
  });

  test("who was away finds what was due, under each rule, and makes up for it", async (test) => {
    const office = new Office(test);
    await (await office.start()).close();
    for (const missed of ["run", "skip", "coalesce"] as const)
      await office.add(missed, { missed, graceMs: 1_000 });
    office.world.offMs = 10 * MINUTE_MS + 30_000;
    await office.start();
    await office.pass(1_000);
    const counts = async (id: string) => (await office.job(id)).counts;
    assert.deepEqual(await counts("run"), { ran: 10, skipped: 0, coalesced: 0 });
    assert.deepEqual(await counts("skip"), { ran: 0, skipped: 10, coalesced: 0 });
    assert.deepEqual(await counts("coalesce"), { ran: 1, skipped: 0, coalesced: 9 });
    const due = (await office.job("run")).runs.map(({ dueAtMs }) => dueAtMs).toReversed();
    assert.deepEqual(
      due,
      due.toSorted((a, b) => a - b),
    );
  });

  test("a machine whose clock is set back waits, and one whose clock is set forward has missed some", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", { missed: "coalesce" });
    await office.pass(MINUTE_MS + 500);
    office.world.offMs -= 10 * MINUTE_MS;
    await office.pass(10 * MINUTE_MS);
    assert.equal((await office.job("j")).counts.ran, 1, "none runs twice");
    await office.pass(MINUTE_MS);
    assert.equal((await office.job("j")).counts.ran, 2);
    office.world.offMs += HOUR_MS;
    await office.pass(MINUTE_MS);
    assert.deepEqual((await office.job("j")).counts, { ran: 4, skipped: 0, coalesced: 59 });
  });

  test("one that is edited while it is fired is fired as it is then, or not at all", async (test) => {
    const office = new Office(test);
    await office.start();
    const before = await office.add("j", { message: "!say old" });
    let isEdited = false;
    office.commit = async (changes) => {
      if (!isEdited && changes.some((change) => change.do === "setJob")) {
        isEdited = true;
        await office.store.commit(editJob(before, { message: "!say new" }, office.world.nowMs()).changes);
      }
      return await office.store.commit(changes);
    };
    await office.pass(2 * MINUTE_MS - 1);
    const job = await office.job("j");
    assert.deepEqual([job.counts.ran, job.runs.map(({ note }) => note)], [1, ["new"]]);
  });

  test("one that is removed while its run goes on leaves nothing behind", async (test) => {
    const office = new Office(test);
    await office.start();
    await office.add("j", {
      message: "!slow 5000",
      delivery: { kind: "webhook", channel: "pigeon", to: "x" },
    });
    await office.pass(MINUTE_MS + 1_000);
    await office.tell(removeJob(await office.job("j")));
    await office.pass(HOUR_MS);
    assert.deepEqual((await office.store.jobs({})).rows, []);
    assert.deepEqual([office.flown, await outbox(office, false), await outbox(office, true)], [[], [], []]);
    assert.deepEqual(await office.timers(), [], "its deadline went by, and found nothing to end");
  });

  test("an end that nobody could write down is found when the run would be lost", async (test) => {
    const office = new Office(test);
    await office.start();
    const isEnd = (changes: readonly Change[]): boolean =>
      changes.some((change) => change.do === "setJob" && change.job.current === null);
    office.commit = async (changes) => {
      if (isEnd(changes)) throw new Fault("disk_full", "it is full");
      return await office.store.commit(changes);
    };
    const job = await office.add("j", { message: "!say found", timeoutMs: MINUTE_MS, failuresMax: 1 });
    await office.pass(15 * MINUTE_MS);
    assert.equal((await outbox(office, true)).length, 1, "the outbox has given up");
    office.commit = (changes) => office.store.commit(changes);
    await office.pass(RUN_LOST_MS);
    const after = await office.job("j");
    assert.deepEqual([after.runs.at(-1)?.outcome, after.runs.at(-1)?.note], ["done", "found"]);
    assert.equal(after.isEnabled, true, job.id);
  });

  test("a run of which nothing is there, and whose end nobody tells, is lost, and the next one runs", async (test) => {
    const office = new Office(test);
    await office.start();
    const isEnd = (change: Change): boolean =>
      change.do === "send" && change.outgoing.route.channel === "timer";
    office.commit = (changes) => office.store.commit(changes.filter((change) => !isEnd(change)));
    const target = { kind: "session", key: THREAD } as const;
    await office.add("j", { target, message: "!say hi", timeoutMs: 5_000 });
    await office.pass(MINUTE_MS);
    office.commit = (changes) => office.store.commit(changes);
    await office.pass((alarmAtMs(await office.job("j")) ?? 0) - office.world.nowMs());
    const lost = await office.job("j");
    assert.deepEqual(outcomes(lost), ["lost", "done"]);
    assert.deepEqual(lost.counts, { ran: 2, skipped: 0, coalesced: 19 });
  });

  test("one that waits in a session that was paused is not lost: it ends when that goes on", async (test) => {
    const office = new Office(test);
    const sessions = await office.start();
    await sessions.call("send", { sessionKey: THREAD, message: "!say hi" });
    await office.pass(1_000);
    await sessions.call("stop", { sessionKey: THREAD });
    const target = { kind: "session", key: THREAD } as const;
    await office.add("j", { target, message: "!say late", timeoutMs: 5_000 });
    await office.pass(MINUTE_MS + 5 * RUN_LOST_MS);
    const waits = await office.job("j");
    assert.deepEqual([outcomes(waits), waits.counts.ran], [[], 1]);
    assert.equal(await office.store.waiting(THREAD, 10), 2, "its letter, and that its time is up");
    await sessions.call("cont", { sessionKey: THREAD });
    await office.pass(1_000);
    const after = await office.job("j");
    assert.deepEqual(outcomes(after), ["timeout", "done"], "and the next one stands for all that was due");
    assert.equal(after.counts.ran, 2);
  });

  test("one that is asked for runs at once, beside its times, and never two together", async (test) => {
    const office = new Office(test);
    await office.start();
    const { system, door: _door } = office.gateways[0] ?? assert.fail();
    await office.add("j", { message: "!slow 1000" });
    const { changes, run } = await runAsked(system.jobs, await office.job("j"));
    await office.tell(changes);
    await assert.rejects(runAsked(system.jobs, await office.job("j")), { name: "Fault", code: "busy" });
    await office.pass(2_000);
    const job = await office.job("j");
    assert.deepEqual([job.runs[0]?.id, job.runs[0]?.outcome, job.runs[0]?.isAsked], [run.id, "done", true]);
    assert.deepEqual(job.counts, { ran: 0, skipped: 0, coalesced: 0 });
    await office.pass(MINUTE_MS);
    assert.equal((await office.job("j")).counts.ran, 1);
  });
});

test("jobs of the local store outlive it, and every time is counted once", async (test) => {
  const folder = join(scratch(test), "home");
  const world = new Settable(1);
  const log = openLog("silent");
  let store = await LocalStore.open(folder, { world, log, died: () => {} });
  afterwards(test, () => store.close());
  const madeMs = world.nowMs();
  const live = async (isEnough: (job: Job) => boolean): Promise<Job> => {
    const office = new Office(test, {}, { world, store });
    const sessions = await office.start();
    if ((await store.jobs({})).rows.length === 0)
      await office.add("j", { message: "!slow 1000", missed: "run", timeoutMs: DAY_MS });
    let job: Job | undefined;
    do {
      await office.stepAfterDisk();
      [job] = (await store.jobs({ id: "j" })).rows;
    } while (!job || !isEnough(job));
    let isClosed = false;
    const closed = sessions.close().then(() => (isClosed = true));
    while (!isClosed) {
      await office.stepAfterDisk();
    }
    await closed;
    await store.close();
    store = await LocalStore.open(folder, { world, log, died: () => {} });
    return job;
  };
  await live(({ counts, current }) => counts.ran >= 3 && current !== null);
  world.offMs += 10 * MINUTE_MS;
  await live(({ counts, current }) => counts.ran >= 12 && current === null);
  const [job] = (await store.jobs({ id: "j" })).rows;
  assert.ok(job);
  const { ran, skipped, coalesced } = job.counts;
  assert.equal(ran + skipped + coalesced, ((job.nextAtMs ?? 0) - madeMs) / MINUTE_MS - 1);
  assert.ok(job.runs.every(({ outcome }) => outcome === "done" || outcome === "skipped"));
  const due = job.runs.map(({ dueAtMs }) => dueAtMs);
  assert.equal(new Set(due).size, due.length);
});
