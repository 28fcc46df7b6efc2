// `sessiond upkeep`, `archive`, `archives` and `restore` against a real daemon.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Output } from "../../src/calls/door.ts";
import { DEFAULT_AGENT, namedKey, parseKey } from "../../src/routing/key.ts";
import { scratch } from "../fixtures/home.ts";
import { filled, large, opening, OVERFULL, overfull } from "../fixtures/upkeep.ts";
import { Daemon } from "../gateway/daemon.ts";
import { NO_TERMINAL as skip, ran, terminal, type Ran } from "./stage.ts";

const ANN = "agent:main:direct:ann";

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
    /^ID +SESSION +WHY +SINCE +ENTRIES +SIZE +PACKED +TITLE\n[0-9a-f]{8}-[0-9a-f]{4} +agent:main:thread:talk +asked .*The owl hunts\n$/,
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
  const id = /archive (\S+)\n$/.exec(swapped.out)?.[1] ?? "";
  const asked = await run("archives", "--purge", id.slice(0, 13));
  assert.equal(asked.exit, 64, "nobody can be asked");
  assert.match(
    asked.err,
    new RegExp(`archives --purge erases for good: say --yes \\(archive ${id} of ${key} .*: \\d+ entries`),
  );
  const gone = await run("archives", "--purge", id.slice(0, 13), "--yes");
  assert.match(gone.out, /^erased an archive of agent:main:thread:talk, /);
  assert.equal((await run("archives", "--purge", id, "--yes")).exit, 66);
  const none = await run("restore", "talk");
  assert.deepEqual([none.exit, /nothing of "talk" is archived/.test(none.err)], [66, true]);
  assert.equal((await run("archive", "main")).exit, 77);
});

test(
  "an archive is taken by what the list shows of its id, and at a terminal erased only by who agrees",
  { skip },
  async (t) => {
    const daemon = await Daemon.start(t);
    const keys = ["one", "two"].map((name) => `agent:main:thread:${name}`);
    for (const sessionKey of keys) await daemon.call("ask", { sessionKey, message: "!say hello" });
    for (const sessionKey of keys) await daemon.call("archive", { sessionKey });
    const { out } = await ran(t, daemon, "archives");
    const shown = keys.map(
      (key) =>
        out
          .split("\n")
          .find((line) => line.includes(key))
          ?.split(" ")[0] ?? "",
    );
    assert.ok(shown[0] !== shown[1] && shown.every((id) => id.length < 36), out);
    const offered = (await ran(t, daemon, "completion", "archives")).out.split("\n");
    for (const id of shown) assert.ok(offered.some((each) => each.startsWith(id) && each.length === 36));
    for (const [typed, exit] of [
      ["\x03", 130],
      ["n\r", 1],
      ["y\r", 0],
    ] as const) {
      assert.equal((await daemon.call("archives", {})).archives.length, 2);
      const purge = terminal(t, daemon, "archives", "--purge", shown[1] ?? "");
      await purge.seen(/erase archive .*thread:two.*\s+for good\? \[y\/N\]/);
      purge.type(typed);
      assert.equal(await purge.ended(), exit);
    }
    assert.match((await ran(t, daemon, "restore", shown[0] ?? "")).out, /^agent:main:thread:one is back: /);
    assert.deepEqual((await daemon.call("archives", {})).archives, []);
  },
);

test(
  "at a terminal upkeep erases what somebody agreed to, and nothing that came to be due while they thought",
  { skip },
  async (t) => {
    const home = join(scratch(t), "home");
    await overfull(home);
    const daemon = await Daemon.start(t, { home, config: { upkeep: OVERFULL } });
    const left = async (): Promise<number> => (await daemon.call("archives", {})).archives.length;
    const { totals } = await daemon.call("upkeepPlan", {});
    assert.ok(totals.purge > 0 && totals.purge < 5);
    const question = /erase (\d) archives? .*\s+for good\? \[y\/N\]/;
    const no = terminal(t, daemon, "upkeep");
    await no.seen(question);
    no.type("n\r");
    assert.deepEqual([await no.ended(), await left()], [1, 5]);

    const late = terminal(t, daemon, "upkeep");
    await late.seen(question);
    for (const message of large()) await daemon.call("ask", { sessionKey: ANN, message });
    const more = (await daemon.call("upkeepPlan", {})).totals.purge;
    assert.ok(more > totals.purge);
    late.type("y\r");
    assert.deepEqual([await late.ended(), await left()], [65, 5]);
    assert.match(late.out, /the plan has changed since: it would erase others than were agreed to/);

    const agreed = terminal(t, daemon, "upkeep");
    await agreed.seen(question);
    assert.equal(question.exec(agreed.out)?.[1], String(more));
    agreed.type("y\r");
    assert.equal(await agreed.ended(), 0);
    assert.match(agreed.out, new RegExp(`erased ${more} archives? for good`));
    assert.equal(
      await left(),
      5 - more + (await daemon.call("archives", { sessionKey: ANN })).archives.length,
    );
  },
);

