import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Fault } from "../base/fault.ts";
import type { Sessions } from "../calls/library.ts";
import { open } from "../main.ts";
import { afterwards, scratch } from "../../test/fixtures/home.ts";
import { keyOf, spellings, type Lookup } from "./key.ts";

/** Sessions as the daemon has them, without the wire in between. */
async function sessionsOf(t: TestContext): Promise<Sessions> {
  const sessions = await open({ home: scratch(t), log: { level: "silent" } });
  afterwards(t, () => sessions.close());
  return sessions;
}

test("a short key means the one session that it fits", async (t) => {
  const sessions = await sessionsOf(t);
  await sessions.send("agent:main:thread:budget-planning", "hi");
  const { sessionKey: child, id } = await sessions.spawn("say hi");
  await sessions.wait(child, id);
  const begin = child.slice("agent:main:subagent:".length, "agent:main:subagent:".length + 6);
  const meant = {
    main: "agent:main:main",
    "agent:main:main": "agent:main:main",
    "agent:main:thread:new": "agent:main:thread:new", // a whole key is passed on, whether or not it is there
    "budget-planning": "agent:main:thread:budget-planning",
    "thread:budget-planning": "agent:main:thread:budget-planning",
    "main:thread:budget-planning": "agent:main:thread:budget-planning",
    "thread:budget": "agent:main:thread:budget-planning",
    [`sub:${begin}`]: child,
    [`subagent:${begin}`]: child,
    [begin]: child,
  };
  for (const [text, key] of Object.entries(meant)) assert.equal(await keyOf(sessions, text), key, text);
});

test("a label is a name too", async (t) => {
  const sessions = await sessionsOf(t);
  await sessions.send("agent:main:thread:a", "hi");
  await sessions.set("agent:main:thread:a", { label: "the budget" });
  assert.equal(await keyOf(sessions, "the budget"), "agent:main:thread:a");
});

test("a label wins over nobody's id, and a few letters of an id are none", async (t) => {
  const sessions = await sessionsOf(t);
  const { sessionKey: child, id } = await sessions.spawn("say hi");
  await sessions.wait(child, id);
  const whole = child.slice("agent:main:subagent:".length);
  for (const length of [1, 3]) {
    const few = whole.slice(0, length);
    for (const text of [few, `sub:${few}`])
      await assert.rejects(keyOf(sessions, text), { code: "not_found", message: /at least 4 characters/ });
  }
  await sessions.send("agent:main:thread:a", "hi");
  await sessions.set("agent:main:thread:a", { label: whole.slice(0, 4) });
  await assert.rejects(keyOf(sessions, whole.slice(0, 4)), {
    code: "bad_input",
    message: new RegExp(`may be agent:main:thread:a, ${child}`),
  });
  assert.equal(await keyOf(sessions, whole.slice(0, 6)), child);
});

test("among more sessions than are looked through the beginning of an id means nobody", async () => {
  let pages = 0;
  const call = async (name: string, { label }: { readonly label?: string }): Promise<unknown> => {
    if (name === "history") throw new Fault("not_found", "no such");
    if (label !== undefined) return { sessions: [], next: null };
    pages += 1;
    return { sessions: pages === 1 ? [{ sessionKey: "agent:main:subagent:abcd1" }] : [], next: `${pages}` };
  };
  await assert.rejects(keyOf({ call } as unknown as Lookup, "abcd"), {
    code: "bad_input",
    message: /more than 1,000 sub-agents.*write the whole id/,
  });
});

test("what may mean several names them, and what means none names the nearest", async (t) => {
  const sessions = await sessionsOf(t);
  for (const name of ["plan-a", "plan-b"]) await sessions.send(`agent:main:thread:${name}`, "hi");
  await assert.rejects(keyOf(sessions, "thread:plan"), {
    code: "bad_input",
    message:
      /^"thread:plan" may be agent:main:thread:plan-b, agent:main:thread:plan-a\. |^"thread:plan" may be agent:main:thread:plan-a, agent:main:thread:plan-b\. /,
  });
  await assert.rejects(keyOf(sessions, "paln-a"), { code: "not_found", message: /Did you mean plan-a\?$/ });
  await assert.rejects(keyOf(sessions, "zzzzzzzzzz"), { code: "not_found", message: /sessiond ps/ });
});

test("what looks like a whole key and is none is told what is wrong with it", async (t) => {
  const sessions = await sessionsOf(t);
  await assert.rejects(keyOf(sessions, "agent:Main:main"), {
    code: "bad_input",
    message: /Did you mean "agent:main:main"\?$/,
  });
  await assert.rejects(keyOf(sessions, "agent:"), { code: "bad_input" });
});

test("any text makes only keys, or none", () => {
  for (const text of ["", " ", "a b", "../..", "ü", "x".repeat(1_000), "main:main", "::", "sub:"])
    for (const key of spellings(text)) assert.match(key, /^agent:[a-z0-9_-]+:\S+$/);
});

test("of what is archived a short key says so, and how it comes back", async (t) => {
  const sessions = await sessionsOf(t);
  const key = "agent:main:thread:plan-a";
  await sessions.ask(key, "!say hi");
  await sessions.call("archive", { sessionKey: key });
  for (const text of ["plan-a", "thread:plan-a"])
    await assert.rejects(keyOf(sessions, text), {
      code: "not_found",
      message:
        /^agent:main:thread:plan-a is archived since .*: `sessiond restore agent:main:thread:plan-a` brings it back$/,
    });
});
