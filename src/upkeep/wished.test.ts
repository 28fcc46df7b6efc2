// Runs of jobs are archived when their job says so, in either mode: that was decided by whoever made the job.

import assert from "node:assert/strict";
import { test } from "node:test";
import { afterwards, type Heard } from "../../test/fixtures/home.ts";
import { DAY, facts, HOUR, item, make, NOTHING, NOW, SetClock } from "../../test/fixtures/upkeep.ts";
import { specOf } from "../../test/timers/specs.ts";
import { openLog } from "../base/log.ts";
import type { UpkeepPolicy } from "../config/config.ts";
import { parseKey } from "../routing/key.ts";
import type { RunState } from "../sessions/session.ts";
import { MemoryStore } from "../store/memory.ts";
import { addJob } from "../timers/jobs.ts";
import { planOf } from "./plan.ts";
import { Upkeep } from "./rounds.ts";

const POLICY: UpkeepPolicy = { ...NOTHING, mode: "warn", subagentHours: 1, staleDays: 30 };

test("mode warn archives runs past their keep, and none of what only the policy wants gone", async (test) => {
  const world = new SetClock();
  const store = new MemoryStore(world);
  afterwards(test, () => store.close());
  const ended = (): RunState => ({ kind: "ended", atMs: world.nowMs(), outcome: "done", reason: null });
  const { changes } = addJob(specOf({ keepMs: 2 * HOUR }), { id: "job", agent: "main", nowMs: NOW });
  await make(store, world, "agent:main:direct:stale");
  world.set(NOW - 3 * HOUR);
  await make(store, world, "agent:main:main");
  await store.commit(changes);
  const run = "agent:main:cron:job:run";
  for (const key of [`${run}:one`, `${run}:two`, "agent:main:cron:gone:run:x", "agent:main:subagent:s"])
    await make(store, world, key, { state: ended() });
  await make(store, world, `${run}:parent`);
  await make(store, world, "agent:main:subagent:below", { parent: `${run}:parent`, state: ended() });
  await store.commit([{ do: "run", key: parseKey(`${run}:parent`), fence: 0, state: ended() }]);
  world.set(NOW - HOUR);
  await make(store, world, `${run}:young`, { state: ended() });
  world.set(NOW);
  const heard: Heard[] = [];
  const upkeep = new Upkeep({
    world,
    log: openLog("info", { write: (line) => void heard.push(JSON.parse(line) as Heard) }),
    store,
    commit: (each) => store.commit(each),
    policy: POLICY,
    programs: () => new Set(),
  });
  afterwards(test, () => upkeep.close());
  upkeep.start();
  while (upkeep.standing.rounds < 2) await new Promise((resolve) => setImmediate(resolve));
  const left = (await upkeep.plan()).totals.archive;
  await upkeep.close();
  const archives = (await store.archives({})).rows.map(({ key, why }) => `${why} ${key}`);
  assert.deepEqual(archives.toSorted(), [`ended ${run}:one`, `ended ${run}:two`]);
  const warned = heard.find(({ msg }) => msg.startsWith("upkeep has something to do"));
  assert.ok(left > 0);
  assert.equal((warned as unknown as { archive: number }).archive, left, "what is done is not announced");
});

test("U2: a run with children goes with them, by the policy", () => {
  const run = "agent:main:cron:job:run";
  const old = { kind: "cron", state: "ended", endedAtMs: NOW - DAY, job: "job" } as const;
  const items = [
    item("agent:main:subagent:a", {
      ...old,
      kind: "subagent",
      job: null,
      parent: item(`${run}:parent`).key,
    }),
    item(`${run}:parent`, { ...old, children: 1 }),
    item(`${run}:alone`, old),
  ];
  const { steps } = planOf(facts(items, { keepMs: new Map([["job", HOUR]]) }), POLICY, NOW);
  const wished = steps.flatMap((step) => (step.do === "archive" && step.isWished ? [step.key] : []));
  assert.deepEqual([steps.length, wished], [3, [`${run}:alone`]]);
});
