// Stopping and starting again while people write: nothing that was acknowledged is lost, and nothing is there twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "./daemon.ts";
import { Line } from "./line.ts";

const MAIN = "agent:main:main";
const WRITERS = 8;

/** Writes numbered messages until it is told to stop; one that was not acknowledged is sent again under its id. */
async function write(daemon: Daemon, sessionKey: string, isOver: () => boolean): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let n = 1; !isOver(); n += 1) {
    for (;;) {
      try {
        const id = `${sessionKey}-${n}`;
        const message = `!slow 5\n!say ${n}`;
        await daemon.call("send", { sessionKey, message, id, mode: "followup" });
        acknowledged.push(message);
        break;
      } catch {
        await sleep(20); // It stops, is not there, or has a full mailbox.
      }
    }
    await sleep(5);
  }
  return acknowledged;
}

async function saidIn(
  daemon: Daemon,
  sessionKey: string,
): Promise<{ readonly kind: string; readonly text: string }[]> {
  const all: { readonly kind: string; readonly text: string }[] = [];
  let before: number | null = null;
  do {
    const page: Awaited<ReturnType<typeof daemon.call<"history">>> = await daemon.call("history", {
      sessionKey,
      limit: 200,
      ...(before === null ? {} : { before }),
    });
    all.unshift(...page.entries);
    before = page.next;
  } while (before !== null);
  return all;
}

for (const signal of ["SIGTERM", "SIGKILL"] as const)
  test(`a restart by ${signal} under load loses no message and doubles none`, async (t) => {
    const daemon = await Daemon.start(t, { config: { gateway: { drainSeconds: 1 } } });
    let isOver = false;
    const keys = Array.from({ length: WRITERS }, (_, n) => `agent:main:direct:writer-${n}`);
    const writing = keys.map((key) => write(daemon, key, () => isOver));
    for (let restart = 0; restart < 2; restart += 1) {
      await sleep(400);
      const exit = await daemon.kill(signal);
      assert.equal(exit, signal === "SIGTERM" ? 0 : "SIGKILL");
      await daemon.begin();
    }
    await sleep(300);
    isOver = true;
    const acknowledged = await Promise.all(writing);
    for (const [at, sessionKey] of keys.entries()) {
      const last = acknowledged[at]?.length ?? 0;
      await daemon.call("wait", { sessionKey, id: `${sessionKey}-${last}`, timeoutMs: 60_000 });
      const said = await saidIn(daemon, sessionKey);
      const written = said.filter(({ kind }) => kind === "user").map(({ text }) => text);
      assert.deepEqual(written, acknowledged[at], sessionKey);
    }
  });

test("while it drains, who looks is answered, nothing new is taken, and a turn that runs may end", async (t) => {
  const daemon = await Daemon.start(t);
  await using line = await Line.open(daemon);
  await line.subscribe("follow", { sessionKey: MAIN, from: 0 });
  await daemon.call("send", { sessionKey: MAIN, message: "!slow 1500\n!say to the end" });
  await line.until((told) => JSON.stringify(told).includes("turn-started"));
  const stopping = daemon.kill("SIGTERM");
  while ((await daemon.fetch("/readyz")).status !== 503) await sleep(5);
  assert.equal((await daemon.fetch("/healthz")).status, 200);
  assert.equal((await daemon.fetch("/v1/sessions")).status, 200);
  const body = JSON.stringify({ message: "one more" });
  const refused = await daemon.fetch(`/v1/sessions/${MAIN}/messages`, { method: "POST", body });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  const told = await line.until((all) => all.some(({ method }) => method === "ended"));
  const ended = told.find(({ method }) => method === "ended");
  assert.equal(ended?.params.error?.code, "closed");
  const last = told.findLast(({ params: { event } }) => event?.type === "entry")?.params;
  assert.equal(ended?.params.resume, last?.resume, "it is told from where to go on");
  assert.ok(JSON.stringify(last).includes("turn-ended"), "the turn has ended before");
  assert.equal(await stopping, 0);
});

test("the second signal stops it at once, and the turn is gone on with after the start", async (t) => {
  const daemon = await Daemon.start(t, { config: { gateway: { drainSeconds: 3_600 } } });
  const { id } = await daemon.call("send", { sessionKey: MAIN, message: "!slow 600000\n!say never" });
  while ((await daemon.call("status", { sessionKey: MAIN })).state !== "running") await sleep(5);
  const stopping = daemon.kill("SIGTERM");
  while ((await daemon.fetch("/readyz")).status !== 503) await sleep(5);
  await sleep(350);
  process.kill(daemon.pid, "SIGTERM");
  assert.equal(await stopping, 0);
  await daemon.begin();
  assert.equal((await daemon.call("status", { sessionKey: MAIN })).state, "running");
  await daemon.call("abort", { sessionKey: MAIN });
  assert.equal((await daemon.call("wait", { sessionKey: MAIN, id })).outcome, "aborted");
});

test("what waits begins no turn while it drains, and is answered after the start", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("send", { sessionKey: MAIN, message: "!slow 1000\n!say first" });
  while ((await daemon.call("status", { sessionKey: MAIN })).state !== "running") await sleep(5);
  const { id } = await daemon.call("send", { sessionKey: MAIN, message: "!slow 60000", mode: "followup" });
  assert.equal(await daemon.kill("SIGTERM"), 0);
  await daemon.begin();
  const { entries } = await daemon.call("history", { sessionKey: MAIN });
  assert.ok(entries.some(({ text }) => text === "first"));
  while ((await daemon.call("status", { sessionKey: MAIN })).state !== "running") await sleep(5);
  await daemon.call("abort", { sessionKey: MAIN });
  assert.equal((await daemon.call("wait", { sessionKey: MAIN, id })).outcome, "aborted");
});
