// Sessions out of the way, and back; and upkeep, as people ask for it.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RealWorld } from "../../src/base/world.ts";
import { MAIN, named } from "./family.ts";
import { fault, Gate, Stage } from "./stage.ts";

const DAY = 24 * 60 * 60 * 1_000;

/** Which days pass in when somebody says so. */
class Later extends RealWorld {
  days = 0;

  override nowMs(): number {
    return super.nowMs() + this.days * DAY;
  }
}

test("a session is archived with everything below it, and comes back byte for byte", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const top = named("project");
  await sessions.ask(top, "!say The barn owl hunts at night");
  const { sessionKey: child, id } = await sessions.spawn("!say Below", { parent: top });
  await sessions.wait(child, id);
  await stage.rest(top);
  const file = await stage.file(top);
  const before = readFileSync(file);
  const asked = await sessions.status(top);

  const made = await sessions.call("archive", { sessionKey: top });
  assert.deepEqual(made, { sessionKey: top, archive: asked.transcript, archived: 2 });
  for (const key of [top, child])
    await assert.rejects(sessions.status(key), fault("not_found", /there is no session/));
  assert.ok(!existsSync(file), "it is packed");
  const { archives } = await sessions.call("archives", {});
  assert.deepEqual(new Set(archives.map(({ sessionKey }) => sessionKey)), new Set([top, child]));
  for (const each of archives) assert.ok(each.packedBytes !== null && each.why === "asked");
  assert.deepEqual((await sessions.call("archives", { sessionKey: top })).archives.length, 1);
  assert.deepEqual((await sessions.call("archives", { agent: "coder" })).archives, []);

  await stage.reopen();
  const back = await stage.sessions.call("restore", { id: made.archive });
  assert.deepEqual(back, { sessionKey: top, entries: asked.entries, archived: null });
  assert.ok(readFileSync(file).equals(before));
  await stage.sessions.ask(top, "!say And it goes on");
  assert.equal((await stage.letters(top)).length, 3, "the first, the child's report, and the last");
});

test("an archive does not take the place of a session, unless it is told to swap", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const key = named("talk");
  await sessions.ask(key, "!say first");
  const { archive } = await sessions.call("archive", { sessionKey: key });
  await sessions.ask(key, "!say second");
  await assert.rejects(
    sessions.call("restore", { id: archive }),
    fault("exists", /has a session now: nothing was restored/),
  );
  assert.deepEqual((await stage.letters(key)).length, 1);
  const swapped = await sessions.call("restore", { id: archive, swap: true });
  assert.match((await stage.letters(key)).join(), /first/);
  const again = await sessions.call("restore", { id: swapped.archived ?? "", swap: true });
  assert.match((await stage.letters(key)).join(), /second/);
  assert.equal(again.archived, archive);
  await sessions.ask(key, "!say third");
  assert.match((await stage.letters(key)).join(), /second.*third/);
});

test("what is at work, main, and what is not there are refused", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const { sessions } = stage;
  const key = named("busy");
  const { id } = await sessions.send(key, "!call gate");
  await gate.reached();
  await assert.rejects(
    sessions.call("archive", { sessionKey: key }),
    fault("busy", /runs: nothing was archived/),
  );
  gate.open();
  await sessions.wait(key, id);
  await assert.rejects(sessions.call("archive", { sessionKey: MAIN }), fault("forbidden", /never archived/));
  await assert.rejects(sessions.call("archive", { sessionKey: named("none") }), fault("not_found", /./));
  for (const call of ["restore", "purgeArchive"] as const)
    await assert.rejects(sessions.call(call, { id: "none" }), fault("not_found", /there is no archive none/));
  assert.equal((await sessions.call("archive", { sessionKey: key })).archived, 1);
});

test("removing a session erases its archives too, and purging one erases that one", async (t) => {
  const stage = await Stage.open(t);
  const [key, other] = [named("gone"), named("other")];
  const files = (): string[] => readdirSync(join(stage.home, "agents/main/sessions"));
  await stage.sessions.ask(MAIN, "!say I stay");
  await stage.reopen();
  const { sessions } = stage;
  const before = files();
  for (const each of [key, other]) {
    await sessions.ask(each, "!say a secret word");
    await sessions.call("archive", { sessionKey: each });
  }
  await sessions.ask(key, "!say another one");
  const [own] = (await sessions.call("archives", { sessionKey: key })).archives;
  await sessions.remove(key);
  assert.deepEqual((await sessions.call("archives", { sessionKey: key })).archives, []);
  await assert.rejects(sessions.call("restore", { id: own?.id ?? "" }), fault("not_found", /./));
  const [left] = (await sessions.call("archives", {})).archives;
  const purged = await sessions.call("purgeArchive", { id: left?.id ?? "" });
  assert.equal(purged.sessionKey, other);
  assert.deepEqual((await sessions.call("archives", {})).archives, []);
  await stage.close();
  assert.deepEqual(files().toSorted(), before.toSorted(), "nothing of them is left");
});

