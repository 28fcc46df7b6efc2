// Sessions out of the way, and back; and upkeep, as people ask for it.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RealWorld } from "../../src/base/world.ts";
import type { ConfigInput } from "../../src/index.ts";
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
  assert.deepEqual(made, { sessionKey: top, archive: asked.transcript, archived: 2, jobs: [] });
  for (const key of [top, child])
    await assert.rejects(sessions.status(key), fault("not_found", /is archived since/));
  assert.ok(!existsSync(file), "it is packed");
  const { archives } = await sessions.call("archives", {});
  assert.deepEqual(new Set(archives.map(({ sessionKey }) => sessionKey)), new Set([top, child]));
  for (const each of archives) assert.ok(each.packedBytes !== null && each.why === "asked");
  assert.deepEqual((await sessions.call("archives", { sessionKey: top })).archives.length, 1);
  assert.deepEqual((await sessions.call("archives", { agent: "coder" })).archives, []);

  await stage.reopen();
  const back = await stage.sessions.call("restore", { id: made.archive });
  const alone = { archived: null, below: 0, left: 0, away: 1, taken: 0 };
  assert.deepEqual(back, { sessionKey: top, entries: asked.entries, ...alone });
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

test("main goes back to what it was before a reset, with its job, its heartbeat and its child", async (t) => {
  const config = { agents: { main: { heartbeat: { everyMinutes: 30 } } } } as ConfigInput;
  const stage = await Stage.open(t, config);
  const { sessions } = stage;
  await sessions.ask(MAIN, "!say first");
  await sessions.call("addJob", { every: "12h", message: "look", target: MAIN });
  await sessions.call("addJob", { every: "12h", message: "look" });
  await sessions.call("reset", { sessionKey: MAIN });
  await sessions.ask(MAIN, "!say second");
  const { sessionKey: child, id } = await sessions.spawn("!say Below", { parent: MAIN });
  await sessions.wait(child, id);
  await stage.rest(MAIN);
  const before = await sessions.status(MAIN);
  const [old] = (await sessions.call("archives", { sessionKey: MAIN })).archives;
  const swapped = await sessions.call("restore", { id: old?.id ?? "", swap: true });
  assert.equal(swapped.archived, before.transcript);
  const now = await sessions.status(MAIN);
  assert.deepEqual([now.transcript, now.tokens], [old?.id, before.tokens], "what was used goes on");
  assert.match((await stage.letters(MAIN)).join(), /first/);
  assert.equal((await sessions.status(child)).parent, MAIN);
  const { jobs } = await sessions.call("jobs", {});
  assert.equal(jobs.filter(({ next }) => next !== null).length, 2);
  assert.notEqual((await sessions.call("heartbeats", {})).heartbeats[0]?.nextAt, null);
  const { id: late, sessionKey: other } = await sessions.spawn("!say After", { parent: MAIN });
  await sessions.wait(other, late);
  await sessions.ask(MAIN, "!say third");
  assert.match((await stage.letters(MAIN)).join(), /first.*third/s);
  await stage.reopen();
  assert.match((await stage.letters(MAIN)).join(), /first.*third/s);
  const again = await stage.sessions.call("restore", { id: swapped.archived ?? "", swap: true });
  assert.equal(again.archived, old?.id);
  assert.match((await stage.letters(MAIN)).join(), /second/);
});

test("who follows a session that is archived, or gives way to an archive, hears how it comes back", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const key = named("talk");
  await sessions.ask(key, "!say first");
  const followed = async (over: () => Promise<unknown>): Promise<unknown> => {
    const events = sessions.follow(key, { from: 0 });
    await events.next();
    const heard = Array.fromAsync(events).then(
      () => "it ended",
      (error: Error) => error.message,
    );
    await over();
    return await heard;
  };
  const { transcript } = await sessions.status(key);
  assert.equal(
    await followed(() => sessions.call("archive", { sessionKey: key })),
    `${key} was archived; sessiond restore ${transcript} brings it back`,
  );
  await sessions.ask(key, "!say second");
  const { transcript: second } = await sessions.status(key);
  assert.equal(
    await followed(() => sessions.call("restore", { id: transcript, swap: true })),
    `${key} gave its place to an archive, which begins anew: follow it from 0; what you followed is archive ${second}`,
  );
});

