// What was put away below a session comes back with it; and what jobs do with who is put away.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { RealWorld } from "../../src/base/world.ts";
import { RESTORED_BELOW_MAX } from "../../src/calls/limits.ts";
import { parseKey, type SessionKey } from "../../src/routing/key.ts";
import type { Change } from "../../src/store/change.ts";
import { filled, opening } from "../fixtures/upkeep.ts";
import { childOf, MAIN, named, spawn, until } from "./family.ts";
import { fault, Stage } from "./stage.ts";

/** So that two commits are never of the same millisecond. */
class Later extends RealWorld {
  laterMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.laterMs;
  }
}

/** A session with two below it, the one below the other. */
async function family(
  stage: Stage,
  name: string,
): Promise<readonly [top: string, child: string, low: string]> {
  const { sessions } = stage;
  const top = named(name);
  await sessions.ask(top, "!say I am above");
  const { sessionKey: child } = await sessions.spawn(spawn("!say Lowest"), { parent: top });
  const low = await childOf(stage, child);
  for (const key of [low, child]) await until(stage, key, "ended");
  await stage.rest(top);
  return [top, child, low];
}

test("with `below` all, all that was archived below a session comes back with it, to its place", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [top, child, low] = await family(stage, "project");
  const files = await Promise.all([top, child, low].map((key) => stage.file(key)));
  const before = files.map((file) => readFileSync(file, "utf8"));
  const { archive } = await sessions.call("archive", { sessionKey: top });
  const back = await sessions.call("restore", { id: archive, below: "all" });
  assert.deepEqual([back.below, back.away, back.taken], [2, 0, 0]);
  assert.deepEqual(
    files.map((file) => readFileSync(file, "utf8")),
    before,
  );
  assert.deepEqual(
    [(await sessions.status(child)).parent, (await sessions.status(low)).parent],
    [top, child],
  );
  assert.deepEqual((await sessions.call("archives", {})).archives, []);
});

test("together, what was archived in the same moment comes back, and what was away before stays away", async (t) => {
  const world = new Later();
  const stage = await Stage.open(t, {}, { world });
  const { sessions } = stage;
  const [top, child, low] = await family(stage, "project");
  await sessions.call("archive", { sessionKey: low });
  world.laterMs = 1;
  const { archive, archived } = await sessions.call("archive", { sessionKey: top });
  assert.equal(archived, 2);
  const back = await sessions.call("restore", { id: archive, below: "together" });
  assert.deepEqual([back.below, back.away, back.taken], [1, 1, 0]);
  assert.equal((await sessions.status(child)).parent, top);
  await assert.rejects(sessions.status(low), fault("not_found", /is archived since/));
});

test("without `below` it is told how many are left, and what is back already is left alone", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [top, child, low] = await family(stage, "project");
  const { archive } = await sessions.call("archive", { sessionKey: top });
  const alone = await sessions.call("restore", { id: archive });
  assert.deepEqual([alone.below, alone.away, alone.taken], [0, 2, 0]);
  const [of] = (await sessions.call("archives", { sessionKey: child })).archives;
  const under = await sessions.call("restore", { id: of?.id ?? "" });
  assert.deepEqual([under.below, under.away], [0, 1]);

  const { archive: again } = await sessions.call("archive", { sessionKey: top });
  const [below] = (await sessions.call("archives", { sessionKey: low })).archives;
  await sessions.call("restore", { id: below?.id ?? "" });
  const last = await sessions.call("restore", { id: again, below: "all" });
  assert.deepEqual([last.below, last.away, last.taken], [1, 0, 0]);
  assert.equal((await sessions.status(low)).parent, child);
});

test("what is archived below who is back is told and found from above, however deep", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [top, child, low] = await family(stage, "project");
  const { archive } = await sessions.call("archive", { sessionKey: top });
  const [of] = (await sessions.call("archives", { sessionKey: child })).archives;
  await sessions.call("restore", { id: of?.id ?? "" });
  assert.equal((await sessions.call("restore", { id: archive })).away, 1);
  const all = await sessions.call("restore", { id: top, below: "all" });
  assert.deepEqual([all.below, all.left, all.away], [1, 0, 0]);
  assert.equal((await sessions.status(low)).parent, child);
});

