// What the gateway tells of itself as a whole: what was used today, also before a restart; what went wrong; how much room there is.

import assert from "node:assert/strict";
import { statfs } from "node:fs/promises";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SimulatedWorld, type Output } from "../../src/index.ts";
import { Refused } from "../../src/mail/outbox.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import { openedWired } from "../fixtures/wired.ts";
import { Glass, notesIn, Stage } from "./stage.ts";

type Overview = Output<"overview">;

const MAIN = "agent:main:main";
const HOUR_MS = 60 * 60 * 1_000;
const NOON = Date.UTC(2026, 0, 1, 12);
const LARGE = { agents: { main: { model: "rehearsal/large" } }, timezone: "Europe/Zurich" };

async function overview({ sessions }: Stage): Promise<Overview> {
  return await sessions.call("overview", {});
}

/** When what was before the start is read. */
async function wholeToday(stage: Stage): Promise<Overview["today"]> {
  return await stage.until(async () => {
    const { today } = await overview(stage);
    return today.isWhole && today;
  });
}

/** Sums depend on their order, by a hair. */
function rounded({ cost, ...rest }: Overview["today"]): object {
  return { ...rest, billionths: Math.round(cost * 1e9) };
}

describe("what was used today", () => {
  test("survives restarts, and begins anew at midnight where people live", async (t) => {
    const world = new SimulatedWorld(1, NOON);
    const stage = await Stage.open(t, LARGE, { world });
    assert.equal((await wholeToday(stage)).turns, 0);
    for (const message of ["hello", "!verbose 200", "!fail local"]) {
      await stage.sessions.ask(MAIN, message);
      await stage.sessions.ask("agent:main:thread:other", message);
    }
    const { today, totals } = await overview(stage);
    const tokens = totals.input + totals.output + totals.cacheRead + totals.cacheWrite;
    assert.deepEqual(today, {
      since: "2025-12-31T23:00:00.000Z",
      cost: totals.cost,
      tokens,
      turns: 6,
      isWhole: true,
    });
    assert.ok(today.cost > 0 && today.tokens > 0);

    world.pass(HOUR_MS);
    await stage.reopen();
    assert.deepEqual(rounded(await wholeToday(stage)), rounded(today));
    assert.equal((await overview(stage)).totals.cost, 0, "the totals are of this process");
    await stage.sessions.fork(MAIN);
    await stage.sessions.ask(MAIN, "hello again");
    const more = await wholeToday(stage);
    assert.ok(more.cost > today.cost && more.turns === 7);
    world.pass(HOUR_MS);
    await stage.reopen();
    assert.deepEqual(
      rounded(await wholeToday(stage)),
      rounded(more),
      "what the fork copied is not paid twice",
    );

    world.pass(9 * HOUR_MS); // 23:00 UTC is midnight there.
    const next = { since: "2026-01-01T23:00:00.000Z", cost: 0, tokens: 0, turns: 0, isWhole: true };
    assert.deepEqual((await overview(stage)).today, next);
    await stage.reopen();
    assert.deepEqual(await wholeToday(stage), next, "what was yesterday is not read back");
  });

  test("has what summaries cost, and so have the totals", async (t) => {
    const world = new SimulatedWorld(1, NOON);
    const stage = await Stage.open(t, LARGE, { world });
    for (let at = 0; at < 4; at += 1) await stage.sessions.ask(MAIN, "!verbose 3000");
    await stage.sessions.call("compact", { sessionKey: MAIN });
    assert.ok(notesIn(await stage.entries(MAIN), "paid").length > 0, "a summary was paid for");
    const { usage } = await stage.sessions.status(MAIN);
    const { today, totals } = await overview(stage);
    const billionths = (dollars: number): number => Math.round(dollars * 1e9);
    assert.deepEqual([totals.input, totals.output], [usage.input, usage.output]);
    assert.equal(billionths(totals.cost), billionths(usage.cost));
    world.pass(HOUR_MS);
    await stage.reopen();
    assert.deepEqual(rounded(await wholeToday(stage)), rounded({ ...today, isWhole: true }));
  });

  test("is not whole when a conversation of today is in the archive after a restart", async (t) => {
    const world = new SimulatedWorld(1, NOON);
    const stage = await Stage.open(t, LARGE, { world });
    const { today: before } = await overview(stage);
    await stage.sessions.ask("agent:main:thread:other", "hello");
    await stage.sessions.ask(MAIN, "hello");
    await stage.sessions.call("reset", { sessionKey: MAIN });
    assert.ok((await overview(stage)).today.cost > before.cost, "while it runs it has heard of it");
    world.pass(HOUR_MS);
    await stage.reopen();
    const { isWhole, turns } = await stage.until(async () => {
      const { today } = await overview(stage);
      return today.turns > 0 && today; // It is read.
    });
    assert.deepEqual([isWhole, turns], [false, 1]);
  });
});

