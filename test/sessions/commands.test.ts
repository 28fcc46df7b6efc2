// Chat commands as a page or a terminal gives them: by the call `command`, with the rights of whoever calls.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandIn, COMMANDS } from "../../src/calls/commands.ts";
import type { Scope } from "../../src/calls/call.ts";
import { openedWired, person, type Opened } from "../fixtures/wired.ts";
import { fault } from "./stage.ts";

const MAIN = "agent:main:main";

async function command(at: Opened, text: string, scope: Scope = "operate", sessionKey = MAIN) {
  return await at.door.call("command", person(scope), { sessionKey, text }, new AbortController().signal);
}

/** What each can be given by whoever may only look, and what not. */
const BY_SCOPE: Readonly<
  Record<string, { readonly read: readonly string[]; readonly operate: readonly string[] }>
> = {
  help: { read: ["/help", "/help new"], operate: [] },
  status: { read: ["/status"], operate: [] },
  context: { read: ["/context"], operate: [] },
  model: { read: ["/model"], operate: ["/model rehearsal/small"] },
  think: { read: ["/think"], operate: ["/think low"] },
  verbose: { read: ["/verbose"], operate: ["/verbose on"] },
  queue: { read: ["/queue"], operate: ["/queue steer"] },
  send: { read: ["/send"], operate: ["/send deny"] },
  label: { read: ["/label"], operate: ["/label x"] },
  pin: { read: [], operate: ["/pin", "/pin off", "/pin 1"] },
  stop: { read: [], operate: ["/stop"] },
  pause: { read: [], operate: ["/pause"] },
  cont: { read: [], operate: ["/cont"] },
  new: { read: [], operate: ["/new", "/reset", "/new rehearsal/small", "/new hello"] },
  compact: { read: [], operate: ["/compact"] },
  handoff: { read: [], operate: ["/handoff"] },
  fork: { read: [], operate: ["/fork"] },
  rewind: { read: ["/rewind"], operate: ["/rewind 1"] },
  subagents: {
    read: ["/subagents", "/subagents list", "/subagents info 1", "/subagents log 1"],
    operate: ["/subagents steer 1 x", "/subagents kill 1", "/subagents kill all", "/subagents spawn x"],
  },
  children: { read: ["/children"], operate: [] },
  kill: { read: [], operate: ["/kill 1", "/kill all"] },
  steer: { read: [], operate: ["/steer 1 x"] },
  cron: {
    read: ["/cron", "/cron show x1", "/cron runs x1"],
    operate: ["/cron add every 1h x", "/cron run x1", "/cron off x1", "/cron on x1", "/cron rm x1"],
  },
};

