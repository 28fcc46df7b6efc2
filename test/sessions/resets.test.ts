// Conversations that begin anew: by themselves, when a person writes to one that is old; and when somebody wants it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { Change } from "../../src/store/change.ts";
import type { Archive } from "../../src/store/store.ts";
import type { Letter } from "../../src/mail/letter.ts";
import type { ConfigInput, Tool } from "../../src/index.ts";
import { parseKey, type SessionKey } from "../../src/routing/key.ts";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import { Forward } from "../fixtures/forward.ts";
import { openedWired, person, type Opened } from "../fixtures/wired.ts";
import { spawn } from "./family.ts";
import { fault, Gate } from "./stage.ts";

const MAIN = "agent:main:main";
const MINUTE_MS = 60_000;

class Stage {
  readonly world: Forward;
  readonly opened: Opened;
  readonly commits: (readonly Change[])[];

  constructor(opened: Opened, world: Forward, commits: (readonly Change[])[]) {
    this.opened = opened;
    this.world = world;
    this.commits = commits;
  }

  static async open(
    test: TestContext,
    session: NonNullable<ConfigInput["session"]>,
    tools: readonly Tool[] = [],
  ): Promise<Stage> {
    const world = new Forward();
    const channels = { pigeon: async () => {}, owl: async () => {} };
    const commits: (readonly Change[])[] = [];
    const told = (changes: readonly Change[]): void => void commits.push(changes);
    return new Stage(await openedWired(test, { session }, { world, channels, tools, told }), world, commits);
  }

  /** What the agent says to a message of a channel. */
  async say(
    message: string,
    more: { readonly channel?: string; readonly chatType?: "direct" | "group" } = {},
  ): Promise<string> {
    const { sessions } = this.opened;
    const sent = await sessions.receive(
      { channel: "pigeon", chatType: "direct", peer: "ann", ...more },
      message,
    );
    const { outcome, reason, text } = await sessions.wait(sent.sessionKey, sent.id);
    assert.equal(outcome, "done", reason ?? "");
    return text;
  }

  async ask(key: string, message: string): Promise<string> {
    return (await this.opened.sessions.ask(key, message)).text;
  }

  /** A letter that no person wrote, and that is answered like one. */
  async post(key: string, text: string, from: Letter["from"]): Promise<void> {
    const { system, sessions } = this.opened;
    const id = `cause:test:${system.world.newId()}`;
    const letter: Letter = {
      id,
      from,
      class: "scheduled",
      mode: "followup",
      content: [{ type: "text", text }],
      replyTo: null,
      origin: null,
    };
    await system.commit([{ do: "post", to: [parseKey(key)], letter }]);
    await sessions.wait(key, id);
  }

  async archives(key: string): Promise<readonly Archive[]> {
    return (await this.opened.system.store.archives({ key: key as SessionKey })).rows;
  }

  async letters(transcript: string): Promise<string[]> {
    const texts: string[] = [];
    for await (const entry of this.opened.system.store.entries(transcript, { since: 1 }))
      if (entry.type === "message" && entry.message.role === "user") texts.push(textOf(entry));
    return texts;
  }

  /** The same of one that is in the archive, when all is closed: its file is where it was, until somebody packs it. */
  async archived(transcript: string): Promise<string[]> {
    await this.opened.sessions.close();
    const file = join(this.opened.system.config.home, "agents/main/sessions", `${transcript}.jsonl`);
    const entries = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry);
    return entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "user" ? [textOf(entry)] : [],
    );
  }

  /** What is in the conversation that goes on now. */
  async current(key: string): Promise<Entry[]> {
    const session = await this.opened.system.store.session(parseKey(key));
    const entries: Entry[] = [];
    for await (const entry of this.opened.system.store.entries(session?.transcript.id ?? "", {
      from: "context",
    }))
      if (entry.type !== "gap") entries.push(entry);
    return entries;
  }
}

const ANN = "agent:main:pigeon:direct:ann";
const REMEMBERS = /Earlier here you said/;

