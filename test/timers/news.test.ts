// What the log says of jobs and of conversations that begin anew, on the whole system, in simulated time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { editJob } from "../../src/timers/jobs.ts";
import { MAIN, Office } from "./office.ts";
import { MINUTE_MS } from "./specs.ts";
import { HOUR_MS } from "./stage.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [of: string]: unknown;
}

const [DEBUG, INFO, WARN] = [20, 30, 40];

/** Lines about jobs and resets, and what they are about; without those that only say that a run begins. */
function news({ logged }: Office): readonly unknown[] {
  return logged
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg, level }) => / job |conversation was begun anew/.test(`${msg} `) && level > DEBUG)
    .map(({ level, msg, job, outcome, times, key, why }) => {
      if (/anew/.test(msg)) return [level, key, why];
      return [level, job, outcome ?? times ?? (/disabled/.test(msg) ? "disabled" : "?")];
    });
}

test("a run that failed is told once, and so is that its job was disabled", async (test) => {
  const office = new Office(test);
  await office.start();
  await office.add("good");
  await office.add("bad", { message: "!fail auth", failuresMax: 2 });
  await office.pass(3 * MINUTE_MS);
  assert.equal((await office.job("bad")).isEnabled, false);
  const told = [
    [WARN, "bad", "failed"],
    [WARN, "bad", "failed"],
    [WARN, "bad", "disabled"],
  ];
  assert.deepEqual(news(office), told);
  const { failures = [] } = (await office.gateways[0]?.sessions.call("overview", {})) ?? {};
  const newest = failures.find(({ what }) => what === "job");
  const [run] = (await office.job("bad")).runs;
  assert.deepEqual(newest, {
    at: new Date(run?.endedAtMs ?? 0).toISOString(),
    sessionKey: run?.key,
    what: "job",
    outcome: "failed",
    reason: run?.note,
    job: "bad",
    seq: null,
  });
  assert.deepEqual(
    failures.map(({ what }) => what),
    ["job", "turn", "job", "turn"],
  );
  const line = office.logged.find((each) => each.includes("was not done")) ?? "";
  assert.match(line, /"key":"agent:main:cron:bad:run:[^"]+".*"reason":"[^"]+"/);
  const begun = office.logged.filter((each) => each.includes('"a run of a job begins"'));
  assert.equal(begun.length, 2 + 3);

  const bad = await office.job("bad");
  const edited = editJob(bad, { name: "very bad" }, office.world.nowMs()).changes;
  await office.gateways[0]?.system.commit(edited);
  assert.deepEqual(news(office), told, "another change of its record is no news");
  const before = office.logged.length;
  await office.start();
  const again = await office.job("bad");
  await office.gateways[1]?.system.commit(editJob(again, { name: "bad" }, office.world.nowMs()).changes);
  assert.deepEqual(
    news({ logged: office.logged.slice(before) } as Office),
    [],
    "nor what was before a start",
  );
});

test("a run whose time was up is told, and one that a person stopped is not", async (test) => {
  const office = new Office(test);
  const sessions = await office.start();
  await office.add("late", { message: "!slow 900000\n!say late", timeoutMs: MINUTE_MS });
  await office.add("stopped", { message: "!slow 900000\n!say late", target: { kind: "session", key: MAIN } });
  await office.pass(MINUTE_MS + 1_000);
  await sessions.call("abort", { sessionKey: MAIN });
  await office.pass(MINUTE_MS);
  assert.deepEqual(news(office)[0], [WARN, "late", "timeout"]);
  assert.ok(!JSON.stringify(news(office)).includes("stopped"));
});

test("what was missed is told: how many times were skipped, and for how many a run stands", async (test) => {
  const office = new Office(test);
  await (await office.start()).close();
  for (const missed of ["run", "skip", "coalesce"] as const) await office.add(missed, { missed });
  office.world.offMs = 3 * MINUTE_MS + 30_000;
  await office.start();
  await office.pass(1_000);
  const told = news(office).map((each) => JSON.stringify(each));
  assert.deepEqual(
    told.filter((each) => each.includes("skip")),
    [JSON.stringify([INFO, "skip", 3])],
  );
  assert.deepEqual(
    told.filter((each) => each.includes("coalesce")),
    [JSON.stringify([INFO, "coalesce", 3])],
  );
  assert.deepEqual(
    new Set(told.filter((each) => each.includes("run"))),
    new Set([JSON.stringify([INFO, "run", 1])]),
  );
});

test("a conversation that begins anew is told, with why", async (test) => {
  const office = new Office(test, {
    session: { resetByType: { main: { mode: "idle", idleMinutes: 30 } } },
    agents: { defaults: { heartbeat: { everyMinutes: 0 } } },
  });
  const sessions = await office.start();
  const write = async (): Promise<void> => {
    await sessions.call("send", { sessionKey: MAIN, message: "hello" });
    await office.pass(1_000);
  };
  await write();
  await office.pass(HOUR_MS);
  assert.deepEqual(news(office), [], "not by itself");
  await write();
  assert.deepEqual(news(office), [[INFO, MAIN, "policy"]]);
  const asked = sessions.call("reset", { sessionKey: MAIN });
  await office.pass(1_000);
  assert.equal((await asked).outcome, "done");
  assert.deepEqual(news(office).slice(1), [[INFO, MAIN, "asked"]]);
});