describe("command", { timeout: 60_000 }, () => {
  test("may do what whoever gives it may: each call that it makes is refused as it would be by itself", async (t) => {
    const at = await openedWired(t);
    await at.sessions.ask(MAIN, "!say hello");
    await at.sessions.call("spawn", { parent: MAIN, task: "!slow 3600000" });
    await at.sessions.call("addJob", { every: "1h", message: "x", name: "x1", target: "main" });
    assert.deepEqual(
      Object.keys(BY_SCOPE),
      COMMANDS.map(({ name }) => name),
    );
    const before = await at.sessions.status(MAIN);
    for (const { read, operate } of Object.values(BY_SCOPE)) {
      for (const text of read) assert.equal((await command(at, text, "read")).isCommand, true, text);
      for (const text of operate)
        await assert.rejects(command(at, text, "read"), fault("forbidden", /needs the scope operate/), text);
    }
    const after = await at.sessions.status(MAIN);
    assert.deepEqual(after.settings, before.settings);
    assert.equal(after.entries, before.entries);
    assert.equal((await at.sessions.call("jobs", {})).jobs.length, 1);
    assert.equal((await at.sessions.children(MAIN)).children[0]?.state, "running");
  });

  test("only looks, as it says of itself, exactly where whoever may only look may give it", () => {
    const looks = (text: string): boolean => {
      const { command, rest } = commandIn(text, true) ?? assert.fail(text);
      return command.looks?.(rest) === true;
    };
    for (const { read, operate } of Object.values(BY_SCOPE)) {
      for (const text of read) assert.equal(looks(text), true, text);
      for (const text of operate) assert.equal(looks(text), false, text);
    }
  });

  test("with a name behind it is a message where several people are", async (t) => {
    const at = await openedWired(t);
    const group = "agent:main:pigeon:group:g";
    await at.sessions.ask(group, "!say hello");
    assert.equal((await command(at, "/label@other_bot x", "operate", group)).isCommand, false);
    assert.equal((await command(at, "/label@other_bot x")).isCommand, true);
  });

  test("says where the conversation can be gone on with", async (t) => {
    const at = await openedWired(t);
    await at.sessions.ask(MAIN, "!say hello");
    assert.equal((await command(at, "/status")).sessionKey, null);
    assert.equal((await command(at, "/fork copy")).sessionKey, "agent:main:thread:copy");
    const { sessionKey = "" } = await command(at, "/handoff");
    assert.match(sessionKey ?? "", /^agent:main:thread:handoff-/);
  });

  test("sends the message behind /new into the new conversation", async (t) => {
    const at = await openedWired(t);
    await at.sessions.ask(MAIN, "the code is 4711");
    assert.match((await command(at, "/new what was the code?")).text, /a new conversation begins/);
    for (;;) {
      const { entries } = await at.sessions.history(MAIN);
      const answer = entries.find(({ kind }) => kind === "assistant");
      if (answer === undefined) continue;
      assert.doesNotMatch(answer.text, /4711/);
      assert.deepEqual(
        entries.filter(({ kind }) => kind === "user").map(({ text }) => text),
        ["what was the code?"],
      );
      return;
    }
  });

  test("does nothing with what is no command, and says so", async (t) => {
    const at = await openedWired(t);
    for (const text of ["hello", "/etc/passwd", "/unknown", "//status", "/", " "])
      assert.deepEqual(await command(at, text), { isCommand: false, text: "", sessionKey: null }, text);
    assert.equal((await at.sessions.status(MAIN)).entries, 0);
  });

  test("refuses in words: sessions that are not there, what is no key, texts that are too long", async (t) => {
    const at = await openedWired(t);
    const none = "agent:main:thread:none";
    for (const text of ["/status", "/label x", "/new", "/stop", "/subagents", "/fork"])
      await assert.rejects(
        command(at, text, "operate", none),
        fault("not_found", /there is no session/),
        text,
      );
    await assert.rejects(
      command(at, "/status", "operate", "agent:Main:main"),
      fault("bad_input", /not a session key/),
    );
    await assert.rejects(command(at, `/label ${"x".repeat(2_000_000)}`), fault("bad_input", /text/));
    assert.match((await command(at, "/help", "read", none)).text, /^\/help/, "help needs no session");
  });

  test("changes nothing while the gateway stops; who looks is answered", async (t) => {
    const at = await openedWired(t);
    at.door.drain();
    await assert.rejects(command(at, "/label x"), fault("closed", /stopping/));
    assert.match((await command(at, "/status")).text, /^agent:main:main/);
  });

  test("has a list for who completes words", async (t) => {
    const at = await openedWired(t);
    const { commands } = await at.sessions.call("commands", {});
    assert.deepEqual(
      commands.map(({ name }) => name),
      COMMANDS.map(({ name }) => name),
    );
    const names = commands.flatMap(({ name, aliases }) => [name, ...aliases]);
    assert.equal(new Set(names).size, names.length);
    for (const { name, about } of commands) assert.ok(/^[a-z]+$/.test(name) && about.length > 0, name);
    for (const { name, takes, words } of commands)
      for (const word of words) assert.ok(takes.split(/[^a-z]+/).includes(word), `${name} ${word}`);
    const wordy = new Set(commands.flatMap(({ name, words }) => (words.length > 0 ? [name] : [])));
    for (const name of ["subagents", "cron", "think", "queue"]) assert.ok(wordy.has(name), name);
  });
});
