// What goes wrong without a bug of ours: it has a code and words that help, and the session answers the next message.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { z } from "zod";
import { open, type CallName, type ConfigInput, type Input, type Model } from "../../src/index.ts";
import { MESSAGE_PICTURES_BYTES_MAX, RESULT_BYTES_MAX } from "../../src/limits.ts";
import { scratch } from "../fixtures/home.ts";
import { fault, Gate, Glass, saying, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";

async function stillAnswers(stage: Stage): Promise<void> {
  const { outcome, text } = await stage.sessions.ask(MAIN, "!say I am here");
  assert.deepEqual([outcome, text], ["done", "I am here"]);
}

test("a name that is not known is refused, and the words name it", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  const chat = { channel: "", chatType: "direct", peer: "ann" } as const;
  await assert.rejects(sessions.send("agent:nobody:main", "hi"), fault("not_found", /"nobody".*main/));
  await assert.rejects(sessions.receive({ ...chat, agent: "nobody" }, "hi"), fault("not_found", /"nobody"/));
  await assert.rejects(sessions.status(MAIN, { model: "gpt-9" }), fault("bad_input", /gpt-9/));
  await assert.rejects(sessions.set(MAIN, { model: "gpt-9" }), fault("bad_input", /gpt-9/));
  await assert.rejects(sessions.send("main/main", "hi"), fault("bad_input", /main/));
  await assert.rejects(sessions.status("agent:main:channel:x"), fault("not_found", /agent:main:channel:x/));
  await assert.rejects(sessions.send("agent:main:subagent:x", "hi"), fault("not_found", /subagent/));
  await assert.rejects(sessions.send(MAIN, "hi", { mode: "shout" as "steer" }), fault("bad_input", /mode/));
  await assert.rejects(
    sessions.call("frobnicate" as CallName, {} as Input<"list">),
    fault("not_found", /"frobnicate".*send/),
  );
  await assert.rejects(
    sessions.call("__proto__" as CallName, {} as Input<"list">),
    fault("not_found", /__proto__/),
  );
  await assert.rejects(sessions.set(MAIN, { colour: "red" } as object), fault("bad_input", /colour/));
  await assert.rejects(sessions.set(MAIN, {}), fault("bad_input", /at least one/));
  await assert.rejects(sessions.pin(MAIN, "no-such-entry"), fault("not_found", /no-such-entry/));
  await stillAnswers(stage);
});

test("a value that does not fit is refused, and the words say what fits", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  await assert.rejects(sessions.set(MAIN, { label: "x".repeat(65) }), fault("bad_input", /label.*64/));
  await sessions.set(MAIN, { label: "😀".repeat(64) });
  assert.equal((await sessions.status(MAIN)).title, "😀".repeat(64));
  await assert.rejects(sessions.set(MAIN, { nice: 20 }), fault("bad_input", /nice/));
  await assert.rejects(sessions.set(MAIN, { label: "a", version: 1 }), fault("stale_writer", /version 2/));
  await assert.rejects(sessions.send(MAIN, ""), fault("bad_input", /nothing in it/));
  await assert.rejects(sessions.send(MAIN, "hi", { id: "x".repeat(300) }), fault("bad_input", /id/));
  await assert.rejects(sessions.send(MAIN, "x".repeat(2_000_000)), fault("bad_input", /letter|bytes/));
  await assert.rejects(sessions.list({ limit: 1_000_000 }), fault("bad_input", /limit/));
  await assert.rejects(sessions.list({ cursor: "made up" }), fault("bad_input", /cursor/));
  await assert.rejects(sessions.history(MAIN, { before: 0 }), fault("bad_input", /before/));
  await assert.rejects(
    sessions.receive({ channel: "session", chatType: "direct", peer: MAIN }, "hi"),
    fault("bad_input", /session/),
  );
  await stillAnswers(stage);
});

