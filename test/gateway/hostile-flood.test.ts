// More connections than anybody needs.

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CONNECTIONS_MAX } from "../../src/gateway/limits.ts";
import { afterwards } from "../fixtures/home.ts";
import type { Daemon } from "./daemon.ts";
import { attacked, Line, unharmed } from "./hostile.ts";

const WANTED = 10_000;

/** Files that this process needs for itself. */
const OWN_FILES = 500;

/** Connections that are opened at once: more than a queue of those that wait to be accepted has room for are lost. */
const AT_ONCE = 250;

test("ten thousand connections are not too many for who is there already, and afterwards for nobody", async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [flooded(t, daemon)]);
});

async function flooded(test: TestContext, daemon: Daemon): Promise<void> {
  const before = await Line.open(test, daemon);
  await before.call("subscribe", { stream: "follow", input: { sessionKey: "main" } });
  const crowd = crowdOf(test);
  const { hostname: host, port } = new URL(daemon.url);
  while (crowd.length < countOf()) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => joined(crowd, { host, port: Number(port) })));
    assert.ok((await before.call("overview", {})).result, "who was there before is answered");
  }
  while (open(crowd) > CONNECTIONS_MAX) await sleep(20);
  const asked = await before.call("ask", { sessionKey: "main", message: "!say still here" });
  assert.equal(asked.result?.["text"], "still here");
  await before.until(({ params }) => params?.event?.type === "entry");
  for (const each of crowd) each.destroy();
  while (!(await isReached(daemon))) await sleep(20);
}

function open(crowd: readonly Socket[]): number {
  return crowd.filter((each) => !each.destroyed).length;
}

function crowdOf(test: TestContext): Socket[] {
  const crowd: Socket[] = [];
  afterwards(test, () => crowd.forEach((each) => each.destroy()));
  return crowd;
}

/** As many as the system lets this process have, and the daemon beside it. */
function countOf(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  const files = Number(userLimits?.open_files?.soft);
  return Number.isFinite(files) ? Math.min(WANTED, files - OWN_FILES) : WANTED;
}

/** Resolves when it is there, or was refused. */
async function joined(crowd: Socket[], to: { readonly host: string; readonly port: number }): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(to, resolve);
  socket.on("error", () => {}); // `close` follows.
  socket.on("close", () => resolve());
  socket.resume();
  crowd.push(socket);
  await promise;
}

async function isReached(daemon: Daemon): Promise<boolean> {
  return await daemon.fetch("/healthz").then(
    ({ ok }) => ok,
    () => false,
  );
}
