// How a daemon starts, and how it does not.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, statSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { afterwards } from "../fixtures/home.ts";
import { Daemon } from "./daemon.ts";

const MAIN = "agent:main:main";

test("a daemon that other machines could reach does not start by accident", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.kill("SIGTERM");
  const refusals = [
    [{ gateway: { host: "0.0.0.0", port: 0 } }, {}, /gateway\.remote/],
    [{ gateway: { host: "0.0.0.0", port: 0, remote: true } }, { home: "new" }, /SESSIOND_TOKEN/],
  ] as const;
  for (const [config, { home }, words] of refusals.map(
    ([a, b, c]) => [a, b as { home?: string }, c] as const,
  )) {
    const other = await Daemon.failing(t, { config, ...(home === undefined ? { home: daemon.home } : {}) });
    assert.notEqual(other.exit, 0);
    assert.match(other.said, words);
  }
});

test("two daemons do not share a home, and the second says who has it and where", async (t) => {
  const daemon = await Daemon.start(t);
  const { exit, said } = await Daemon.failing(t, { home: daemon.home });
  assert.equal(exit, 78);
  assert.ok(said.includes(daemon.url) && said.includes(String(daemon.pid)), said);
});

test("a port that is taken is said, before any turn goes on", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  afterwards(t, () => taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const daemon = await Daemon.start(t);
  await daemon.call("send", { sessionKey: MAIN, message: "!slow 600000" });
  await daemon.kill();
  const { exit, said } = await Daemon.failing(t, { home: daemon.home, env: { SESSIOND_PORT: String(port) } });
  assert.equal(exit, 78);
  assert.match(said, new RegExp(`port ${port} [^]*SESSIOND_PORT`));
  await daemon.begin();
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  const resumed = entries.filter((entry) => JSON.stringify(entry).includes("turn-resumed"));
  assert.ok(resumed.length <= 1, "only the start that could be reached went on with it");
});

test("a start that cannot say where it is ends, and leaves nothing running", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.kill("SIGTERM");
  const address = join(daemon.home, "gateway.json");
  mkdirSync(join(address, "in the way"), { recursive: true });
  const { exit } = await Daemon.failing(t, { home: daemon.home });
  assert.notEqual(exit, 0);
  rmSync(address, { recursive: true });
  await daemon.begin();
});

test("a home that others could look into is made private", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.kill("SIGTERM");
  chmodSync(daemon.home, 0o755);
  await daemon.begin();
  assert.equal(statSync(daemon.home).mode & 0o777, 0o700);
});