describe("a configuration", () => {
  const bad: readonly (readonly [ConfigInput, RegExp])[] = [
    [{ agents: { main: { model: "no/such" } } }, /agents\.main\.model.*no\/such/],
    [{ agents: { main: { limits: { stepsPerTurn: 0 } } } }, /agents\.main\.limits\.stepsPerTurn/],
    [{ session: { dmScope: "peer" as "main" } }, /session\.dmScope.*per-peer/],
    [{ sesion: {} } as ConfigInput, /sesion.*did you mean session/],
  ];
  for (const [config, words] of bad)
    test(`with a mistake is refused in words: ${words.source}`, async (t) => {
      await assert.rejects(open({ home: scratch(t), ...config }), fault("bad_input", words));
    });

  test("with parts that do not fit together is refused, and the home is free afterwards", async (t) => {
    const home = join(scratch(t), "home");
    const twin = tool("twin", () => Promise.resolve(""));
    await assert.rejects(open({ home }, { tools: [twin, twin] }), fault("bad_input", /two tools.*twin/));
    const own = tool("session_status", () => Promise.resolve(""));
    await assert.rejects(open({ home }, { tools: [own] }), fault("bad_input", /session_status/));
    const odd = tool("a tool", () => Promise.resolve(""));
    await assert.rejects(open({ home }, { tools: [odd] }), fault("bad_input", /"a tool"/));
    const door = { session: () => Promise.resolve() };
    await assert.rejects(open({ home }, { channels: door }), fault("bad_input", /"session"/));
    const models: Model[] = [new Glass(), new Glass()];
    await assert.rejects(open({ home }, { models }), fault("bad_input", /glass\/one/));
    const sessions = await open({ home, log: { level: "silent" } });
    await assert.rejects(open({ home }), fault("in_use", /home/));
    await sessions.close();
    await assert.rejects(sessions.list(), fault("closed", /closed/));
  });
});

describe("a tool", () => {
  const run = "!then\n!results";

  test("that is not there, or is called wrongly, or throws, ends in a result that says so", async (t) => {
    const odd = tool("odd", () => Promise.resolve(undefined as unknown as string));
    const fails = tool("fails", () => Promise.reject(new Error("the disk is on fire")));
    const throws = tool("throws", () => {
      throw new TypeError("not even a promise");
    });
    const adds = tool("adds", () => Promise.resolve("2"), z.strictObject({ a: z.number() }));
    const stage = await Stage.open(t, {}, { tools: [odd, fails, throws, adds] });
    const script =
      '!call nope\n!call odd\n!call fails\n!call throws\n!call adds {"b":1}\n!call session_status {"x":1}';
    const { outcome, text } = await stage.sessions.ask(MAIN, `${script}\n${run}`);
    assert.equal(outcome, "done");
    assert.match(text, /There is no tool "nope"\. You have: .*fails/);
    assert.match(text, /odd failed: it returned neither/);
    assert.match(text, /fails failed: the disk is on fire/);
    assert.match(text, /throws failed: not even a promise/);
    assert.match(text, /The arguments of adds are wrong: a: /);
    assert.match(text, /The arguments of session_status are wrong/);
    assert.ok((await stage.results(MAIN)).every(({ isError }) => isError));
    await stillAnswers(stage);
  });

  test("that never returns is given up after its time", async (t) => {
    const never = tool("never", () => new Promise(() => {}));
    const stage = await Stage.open(
      t,
      { agents: { main: { limits: { toolSeconds: 1 } } } },
      { tools: [never] },
    );
    const { text } = await stage.sessions.ask(MAIN, `!call never\n${run}`);
    assert.match(text, /never was given up: it took longer than 1 s\. It may or may not have taken effect/);
    await stillAnswers(stage);
  });

  test("that returns 50 MB leaves head and tail in the transcript, and all of it in a blob", async (t) => {
    const flood = `BEGIN${"x".repeat(50 * 1024 * 1024)}END`;
    const stage = await Stage.open(t, {}, { tools: [tool("flood", () => Promise.resolve(flood))] });
    const { outcome, text } = await stage.sessions.ask(MAIN, `!call flood\n${run}`);
    assert.equal(outcome, "done");
    assert.match(text, /^BEGINx+\n\[… \d+ bytes left out; all 52428808 are in blob [0-9a-f]{64} …\]\nx+END$/);
    assert.ok(text.length < RESULT_BYTES_MAX);
    await stillAnswers(stage);
  });
});

