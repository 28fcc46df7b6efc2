import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Sessions } from "../calls/library.ts";
import { open } from "../main.ts";
import { afterwards, scratch } from "../../test/fixtures/home.ts";
import { keyOf, spellings } from "./key.ts";

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