test("a run of upkeep does what its plan says, whatever the mode, and protects who must stay", async (t) => {
  const world = new Later();
  const upkeep = { mode: "warn", staleDays: 30, archiveDays: 60 } as const;
  const stage = await Stage.open(t, { upkeep }, { world });
  const { sessions } = stage;
  const chats = ["ann", "bob", "cyd"].map((peer) => `agent:main:direct:${peer}`);
  for (const key of [...chats, named("kept"), MAIN]) await sessions.ask(key, "!say hello");
  await sessions.call("set", { sessionKey: chats[2] ?? "", pinned: true });
  world.days = 31;
  await sessions.ask(chats[1] ?? "", "!say I am back");
  const plan = await sessions.call("upkeepPlan", {});
  assert.deepEqual(
    plan.steps.map((step) => [step.do, step.why, step.sessionKey]),
    [["archive", "stale", chats[0]]],
  );
  assert.deepEqual([plan.mode, plan.totals.archive, plan.more], ["warn", 1, 0]);
  assert.equal((await sessions.call("upkeepPlan", { limit: 0 })).more, 1);
  const run = await sessions.call("upkeep", {});
  assert.deepEqual(
    [run.isDone, run.planned, run.progress.done, run.report?.archived, run.report?.packed],
    [true, plan.totals, 1, 1, 1],
  );
  assert.deepEqual(await sessions.call("upkeep", { run: run.run }), run, "it is not done again");
  await assert.rejects(sessions.call("upkeep", { run: "none" }), fault("not_found", /there is no run none/));
  await assert.rejects(sessions.status(chats[0] ?? ""), fault("not_found", /./));
  assert.deepEqual((await sessions.call("upkeepPlan", {})).steps, []);
  const about = (await sessions.call("overview", {})).upkeep;
  assert.deepEqual([about.mode, about.use?.sessions, about.overBytes], ["warn", 4, 0]);
  assert.ok((about.use?.archives ?? 0) > 0 && about.lookedAt !== null);

  const [archived] = (await sessions.call("archives", {})).archives;
  await sessions.call("restore", { id: archived?.id ?? "" });
  assert.deepEqual(
    (await sessions.call("upkeepPlan", {})).steps,
    [],
    "who was brought back stays for a while",
  );
  world.days = 62;
  assert.equal((await sessions.call("upkeep", {})).report?.archived, 2);
  world.days = 130;
  const last = await sessions.call("upkeep", {});
  assert.equal(last.report?.purged, 2);
  assert.deepEqual((await sessions.call("archives", {})).archives, []);
});

test("a large transcript goes on in a new file after a run, and reads as before", async (t) => {
  const stage = await Stage.open(t, { upkeep: { rotateMiB: 1 } });
  const { sessions } = stage;
  for (let n = 0; n < 6; n += 1) await sessions.ask(MAIN, `!say ${n}\n${`word${n} `.repeat(30_000)}`);
  assert.equal((await sessions.call("compact", { sessionKey: MAIN })).outcome, "done");
  const { transcript, entries } = await sessions.status(MAIN);
  const letters = await stage.letters(MAIN);
  const plan = await sessions.call("upkeepPlan", {});
  assert.deepEqual(
    plan.steps.map((step) => [step.do, step.sessionKey]),
    [["rotate", MAIN]],
  );
  assert.equal((await sessions.call("upkeep", {})).report?.rotated, 1);
  await stage.until(async () => (await sessions.status(MAIN)).transcript !== transcript);
  await stage.rest(MAIN);
  assert.deepEqual((await sessions.call("upkeepPlan", {})).steps, []);
  assert.deepEqual(await stage.letters(MAIN), letters);
  assert.ok((await sessions.status(MAIN)).entries >= entries);
  await sessions.ask(MAIN, "!say And on");
  assert.equal((await stage.letters(MAIN)).length, letters.length + 1);
});
