import assert from "node:assert/strict";
import { test } from "node:test";
import { calledOf, forkName, nameOf, type Known } from "./named.ts";

function row(sessionKey: string, of: Partial<Known> = {}): Known {
  return { sessionKey, agent: "main", kind: "direct", title: "", labelled: false, ...of };
}

const MAIN = row("agent:main:main", { kind: "main", title: "hello there" });

test("main is called main whatever was said to it first, and by its label if it has one", () => {
  assert.deepEqual(calledOf(MAIN), { name: "main", key: "", words: "hello there" });
  assert.equal(calledOf({ ...MAIN, sessionKey: "agent:ops:main", agent: "ops" }).name, "ops main");
  assert.deepEqual(calledOf({ ...MAIN, title: "the boss", labelled: true }), {
    name: "the boss",
    key: "main",
    words: "",
  });
  assert.equal(
    calledOf(row("agent:ops:heartbeat", { kind: "heartbeat", agent: "ops" })).name,
    "ops heartbeat",
  );
});

test("others are called by label or first words, then the end of their key; named ones by their name", () => {
  const ada = "agent:main:direct:ada";
  assert.deepEqual(calledOf(row(ada)), { name: "direct:ada", key: "", words: "" });
  assert.deepEqual(calledOf(row(ada, { title: "about\ntea" })), {
    name: "about tea",
    key: "direct:ada",
    words: "",
  });
  const plan = row("agent:main:thread:budget%20plan", { kind: "thread", title: "go on" });
  assert.deepEqual(calledOf(plan), { name: "budget plan", key: "", words: "go on" });
  assert.equal(calledOf({ ...plan, sessionKey: "agent:main:thread:%zz" }).name, "%zz");
  const chat = row("agent:main:discord:group:1:thread:2", { kind: "group", title: "hi" });
  assert.equal(calledOf(chat).name, "hi", "a thread of a chat has an id, and no name");
});

test("a fork says of whom it is one; one that nobody called anything says that it is one", () => {
  assert.equal(forkName(MAIN), "fork of main");
  assert.equal(
    calledOf(
      row("agent:main:thread:fork-0123abcd", { kind: "thread", title: "fork of main", labelled: true }),
    ).key,
    "fork-0123abcd",
  );
  assert.equal(forkName({ ...MAIN, title: "fork of main", labelled: true }), "fork of main");
  const fork = row(`agent:main:thread:fork-${"0123abcd".repeat(4)}`, {
    kind: "thread",
    title: "hello there",
  });
  assert.deepEqual(calledOf(fork), { name: "fork-0123abcd", key: "", words: "hello there" });
});

test("in a question it is told so that nobody mistakes it, on one harmless line", () => {
  assert.equal(nameOf(MAIN), "main");
  const child = row("agent:main:subagent:01234567-89", {
    kind: "subagent",
    title: `\u202e${"w".repeat(90)}`,
  });
  assert.equal(nameOf(child), `"${"w".repeat(59)}…" (sub:01234567)`);
});