test("of more than come back in one commit, the lowest come first, it itself last: who asks again has all, and no more", async (t) => {
  const stage = await Stage.open(t);
  const [top, child, before] = ["thread:top", "subagent:middle", "subagent:before"].map((name) =>
    parseKey(`agent:main:${name}`),
  ) as [SessionKey, SessionKey, SessionKey];
  const lows = Array.from({ length: RESTORED_BELOW_MAX }, (_, n) => parseKey(`agent:main:subagent:low${n}`));
  const tree = [top, child, ...lows];
  await stage.close();
  await filled(stage.home, async (store, world) => {
    const ids = new Map([before, ...tree].map((key) => [key, world.newId()]));
    const away = (key: SessionKey): Change => {
      return { do: "archive", key, expect: { transcript: ids.get(key) ?? "", lastSeq: 0 }, why: "asked" };
    };
    const born = (key: SessionKey): SessionKey | null => (key === top ? null : key === child ? top : child);
    await store.commit(
      [...tree, before].map((key) => ({ ...opening(key, ids.get(key) ?? ""), parent: born(key) })),
    );
    await store.commit([away(before)]);
    world.pass(1);
    await store.commit(tree.toReversed().map(away));
  });
  await stage.reopen();

  const { sessions } = stage;
  const [of] = (await sessions.call("archives", { sessionKey: top })).archives;
  const asked = { id: of?.id ?? "", below: "together" } as const;
  const some = await sessions.call("restore", asked);
  assert.deepEqual([some.below, some.left, some.away], [RESTORED_BELOW_MAX, 1, 2]);
  for (const key of [top, child]) await assert.rejects(sessions.status(key), fault("not_found", /archived/));
  const rest = await sessions.call("restore", asked);
  assert.deepEqual([rest.below, rest.left, rest.away, rest.taken], [1, 0, 1, 0]);
  assert.equal((await sessions.status(child)).parent, top);
  await assert.rejects(sessions.status(before), fault("not_found", /archived/));
});

test("what was archived below a session that is there comes back by its key, all in one moment, and nothing of the session itself", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [top, child, low] = await family(stage, "project");
  await sessions.call("restore", { id: (await sessions.call("archive", { sessionKey: top })).archive });
  await sessions.call("reset", { sessionKey: top }); // What it said before is an archive of its own, and stays one.
  const tree = await sessions.call("restore", { id: top, below: "all" });
  assert.deepEqual(tree, {
    sessionKey: top,
    entries: 0,
    archived: null,
    below: 2,
    left: 0,
    away: 0,
    taken: 0,
  });
  assert.deepEqual(
    [(await sessions.status(child)).parent, (await sessions.status(low)).parent],
    [top, child],
  );
  assert.equal((await sessions.call("restore", { id: top, below: "all" })).below, 0);
  const refused = fault("bad_input", /with `below` all, without `swap`/);
  await assert.rejects(sessions.call("restore", { id: top }), refused);
  await assert.rejects(sessions.call("restore", { id: top, below: "all", swap: true }), refused);
  const nobody = named("nobody");
  await assert.rejects(sessions.call("restore", { id: nobody, below: "all" }), fault("not_found", /nobody/));
});

test("a job that writes to who is archived or removed is named, and none that does not run again", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [key, other] = [named("ticks"), named("other")];
  for (const each of [key, other]) await sessions.ask(each, "!say hi");
  await sessions.call("addJob", { every: "12h", message: "look", target: key, name: "tick" });
  await sessions.call("addJob", { every: "12h", message: "look", name: "fresh" });
  await sessions.call("addJob", { every: "12h", message: "look", target: key, name: "off", enabled: false });
  assert.deepEqual((await sessions.call("archive", { sessionKey: other })).jobs, []);
  assert.deepEqual((await sessions.call("archive", { sessionKey: key })).jobs, ["tick"]);
  await sessions.ask(key, "!say another");
  assert.deepEqual((await sessions.call("remove", { sessionKey: key })).jobs, ["tick"]);
});

test("of main, which is neither archived nor removed, it is said what helps", async (t) => {
  const { sessions } = await Stage.open(t);
  await sessions.ask(MAIN, "!say hi");
  for (const call of ["archive", "remove"] as const)
    await assert.rejects(sessions.call(call, { sessionKey: MAIN }), (error: Error & { todo?: string }) => {
      assert.match(error.todo ?? "", /`sessiond reset` begins a new conversation/);
      return fault("forbidden", /always exists/)(error);
    });
});