describe("a picture", () => {
  const data = Buffer.from("not really a png, but bytes\0\xff", "latin1").toString("base64");

  test("is a blob in the transcript, and itself to the model", async (t) => {
    const glass = new Glass();
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const images = [{ data, mimeType: "image/png" }];
    for (const message of ["What is this?", ""]) await stage.sessions.ask(MAIN, message, { images });
    const [first, , third] = glass.requests.at(-1)?.messages ?? [];
    const picture = { type: "image", data, mimeType: "image/png" };
    assert.deepEqual(first?.content, [{ type: "text", text: "What is this?" }, picture]);
    assert.deepEqual(third?.content, [picture]);
    assert.doesNotMatch(await stage.bytes(MAIN), new RegExp(data.slice(0, 12)));
    await stage.sessions.ask(MAIN, "And now?");
    assert.deepEqual(glass.requests.at(-1)?.messages[0]?.content, first?.content, "also after a restart");
  });

  test("that is too large, or is none, is refused", async (t) => {
    const stage = await Stage.open(t);
    const send = (image: { data: string; mimeType: string }) =>
      stage.sessions.send(MAIN, "look", { images: [image] });
    const large = "A".repeat(Math.ceil((MESSAGE_PICTURES_BYTES_MAX + 3) / 3) * 4);
    await assert.rejects(
      send({ data: large, mimeType: "image/png" }),
      fault("bad_input", /images: \d+ bytes together, at most/),
    );
    await assert.rejects(send({ data: "not base64!", mimeType: "image/png" }), fault("bad_input", /data/));
    await assert.rejects(send({ data, mimeType: "text/plain" }), fault("bad_input", /image\/png/));
    await stillAnswers(stage);
  });
});

describe("a model", () => {
  for (const why of ["auth", "local", "overflow"] as const)
    test(`that fails with ${why} ends the turn, which says so`, async (t) => {
      const failed = {
        kind: "failed",
        why,
        message: `no: ${why}`,
        retryAfterMs: null,
        throttled: false,
      } as const;
      const glass = new Glass((_request, times) => Promise.resolve(times === 1 ? failed : saying("yes")));
      const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
      const { outcome, reason, text } = await stage.sessions.ask(MAIN, "hi");
      assert.deepEqual([outcome, reason], [why === "overflow" ? "overflow" : "failed", `no: ${why}`]);
      assert.equal(text, "");
      assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "yes");
    });

  test("that is busy is asked again, as often as is sensible", async (t) => {
    const busy = {
      kind: "failed",
      why: "retry",
      message: "busy",
      retryAfterMs: 0,
      throttled: false,
    } as const;
    const glass = new Glass((_request, times) =>
      Promise.resolve(times === 3 || times > 7 ? saying(`answer ${times}`) : busy),
    );
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "answer 3");
    const { outcome, reason } = await stage.sessions.ask(MAIN, "hi");
    assert.deepEqual([outcome, reason], ["failed", "busy (it was asked 4 times)"]);
    assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "answer 8");
  });

  test("that throws fails its turn and no other", async (t) => {
    const glass = new Glass((_request, times) => {
      if (times === 1) throw new Error("wires crossed");
      return Promise.resolve(saying("better"));
    });
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const first = await stage.sessions.ask(MAIN, "hi");
    assert.equal(first.outcome, "failed");
    assert.match(first.reason ?? "", /glass\/one broke: wires crossed/);
    assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "better");
  });

  test("that is not known after a restart fails the turn, and another one set then answers", async (t) => {
    const glass = new Glass();
    const stage = await Stage.open(t, {}, { models: [glass] });
    await stage.sessions.set(MAIN, { model: "glass/one" });
    await stage.close();
    const sessions = await open({ home: stage.home, log: { level: "silent" } });
    try {
      const { outcome, reason } = await sessions.ask(MAIN, "hi");
      assert.equal(outcome, "failed");
      assert.match(reason ?? "", /glass\/one/);
      await sessions.status(MAIN, { model: "default" });
      assert.equal((await sessions.ask(MAIN, "!say yes")).text, "yes");
    } finally {
      await sessions.close();
    }
  });
});