test("whoever asks for a session that is archived hears so, and how it comes back", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const key = named("away");
  const { sessionKey: child, id } = await sessions.spawn("!say Below", { parent: MAIN });
  await sessions.wait(child, id);
  await sessions.ask(key, "!say I go");
  for (const sessionKey of [key, child]) await sessions.call("archive", { sessionKey });
  const [{ archivedAt } = { archivedAt: "" }] = (await sessions.call("archives", {})).archives;
  for (const sessionKey of [key, child]) {
    const away = fault(
      "not_found",
      new RegExp(
        `^${sessionKey} is archived since ${archivedAt.slice(0, 10)}: \`sessiond restore ${sessionKey}\` brings it back$`,
      ),
    );
    for (const call of [
      "status",
      "history",
      "entries",
      "trace",
      "context",
      "fork",
      "kill",
      "archive",
    ] as const)
      await assert.rejects(sessions.call(call, { sessionKey }), away, call);
    await assert.rejects(sessions.search("go", { sessionKey }), away);
    await assert.rejects(sessions.follow(sessionKey).next(), away);
    await assert.rejects(sessions.send(sessionKey, "hi", { after: 1 }), away);
  }
  await assert.rejects(sessions.send(child, "hi"), fault("not_found", /is archived since/));
  await sessions.ask(key, "!say I am another");
  assert.match((await stage.letters(key)).join(), /I am another/, "a message opens it all the same");
  await assert.rejects(sessions.status(named("never")), fault("not_found", /there is no session/));
});

test("a session hears of an archive what it may see, and nothing of others", async (t) => {
  const agents = { main: { tools: { visibility: "tree" } }, other: {} } as const;
  const stage = await Stage.open(t, { agents });
  const { sessions } = stage;
  const [seen, hidden, ann] = [named("seen"), "agent:other:thread:hidden", "agent:main:direct:ann"];
  for (const sessionKey of [seen, hidden]) {
    await sessions.ask(sessionKey, "!say I go");
    await sessions.call("archive", { sessionKey });
  }
  const look = (sessionKey: string): string => `!call session_status ${JSON.stringify({ sessionKey })}`;
  const told = async (who: string, sessionKey: string): Promise<string> => {
    await sessions.ask(who, look(sessionKey));
    return (await stage.results(who)).at(-1)?.text ?? "";
  };
  assert.match(await told(MAIN, seen), /is archived since .*only a person can bring it back/);
  assert.match(await told(ann, seen), /there is no session .* that you may see/);
  const never = await told(MAIN, "agent:other:thread:never");
  assert.match(never, /there is no session .* that you may see/);
  assert.equal((await told(MAIN, hidden)).replace("hidden", "never"), never);
});

test("a conversation that was brought back does not begin anew with the next message", async (t) => {
  const world = new Later();
  const stage = await Stage.open(t, { session: { reset: { mode: "idle", idleMinutes: 60 } } }, { world });
  const { sessions } = stage;
  const key = "agent:main:direct:ann";
  await sessions.ask(key, "!say first");
  const { archive } = await sessions.call("archive", { sessionKey: key });
  world.days = 3;
  await sessions.call("restore", { id: archive });
  await sessions.ask(key, "!say second");
  assert.match((await stage.letters(key)).join(), /first.*second/s);
  assert.deepEqual((await sessions.call("archives", { sessionKey: key })).archives, []);
});

test("of a key that has only archives they are removed, however many there are", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const [key, other] = [named("gone"), named("other")];
  for (const each of [key, other]) await sessions.ask(each, "!say 0");
  for (let n = 1; n <= 30; n += 1) {
    await sessions.call("reset", { sessionKey: key });
    await sessions.ask(key, `!say ${n}`);
  }
  for (const each of [key, other]) await sessions.call("archive", { sessionKey: each });
  assert.deepEqual(await sessions.call("remove", { sessionKey: key }), {
    sessionKey: key,
    removed: 0,
    archives: 31,
    jobs: [],
  });
  assert.deepEqual(
    (await sessions.call("archives", {})).archives.map(({ sessionKey }) => sessionKey),
    [other],
  );
  await assert.rejects(
    sessions.call("remove", { sessionKey: key }),
    fault("not_found", /there is no session/),
  );
});

test("a plan is told in pages, and a page of another plan is refused", async (t) => {
  const stage = await Stage.open(t, { upkeep: { sessionsMax: 1, staleDays: 0 } });
  const { sessions } = stage;
  for (let n = 0; n < 5; n += 1) await sessions.ask(`agent:main:direct:p${n}`, "!say hello");
  const whole = await sessions.call("upkeepPlan", {});
  assert.deepEqual([whole.steps.length, whole.more, whole.next], [5, 0, null]);
  assert.deepEqual(new Set(whole.steps.map(({ title }) => title)), new Set(["!say hello"]));
  const first = await sessions.call("upkeepPlan", { limit: 3 });
  const rest = await sessions.call("upkeepPlan", { limit: 3, cursor: first.next ?? "" });
  assert.deepEqual([...first.steps, ...rest.steps], whole.steps);
  assert.deepEqual([first.more, rest.more, rest.next, rest.madeAt], [2, 0, null, first.madeAt]);
  await sessions.call("upkeepPlan", {});
  await assert.rejects(
    sessions.call("upkeepPlan", { cursor: first.next ?? "" }),
    fault("cursor_expired", /a newer one was made/),
  );
  for (const cursor of ["x", "x.", ".1", "a.1e3"])
    await assert.rejects(sessions.call("upkeepPlan", { cursor }), fault("bad_input", /not a cursor/));
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
