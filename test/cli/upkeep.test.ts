// `sessiond upkeep`, `archive`, `archives` and `restore` against a real daemon.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Output } from "../../src/calls/door.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

test("a session goes out of the way and comes back, from a shell", async (t) => {
  const daemon = await Daemon.start(t);
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, ...words);
  const key = "agent:main:thread:talk";
  await daemon.call("ask", { sessionKey: key, message: "!say The owl hunts" });
  assert.deepEqual(await run("archives"), { exit: 0, out: "no archives\n", err: "" });
  const archived = await run("archive", "talk");
  assert.match(
    archived.out,
    /^archived 1 session; sessiond restore agent:main:thread:talk brings it back\n$/,
  );
  assert.equal((await run("status", key)).exit, 66);
  const listed = await run("archives", "talk", "--agent", "main");
  assert.match(
    listed.out,
    /^ID +SESSION +WHY +SINCE +ENTRIES +SIZE +PACKED +TITLE\n\S{36} +agent:main:thread:talk +asked .*The owl hunts\n$/,
  );
  const [row] = (JSON.parse((await run("archives", "--json")).out) as Output<"archives">).archives;
  assert.equal(row?.sessionKey, key);

  await daemon.call("ask", { sessionKey: key, message: "!say Again" });
  const taken = await run("restore", "talk");
  assert.equal(taken.exit, 73);
  assert.match(taken.err, /has a session now.*swap/s);
  const swapped = await run("restore", row?.id ?? "", "--swap");
  assert.match(
    swapped.out,
    /^agent:main:thread:talk is back: \d+ entries; what was there is archive \S{36}\n$/,
  );
  const gone = await run("archives", "--purge", /archive (\S+)\n$/.exec(swapped.out)?.[1] ?? "");
  assert.match(gone.out, /^erased an archive of agent:main:thread:talk, /);
  const none = await run("restore", "talk");
  assert.deepEqual([none.exit, /nothing of "talk" is archived/.test(none.err)], [66, true]);
  assert.equal((await run("archive", "main")).exit, 77);
});

test("a dry run shows what a run then does", async (t) => {
  const daemon = await Daemon.start(t, { config: { upkeep: { sessionsMax: 3, staleDays: 0 } } });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, "upkeep", ...words);
  assert.match((await run("--dry-run")).out, /^nothing to do; .* on the disk\n$/);
  const chats = ["ann", "bob", "cyd", "dan"].map((peer) => `agent:main:direct:${peer}`);
  for (const sessionKey of chats) await daemon.call("ask", { sessionKey, message: "!say hello" });
  const dry = await run("--dry-run");
  const steps = JSON.parse((await run("--dry-run", "--json")).out) as Output<"upkeepPlan">;
  assert.equal(steps.totals.archive, 2);
  for (const { sessionKey } of steps.steps)
    assert.match(dry.out, new RegExp(`^archive +cap .* ${sessionKey}$`, "m"));
  assert.match(dry.out, /\nwould archive 2 sessions; .* on the disk, about .* then\n$/);
  assert.deepEqual(await run(), { exit: 0, out: "archived 2 sessions, packed 2 archives\n", err: "" });
  const { archives } = await daemon.call("archives", {});
  assert.deepEqual(
    archives.map(({ sessionKey }) => sessionKey).toSorted(),
    steps.steps.map(({ sessionKey }) => sessionKey).toSorted(),
  );
  const again = JSON.parse((await run("--json")).out) as Output<"upkeep">;
  assert.deepEqual([again.isDone, again.report?.archived], [true, 0]);
});
