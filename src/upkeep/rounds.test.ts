// Upkeep on real stores: what is planned is what is done, whoever interrupts it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { afterwards, scratch, type Heard } from "../../test/fixtures/home.ts";
import { DAY, fill, HOUR, make, MIB, NOTHING, NOW, SetClock, told } from "../../test/fixtures/upkeep.ts";
import { Fault } from "../base/fault.ts";
import { openLog } from "../base/log.ts";
import type { UpkeepPolicy } from "../config/config.ts";
import type { Letter } from "../mail/letter.ts";
import { wishOf } from "../mail/wish.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { LocalStore } from "../store/local/local.ts";
import { jobOf } from "../store/contract/jobs.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Change } from "../store/change.ts";
import type { Archive, Holding, Page, Store } from "../store/store.ts";
import type { Job } from "../timers/job.ts";
import { entryId, type Draft } from "../transcript/entry.ts";
import { NOTHING_DONE, type Report } from "./apply.ts";
import type { Plan, Step } from "./plan.ts";
import { Upkeep } from "./rounds.ts";

const POLICY: UpkeepPolicy = { ...NOTHING, staleDays: 60, sessionsMax: 100, subagentHours: 24 * 30 };

interface Scene {
  readonly store: Store;
  readonly world: SetClock;
  readonly heard: Heard[];
  readonly upkeep: (policy?: UpkeepPolicy, more?: Meddling) => Upkeep;
}

interface Meddling {
  readonly commit?: (changes: readonly Change[]) => Promise<void>;
  readonly store?: Partial<Store>;
  readonly programs?: () => readonly SessionKey[];
}

const ENGINES: Readonly<Record<string, (test: TestContext, world: SetClock) => Promise<Store>>> = {
  memory: async (_, world) => new MemoryStore(world),
  local: async (test, world) => {
    const died = (fault: Fault): never => {
      throw fault;
    };
    return await LocalStore.open(join(scratch(test), "home"), { world, log: openLog("silent"), died });
  },
};

async function scene(test: TestContext, engine: string): Promise<Scene> {
  const world = new SetClock();
  const opened = ENGINES[engine];
  assert.ok(opened);
  const store = await opened(test, world);
  afterwards(test, () => store.close());
  const heard: Heard[] = [];
  const log = openLog("info", { write: (line) => void heard.push(JSON.parse(line) as Heard) });
  const upkeep = (policy = POLICY, { commit, store: part, programs = () => [] }: Meddling = {}): Upkeep => {
    const seen = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get({ ...part }, name) ?? Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const committed = async (changes: readonly Change[]) => {
      await commit?.(changes);
      return await store.commit(changes);
    };
    const made = new Upkeep({
      world,
      log,
      store: seen,
      commit: committed,
      policy,
      programs: () => new Set(programs()),
    });
    afterwards(test, () => made.close());
    return made;
  };
  return { store, world, heard, upkeep };
}

async function all<Row>(ask: (cursor: string | null) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null = null; ;) {
    const page: Page<Row> = await ask(cursor);
    rows.push(...page.rows);
    if (page.next === null) return rows;
    cursor = page.next;
  }
}

async function sessionIn(store: Store, key: SessionKey): Promise<Session> {
  const session = await store.session(key);
  assert.ok(session);
  return session;
}

const archivesIn = (store: Store): Promise<Archive[]> => all((cursor) => store.archives({ cursor }));
const holdingsIn = (store: Store): Promise<Holding[]> => all((cursor) => store.holdings({ cursor }));

function of<Do extends Step["do"]>({ steps }: Plan, word: Do): Extract<Step, { do: Do }>[] {
  return steps.filter((step): step is Extract<Step, { do: Do }> => step.do === word);
}

/** Runs until it is over; what it says was done. */
async function ran(upkeep: Upkeep): Promise<Report> {
  const run = upkeep.run();
  await run.ended;
  assert.ok(run.report !== null);
  return run.report;
}

function jobFor(key: SessionKey): Job {
  return { ...jobOf({ agent: "main", id: (name) => name }, "job"), target: { kind: "session", key } };
}