describe("what went wrong", () => {
  test("is told newest first, of turns and answers, and not what people stopped", async (t) => {
    const refusing = () => Promise.reject(new Refused("no such chat"));
    const stage = await Stage.open(t, {}, { channels: { pigeon: refusing } });
    assert.deepEqual((await overview(stage)).failures, []);
    await stage.sessions.ask(MAIN, "!say fine");
    await stage.sessions.ask(MAIN, "!fail auth");
    const ann = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;
    const { sessionKey } = await stage.sessions.receive(ann, "!say hi");
    const slow = await stage.sessions.send("agent:main:thread:slow", "!slow 600000");
    await stage.until(
      async () => (await stage.sessions.status("agent:main:thread:slow")).state === "running",
    );
    await stage.sessions.abort("agent:main:thread:slow");
    await stage.sessions.wait("agent:main:thread:slow", slow.id);
    const failures = await stage.until(async () => {
      const { failures: found } = await overview(stage);
      return found.length >= 2 && found;
    });
    assert.deepEqual(
      failures.map(({ at: _at, seq: _seq, ...rest }) => rest),
      [
        {
          sessionKey,
          what: "answer",
          outcome: "refused",
          reason: "the channel refused it: no such chat",
          job: null,
        },
        {
          sessionKey: MAIN,
          what: "turn",
          outcome: "failed",
          reason: "rehearsed: the script says !fail auth",
          job: null,
        },
      ],
    );
    const [ended] = (await stage.entries(MAIN)).slice(-1);
    assert.deepEqual([failures[1]?.at, failures[1]?.seq], [ended?.timestamp, ended?.seq]);
    await stage.reopen();
    assert.deepEqual((await overview(stage)).failures, [], "since the start");
  });

  test("is bounded, in number and in words, and says no secret", async (t) => {
    const secret = "the heron walks at dawn";
    const shape = "sk-abcdefghijklmnopqrstuvwx";
    const config = {
      models: { providers: { ollama: { baseUrl: "http://127.0.0.1:1/v1", apiKey: secret } } },
      agents: { main: { model: "glass/one" } },
    };
    const words = `${"x".repeat(290)} ${secret}, ${shape} ${"y".repeat(1_000)}`;
    const model = new Glass(async (_request, times) => ({
      kind: "failed",
      why: "local",
      message: `${times} ${words}`,
      retryAfterMs: null,
      throttled: false,
    }));
    const stage = await Stage.open(t, config, { models: [model] });
    for (let at = 0; at < 23; at += 1) await stage.sessions.ask(MAIN, "hello");
    const { failures } = await overview(stage);
    assert.deepEqual(
      failures.map(({ reason }) => Number(reason.split(" ")[0])),
      Array.from({ length: 20 }, (_, at) => 23 - at),
    );
    for (const { reason } of failures) {
      assert.equal(reason.length, 300);
      assert.doesNotMatch(reason, /heron|the h|sk-a/);
      assert.match(reason, /x \[sec/);
    }
  });
});

test("room and journal are those of the home", async (t) => {
  const stage = await Stage.open(t);
  await stage.sessions.ask(MAIN, "hello");
  const { disk, journal } = await overview(stage);
  const { bsize, blocks } = await statfs(stage.home);
  assert.equal(disk?.totalBytes, bsize * blocks);
  assert.ok(disk.freeBytes > 0 && disk.freeBytes < disk.totalBytes);
  assert.equal(journal?.bytes, statSync(join(stage.home, "state.sqlite-wal")).size);
  assert.ok(journal.bytes > 0);
});

test("of a store that a program brings along nobody knows the room", async (t) => {
  const world = new SimulatedWorld(1, NOON);
  const { sessions } = await openedWired(t, {}, { world, store: new MemoryStore(world) });
  const { disk, journal } = await sessions.call("overview", {});
  assert.deepEqual([disk, journal], [null, null]);
});
