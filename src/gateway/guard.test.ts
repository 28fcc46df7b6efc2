import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import { SimulatedWorld } from "../base/world.ts";
import { readConfig } from "../config/load.ts";
import { Guard, isLoopback } from "./guard.ts";
import { Rate } from "./rate.ts";

function guard(gateway: object = {}): Guard {
  return new Guard(readConfig({ gateway }, { homeDir: "/", cwd: "/", env: {} }).gateway);
}

function isLetIn(of: Guard, host: string | undefined, origin?: string): boolean {
  try {
    of.check(host, origin);
    return true;
  } catch (error) {
    assert.ok(error instanceof Fault && error.code === "forbidden");
    return false;
  }
}

test("what is meant for this machine by one of its own names is let in", () => {
  for (const host of ["127.0.0.1:7717", "localhost", "LOCALHOST:1", "[::1]:7717"])
    assert.ok(isLetIn(guard(), host), host);
});

test("a name that was made to point here is not let in", () => {
  for (const host of [
    undefined,
    "",
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:7717",
    "a b",
    "127.0.0.1@evil",
  ])
    assert.ok(!isLetIn(guard(), host), String(host));
});

test("a name of the configuration is let in", () => {
  const named = guard({ hosts: ["agents.lan"], host: "10.0.0.5" });
  assert.ok(isLetIn(named, "agents.lan:80") && isLetIn(named, "10.0.0.5:7717"));
  assert.ok(!isLetIn(named, "other.lan"));
});

test("a page of a stranger is not let in, our own and those that are named are", () => {
  const named = guard({ origins: ["https://dashboard.example"] });
  assert.ok(isLetIn(named, "localhost:7717", "http://localhost:7717"));
  assert.ok(isLetIn(named, "localhost:7717", "https://dashboard.example"));
  for (const origin of [
    "http://evil.example",
    "null",
    "http://localhost:9999",
    "file://",
    "http://127.0.0.1:7717",
    "",
  ])
    assert.ok(!isLetIn(named, "localhost:7717", origin), origin);
});

test("loopback is what only this machine reaches", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) assert.ok(isLoopback(host), host);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.evil", "example"])
    assert.ok(!isLoopback(host), host);
});

test("who asks too often waits, and nobody else does", async () => {
  const world = new SimulatedWorld(1);
  const rate = new Rate(world, 2);
  assert.deepEqual(
    [rate.take("a"), rate.take("a"), rate.take("a"), rate.take("b")],
    [true, true, false, true],
  );
  const later = world.sleep(500, new AbortController().signal);
  await world.step();
  await later;
  assert.deepEqual([rate.take("a"), rate.take("a")], [true, false]);
});
