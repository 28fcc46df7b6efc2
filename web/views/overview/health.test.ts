import assert from "node:assert/strict";
import { test } from "node:test";
import { illsIn, type Looked } from "./health.ts";

const WELL: Looked = {
  now: {
    providers: [{ provider: "anthropic", inUse: 1, limit: null, coolsForMs: 0 }],
    servers: [
      { name: "files", state: "ready", why: null, tools: 3, retryAt: null },
      { name: "lazy", state: "not started", why: null, tools: 0, retryAt: null },
    ],
    upkeep: { mode: "warn", rounds: 1, lookedAt: null, use: null, steps: null, overBytes: 0 },
    disk: { freeBytes: 50e9, totalBytes: 100e9 },
    failures: [],
  },
  lateMs: 3,
  jobs: [],
  heartbeats: [],
  nowMs: Date.parse("2026-06-01T09:00:00Z"),
};

const JOB: Looked["jobs"][number] = {
  id: "3f9c2a7be410",
  agent: "main",
  name: "morning",
  state: "waiting",
  enabled: true,
  why: null,
  when: "every 15m",
  timezone: null,
  next: null,
  target: "fresh",
  delivery: "main",
  message: "look",
  last: null,
  failures: 0,
};

function told(looked: Looked): readonly string[] {
  return illsIn(looked).map(({ is, what, words }) => `${is} ${what}: ${words}`);
}

test("when all is well nothing is said", () => {
  assert.deepEqual(illsIn({ ...WELL, jobs: [JOB] }), []);
  assert.deepEqual(illsIn({ ...WELL, now: { ...WELL.now, disk: null }, lateMs: null }), []);
});

test("each illness says what it is, and what is worse comes first", () => {
  const { now } = WELL;
  const looked: Looked = {
    ...WELL,
    now: {
      providers: [{ provider: "anthropic", inUse: 0, limit: 4, coolsForMs: 12_000 }],
      servers: [
        { name: "files", state: "down", why: "it\u202e ended\n", tools: 0, retryAt: "2026-06-01T09:00:30Z" },
      ],
      upkeep: { ...now.upkeep, steps: 1 },
      disk: { freeBytes: 4e9, totalBytes: 100e9 },
      failures: [],
    },
    lateMs: 800,
    jobs: [
      { ...JOB, failures: 2 },
      { ...JOB, enabled: false, why: "5 failures in a row" },
    ],
  };
  assert.deepEqual(told(looked), [
    "bad Tool server files: down: it ended",
    "bad Job morning: was disabled: 5 failures in a row",
    "warn Disk: 4.0 GB free, 4% of it",
    "warn Event loop: the daemon comes to things 800 ms late",
    "warn Provider anthropic: has too much to do, and is not asked for 12.0 s",
    "warn Job morning: failed 2 times in a row",
    "warn Upkeep: 1 step waits: in mode warn nobody does it",
  ]);
  assert.match(illsIn(looked)[0]?.todo ?? "", /tried again in 30s/);
});

test("a disk that is nearly full is bad however large it is, and what nothing frees is said before what could be done", () => {
  const { now } = WELL;
  assert.deepEqual(told({ ...WELL, now: { ...now, disk: { freeBytes: 5e8, totalBytes: 1e9 } } }), [
    "bad Disk: 500.0 MB free, 50% of it",
  ]);
  const over: Looked["now"] = { ...now, upkeep: { ...now.upkeep, steps: 3, overBytes: 2e6 } };
  assert.deepEqual(told({ ...WELL, now: over }), ["warn Upkeep: 2.0 MB above the budget stay"]);
  const enforced: Looked["now"] = { ...now, upkeep: { ...now.upkeep, steps: 3, mode: "enforce" } };
  assert.deepEqual(told({ ...WELL, now: enforced }), []);
});

test("a heartbeat is told of while its alert holds", () => {
  const alert = { at: "2026-06-01T08:00:00Z", text: "the backup is old", isOver: false };
  const beat: Looked["heartbeats"][number] = {
    agent: "main",
    everyMinutes: 30,
    hours: null,
    model: null,
    to: "main",
    task: "there",
    state: "idle",
    nextAt: null,
    last: null,
    failures: 1,
    trouble: "no key",
    alert,
  };
  assert.deepEqual(told({ ...WELL, heartbeats: [beat] }), [
    "warn Heartbeat of main: failed 1 time in a row: no key",
    "warn Heartbeat of main: alert: the backup is old",
  ]);
  const over = { ...beat, failures: 0, alert: { ...alert, isOver: true } };
  assert.deepEqual(told({ ...WELL, heartbeats: [over] }), []);
});

test("what failed in the last hour is told; what is older is not, nor the run of a job beside its turn", () => {
  const failure = { sessionKey: null, outcome: "failed", reason: "", job: null, seq: null };
  const at = (minutes: number): string => new Date(WELL.nowMs - minutes * 60_000).toISOString();
  const turn = (minutes: number) => ({ ...failure, what: "turn", at: at(minutes) }) as const;
  const having = (failures: Looked["now"]["failures"]): readonly string[] =>
    told({ ...WELL, now: { ...WELL.now, failures } });
  assert.deepEqual(having([turn(61)]), []);
  assert.deepEqual(having([{ ...failure, what: "job", at: at(1) }]), []);
  assert.deepEqual(having([turn(1), { ...failure, what: "answer", at: at(2) }, turn(59), turn(61)]), [
    "warn Failures: 2 turns failed, 1 answer could not be delivered in the last hour",
  ]);
  assert.deepEqual(having(Array.from({ length: 20 }, () => turn(1))), [
    "warn Failures: 20 turns failed in the last hour, or more",
  ]);
});