for (const engine of Object.keys(ENGINES))
  describe(`upkeep of a store (${engine})`, () => {
    test("a run does exactly what the plan said, and leaves nothing to do", async (test) => {
      const { store, world, upkeep } = await scene(test, engine);
      await fill(store, world);
      world.set(NOW + 2 * HOUR); // A blob is held for an hour.
      const kept = upkeep();
      const before = new Map((await holdingsIn(store)).map((each) => [each.session.key, each]));
      const plan = await kept.plan();
      assert.deepEqual(
        new Set(of(plan, "archive").map(({ why }) => why)),
        new Set(["ended", "stale", "cap"]),
      );
      const report = await ran(kept);
      const { archive, collect } = plan.totals;
      assert.ok(archive > 100 && collect === 1);
      assert.deepEqual(
        { ...report, packedBytes: 0, freedBytes: 0 },
        { ...NOTHING_DONE, archived: archive, packed: archive, collected: collect },
      );
      const gone = of(plan, "archive").map(({ key, why }) => `${why} ${key}`);
      const archives = await archivesIn(store);
      assert.deepEqual(archives.map(({ key, why }) => `${why} ${key}`).toSorted(), gone.toSorted());
      for (const each of archives) {
        const transcript = before.get(each.key)?.session.transcript;
        assert.deepEqual([each.id, each.session.transcript], [transcript?.id, transcript]);
        assert.ok(each.packedBytes !== null);
      }
      const left = (await holdingsIn(store)).map(({ session }) => session.key);
      const stay = [...before.keys()].filter((key) => !archives.some((each) => each.key === key));
      assert.deepEqual(left.toSorted(), stay.toSorted());
      assert.deepEqual((await upkeep().plan()).steps, []);
    });

    test("archives past their days are erased, and the disk's budget is kept", async (test) => {
      const { store, world, upkeep } = await scene(test, engine);
      const texts = [randomBytes(300 * 1024).toString("hex")]; // Packing halves it.
      for (const [n, day] of [90, 80, 50, 49].entries()) {
        world.set(NOW - day * DAY);
        await make(store, world, `agent:main:direct:p${n}`, { texts });
      }
      world.set(NOW - 40 * DAY);
      assert.equal((await ran(upkeep({ ...NOTHING, staleDays: 35 }))).archived, 2);
      world.set(NOW);
      await ran(upkeep({ ...NOTHING, archiveDays: 30, sessionsMax: 1 }));
      assert.deepEqual(
        (await archivesIn(store)).map(({ key, why }) => `${why} ${key}`),
        ["cap agent:main:direct:p2"],
      );
      // Two are left: about 0.9 MiB. The archive is of today.
      const tight = upkeep({ ...NOTHING, diskMiB: 1, highWater: 0.5 });
      const other = randomBytes(300 * 1024).toString("hex");
      const big = { texts: [...texts, other] };
      await make(store, world, "agent:main:direct:p9", big);
      const plan = await tight.plan();
      assert.deepEqual(told(plan), ["archive p3 budget", "archive p9 budget"]);
      await ran(tight);
      world.set(NOW + 2 * DAY);
      const next = await tight.plan();
      assert.deepEqual(
        [next.totals.purge > 0, of(next, "purge")[0]?.key, next.totals.archive],
        [true, parseKey("agent:main:direct:p2"), 0],
      );
      await ran(tight);
      const { transcripts, archives } = await store.use();
      assert.ok(transcripts + archives <= MIB, `${transcripts} + ${archives}`);
    });

    test("what is touched between the plan and its doing is left alone, and counted", async (test) => {
      const { store, world, upkeep } = await scene(test, engine);
      await fill(store, world, 40);
      const victims = of(await upkeep({ ...NOTHING, staleDays: 30 }).plan(), "archive").map(({ key }) => key);
      assert.ok(victims.length > 8);
      const [pinned, written, busy, aimed] = victims.filter((key) => key.includes("direct")) as [
        SessionKey,
        SessionKey,
        SessionKey,
        SessionKey,
      ];
      let [isFirst, isPlanned] = [true, false];
      const meddling = {
        // Right when the first archives are asked for: somebody has been faster.
        commit: async (changes: readonly Change[]) => {
          if (!isFirst || changes[0]?.do !== "archive") return;
          isFirst = false;
          await store.commit([letterTo(written)]);
          await store.commit([{ do: "set", key: pinned, version: null, settings: { pinned: true } }]);
          await store.commit([{ do: "setJob", job: jobFor(aimed), expectVersion: null }]);
        },
        programs: () => {
          const running = isPlanned ? [busy] : []; // It is asked for the plan, and then before each piece.
          isPlanned = true;
          return running;
        },
      };
      const kept = upkeep({ ...NOTHING, staleDays: 30 }, meddling);
      const report = await ran(kept);
      assert.deepEqual([report.archived, report.skipped], [victims.length - 4, 4]);
      for (const key of [pinned, written, busy, aimed]) assert.ok((await store.session(key)) !== null);
    });

    test("stopped after any step, the next round finishes what is left", async (test) => {
      const { store, world, upkeep } = await scene(test, engine);
      await fill(store, world, 60);
      const policy = { ...NOTHING, staleDays: 20 };
      const wanted = of(await upkeep(policy).plan(), "archive").map(({ key }) => key);
      for (let after = 0; ; after += 1) {
        const stop = new AbortController();
        let packs = 0;
        const kept: Upkeep = upkeep(policy, {
          store: {
            pack: async (id: string) => {
              if (packs++ === after) {
                void kept.close();
                stop.abort();
              }
              if (stop.signal.aborted && after % 2 === 0) throw new Fault("closed", "the store is closed");
              await store.pack(id);
            },
          },
        });
        const run = kept.run();
        await run.ended.catch(() => {});
        if (!stop.signal.aborted) break;
        await kept.close();
        assert.equal(run.report?.stopped, "closed");
      }
      const archives = await archivesIn(store);
      assert.deepEqual(archives.map(({ key }) => key).toSorted(), wanted.toSorted());
      assert.ok(archives.every(({ packedBytes }) => packedBytes !== null));
      assert.deepEqual((await upkeep(policy).plan()).steps, []);
    });

    test("on a full disk what frees room goes on, and the rest is tried again", async (test) => {
      const { store, world, upkeep, heard } = await scene(test, engine);
      await fill(store, world, 50);
      world.set(NOW - 20 * DAY);
      await ran(upkeep({ ...NOTHING, staleDays: 20 }));
      const old = (await archivesIn(store)).length;
      await store.putBlob(Buffer.from("nobody names this one either"));
      world.set(NOW + 2 * HOUR);
      const policy = { ...NOTHING, staleDays: 10, archiveDays: 10 };
      const full = { pack: async () => Promise.reject(new Fault("disk_full", "no room")) };
      const report = await ran(upkeep(policy, { store: full }));
      assert.equal(report.stopped, "disk_full");
      assert.deepEqual([report.purged, report.packed, report.collected], [old, 0, 1]);
      assert.ok(report.archived > 0 && report.archived < 30, "no further archive is begun");
      assert.equal(heard.filter(({ msg }) => msg.includes("the disk is full")).length, 1);
      const again = await ran(upkeep(policy));
      assert.equal(again.stopped, null);
      assert.ok((await archivesIn(store)).every(({ packedBytes }) => packedBytes !== null));
    });

    test("a large transcript is asked to go on in a new file, once", async (test) => {
      const { store, world, upkeep } = await scene(test, engine);
      const key = parseKey("agent:main:main");
      await make(store, world, key, { texts: Array.from({ length: 12 }, () => "x".repeat(100_000)) });
      const policy = { ...NOTHING, rotateMiB: 1 };
      assert.deepEqual((await upkeep(policy).plan()).steps, []); // Nothing was summarised.
      const { transcript } = await sessionIn(store, key);
      const summary: Draft = {
        type: "compaction",
        timestamp: new Date(NOW).toISOString(),
        summary: "They said x.",
        firstKeptEntryId: entryId(transcript.id, 11),
        tokensBefore: 9,
      };
      const append = { do: "append", key, fence: 0, after: 12, entries: [summary], rewindTo: null } as const;
      await store.commit([{ ...append, contextSeq: 11 }]);
      assert.equal((await ran(upkeep(policy))).rotated, 1);
      const { rows } = await store.mail(key, {});
      assert.deepEqual(rows.map(wishOf), ["rotate"]);
      assert.deepEqual(await ran(upkeep(policy)), { ...NOTHING_DONE, skipped: 1 });
      assert.equal((await store.mail(key, {})).rows.length, 1);
    });
  });