test("rm tells of what was archived below, and takes it along", async (t) => {
  const home = join(scratch(t), "home");
  const top = namedKey(DEFAULT_AGENT, "top");
  await filled(home, async (store, world) => {
    await store.commit([opening(top, world.newId())]);
    for (let n = 0; n < 3; n += 1) {
      const [key, transcript] = [parseKey(`agent:main:subagent:c${n}`), world.newId()];
      await store.commit([
        { ...opening(key, transcript), parent: top },
        { do: "archive", key, expect: { transcript, lastSeq: 0 }, why: "ended" },
      ]);
    }
  });
  const daemon = await Daemon.start(t, { home });
  assert.match((await ran(t, daemon, "upkeep", "--dry-run")).out, /^pack +archived .*subagent:c0/m);
  const asked = await ran(t, daemon, "rm", "top");
  assert.equal(asked.exit, 64);
  assert.match(asked.err, /0 entries, 3 archives of children with all below them/);
  const done = await ran(t, daemon, "rm", "top", "--yes");
  assert.deepEqual(done, { exit: 0, out: "removed 1 session and 3 archives\n", err: "" });
  assert.deepEqual((await daemon.call("archives", {})).archives, []);
});

test("the newest archives come first, as many as wanted, and rm takes those of a key without a session", async (t) => {
  const home = join(scratch(t), "home");
  await filled(home, async (store, world) => {
    for (let n = 0; n < 250; n += 1) {
      const key = namedKey(DEFAULT_AGENT, `talk${n % 2}`);
      const transcript = world.newId();
      await store.commit([
        opening(key, transcript),
        { do: "archive", key, expect: { transcript, lastSeq: 0 }, why: "asked" },
      ]);
      world.pass(1_000);
    }
    const [top, child] = [namedKey(DEFAULT_AGENT, "top"), parseKey("agent:main:subagent:below")];
    const [over, below] = [world.newId(), world.newId()];
    await store.commit([
      opening(top, over),
      { ...opening(child, below), parent: top },
      { do: "archive", key: child, expect: { transcript: below, lastSeq: 0 }, why: "asked" },
      { do: "archive", key: top, expect: { transcript: over, lastSeq: 0 }, why: "asked" },
    ]);
    await store.commit([{ do: "restore", archive: below, over: null }]);
  });
  const daemon = await Daemon.start(t, { home });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, ...words);
  const listed = async (...words: readonly string[]): Promise<Output<"archives">> =>
    JSON.parse((await run("archives", "--json", ...words)).out) as Output<"archives">;
  const all = await listed("-n", "1000");
  assert.deepEqual([all.archives.length, all.next], [251, null]);
  const times = all.archives.map(({ archivedAt }) => archivedAt);
  assert.deepEqual(times, times.toSorted().toReversed());
  assert.deepEqual((await listed("-n", "210")).archives, all.archives.slice(0, 210));
  const few = await run("archives", "talk0", "-n", "3");
  assert.match(few.out, /there are older ones: -n\n$/);
  const asked = await run("rm", "talk0");
  assert.deepEqual([asked.exit, /125 archives, and no session/.test(asked.err)], [64, true]);
  assert.deepEqual(await run("rm", "talk0", "--yes"), {
    exit: 0,
    out: "removed 125 archives; there was no session\n",
    err: "",
  });
  assert.deepEqual((await listed("-n", "1000")).archives.length, 126);
  const top = await run("rm", "agent:main:thread:top");
  assert.match(top.err, /1 archive, 1 child that lives, and no session of its own/);
  assert.equal((await run("rm", "talk0", "--yes")).exit, 66);
  assert.equal(
    (await run("rm", "agent:main:thread:talk1", "--yes")).out.slice(0, 20),
    "removed 125 archives",
  );
});

test("a dry run of more than a page shows every step", async (t) => {
  const home = join(scratch(t), "home");
  await filled(home, async (store, world) => {
    for (let n = 0; n < 1_250; n += 50)
      await store.commit(
        Array.from({ length: 50 }, (_, at) =>
          opening(parseKey(`agent:main:direct:p${n + at}`), world.newId()),
        ),
      );
  });
  const daemon = await Daemon.start(t, { home, config: { upkeep: { staleDays: 1 } } });
  const plan = JSON.parse(
    (await ran(t, daemon, "upkeep", "--dry-run", "--json")).out,
  ) as Output<"upkeepPlan">;
  assert.deepEqual([plan.totals.archive, plan.more, plan.next], [1_250, 0, null]);
  assert.equal(new Set(plan.steps.map(({ sessionKey }) => sessionKey)).size, 1_250);
  const { out } = await ran(t, daemon, "upkeep", "--dry-run");
  assert.equal(out.split("\n").filter((line) => line.startsWith("archive ")).length, 1_250);
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
