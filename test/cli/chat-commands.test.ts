// Chat commands at a terminal, and `sessiond reset`, against a real daemon.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { COMMANDS } from "../../src/calls/commands.ts";
import { Daemon } from "../gateway/daemon.ts";
import { NO_TERMINAL as skip, ran, terminal } from "./stage.ts";

describe("a chat at a terminal", { timeout: 180_000 }, () => {
  test("knows every command that the daemon knows, and its own", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: "main", message: "!say hello" });
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/hello/);
    chat.type("/help\r");
    await chat.seen(/Ctrl-J/);
    for (const { name, aliases = [] } of COMMANDS)
      for (const each of [name, ...aliases]) assert.match(chat.out, new RegExp(`/${each}\\b`), each);
    assert.match(chat.out, /\/quit +leaves/);
    const said: readonly (readonly [string, RegExp])[] = [
      ["/help queue", /\/queue \[steer/],
      ["/status", /agent:main:main "!say hello" · idle/],
      ["/context", /tokens, \d+% of the 200\.0k/],
      ["/model rehearsal/small", /model rehearsal\/small/],
      ["/think low", /thinking low/],
      ["/verbose on", /verbose on/],
      ["/queue followup", /queue mode followup/],
      ["/send deny", /sending deny/],
      ["/label Nine lives", /it is called "Nine lives"/],
      ["/pin", /pinned: upkeep never takes it/],
      ["/stop", /nothing runs in it/],
      ["/pause", /paused; \/cont goes on/],
      ["/cont", /goes on/],
      ["/rewind", /\/rewind <number>: that entry/],
      ["/compact", /too little to summarise yet/],
      ["/fork copy", /sessiond chat agent:main:thread:copy/],
      ["/subagents", /no children/],
      ["/children", /no children/],
      ["/kill 1", /no child of agent:main:main is meant by "1"/],
      ["/steer 1 x", /no child of agent:main:main/],
      ["/cron", /no jobs/],
      ["/stauts", /there is no \/stauts; did you mean status\?/],
      ["/rsete", /there is no \/rsete; did you mean reset\?/],
    ];
    for (const [text, words] of said) {
      chat.out = "";
      chat.type(`${text}\r`);
      await chat.seen(words);
    }
    chat.type("/quit\r");
    assert.equal(await chat.ended(), 0);
  });

  test(
    "completes names with Tab, and the words behind them, and lists what may be meant",
    { skip },
    async (t) => {
      const daemon = await Daemon.start(t);
      const chat = terminal(t, daemon, "chat");
      await chat.seen(/rehearsal\/default/);
      const typed = async (text: string, words: RegExp): Promise<void> => {
        chat.out = "";
        chat.type(text);
        await chat.seen(words);
      };
      await typed("/st\t", /\/status {2}\/stop {2}\/steer/);
      await typed("at\t", /\/status $/m);
      await typed("\r", /agent:main:main · idle/);
      await typed("/cro\t", /\/cron $/m);
      await typed("\t", /list {2}add {2}show {2}edit {2}run {2}runs/);
      await typed("l\t", /\/cron list $/m);
      await typed("\r", /no jobs/);
      await typed("/subagents l\t", /list {2}log/);
      await typed("i\t\r", /no children/);
      chat.type("\x04");
      assert.equal(await chat.ended(), 0);
    },
  );

  test("goes on in the new conversation after /new", { skip }, async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.call("ask", { sessionKey: "main", message: "the code is 4711" });
    const chat = terminal(t, daemon, "chat");
    await chat.seen(/rehearsal\/default/);
    chat.type("/new\r");
    await chat.seen(/a new conversation begins; the old one is archive/);
    chat.out = "";
    chat.type("what was the code?\r");
    await chat.seen(/you said "what was the code\?"\./);
    chat.type("/new !say first words\r");
    await chat.seen(/first words[^]*first words/);
    assert.doesNotMatch(chat.out, /damage/);
    chat.type("/etc/hosts\r");
    await chat.seen(/you said "\/etc\/hosts"/);
    chat.type("//status\r");
    await chat.seen(/you said "\/status"/);
    chat.type("/status of the project?\r");
    await chat.seen(/you said "\/status of the project\?"/);
    chat.type("\x04");
    assert.equal(await chat.ended(), 0);
  });
});

test("sessiond reset begins anew, and says where the old conversation is", { timeout: 60_000 }, async (t) => {
  const daemon = await Daemon.start(t);
  const empty = await ran(t, daemon, "reset", "main");
  assert.deepEqual([empty.exit, empty.err], [0, ""]);
  assert.match(empty.out, /nothing was said in it yet/);
  await daemon.call("ask", { sessionKey: "main", message: "!say one" });
  const done = await ran(t, daemon, "reset", "main", "--model", "rehearsal/small");
  assert.match(done.out, /^agent:main:main: a new conversation begins; the old one is archive [\w-]+\n$/);
  assert.equal((await daemon.call("status", {})).model, "rehearsal/small");
  await daemon.call("ask", { sessionKey: "main", message: "!say two" });
  const { outcome, archive } = JSON.parse((await ran(t, daemon, "reset", "main", "--json")).out) as Record<
    string,
    unknown
  >;
  assert.equal(outcome, "done");
  assert.equal(typeof archive, "string");
  const wrong = await ran(t, daemon, "reset", "main", "--model", "no/such");
  assert.equal(wrong.exit, 64);
  assert.match(wrong.err, /there is no model "no\/such"/);
});
