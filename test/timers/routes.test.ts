// Straight to a person: through whose conversation the answer of a run may leave, and whose setting mutes it.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { pages } from "../../src/store/contract/corner.ts";
import { MAIN, Office } from "./office.ts";
import { MINUTE_MS } from "./specs.ts";

const THREAD = namedKey(DEFAULT_AGENT, "news");

/** An agent whose main session is spoken with by Ann. */
async function spokenWith(test: TestContext, visibility: "self" | "agent" = "self") {
  const main = { tools: { visibility }, heartbeat: { everyMinutes: 0 } };
  const office = new Office(test, { agents: { main } });
  const sessions = await office.start();
  const from = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;
  await sessions.call("receive", { ...from, message: "hello" });
  await office.pass(1_000);
  office.flown.length = 0;
  return { office, sessions };
}

/** To whom what left. */
function flown({ flown: all }: Office): readonly string[] {
  return all.map(({ route, content }) => `${route.to}: ${JSON.stringify(content)}`);
}

const JOB = { every: "1m", message: "!say straight to you", target: THREAD };

test("J2: who may not see main does not speak to its person through a job", async (test) => {
  const { office, sessions } = await spokenWith(test);
  const script = [`!call cron ${JSON.stringify({ action: "add", ...JOB })}`, "!then", "!say ok"];
  await sessions.call("send", { sessionKey: THREAD, message: script.join("\n") });
  await office.pass(2 * MINUTE_MS + 5_000);
  const [job] = (await office.store.jobs({})).rows;
  assert.deepEqual([job?.madeBy, job?.delivery], [THREAD, { kind: "route", of: [THREAD] }]);
  assert.equal(job?.counts.ran, 2);
  assert.deepEqual(flown(office), []);
});

test("a session that may see main, and a person, do: where nobody speaks with the target, main's person hears it", async (test) => {
  const { office, sessions } = await spokenWith(test, "agent");
  const script = [`!call cron ${JSON.stringify({ action: "add", ...JOB })}`, "!then", "!say ok"];
  await sessions.call("send", { sessionKey: THREAD, message: script.join("\n") });
  await office.pass(MINUTE_MS + 5_000);
  assert.deepEqual(flown(office), ['ann: [{"type":"text","text":"straight to you"}]']);
  const byPerson = await spokenWith(test);
  const { id } = await byPerson.sessions.call("addJob", JOB);
  await byPerson.office.pass(MINUTE_MS + 5_000);
  assert.deepEqual(flown(byPerson.office), flown(office));
  const [job] = (await byPerson.office.store.jobs({ id })).rows;
  assert.deepEqual(job?.delivery, { kind: "route", of: [THREAD, MAIN] });
});

test("where nobody ever wrote from anywhere, the record says so, and a failure is told to main", async (test) => {
  const office = new Office(test);
  const sessions = await office.start();
  const { id } = await sessions.call("addJob", { ...JOB, message: "!say the news" });
  await sessions.call("runJob", { job: id });
  await office.pass(5_000);
  const [said] = (await office.job(id)).runs;
  const untold = "stays in the session: nobody writes to it through a channel";
  assert.deepEqual([said?.note, said?.untold], ["the news", untold]);
  assert.deepEqual(await office.said(MAIN), []);
  await sessions.call("editJob", { job: id, message: "!fail auth" });
  await sessions.call("runJob", { job: id });
  await office.pass(5_000);
  const [failed] = (await office.job(id)).runs;
  assert.deepEqual([failed?.outcome, failed?.untold], ["failed", null]);
  assert.match(
    (await office.said(MAIN)).join("\n"),
    new RegExp(`^user: .*Job "!fail auth" \\(${id}\\), run by request at .*: failed`, "s"),
  );
  await sessions.call("editJob", { job: id, target: "main" });
  const before = (await office.said(MAIN)).length;
  await sessions.call("runJob", { job: id });
  await office.pass(5_000);
  const [there] = (await office.job(id)).runs;
  assert.equal(there?.untold, untold, "it failed there: main has it already");
  const told = (await office.said(MAIN)).slice(before).filter((line) => line.includes(": failed"));
  assert.deepEqual(told, []);
});

test("what a fresh session sends is muted with main, through whatever channel; what a session sends by its own", async (test) => {
  const { office, sessions } = await spokenWith(test);
  const webhook = { kind: "webhook", channel: "pigeon", to: "the loft" } as const;
  await sessions.call("send", { sessionKey: THREAD, message: "!say hi" });
  await office.add("hook", { message: "!say by hook", delivery: webhook });
  await office.add("route", { message: "!say by route", delivery: { kind: "route", of: [MAIN] } });
  const target = { kind: "session", key: THREAD } as const;
  await office.add("own", { message: "!say my own", target, delivery: webhook });
  await sessions.call("set", { sessionKey: MAIN, sendPolicy: "deny" });
  await office.pass(MINUTE_MS);
  assert.deepEqual(flown(office), ['the loft: [{"type":"text","text":"my own"}]']);
  const refused = await pages((page) => office.store.outbox({ ...page, refused: true }));
  assert.deepEqual(refused.map(({ id }) => id.split(":")[1]).toSorted(), ["hook", "route"]);
  for (const each of refused) assert.match(each.refused ?? "", /the session's own send setting denies it/);
  await sessions.call("set", { sessionKey: MAIN, sendPolicy: null });
  await office.pass(MINUTE_MS);
  assert.ok(flown(office).some((line) => line.includes("by hook")));
});

test("what an alarm itself sends leaves at once, also when its session is at hand and idle", async (test) => {
  const { office, sessions } = await spokenWith(test);
  const target = { kind: "session", key: THREAD } as const;
  const delivery = { kind: "webhook", channel: "pigeon", to: "the loft" } as const;
  await sessions.call("send", { sessionKey: THREAD, message: "hello" });
  await office.pass(1_000);
  await sessions.call("kill", { sessionKey: THREAD });
  await office.add("j", {
    target,
    delivery,
    schedule: { kind: "at", atMs: office.world.nowMs() + 2_000, zone: "UTC" },
  });
  await office.pass(2_001);
  const [run] = (await office.job("j")).runs;
  assert.match(run?.note ?? "", /has ended/);
  assert.equal(office.flown.length, 1);
  assert.equal(office.flown[0]?.route.to, "the loft");
});