describe("a conversation that is old", { timeout: 60_000 }, () => {
  test("begins anew with what a person writes after a pause, and is archived", async (t) => {
    const stage = await Stage.open(t, { reset: { mode: "idle", idleMinutes: 30 } });
    await stage.say("the code is 4711");
    stage.world.put(29 * MINUTE_MS);
    assert.match(await stage.say("still there?"), /Earlier here you said "the code is 4711"/);
    const { entries: before, transcript } = await stage.opened.sessions.status(ANN);
    stage.world.put(31 * MINUTE_MS);
    assert.doesNotMatch(await stage.say("what was the code?"), REMEMBERS);

    const [archive, ...others] = await stage.archives(ANN);
    assert.deepEqual(others, []);
    assert.equal(archive?.id, transcript);
    assert.equal(archive.why, "reset");
    assert.equal(archive.session.transcript.lastSeq, before);
    const { title, entries, transcript: now } = await stage.opened.sessions.status(ANN);
    assert.equal(title, "what was the code?");
    assert.ok(entries > before, "the numbers go on");
    assert.deepEqual(await stage.letters(now), ["what was the code?"]);
    assert.match(await stage.say("and now?"), /Earlier here you said "what was the code\?"/);
    assert.deepEqual(await stage.archived(transcript), ["the code is 4711", "still there?"]);
  });

  test("begins anew once a day, at an hour of a zone", async (t) => {
    const world = new Forward();
    const hour = (new Date(world.nowMs()).getUTCHours() + 3) % 24;
    const stage = await Stage.open(t, { reset: { mode: "daily", hour, timezone: "UTC" } });
    await stage.say("one");
    stage.world.put(60 * MINUTE_MS);
    assert.match(await stage.say("two"), REMEMBERS);
    stage.world.put(150 * MINUTE_MS);
    assert.doesNotMatch(await stage.say("three"), REMEMBERS);
    stage.world.put(60 * MINUTE_MS);
    assert.match(await stage.say("four"), /Earlier here you said "three"/);
    assert.equal((await stage.archives(ANN)).length, 1);
  });

  test("is old by its channel's rule first, then by that of its type", async (t) => {
    const stage = await Stage.open(t, {
      reset: { mode: "idle", idleMinutes: 10 },
      resetByType: { group: { mode: "none" } },
      resetByChannel: { owl: { mode: "idle", idleMinutes: 100 } },
    });
    const chats = [
      {},
      { channel: "owl" },
      { chatType: "group" },
      { channel: "owl", chatType: "group" },
    ] as const;
    for (const chat of chats) await stage.say("one", chat);
    stage.world.put(20 * MINUTE_MS);
    const after: boolean[] = [];
    for (const chat of chats) after.push(REMEMBERS.test(await stage.say("two", chat)));
    assert.deepEqual(after, [false, true, true, true]);
    stage.world.put(200 * MINUTE_MS);
    const later: boolean[] = [];
    for (const chat of chats) later.push(REMEMBERS.test(await stage.say("three", chat)));
    assert.deepEqual(later, [false, false, true, false]);
  });

  test("lasts in main and named sessions, unless they are set", async (t) => {
    const usual = { mode: "idle", idleMinutes: 1 } as const;
    for (const isSet of [false, true]) {
      const resetByType = isSet ? { main: usual, named: usual } : {};
      const stage = await Stage.open(t, { reset: usual, resetByType });
      for (const key of [MAIN, "agent:main:thread:plans", "agent:main:hook:h"]) {
        await stage.ask(key, "one");
        stage.world.put(10 * MINUTE_MS);
        const isFresh = !REMEMBERS.test(await stage.ask(key, "two"));
        assert.equal(isFresh, isSet && !key.includes("hook"), `${key} ${isSet}`);
      }
    }
  });

  test("is not kept young by timers, children and other sessions, nor do they begin it anew", async (t) => {
    const stage = await Stage.open(t, { reset: { mode: "idle", idleMinutes: 30 } });
    await stage.say("one");
    const others: readonly Letter["from"][] = [
      { kind: "internal_system", cause: "cron" },
      { kind: "inter_session", source: parseKey(MAIN), tool: "sessions_send" },
    ];
    for (const from of others) {
      stage.world.put(20 * MINUTE_MS);
      await stage.post(ANN, "a letter", from);
    }
    assert.equal((await stage.archives(ANN)).length, 0);
    assert.deepEqual((await stage.letters((await stage.opened.sessions.status(ANN)).transcript)).length, 3);
    assert.doesNotMatch(await stage.say("two"), REMEMBERS);
    assert.equal((await stage.archives(ANN)).length, 1);
  });

  test("is not begun anew where nobody has written yet, or nothing was said since it last was", async (t) => {
    const stage = await Stage.open(t, { reset: { mode: "idle", idleMinutes: 30 } });
    await stage.post(MAIN, "a letter", { kind: "internal_system", cause: "cron" });
    await stage.say("one");
    stage.world.put(40 * MINUTE_MS);
    await stage.opened.sessions.call("reset", { sessionKey: ANN });
    await stage.say("two");
    assert.equal((await stage.archives(ANN)).length, 1);
  });

  test("begins anew in a commit of its own, that takes no letter: after a crash the letter is still there", async (t) => {
    const stage = await Stage.open(t, { reset: { mode: "idle", idleMinutes: 30 } });
    await stage.say("one");
    stage.world.put(31 * MINUTE_MS);
    stage.commits.length = 0;
    await stage.say("two");
    const mine = stage.commits.filter((changes) =>
      changes.some(({ do: what }) => what === "rotate" || what === "take"),
    );
    const what = mine.map((changes) =>
      changes.map((change) => change.do).filter((each) => each === "rotate" || each === "take"),
    );
    assert.deepEqual(what.slice(0, 2), [["rotate"], ["take"]]);
  });

  test("is judged by when a message was written, not by when it is read", async (t) => {
    const stage = await Stage.open(t, { reset: { mode: "idle", idleMinutes: 30 } });
    await stage.say("one");
    await stage.opened.sessions.stop(ANN);
    const { id } = await stage.opened.sessions.receive(
      { channel: "pigeon", chatType: "direct", peer: "ann" },
      "two",
    );
    stage.world.put(50 * MINUTE_MS);
    await stage.opened.sessions.cont(ANN);
    assert.match((await stage.opened.sessions.wait(ANN, id)).text, REMEMBERS);
  });
});