describe("rounds", () => {
  test("mode warn says once what there is to do, does none of it, and packs what others archived", async (test) => {
    const { store, world, upkeep, heard } = await scene(test, "memory");
    await fill(store, world, 50);
    const some = parseKey("agent:main:direct:p50b");
    const { transcript } = await sessionIn(store, some);
    const expect = { transcript: transcript.id, lastSeq: transcript.lastSeq };
    await store.commit([{ do: "archive", key: some, expect, why: "asked" }]);
    const kept = upkeep({ ...NOTHING, mode: "warn", staleDays: 30 });
    const sessions = (await store.use()).sessions;
    kept.start();
    while (kept.standing.rounds < 3) await new Promise((resolve) => setImmediate(resolve));
    await kept.close();
    assert.equal((await store.use()).sessions, sessions);
    assert.ok((await archivesIn(store)).every(({ packedBytes }) => packedBytes !== null));
    const warned = heard.filter(({ msg }) => msg.startsWith("upkeep has something to do"));
    assert.equal(warned.length, 1);
    assert.equal(
      kept.standing.planned?.archive,
      of(await upkeep({ ...NOTHING, staleDays: 30 }).plan(), "archive").length,
    );
    world.set(NOW + 25 * HOUR);
    const later = upkeep({ ...NOTHING, mode: "warn", staleDays: 30 });
    later.start();
    while (later.standing.rounds < 2) await new Promise((resolve) => setImmediate(resolve));
    await later.close();
    assert.equal(heard.filter(({ msg }) => msg.startsWith("upkeep has something to do")).length, 2);
  });

  test("mode enforce does it, and says that only protected sessions are left above the budget", async (test) => {
    const { store, world, upkeep, heard } = await scene(test, "memory");
    const texts = [randomBytes(600 * 1024).toString("hex")];
    await make(store, world, "agent:main:main", { texts });
    await make(store, world, "agent:main:direct:p1", { texts });
    world.set(NOW);
    const kept = upkeep({ ...NOTHING, diskMiB: 1, staleDays: 30 });
    kept.start();
    while (kept.standing.rounds < 2) await new Promise((resolve) => setImmediate(resolve));
    await kept.close();
    assert.deepEqual(
      (await holdingsIn(store)).map(({ session }) => session.kind),
      ["main"],
    );
    assert.equal(kept.standing.done.archived, 1);
    assert.ok(kept.standing.over > 0);
    assert.equal(heard.filter(({ msg }) => msg.includes("upkeep.diskMiB")).length, 1);
  });

  test("a round that fails is logged, and the next one comes; a store that is closed ends them", async (test) => {
    const { store, world, upkeep, heard } = await scene(test, "memory");
    await fill(store, world, 3);
    let looks = 0;
    const use: Store["use"] = async () => {
      looks += 1;
      if (looks === 1) throw new Fault("overloaded", "too much");
      if (looks > 3) throw new Fault("closed", "the store is closed");
      return await store.use();
    };
    const kept = upkeep({ ...NOTHING, mode: "warn" }, { store: { use } });
    kept.start();
    while (looks < 4) await new Promise((resolve) => setImmediate(resolve));
    await kept.close();
    assert.equal(kept.standing.rounds, 2);
    assert.equal(heard.filter(({ msg }) => msg.includes("a round of upkeep failed")).length, 1);
  });

  test("whoever asks while a run is under way gets that one", async (test) => {
    const { store, world, upkeep } = await scene(test, "memory");
    await fill(store, world, 20);
    const kept = upkeep({ ...NOTHING, staleDays: 5 });
    const run = kept.run();
    assert.equal(kept.run(), run);
    assert.equal(kept.find(run.id), run);
    await run.ended;
    assert.deepEqual(run.progress.done, run.progress.of);
    assert.notEqual(kept.run().id, run.id);
  });
});

function letterTo(key: SessionKey): Change {
  const letter: Letter = {
    id: `ext:somebody:${key}`,
    from: { kind: "external_user", channel: null, peer: null },
    class: "interactive",
    mode: "followup",
    content: [{ type: "text", text: "Wait!" }],
    replyTo: null,
    origin: null,
  };
  return { do: "post", to: [key], letter };
}
