// A disk that is full, and one that fails, seen from outside. Full: refused with 507, nothing lost, and it goes on when there
// is room. Failed: the daemon ends and says so, and the next one has everything that was acknowledged.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { failingSync } from "../fixtures/failing.ts";
import { cannotMount, mount, scratch } from "../fixtures/home.ts";
import { canTrace } from "../powercut/trace.ts";
import { Daemon } from "./daemon.ts";

const SESSION = "agent:main:direct:ann";
const MESSAGE = "x".repeat(50_000);

test(
  "a full disk is said, takes nothing that was acknowledged, and passes",
  { skip: cannotMount() },
  async (t) => {
    const disk = join(scratch(t), "disk");
    mount(t, disk, ["-t", "tmpfs", "-o", "size=12m", "tmpfs"]);
    const filler = join(disk, "filler");
    writeFileSync(filler, Buffer.alloc(6 * 1024 * 1024));
    const daemon = await Daemon.start(t, { home: join(disk, "home") });
    await daemon.call("ask", { sessionKey: SESSION, message: "!say hello" });
    await daemon.call("stop", { sessionKey: SESSION }); // So that what is sent waits, and is counted.
    let acknowledged = 0;
    let status = 200;
    for (; status === 200; acknowledged += status === 200 ? 1 : 0) {
      const body = JSON.stringify({ message: `${acknowledged} ${MESSAGE}` });
      const answer = await daemon.fetch(`/v1/sessions/${SESSION}/messages`, { method: "POST", body });
      status = answer.status;
      if (status === 200) continue;
      const { error } = (await answer.json()) as {
        readonly error: { readonly code: string; readonly retry: boolean };
      };
      assert.deepEqual([status, error.code, error.retry], [507, "disk_full", true]);
    }
    assert.equal((await daemon.fetch("/healthz")).status, 200);
    assert.equal(
      (await daemon.call("status", { sessionKey: SESSION })).waitingLetters,
      Math.min(acknowledged, 100),
    );
    rmSync(filler);
    await daemon.call("send", { sessionKey: SESSION, message: "there is room again" });
    await daemon.kill();
    await daemon.begin();
    assert.equal(
      (await daemon.call("status", { sessionKey: SESSION })).waitingLetters,
      Math.min(acknowledged + 1, 100),
    );
  },
);

test(
  "a disk that fails ends the daemon, and nothing that was acknowledged is lost",
  { skip: (await canTrace()) ?? false },
  async (t) => {
    const home = join(scratch(t), "home");
    const { through, env } = failingSync(home, { call: "fsync", path: "state.sqlite-wal", when: 12 });
    const [tracer = "", ...how] = through;
    const daemon = await Daemon.start(t, { home, env, through: [tracer, "--daemonize", ...how] });
    const acknowledged: string[] = [];
    const refused: string[] = [];
    for (let n = 0; refused.length === 0; n += 1)
      await daemon.call("send", { sessionKey: SESSION, message: `!say ${n}` }).then(
        () => acknowledged.push(`!say ${n}`),
        (error: Error) => refused.push(error.message),
      );
    assert.equal(await daemon.ended(), 74);
    assert.match(daemon.said, /sessiond: .*disk/);
    const after = await Daemon.start(t, { home });
    while ((await after.call("status", { sessionKey: SESSION })).state !== "idle") await sleep(20);
    const { entries } = await after.call("entries", { sessionKey: SESSION, limit: 200 });
    const said = entries.map((entry) => JSON.stringify(entry));
    for (const message of acknowledged)
      assert.equal(said.filter((line) => line.includes(JSON.stringify(message))).length, 1, message);
  },
);
