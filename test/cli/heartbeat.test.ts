// `sessiond heartbeat` against a real daemon, whose agent is asked by a file in its workspace.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Output } from "../../src/calls/door.ts";
import { until } from "../sandbox/stage.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

test("heartbeats are listed and run from a shell and over HTTP, and counted", async (t) => {
  const activeHours = { from: "08:00", to: "22:00", timezone: "Europe/Zurich" };
  const config = {
    agents: { main: { heartbeat: { activeHours } }, still: { heartbeat: { everyMinutes: 0 } } },
  };
  const daemon = await Daemon.start(t, { config });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, "heartbeat", ...words);
  const rows = async (): Promise<Output<"heartbeats">["heartbeats"]> =>
    (JSON.parse((await run("list", "--json")).out) as Output<"heartbeats">).heartbeats;
  const workspace = join(daemon.home, "agents/main/workspace");
  const task = (text: string): void => {
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, "HEARTBEAT.md"), text);
  };

  const listed = await run();
  assert.match(listed.out, /^AGENT +EVERY +HOURS +TASK +NEXT +LAST\n/, listed.err);
  assert.match(listed.out, /\nmain +30m +08:00–22:00 Europe\/Zurich +none +(?:now|in \d+[smh]) +none yet/);
  assert.match(listed.out, /\nstill +never +all day +none +never +none yet/);
  const nothing = await run("run");
  assert.deepEqual([nothing.exit, nothing.out], [1, ""]);
  assert.match(
    nothing.err,
    /no HEARTBEAT\.md in \S+agents\/main\/workspace, nor that folder yet: make it first\n$/,
  );
  task("# Nothing yet\n");
  assert.match((await run("run")).err, /no HEARTBEAT\.md in \S+workspace that asks for something\n$/);
  assert.equal((await run("run", "ghost")).exit, 66);
  assert.equal((await run("sing")).exit, 64);

  const came = async (outcome: string): Promise<void> =>
    await until(async () => (await rows())[0]?.last?.outcome === outcome);
  task("# Heartbeat\n\n!say HEARTBEAT_OK\n");
  assert.match((await run("run")).out, /^main looks after its HEARTBEAT\.md, in agent:main:heartbeat\n$/);
  await came("ok");
  task("!say The disk is full.\n");
  const asked = await daemon.fetch("/v1/agents/main/heartbeat", { method: "POST", body: "{}" });
  assert.equal(asked.status, 200);
  await came("alert");
  assert.match((await run()).out, /\nmain, alert (?:now|\d+s ago): The disk is full\.\n$/);
  const log = async (): Promise<string> => (await ran(t, daemon, "log", "agent:main:main")).out;
  await until(async () => /The disk is full/.test(await log()));
  assert.match(await log(), / agent:main:heartbeat +The disk is full\.\n/, "without what is for the model");

  task("!say HEARTBEAT_OK\n");
  const waited = await run("run", "--wait");
  assert.deepEqual([waited.exit, waited.out], [0, "HEARTBEAT_OK\n"], waited.err);
  await until(async () => (await rows())[0]?.alert?.isOver === true);
  assert.match((await run()).out, /\nmain, was an alert .+, and is over: The disk is full\.\n$/);
  task("!fail auth\n");
  assert.equal((await run("run", "--wait")).exit, 1);
  await came("failed");
  assert.match((await run()).out, /\nmain has failed 1 time in a row: (?!failed).+\n/);

  task("!slow 60000\n!say late\n");
  await run("run");
  await until(async () => (await rows())[0]?.state === "running");
  assert.match((await run()).out, /\nmain .* runs now\n/);
  assert.match((await run("run")).err, /^no heartbeat: the one before goes on, in agent:main:heartbeat\n$/);
  await ran(t, daemon, "abort", "agent:main:heartbeat");
  await until(async () => (await rows())[0]?.state === "idle");
  await ran(t, daemon, "stop", "agent:main:heartbeat");
  assert.match((await run()).out, /\nmain .* paused +skipped/);
  const paused = await run("run");
  assert.deepEqual([paused.exit, paused.out], [1, ""]);
  assert.match(paused.err, /^no heartbeat: its session is paused: `sessiond cont agent:main:heartbeat`/);

  const metrics = await (await daemon.fetch("/metrics")).text();
  assert.match(metrics, /^sessiond_heartbeats_total\{outcome="ok"\} 2$/m);
  assert.match(metrics, /^sessiond_heartbeats_total\{outcome="alert"\} 1$/m);
});
