// How connections end: those that are refused, those that were answered, and all of them when the gateway closes.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openLog } from "../../src/base/log.ts";
import { RealWorld } from "../../src/base/world.ts";
import { Sessions } from "../../src/calls/library.ts";
import { readConfig } from "../../src/config/load.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import { Metrics } from "../../src/gateway/metrics.ts";
import { Tokens } from "../../src/gateway/tokens.ts";
import { CUT_OFF_GRACE_MS } from "../../src/gateway/limits.ts";
import { openWired } from "../../src/main.ts";
import { afterwards, scratch } from "../fixtures/home.ts";
import { Daemon } from "./daemon.ts";

const TOKEN = "a-token-of-the-environment";
const COUNT = 50;

/** What nobody is let in with. */
const UPGRADE = [
  "GET /ws HTTP/1.1",
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version: 13",
  "",
  "",
].join("\r\n");

/** In which the grace of those who are cut off is over soon, or never. */
class GraceWorld extends RealWorld {
  readonly #graceMs: number | null; // null: never

  constructor(graceMs: number | null) {
    super();
    this.#graceMs = graceMs;
  }

  override async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await super.sleep(ms === CUT_OFF_GRACE_MS ? (this.#graceMs ?? 2 ** 30) : ms, signal);
  }
}

async function gatewayIn(test: TestContext, world: RealWorld): Promise<Gateway> {
  const home = join(scratch(test), "home");
  const log = openLog("silent");
  const config = readConfig({ home, gateway: { port: 0 } }, { homeDir: home, cwd: home, env: {} });
  const wired = await openWired(config, { log, world });
  const sessions = new Sessions(wired);
  afterwards(test, () => sessions.close());
  const tokens = await Tokens.open({ home, world, given: TOKEN, mayMake: true });
  const gateway = await Gateway.listen({ ...wired, log, tokens, metrics: new Metrics(), version: "1.2.3" });
  return gateway;
}

/** A client that keeps its half of the connection open, whatever it hears. It has heard something. */
async function stubborn(test: TestContext, url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  afterwards(test, () => socket.destroy());
  socket.on("error", () => {}); // It was reset.
  socket.write(text);
  const [heard] = (await once(socket.setEncoding("latin1"), "data")) as [string];
  assert.match(heard, /^HTTP\/1\.1 4\d\d/);
  return socket;
}

/** Only who says something hears that nobody is there. */
async function untilClosed(socket: Socket): Promise<void> {
  while (!socket.destroyed) {
    socket.write("x");
    await sleep(20);
  }
}

for (const [what, text] of [
  ["upgrades", UPGRADE],
  ["requests that are none", "GARBAGE\r\n\r\n"],
] as const)
  test(`${COUNT} ${what} that are refused leave no connection`, { timeout: 60_000 }, async (t) => {
    const gateway = await gatewayIn(t, new GraceWorld(50));
    afterwards(t, () => gateway.close());
    const sockets = await Promise.all(Array.from({ length: COUNT }, () => stubborn(t, gateway.url, text)));
    await Promise.all(sockets.map(untilClosed));
  });

test("a daemon stops while refused clients keep their connections open", { timeout: 60_000 }, async (t) => {
  const daemon = await Daemon.start(t);
  await Promise.all(Array.from({ length: COUNT }, () => stubborn(t, daemon.url, UPGRADE)));
  assert.equal(await daemon.kill("SIGTERM"), 0);
});

test("closing ends a connection that says nothing at all", { timeout: 60_000 }, async (t) => {
  const gateway = await gatewayIn(t, new GraceWorld(50));
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  afterwards(t, () => socket.destroy());
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\n"); // and no more
  await sleep(20);
  await gateway.close();
});

test("who follows is told, and its connection is not waited for", { timeout: 60_000 }, async (t) => {
  const gateway = await gatewayIn(t, new GraceWorld(null)); // Nobody is ended by force.
  const response = await fetch(`${gateway.url}/v1/events`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const [beginning] = [await (response.body ?? assert.fail()).getReader().read()];
  assert.ok(beginning.value);
  assert.equal(gateway.subscribers, 1);
  await gateway.close();
  assert.equal(gateway.subscribers, 0);
});
