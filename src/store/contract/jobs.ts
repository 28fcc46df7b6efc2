// Records of what is done at times.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../timers/job.ts";
import { pages, refused, withoutTrace, type Corner } from "./corner.ts";

export function jobContract(corner: () => Corner): void {
  describe("jobs", () => {
    test("a job is set, changed and cleared by whoever saw its last version", async () => {
      const at = corner();
      const job = jobOf(at, "a");
      const set = (to: Job, expectVersion: number | null): Promise<unknown> =>
        at.store.commit([{ do: "setJob", job: to, expectVersion }]);
      await set(job, null);
      assert.deepEqual(await listed(at), [job]);
      await withoutTrace(at, "stale_writer", [{ do: "setJob", job, expectVersion: null }]);
      const second = { ...job, version: 2, message: "another", counts: { ...job.counts, ran: 7 } };
      await set(second, 1);
      await withoutTrace(at, "stale_writer", [{ do: "setJob", job: second, expectVersion: 1 }]);
      await at.reopen();
      assert.deepEqual(await listed(at), [second]);
      await withoutTrace(at, "stale_writer", [{ do: "clearJob", id: job.id, expectVersion: 1 }]);
      await at.store.commit([{ do: "clearJob", id: job.id, expectVersion: 2 }]);
      assert.deepEqual(await listed(at), []);
      await withoutTrace(at, "stale_writer", [{ do: "clearJob", id: job.id, expectVersion: 2 }]);
      await withoutTrace(at, "stale_writer", [{ do: "setJob", job: second, expectVersion: 1 }]);
    });

    test("of two who saw the same version one changes it, and the letter of the other is not posted", async () => {
      const at = corner();
      const key = await at.open("a");
      const job = jobOf(at, "a");
      await at.store.commit([{ do: "setJob", job, expectVersion: null }]);
      const fire = (name: string): Promise<unknown> =>
        at.store.commit([
          at.posting(key, name),
          { do: "setJob", job: { ...job, version: 2, name }, expectVersion: 1 },
        ]);
      const fired = await Promise.allSettled([fire("first"), fire("second")]);
      assert.deepEqual(
        fired.map(({ status }) => status),
        ["fulfilled", "rejected"],
      );
      assert.deepEqual(await at.waiting(key), ["first"]);
      assert.deepEqual(
        (await listed(at)).map(({ name }) => name),
        ["first"],
      );
    });

    test("a version that is not the next one, and a record without its names, are refused", async () => {
      const at = corner();
      const job = jobOf(at, "a");
      await refused(
        "bad_input",
        at.store.commit([{ do: "setJob", job: { ...job, version: 2 }, expectVersion: null }]),
      );
      await refused("bad_input", at.store.commit([{ do: "setJob", job, expectVersion: 1 }]));
      await refused("bad_input", at.store.commit([{ do: "setJob", job: {} as Job, expectVersion: null }]));
      const large = { ...job, message: "x".repeat(2 ** 20) };
      await refused("bad_input", at.store.commit([{ do: "setJob", job: large, expectVersion: null }]));
      assert.deepEqual(await listed(at), []);
    });

    test("jobs come by id, of one agent or by their name, in pages", async () => {
      const at = corner();
      const jobs = ["c", "a", "e", "b", "d"].map((name) => jobOf(at, name));
      for (const job of jobs) await at.store.commit([{ do: "setJob", job, expectVersion: null }]);
      const ids = jobs.map(({ id }) => id).toSorted();
      for (const limit of [1, 2, 5, 100]) {
        const found = await pages((page) => at.store.jobs({ ...page, agent: at.agent }), limit);
        assert.deepEqual(
          found.map(({ id }) => id),
          ids,
        );
      }
      const all = await pages((page) => at.store.jobs(page));
      assert.ok(ids.every((id) => all.some((job) => job.id === id)));
      const [one] = ids;
      assert.ok(one);
      assert.equal((await at.store.jobs({ id: one })).rows[0]?.id, one);
      assert.deepEqual((await at.store.jobs({ id: one, agent: "nobody" })).rows, []);
    });
  });
}

async function listed(at: Corner): Promise<Job[]> {
  return await pages((page) => at.store.jobs({ ...page, agent: at.agent }));
}

export function jobOf(at: { readonly agent: string; id(name: string): string }, name: string): Job {
  return {
    id: at.id(name),
    agent: at.agent,
    version: 1,
    name,
    schedule: { kind: "every", everyMs: 60_000, fromMs: 0 },
    staggerMs: 0,
    target: { kind: "fresh" },
    message: "look after it",
    model: null,
    thinking: null,
    limits: null,
    timeoutMs: 60_000,
    delivery: { kind: "none" },
    missed: "coalesce",
    graceMs: 0,
    keepMs: 0,
    failuresMax: 5,
    madeAtMs: 0,
    madeBy: null,
    asked: null,
    isEnabled: true,
    why: null,
    nextAtMs: 60_000,
    current: null,
    failures: 0,
    counts: { ran: 0, skipped: 0, coalesced: 0 },
    runs: [],
  };
}