test("a prompt file that cannot be read fails the turn, until it can be", async (t) => {
  const workspace = scratch(t);
  mkdirSync(join(workspace, "SOUL.md"));
  const stage = await Stage.open(t, { agents: { main: { workspace }, other: {} } });
  const { outcome, reason } = await stage.sessions.ask(MAIN, "hi");
  assert.equal(outcome, "failed");
  assert.match(reason ?? "", /SOUL\.md cannot be read: it is not a file/);
  assert.equal((await stage.sessions.ask("agent:other:main", "!say fine")).text, "fine");
  await stage.reopen({});
  await stillAnswers(stage);
});

describe("a turn", () => {
  test("takes as many steps as it may, and the next begins anew", async (t) => {
    const look = tool("look", () => Promise.resolve("seen"));
    const stage = await Stage.open(
      t,
      { agents: { main: { limits: { stepsPerTurn: 3 } } } },
      { tools: [look] },
    );
    const { outcome, reason, text } = await stage.sessions.ask(MAIN, "!call look\n!then\n".repeat(5));
    assert.equal(outcome, "limit");
    assert.match(reason ?? "", /3 steps/);
    assert.equal(text, "");
    assert.equal((await stage.results(MAIN)).length, 3);
    await stillAnswers(stage);
  });

  test("ends when it has taken as long as it may, and its call has a result", async (t) => {
    const gate = new Gate();
    const config = { agents: { main: { limits: { turnSeconds: 1 } } } };
    const stage = await Stage.open(t, config, { tools: [gate.tool] });
    const { outcome, reason } = await stage.sessions.ask(MAIN, "!say wait for it\n!call gate");
    assert.equal(outcome, "timeout");
    assert.match(reason ?? "", /longer than 1 s/);
    assert.equal((await stage.results(MAIN)).length, 1, "its call has a result");
    await stillAnswers(stage);
  });

  test("is aborted while the model is silent, even if it does not listen", async (t) => {
    const glass = new Glass((_request, times) =>
      times === 1 ? new Promise(() => {}) : Promise.resolve(saying("here")),
    );
    const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
    const first = stage.sessions.ask(MAIN, "hi");
    await stage.until(() => Promise.resolve(glass.requests.length === 1));
    await stage.sessions.abort(MAIN);
    const { outcome, reason, text } = await first;
    assert.deepEqual([outcome, reason, text], ["aborted", "a person stopped it", ""]);
    assert.equal((await stage.sessions.ask(MAIN, "hi")).text, "here");
  });

  test("is aborted by a person while a tool runs", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const { sessions } = stage;
    assert.deepEqual(await sessions.abort(MAIN), { sessionKey: MAIN, accepted: false });
    const first = sessions.ask(MAIN, "!call gate");
    await gate.reached();
    assert.equal((await sessions.abort(MAIN)).accepted, true);
    assert.equal((await first).outcome, "aborted");
    await stillAnswers(stage);
  });

  test("pauses between steps, also over a restart, and goes on where it was", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const { id } = await stage.sessions.send(MAIN, "!call gate\n!then\n!say after the pause");
    await gate.reached();
    await stage.sessions.stop(MAIN);
    gate.open();
    await stage.until(async () => (await stage.sessions.status(MAIN)).state === "paused");
    const later = await stage.sessions.send(MAIN, "!say then this", { mode: "followup" });
    assert.deepEqual(
      (await stage.results(MAIN)).map(({ text }) => text),
      ["through"],
    );
    await stage.reopen();
    const { state, why, waitingLetters } = await stage.sessions.status(MAIN);
    assert.deepEqual([state, waitingLetters], ["paused", 1]);
    assert.match(why, /cont/);
    await stage.sessions.cont(MAIN);
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "after the pause");
    assert.equal((await stage.sessions.wait(MAIN, later.id)).text, "then this");
    assert.equal((await stage.results(MAIN)).length, 1);
  });
});
