// `sessiond restore`, `archive` and `rm` against a real daemon: what is below, what helps, and what comes of jobs.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { RESTORED_BELOW_MAX } from "../../src/calls/limits.ts";
import { parseKey, type SessionKey } from "../../src/routing/key.ts";
import { scratch } from "../fixtures/home.ts";
import { filled, opening } from "../fixtures/upkeep.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

type Run = (...words: readonly string[]) => Promise<Ran>;

async function begun(t: TestContext, config: object = {}): Promise<readonly [Daemon, Run]> {
  const daemon = await Daemon.start(t, { config });
  return [daemon, (...words) => ran(t, daemon, ...words)];
}

/** The keys of so many sub-agents, which have ended and told it. */
async function below(daemon: Daemon, parent: string, count: number): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { sessionKey, id } = await daemon.call("spawn", { task: `!say ${n}`, parent });
    await daemon.call("wait", { sessionKey, id });
    keys.push(sessionKey);
  }
  // Its reports are read one by one; until then it is busy.
  for (;;) {
    const { state, waitingLetters } = await daemon.call("status", { sessionKey: parent });
    if (state === "idle" && waitingLetters === 0) return keys;
  }
}

test("restore says what is still archived below, and --tree brings it back, before or after", async (t) => {
  const [daemon, run] = await begun(t);
  const top = "agent:main:thread:proj";
  await daemon.call("ask", { sessionKey: top, message: "!say hi" });
  const keys = await below(daemon, top, 2);
  const put = await run("archive", "proj");
  assert.equal(put.out, `archived 3 sessions; sessiond restore ${top} --tree brings them back\n`);
  const alone = await run("restore", "proj");
  assert.match(alone.out, /^agent:main:thread:proj is back: \d+ entries\n2 below it are still archived: /);
  assert.ok(alone.out.endsWith(`sessiond restore ${top} --tree brings them back too\n`), alone.out);
  const after = await run("restore", "proj", "--tree");
  assert.deepEqual(after, { exit: 0, out: `${top} is there; 2 sessions came back below it\n`, err: "" });
  for (const sessionKey of keys) await daemon.call("status", { sessionKey });
  assert.match((await run("restore", "proj", "--tree")).out, /is there; nothing came back below it\n$/);
  await run("archive", "proj");
  assert.match((await run("restore", "proj", "--tree")).out, /is back: \d+ entries, and 2 below it\n$/);
  await run("archive", keys[0] ?? "");
  await run("archive", "proj");
  assert.match(
    (await run("restore", "proj", "--together")).out,
    /is back: \d+ entries, and 1 below it\n1 below it is still archived/,
  );
  const both = await run("restore", "proj", "--tree", "--together");
  assert.deepEqual([both.exit, both.out], [64, ""]);
  assert.match(both.err, /say one of them/);
});

/** Three levels, of which more than one commit takes are archived below the first; with it, if it is not `kept`. */
async function largeTree(home: string, top: SessionKey, isKept: boolean): Promise<void> {
  await filled(home, async (store, world) => {
    const middle = parseKey("agent:main:subagent:middle");
    const lows = Array.from({ length: RESTORED_BELOW_MAX }, (_, n) => parseKey(`agent:main:subagent:c${n}`));
    const tree = [top, middle, ...lows].map((key, at) => {
      return { ...opening(key, world.newId()), parent: at === 0 ? null : at === 1 ? top : middle };
    });
    await store.commit(tree);
    const gone = tree.slice(isKept ? 1 : 0).toReversed();
    await store.commit(
      gone.map(({ key, transcript }) => {
        return { do: "archive", key, expect: { transcript, lastSeq: 0 }, why: "asked" };
      }),
    );
  });
}

test("--tree and --together bring back more than one commit takes, below a session that is there or with it", async (t) => {
  const top = parseKey("agent:main:thread:top");
  const more = RESTORED_BELOW_MAX + 1;
  for (const [isKept, option, told] of [
    [true, "--tree", `${top} is there; ${more} sessions came back below it\n`],
    [false, "--together", `${top} is back: 0 entries, and ${more} below it\n`],
  ] as const) {
    const home = join(scratch(t), "home");
    await largeTree(home, top, isKept);
    const daemon = await Daemon.start(t, { home });
    assert.equal((await ran(t, daemon, "restore", "top", option)).out, told);
    assert.deepEqual((await daemon.call("archives", {})).archives, []);
    await daemon.call("status", { sessionKey: top });
  }
});