describe("reset", { timeout: 60_000 }, () => {
  test("begins anew: nothing of before is shown, settings and usage stay, pins go, the rest is archived", async (t) => {
    const stage = await Stage.open(t, {});
    const { sessions } = stage.opened;
    await stage.ask(MAIN, "the code is 4711");
    await sessions.call("set", { sessionKey: MAIN, label: "Works", nice: 3 });
    const [, first] = await stage.current(MAIN);
    await sessions.call("pin", { sessionKey: MAIN, seq: first?.seq ?? 0 });
    const before = await sessions.status(MAIN);
    const done = await sessions.call("reset", { sessionKey: MAIN });
    assert.deepEqual(done, { sessionKey: MAIN, outcome: "done", reason: null, archive: before.transcript });
    const after = await sessions.status(MAIN);
    assert.notEqual(after.transcript, before.transcript);
    assert.equal(after.usage.input, before.usage.input);
    assert.equal(after.settings.label, "Works");
    assert.equal(after.settings.nice, 3);
    assert.deepEqual(after.settings.pins, []);
    assert.doesNotMatch(await stage.ask(MAIN, "what was the code?"), REMEMBERS);
    assert.deepEqual(await stage.archived(before.transcript), ["the code is 4711"]);
  });

  test("takes a model, which is checked before anything happens", async (t) => {
    const stage = await Stage.open(t, {});
    const { sessions } = stage.opened;
    await stage.ask(MAIN, "one");
    await assert.rejects(
      sessions.call("reset", { sessionKey: MAIN, model: "no/such" }),
      fault("bad_input", /there is no model/),
    );
    assert.equal((await stage.archives(MAIN)).length, 0);
    await sessions.call("reset", { sessionKey: MAIN, model: "rehearsal/small" });
    assert.equal((await sessions.status(MAIN)).model, "rehearsal/small");
    assert.equal((await stage.archives(MAIN)).length, 1);
  });

  test("stops the turn that runs, and what waits is answered in the new conversation", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, [gate.tool]);
    const { sessions } = stage.opened;
    const running = sessions.ask(MAIN, "!call gate");
    await gate.reached();
    const waiting = sessions.ask(MAIN, "next", { mode: "followup" });
    const done = await sessions.call("reset", { sessionKey: MAIN });
    assert.equal(done.outcome, "done");
    assert.equal((await running).outcome, "aborted");
    assert.doesNotMatch((await waiting).text, REMEMBERS);
    assert.deepEqual(await stage.archived(done.archive ?? ""), ["!call gate"]);
  });

  test("archives nothing where nothing was said, and says so", async (t) => {
    const stage = await Stage.open(t, {});
    const { sessions } = stage.opened;
    const empty = { sessionKey: MAIN, outcome: "done", archive: null };
    for (const model of [undefined, "rehearsal/small"]) {
      const { reason, ...done } = await sessions.call("reset", { sessionKey: MAIN, ...(model && { model }) });
      assert.deepEqual(done, empty);
      assert.match(reason ?? "", /nothing was said/);
    }
    assert.equal((await sessions.status(MAIN)).model, "rehearsal/small");
    await stage.ask(MAIN, "one");
    await sessions.call("reset", { sessionKey: MAIN });
    const { reason, ...again } = await sessions.call("reset", { sessionKey: MAIN });
    assert.deepEqual(again, empty);
    assert.match(reason ?? "", /nothing was said/);
    assert.equal((await stage.archives(MAIN)).length, 1);
  });

  test("is refused where nothing can begin: paused, ended, not there; and to who may only look", async (t) => {
    const stage = await Stage.open(t, {});
    const { sessions, door } = stage.opened;
    await stage.ask(MAIN, "one");
    await sessions.stop(MAIN);
    const reset = (sessionKey: string) => sessions.call("reset", { sessionKey });
    await assert.rejects(reset(MAIN), fault("busy", /paused/));
    await assert.rejects(reset("agent:main:thread:none"), fault("not_found", /there is no session/));
    await stage.ask("agent:main:thread:over", "one");
    await sessions.kill("agent:main:thread:over");
    for (;;) if ((await sessions.status("agent:main:thread:over")).state === "ended") break;
    await assert.rejects(reset("agent:main:thread:over"), fault("ended", /has ended/));
    const looker = person("read");
    await assert.rejects(
      door.call("reset", looker, { sessionKey: MAIN }, new AbortController().signal),
      fault("forbidden", /needs the scope operate/),
    );
  });

  test("leaves children at work: the new conversation knows of them, and hears what they report", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, [gate.tool]);
    const { sessions, system } = stage.opened;
    await stage.ask(MAIN, spawn("!call gate\n!then\n!say found it"));
    await gate.reached();
    await sessions.call("reset", { sessionKey: MAIN });
    assert.deepEqual(await stage.letters((await sessions.status(MAIN)).transcript), []);
    const [child] = (await sessions.children(MAIN)).children;
    assert.equal(child?.inFlight, true);
    assert.equal(system.lanes.worker(parseKey(MAIN))?.tasks?.length ?? 1, 1);
    gate.open();
    const heard = async (): Promise<string | undefined> =>
      (await stage.letters((await sessions.status(MAIN)).transcript)).find((text) =>
        text.includes("found it"),
      );
    while ((await heard()) === undefined) await new Promise((wake) => setTimeout(wake, 5));
    while ((await sessions.status(MAIN)).state !== "idle") await new Promise((wake) => setTimeout(wake, 5));
    const [after] = (await sessions.children(MAIN)).children;
    assert.equal(after?.inFlight, false);
    const said = (await stage.current(MAIN)).filter(
      (entry) => entry.type === "message" && entry.message.role === "assistant",
    );
    assert.match(said.map(textOf).join(), /Report of agent:main:subagent:\w+: done/, "and answers it");
  });
});
