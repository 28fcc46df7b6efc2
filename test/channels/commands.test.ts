// Chat commands, as somebody writes them in a chat of a channel: what each does, what it answers, and that it does so once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { COMMANDS } from "../../src/calls/commands.ts";
import type { ConfigInput } from "../../src/index.ts";
import type { Outgoing } from "../../src/mail/letter.ts";
import { COMMAND_ANSWERS_MAX } from "../../src/calls/limits.ts";
import { mainKey, parseAgent, parseKey, subagentKey } from "../../src/routing/key.ts";
import { Forward } from "../fixtures/forward.ts";
import { named, spawn } from "../sessions/family.ts";
import { fault, Gate } from "../sessions/stage.ts";
import { ANN, Chatting } from "./chatting.ts";
import { Receiver, SECRET, Stage, until } from "./stage.ts";

describe("in a chat", { timeout: 120_000 }, () => {
  test("/help says what there is, also before anything was said, and no model is asked", async (t) => {
    const chat = await Chatting.open(t);
    const help = await chat.say("/help");
    for (const { name, about } of COMMANDS)
      assert.ok(help.includes(`/${name}`) && help.includes(about), name);
    for (const { name } of COMMANDS)
      assert.match(await chat.say(`/help ${name}`), new RegExp(`^/${name}\\b`));
    assert.equal(await chat.say("/help Status"), await chat.say("/help /status"));
    assert.match(await chat.say("/help stauts"), /there is no command "\/stauts"; did you mean \/status\?/);
    const { entries, usage } = await chat.sessions.status(ANN);
    assert.deepEqual([entries, usage.steps], [0, 0]);
    assert.deepEqual(chat.came.at(0)?.route, { channel: "pigeon", to: "ann", thread: null });
  });

  test("/status and /context say how it is", async (t) => {
    const chat = await Chatting.open(t);
    await chat.say("hello");
    assert.match(
      await chat.say("/status"),
      /^agent:main:pigeon:direct:ann "hello" · idle\nwhy +nothing to do\nmodel +rehearsal/,
    );
    assert.match(await chat.say("/context"), /tokens, \d+% of the 200\.0k of rehearsal\/default/);
    assert.match(await chat.say("/Status@some_bot"), /^agent:main:pigeon/, "as phones and groups write it");
  });

  test("/model, /think, /verbose, /queue and /send set what the calls set", async (t) => {
    const chat = await Chatting.open(t);
    assert.match(
      await chat.say("/model"),
      /^model rehearsal\/default; there are:\n[^]*rehearsal\/small · 16\.0k/,
    );
    assert.equal(await chat.say("/model rehearsal/small"), "model rehearsal/small");
    assert.equal(await chat.say("/think high"), "thinking high");
    assert.equal(await chat.say("/verbose full"), "verbose full");
    assert.equal(await chat.say("/queue collect"), "queue mode collect");
    assert.equal(await chat.say("/send allow"), "sending allow");
    const { model, thinking, verbose, queueMode, sendPolicy } = await chat.settings();
    assert.deepEqual(
      [model, thinking, verbose, queueMode, sendPolicy],
      ["rehearsal/small", "high", "full", "collect", "allow"],
    );
    for (const [name, now] of [
      ["think", "thinking high"],
      ["verbose", "verbose full"],
      ["queue", "queue mode collect"],
      ["send", "sending allow"],
    ] as const) {
      assert.match(await chat.say(`/${name}`), new RegExp(`^${now}; /${name} takes .*default$`));
      assert.match(await chat.say(`/${name} much`), new RegExp(`^/${name} takes one of .*default$`));
      assert.match(await chat.say(`/${name} default`), /as the agent's configuration says$/);
    }
    assert.equal(await chat.say("/model default"), "model as the agent's configuration says");
    assert.match(await chat.say("/model no/such"), /there is no model "no\/such"/);
    const after = await chat.settings();
    assert.deepEqual(
      [after.model, after.thinking, after.verbose, after.queueMode, after.sendPolicy],
      [null, null, null, null, null],
    );
  });

  test("/label and /pin name and keep it", async (t) => {
    const chat = await Chatting.open(t);
    await chat.say("hello");
    assert.equal(await chat.say("/label"), "it has no label");
    assert.equal(await chat.say("/label Budget\n 2027"), 'it is called "Budget 2027"');
    assert.equal((await chat.settings()).label, "Budget 2027");
    assert.match(await chat.say(`/label ${"x".repeat(5_000)}`), /has at most \d+ characters/);
    assert.equal(await chat.say("/label clear"), "it has no label");
    assert.equal(await chat.say("/pin"), "pinned: upkeep never takes it");
    assert.equal((await chat.settings()).pinned, true);
    assert.equal(await chat.say("/pin off"), "not pinned");
    assert.equal((await chat.settings()).pinned, false);
    const { entries } = await chat.sessions.history(ANN);
    const seq = entries.find(({ kind }) => kind === "user")?.seq ?? 0;
    assert.equal(await chat.say(`/pin ${seq}`), `entry ${seq} is pinned; 1 are`);
    assert.equal((await chat.settings()).pins.length, 1);
    assert.equal(await chat.say(`/pin off #${seq}`), `entry #${seq} is not pinned; 0 are`);
    assert.match(await chat.say("/pin 9999"), /has no entry 9999/);
  });

  test("/stop stops the turn that runs; /pause and /cont hold it and let it go on", async (t) => {
    const gate = new Gate();
    const chat = await Chatting.open(t, { tools: [gate.tool] });
    assert.equal(await chat.say("/stop"), "nothing runs in it");
    const { id } = await chat.receive("!call gate");
    await gate.reached();
    assert.equal(await chat.say("/stop"), "its turn stops");
    assert.equal((await chat.sessions.wait(ANN, id)).outcome, "aborted");
    assert.equal(await chat.say("/pause"), "paused; /cont goes on");
    assert.equal(await chat.say("/pause"), "was paused already; /cont goes on");
    const waits = await chat.receive("!say there");
    assert.match(await chat.say("/status"), /paused/);
    assert.match(await chat.say("/compact"), /is paused/);
    const before = chat.came.length;
    await chat.receive("/cont");
    assert.equal((await chat.sessions.wait(ANN, waits.id)).text, "there");
    await until(() => chat.came.length >= before + 2);
    assert.deepEqual(chat.texts.slice(before).toSorted(), ["goes on", "there"]);
    assert.equal(await chat.say("/cont"), "was not paused");
  });

  test("/new and /reset begin anew, with a model, with a message", async (t) => {
    const chat = await Chatting.open(t);
    assert.match(await chat.say("/new"), /nothing was said in it yet/);
    await chat.say("the code is 4711");
    assert.match(await chat.say("/new"), /^a new conversation begins; the old one is archive [\w-]+$/);
    assert.doesNotMatch(await chat.say("what was it?"), /4711/);
    assert.match(await chat.say("/reset rehearsal/small"), /a new conversation begins/);
    assert.equal((await chat.settings()).model, "rehearsal/small");
    await chat.say("hello");

    const before = chat.came.length;
    await chat.receive("/new !say the first words");
    await until(() => chat.came.length >= before + 2);
    const [one = "", other = ""] = chat.texts.slice(before).toSorted();
    assert.match(one, /a new conversation begins/);
    assert.equal(other, "the first words");
    assert.deepEqual(await chat.letters(), ["!say the first words"]);

    const again = chat.came.length;
    await chat.receive("/new rehearsal/default !say with another model");
    await until(() => chat.came.length >= again + 2);
    assert.ok(chat.texts.slice(again).includes("with another model"));
    assert.equal((await chat.settings()).model, "rehearsal/default");
    const archives = await chat.stage.wired.system.store.archives({ key: parseKey(ANN) });
    assert.equal(archives.rows.length, 4);
  });

  test("/new in the middle of a turn stops it, and the message is read in the new conversation", async (t) => {
    const gate = new Gate();
    const chat = await Chatting.open(t, { tools: [gate.tool] });
    const { id } = await chat.receive("!call gate");
    const over = chat.sessions.wait(ANN, id);
    await gate.reached();
    await chat.receive("/new !list");
    assert.equal((await over).outcome, "aborted");
    const list = await until(() => chat.texts.find((text) => text.includes("!list")));
    assert.doesNotMatch(list, /gate/);
  });

  test("/compact, /handoff, /fork and /rewind do what the calls do", async (t) => {
    const chat = await Chatting.open(t);
    assert.match(await chat.say("/compact"), /nothing was said in .* yet/);
    await chat.say("!say one");
    await chat.say("!say two");
    assert.match(await chat.say("/compact the names"), /too little to summarise yet|tokens became/);
    const places = await chat.say("/rewind");
    const back = /#(\d+) assistant: one/.exec(places)?.[1] ?? "";
    assert.equal(await chat.say(`/rewind ${back}`), `continues from entry ${back}`);
    assert.match(await chat.say("/rewind 9999"), /has no entry 9999/);
    assert.match(
      await chat.say("/fork copy"),
      /^agent:main:thread:copy knows what agent:main:pigeon:direct:ann knew/,
    );
    assert.equal((await chat.sessions.status("agent:main:thread:copy")).state, "idle");
    assert.match(
      await chat.say("/handoff go on"),
      /^agent:main:thread:handoff-\w+ goes on from agent:main:pigeon/,
    );
  });

  test("/subagents, and its short words, rule over the children of this chat", async (t) => {
    const gate = new Gate();
    const chat = await Chatting.open(t, { tools: [gate.tool] });
    assert.equal(await chat.say("/subagents"), "no children");
    assert.match(
      await chat.say("/subagents spawn !call gate\n!then\n!say done"),
      /^(\S+) works on it; its report comes here$/,
    );
    await gate.reached();
    await chat.say(spawn("!call gate", { label: "pricing of B" }));
    await gate.reached(2);
    const list = await chat.say("/subagents list");
    const [, first = "", second = ""] = /^1\. (\S+) .*\n2\. (\S+) "pricing of B" .*$/.exec(list) ?? [];
    assert.equal(await chat.say("/children"), list);
    assert.match(await chat.say("/subagents info 1"), new RegExp(`^${first} `));
    assert.match(await chat.say("/subagents info pricing of B"), new RegExp(`^${second} `));
    assert.match(await chat.say(`/subagents info ${second.slice(-6)}`), new RegExp(`^${second} `));
    assert.match(await chat.say("/subagents log 1"), /user: !call gate !then !say done/);
    assert.equal(await chat.say("/subagents steer 1 look closer"), `${first} reads it before its next step`);
    assert.equal(await chat.say("/steer 1 and closer"), `${first} reads it before its next step`);
    assert.equal(await chat.say("/kill 1"), `killed ${first}`);
    await until(async () => (await chat.sessions.status(first)).state === "ended");
    const before = chat.came.length;
    await chat.receive("/subagents kill all");
    await until(() => chat.texts.slice(before).includes("killed 1 child"));
    await until(async () => (await chat.sessions.status(second)).state === "ended");
    for (const text of [
      "/subagents kill",
      "/kill",
      "/steer 1",
      "/subagents spawn",
      "/subagents info",
      "/subagents log",
    ])
      assert.ok(await until(() => answerTo(chat, text, /^write \//)), text);
    assert.match(await answerTo(chat, "/subagents dance", /takes one of list, info/), /list/);
    assert.match(await answerTo(chat, "/kill agent:main:main", /no child of/), /no child of/);
    assert.match(await answerTo(chat, "/kill 99", /no child of/), /no child of/);
  });

  test("/subagents shows who is lent to this chat, and rules over none of them", async (t) => {
    const gate = new Gate();
    const chat = await Chatting.open(t, { tools: [gate.tool] });
    const library = named("library");
    await chat.sessions.ask(library, "!say mine");
    await chat.say(spawn("!call gate", { name: "library", resumeIfExists: true }));
    await gate.reached();
    assert.match(
      await chat.say("/subagents"),
      /^– agent:main:thread:library .* works for this session, and is no child of it$/,
    );
    assert.equal(await chat.say("/kill all"), "no child works");
    for (const child of ["1", "library", library])
      for (const text of [`/kill ${child}`, `/steer ${child} x`, `/subagents log ${child}`])
        assert.match(await chat.say(text), /^no child of/, text);
    assert.match(await chat.say("/subagents info 1"), /^no child of/);
    assert.equal((await chat.sessions.status(library)).state, "running");
    gate.open();
  });

  test("/kill all finds every child; of more than a page none has a number", async (t) => {
    const chat = await Chatting.open(t);
    await chat.say("/help");
    const { store, world } = chat.stage.wired.system;
    const parent = parseKey(ANN);
    const keys = Array.from({ length: 430 }, (_, n) => subagentKey(mainKey(parseAgent("main")), `c-${n}`));
    for (const key of keys)
      await store.commit([
        {
          do: "open",
          key,
          transcript: world.newId(),
          cwd: "",
          parent,
          settings: {},
          copy: null,
          ifExists: "refuse",
        },
      ]);
    const list = (await chat.say("/subagents")).split("\n");
    assert.equal(list.length, 201);
    assert.doesNotMatch(list.join("\n"), /^\d+\./m);
    assert.match(list.at(-1) ?? "", /and more/);
    assert.match(
      await chat.say("/kill 3"),
      /more than 200 children, too many for numbers: name it by its key/,
    );
    assert.equal(await chat.say("/kill c-7"), `killed ${keys[7]}`);
    await until(async () => (await chat.sessions.status(keys[7] ?? "")).state === "ended");
    assert.equal(await chat.say("/kill all"), "killed 429 children");
    for (const key of keys) await until(async () => (await store.session(key))?.state.kind === "ended");
    assert.equal(await chat.say("/kill all"), "no child works");
  });

  test("/cron add takes five fields or six, and says so when it takes six", async (t) => {
    const chat = await Chatting.open(t);
    const six = /^job \w+: (.*) \(.*\) · next .*\nthe six fields \1, seconds first/;
    assert.match(await chat.say("/cron add cron 0 0 9 * * 1-5 the plan"), six);
    assert.match(await chat.say("/cron add cron 30 45 9 * * MON look"), six, "as five it would be none");
    for (const text of ["0 9 * * 1-5 good morning", '"0 9 * * 1-5" 5 things', "“0 9 * * 1-5” 1-5 things"])
      assert.match(await chat.say(`/cron add cron ${text}`), /^job \w+: 0 9 \* \* 1-5 \([^\n]*$/);
    assert.match(
      await chat.say("/cron add cron 0 99 * * 1-5 look"),
      /field 2 of "0 99 \* \* 1-5" is the hour/,
    );
    const { jobs } = await chat.sessions.call("jobs", {});
    assert.deepEqual(jobs.map(({ message }) => message).toSorted(), [
      "1-5 things",
      "5 things",
      "good morning",
      "look",
      "the plan",
    ]);
  });

  test("/cron has jobs that work here", async (t) => {
    const chat = await Chatting.open(t);
    assert.match(await chat.say("/cron"), /^no jobs/);
    assert.match(await chat.say("/cron add every 15m !say it is time"), /^job \w+: every 15m · next /);
    assert.match(await chat.say('/cron add cron "0 9 * * 1-5" good morning'), /^job \w+: 0 9 \* \* 1-5/);
    assert.match(await chat.say("/cron add cron 0 9 * * 1-5 good morning"), /^job \w+: 0 9 \* \* 1-5/);
    assert.match(await chat.say("/cron add at 20m remind me"), /^job \w+: /);
    assert.match(
      await chat.say("/cron add cron 0 9 * * 1-5 5 things"),
      /"5" may be the sixth field or the first word: write \/cron add cron "0 9 \* \* 1-5" 5 …, or/,
    );
    assert.match(await chat.say("/cron add cron 0 9 * * * Sun cream"), /may be the sixth field/);
    assert.match(
      await chat.say("/cron add cron 0 0 9 * * 1-5"),
      /^write \/cron add every/,
      "it says nothing",
    );
    for (const wrong of ["/cron add", "/cron add every 15m", "/cron add cron 0 9"])
      assert.match(await chat.say(wrong), /^write \/cron add every/, wrong);
    for (const wrong of ["/cron add every", "/cron add soon x"])
      assert.match(await chat.say(wrong), /says no time: say a cron expression in quotes/, wrong);
    assert.match(await chat.say("/cron add every never x"), /every/);
    const list = await chat.say("/cron list");
    assert.equal(list.split("\n").length, 4);
    const { jobs } = await chat.sessions.call("jobs", {});
    assert.ok(jobs.every(({ target }) => target === ANN));
    const at =
      list
        .split("\n")
        .find((line) => line.includes("it is time"))
        ?.split(" ")[0] ?? "";
    assert.match(
      await chat.say(`/cron show ${at}`),
      /does +!say it is time\nin +agent:main:pigeon:direct:ann/,
    );
    assert.match(await chat.say(`/cron off ${at}`), /^off/);
    assert.match(await chat.say(`/cron on ${at}`), /^on; next 20/);
    assert.equal(await chat.say(`/cron runs ${at}`), "it has not run yet");
    const before = chat.came.length;
    await chat.receive(`/cron run ${at}`);
    await until(() => chat.texts.slice(before).includes(`runs in ${ANN}`));
    await until(() => chat.texts.slice(before).includes("it is time"));
    assert.match(await chat.say(`/cron rm ${at}`), /^job \w+ is gone$/);
    assert.equal((await chat.sessions.call("jobs", {})).jobs.length, 3);
    assert.match(await chat.say("/cron rm 77"), /there is no job "77".*\/cron list says which there are/);
    assert.match(await chat.say("/cron dance"), /^\/cron takes one of list, add/);
    // What works elsewhere is not seen, but from main.
    const other = await chat.sessions.call("addJob", { every: "1h", message: "x", target: "main" });
    assert.match(await chat.say(`/cron rm ${other.id}`), /there is no job/);
    const { text } = await chat.sessions.call("command", { sessionKey: "main", text: "/cron list" });
    assert.equal(text.split("\n").length, 4);
  });
});

/** One of the answers, among reports that may come at the same time. */
async function answerTo(chat: Chatting, message: string, words: RegExp): Promise<string> {
  const before = chat.came.length;
  await chat.receive(message);
  return await until(() => chat.texts.slice(before).find((text) => words.test(text)));
}

describe("what is no command", { timeout: 60_000 }, () => {
  test("is a message: words nobody knows, paths, two slashes, pictures", async (t) => {
    const chat = await Chatting.open(t);
    const messages = {
      "/etc/passwd": "/etc/passwd",
      "/unknown word": "/unknown word",
      "//status": "/status",
      "//unknown x": "/unknown x",
      "//server/share": "//server/share",
      "see /status": "see /status",
      "/": "/",
      "/ status": "/ status",
      "/status of the project?": "/status of the project?",
      "/help me with this": "/help me with this",
    };
    for (const message of Object.keys(messages)) await chat.say(message);
    assert.deepEqual(await chat.letters(), Object.values(messages));
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await chat.say("/status", { images: [{ data: pixel, mimeType: "image/png" }] });
    assert.equal((await chat.letters()).length, Object.keys(messages).length + 1);
  });

  test("is taken literally from programs: send and ask know no commands", async (t) => {
    const chat = await Chatting.open(t);
    const { text } = await chat.sessions.ask("main", "/status");
    assert.match(text, /you said "\/status"/);
  });
});

describe("a command", { timeout: 60_000 }, () => {
  test("that is delivered again is obeyed and answered once; after a restart too, and for some days", async (t) => {
    const world = new Forward();
    const chat = await Chatting.open(t, { world });
    const first = await chat.receive("/label one", { id: "7" });
    assert.equal(first.repeated, false);
    await until(() => chat.came.length === 1);
    await chat.sessions.set(ANN, { label: "another" });
    const second = await chat.receive("/label one", { id: "7" });
    assert.deepEqual([second.id, second.repeated], [first.id, true]);
    await chat.stage.reopen();
    assert.equal((await chat.receive("/label one", { id: "7" })).repeated, true);
    assert.equal((await chat.settings()).label, "another");
    assert.match(await chat.say("/status", { id: "8" }), /idle/);
    assert.equal(chat.came.length, 2);
    assert.equal(new Set(chat.came.map(({ id }) => id)).size, 2);
    // Then it is forgotten, and nothing else comes of it.
    assert.equal(await chat.reminders(), 1);
    world.put(3 * 24 * 60 * 60_000);
    await until(async () => (await chat.reminders()) === 0);
  });

  test("that only looks leaves nothing behind, and is answered whenever it comes", async (t) => {
    const chat = await Chatting.open(t);
    for (const text of ["/help", "/status", "/model", "/subagents list", "/cron", "/children"])
      for (const id of ["1", "1"]) assert.notEqual(await chat.say(text, { id }), "", text);
    assert.equal(await chat.reminders(), 0);
  });

  test("is refused while too many answers wait for the channel, and obeyed when it comes again later", async (t) => {
    let isDown = true;
    const came: string[] = [];
    const pigeon = async ({ id }: Outgoing): Promise<void> => {
      if (isDown) throw new Error("down");
      came.push(id);
    };
    const world = new Forward();
    const chat = new Chatting(await Stage.open(t, {}, { channels: { pigeon }, world }), []);
    for (let n = 0; n < COMMAND_ANSWERS_MAX; n += 1) await chat.receive("/help", { id: `${n}` });
    await assert.rejects(
      chat.receive("/help", { id: "more" }),
      fault("mailbox_full", /100 answers of .*ann/),
    );
    await assert.rejects(chat.receive("/label x", { id: "x" }), fault("mailbox_full", /have not left/));
    assert.equal(await chat.reminders(), 0);
    assert.equal((await chat.settings()).label, null);
    // Its answer waits: it is not put there twice. Another chat has room, and a page needs none.
    const bob = { channel: "pigeon", chatType: "direct", peer: "bob" } as const;
    for (const id of ["1", "1"]) await chat.sessions.receive(bob, "/status", { id });
    const { answers } = await chat.sessions.call("outbox", { sessionKey: "agent:main:pigeon:direct:bob" });
    assert.equal(answers.length, 1);
    isDown = false;
    await until(() => {
      world.put(60 * 60_000);
      return came.length === COMMAND_ANSWERS_MAX + 1;
    });
    assert.equal((await chat.receive("/label x", { id: "x" })).repeated, false);
    assert.equal((await chat.settings()).label, "x");
  });

  test("that may not be answered is written down only so often", async (t) => {
    const rules = [{ action: "deny", match: { chatType: "direct" } }] as const;
    const chat = await Chatting.open(t, { config: { session: { sendPolicy: { rules: [...rules] } } } });
    for (let n = 0; n < COMMAND_ANSWERS_MAX + 5; n += 1) await chat.receive("/help");
    const { rows } = await chat.stage.wired.system.store.outbox({ refused: true, limit: 500 });
    assert.equal(rows.length, COMMAND_ANSWERS_MAX);
  });

  test("that is overtaken looks again", async (t) => {
    const chat = await Chatting.open(t);
    await chat.say("/cron add every 15m look");
    const { system } = chat.stage.wired;
    const { commit } = system;
    let times = 0;
    const hindered: typeof commit = async (changes) => {
      const isOfJob = changes.some((change) => change.do === "setJob");
      if (isOfJob && (times += 1) === 1)
        for (const { id } of (await chat.sessions.call("jobs", {})).jobs)
          await chat.sessions.call("editJob", { job: id, message: "look closer" });
      return await commit(changes);
    };
    Object.assign(system, { commit: hindered });
    const [look] = (await chat.sessions.call("jobs", {})).jobs;
    assert.match(await chat.say(`/cron off ${look?.id}`), /^off/);
    assert.equal(times, 2);
    const [job] = (await chat.sessions.call("jobs", {})).jobs;
    assert.deepEqual([job?.message, job?.state], ["look closer", "disabled"]);
  });

  test("of somebody else in a group is a message", async (t) => {
    const chat = await Chatting.open(t);
    for (const chatType of ["group", "channel", "room"] as const) {
      const to = { channel: "pigeon", chatType, peer: "g", sender: "eve" };
      const { sessionKey } = await chat.sessions.receive(to, "/label@other_bot mine", { id: "1" });
      await chat.sessions.receive(to, "/label ours", { id: "2" });
      const { settings } = await chat.sessions.status(sessionKey);
      assert.equal(settings.label, "ours", chatType);
      await until(async () => (await chat.sessions.history(sessionKey)).entries.length > 0);
      const { entries } = await chat.sessions.history(sessionKey);
      assert.equal(entries.find(({ kind }) => kind === "user")?.text, "/label@other_bot mine");
    }
  });

  test("that comes twice at the same moment is obeyed once", async (t) => {
    const chat = await Chatting.open(t);
    const twice = await Promise.allSettled(
      [1, 2].map(() => chat.receive("/subagents spawn !say x", { id: "7" })),
    );
    const obeyed = twice.filter((each) => each.status === "fulfilled" && !each.value.repeated);
    assert.equal(obeyed.length, 1);
    assert.equal((await chat.sessions.children(ANN)).children.length, 1);
  });

  test("is not obeyed where answers may not leave; a chat may switch them off and on, and no more", async (t) => {
    const config: ConfigInput = {
      session: { sendPolicy: { rules: [{ action: "deny", match: { chatType: "group" } }] } },
    };
    const chat = await Chatting.open(t, { config });
    assert.equal(await chat.say("/send deny"), "sending deny", "the last that is answered");
    await chat.receive("/label while nobody hears");
    assert.equal((await chat.settings()).label, "while nobody hears");
    assert.equal(await chat.say("/send default"), "sending as the agent's configuration says");

    const group = { channel: "pigeon", chatType: "group", peer: "g", sender: "eve" } as const;
    for (const text of ["/send allow", "/label mine"]) await chat.sessions.receive(group, text);
    const key = "agent:main:pigeon:group:g";
    const { label, sendPolicy } = (await chat.sessions.status(key)).settings;
    assert.deepEqual([label, sendPolicy], [null, null]);
    const { answers } = await chat.sessions.call("outbox", { refused: true, sessionKey: key });
    assert.equal(answers.length, 2);
    assert.match(answers[0]?.refused ?? "", /rule 1 of session\.sendPolicy/);
    assert.equal(chat.came.length, 2);
  });

  test("is harmless whatever stands behind it", async (t) => {
    const chat = await Chatting.open(t);
    await chat.say("hello");
    const hostile = [
      "\u001b[2Jx\u0007",
      "x".repeat(50_000),
      "constructor",
      "__proto__",
      "\u202egnorw",
      "-1",
      "1e9",
      "%00",
    ];
    const words = new Set(["new", "handoff", "compact"]); // What follows them are words.
    const taking = COMMANDS.filter(({ name, takes }) => takes !== "" && !words.has(name));
    for (const { name } of taking) for (const rest of hostile) await chat.receive(`/${name} ${rest}`);
    await chat.receive("/subagents constructor");
    await chat.receive("/cron __proto__");
    await until(() => chat.texts.length >= 1 + taking.length * hostile.length + 2);
    for (const text of chat.texts) {
      assert.doesNotMatch(text, /(?![\t\n])[\p{Cc}\u202e]/u, JSON.stringify(text.slice(0, 200)));
      assert.ok(text.length < 20_000, text.slice(0, 100));
    }
    assert.equal((await chat.sessions.status(ANN)).state, "idle");
  });

  test("reaches a web page, and who came through no channel, with the receipt", async (t) => {
    const chat = await Chatting.open(t);
    for (const channel of ["web", ""]) {
      const to = { channel, chatType: "direct", peer: "bob" } as const;
      const { command, sessionKey } = await chat.sessions.receive(to, "/status");
      assert.ok(command?.startsWith(`${sessionKey} · idle`), String(command));
      assert.equal((await chat.sessions.receive(to, "hello")).command, null);
      const { answers } = await chat.sessions.call("outbox", { sessionKey });
      assert.deepEqual(answers, []);
    }
  });

  test("comes through a webhook like every message", async (t) => {
    const receiver = await Receiver.open(t);
    const stage = await Stage.open(t, { webhooks: { shop: { secret: SECRET, url: receiver.url } } });
    const { status, body } = await stage.post({ id: "1", peer: "ann", message: "/status" });
    assert.equal(status, 202);
    assert.equal(body.repeated, false);
    await until(() => receiver.came.length === 1);
    assert.match(receiver.texts[0] ?? "", /^agent:main:shop:direct:ann · idle/);
    assert.equal((await stage.post({ id: "1", peer: "ann", message: "/status" })).body.repeated, false);
    for (const repeated of [false, true])
      assert.equal((await stage.post({ id: "2", peer: "ann", message: "/label x" })).body.repeated, repeated);
    assert.equal((await stage.sessions.status(body.sessionKey)).entries, 0);
  });
});
