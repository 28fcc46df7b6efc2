// A disk that is full, seen from outside: refused with 507, nothing lost, and it goes on when there is room.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cannotMount, mount, scratch } from "../fixtures/home.ts";
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