test("a sub-agent that is archived is known by the beginning of its id", async (t) => {
  const [daemon, run] = await begun(t);
  const [key = ""] = await below(daemon, "agent:main:main", 1);
  const begin = key.slice(key.lastIndexOf(":") + 1).slice(0, 8);
  await daemon.call("archive", { sessionKey: key });
  for (const text of [begin, `sub:${begin}`])
    for (const command of ["status", "log"]) {
      const { exit, err } = await run(command, text);
      assert.equal(exit, 66);
      assert.match(err, new RegExp(`${key} is archived since .*sessiond restore ${key}`));
    }
  assert.match((await run("archives", `sub:${begin}`)).out, /subagent/);
  assert.match((await run("restore", `sub:${begin}`)).out, new RegExp(`^${key} is back`));
});

test("archives of a session that has none are none, and few characters of an id are said to be few", async (t) => {
  const [daemon, run] = await begun(t);
  await daemon.call("ask", { sessionKey: "agent:main:thread:talk", message: "!say hi" });
  for (const text of ["talk", "agent:main:thread:talk", "main"])
    assert.deepEqual(await run("archives", text), { exit: 0, out: "no archives\n", err: "" });
  for (const text of ["never", "agent:main:thread:never"])
    assert.equal((await run("archives", text)).exit, 66);
  const { archive } = await daemon.call("archive", { sessionKey: "agent:main:thread:talk" });
  const few = await run("restore", archive.slice(0, 5));
  assert.equal(few.exit, 66);
  assert.match(few.err, /at least 6 characters/);
});

test("what cannot be done is told with what can: reset for main, --swap over a session", async (t) => {
  const [daemon, run] = await begun(t);
  for (const sessionKey of ["agent:main:main", "agent:main:thread:trip"])
    await daemon.call("ask", { sessionKey, message: "!say hi" });
  for (const words of [
    ["archive", "main"],
    ["rm", "main", "--yes"],
  ]) {
    const { exit, err } = await run(...words);
    assert.equal(exit, 77);
    assert.match(err, /always exists.*`sessiond reset` begins a new conversation/s);
    assert.doesNotMatch(err, /token/);
  }
  await run("archive", "trip");
  await daemon.call("ask", { sessionKey: "agent:main:thread:trip", message: "!say again" });
  assert.match((await run("restore", "trip")).err, /--swap/);
});

test("archive and rm say which job opens another session", async (t) => {
  const [daemon, run] = await begun(t);
  const sessionKey = "agent:main:thread:ticks";
  const told = /\njob tick writes to it: its next run opens another\n$/;
  await daemon.call("ask", { sessionKey, message: "!say hi" });
  await daemon.call("addJob", { every: "12h", message: "look", target: sessionKey, name: "tick" });
  assert.match((await run("archive", "ticks")).out, told);
  await daemon.call("ask", { sessionKey, message: "!say again" });
  assert.match((await run("rm", "ticks", "--yes")).out, told);
});

test("of what the cap took, restore says how it is kept; a plan says why each step is done", async (t) => {
  const [daemon, run] = await begun(t, { upkeep: { sessionsMax: 1, staleDays: 0 } });
  const sessionKey = "agent:main:direct:ann";
  for (const key of [sessionKey, "agent:main:main"])
    await daemon.call("ask", { sessionKey: key, message: "!say hi" });
  await run("upkeep");
  const back = await run("restore", sessionKey);
  assert.ok(back.out.endsWith(`\nsessiond pin ${sessionKey} keeps upkeep from taking it again\n`), back.out);
  assert.match((await run("upkeep", "--dry-run")).out, /^archive +cap .*direct:ann$/m);
  await run("pin", sessionKey);
  assert.match((await run("upkeep", "--dry-run")).out, /^nothing to do/);
});
