// What waits in a mailbox is seen by whoever looks, with who wrote it and how it is read; what was read is in the transcript.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { LocalStore, openLog, parseKey, RealWorld, type Change } from "../../src/index.ts";
import { MAIL_CHARS_TOLD } from "../../src/calls/limits.ts";
import { afterBeatId, beatId } from "../../src/mail/beat.ts";
import type { Letter } from "../../src/mail/letter.ts";
import { abortId, deadlineId, runLetterId, timerRoute } from "../../src/mail/task.ts";
import { wishLetter } from "../../src/mail/wish.ts";
import { scratch } from "../fixtures/home.ts";
import { fault, Gate, Stage } from "./stage.ts";

const MAIN = "agent:main:main";
const OTHER = "agent:main:thread:other";

type Told = Awaited<ReturnType<typeof waiting>>[number];

async function waiting(stage: Stage, sessionKey: string) {
  return (await stage.sessions.call("mail", { sessionKey })).letters;
}

/** As a letter is told of, without what is another each time. */
function short({ by, from, kind, mode, text }: Told): readonly unknown[] {
  return [by, from, kind, mode, text];
}

async function localStore(t: TestContext): Promise<LocalStore> {
  const parts = { world: new RealWorld(), log: openLog("silent"), died: () => {} };
  return await LocalStore.open(scratch(t), parts);
}

test("letters of people wait with who and how, oldest first, over a restart, until they are in the transcript", async (t) => {
  const stage = await Stage.open(t);
  const { sessionKey } = await stage.sessions.call("receive", {
    ...{ channel: "telegram", chatType: "direct", peer: "ada", message: "!say hi" },
  });
  await stage.rest(sessionKey);
  assert.deepEqual(await waiting(stage, sessionKey), []);
  await stage.sessions.stop(sessionKey);
  const image = { data: Buffer.from("dot").toString("base64"), mimeType: "image/png" };
  const sent = [
    await stage.sessions.send(sessionKey, "first", { id: "1" }),
    await stage.sessions.send(sessionKey, "second", { mode: "collect", images: [image, image] }),
    await stage.sessions.call("steer", { sessionKey, message: "third" }),
    await stage.sessions.call("receive", {
      ...{ channel: "telegram", chatType: "direct", peer: "ada", message: "fourth" },
    }),
  ];
  const look = async (): Promise<void> => {
    const letters = await waiting(stage, sessionKey);
    assert.deepEqual(letters.map(short), [
      ["person", "a person", "message", "steer", "first"],
      ["person", "a person", "message", "collect", "second"],
      ["person", "a person", "message", "steer", "third"],
      ["person", "telegram:ada", "message", "steer", "fourth"],
    ]);
    assert.deepEqual(
      letters.map(({ id }) => id),
      sent.map(({ id }) => id),
    );
    assert.deepEqual(
      letters.map(({ pictures, chars }) => [pictures, chars]),
      [5, 6, 5, 6].map((chars, at) => [at === 1 ? 2 : 0, chars]),
    );
    const times = letters.map(({ postedAt }) => Date.parse(postedAt));
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    );
  };
  await look();
  await stage.reopen();
  await look();
  // Who says nothing is read as the session is set now.
  await stage.sessions.set(sessionKey, { queueMode: "followup" });
  assert.deepEqual(
    (await waiting(stage, sessionKey)).map(({ mode }) => mode),
    ["followup", "collect", "steer", "followup"],
  );
  await stage.sessions.cont(sessionKey);
  await stage.rest(sessionKey);
  assert.deepEqual(await waiting(stage, sessionKey), []);
  const entries = await stage.entries(sessionKey);
  const read = entries.flatMap((entry) => (entry.type === "message" ? (entry.mailId ?? []) : []));
  for (const { id } of sent) assert.equal(read.filter((each) => each === id).length, 1, id);
  await assert.rejects(waiting(stage, "agent:main:thread:none"), fault("not_found", /thread:none/));
});

test("what sessions write to each other waits as a task, a message, an answer or a report", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const { sessions } = stage;
  await sessions.ask(OTHER, "!say hi");
  await sessions.stop(OTHER);
  const spawn = (name: string, more: object): string =>
    `!spawn ${JSON.stringify({ task: "!say done", name, resumeIfExists: true, ...more })}`;
  for (const name of ["told", "untold"]) {
    await sessions.wait(`agent:main:thread:${name}`, (await sessions.spawn("!say ready", { name })).id);
    await sessions.stop(`agent:main:thread:${name}`);
  }
  const question = `!call sessions_send ${JSON.stringify({ sessionKey: OTHER, message: "!say an answer" })}`;
  const busy = `!spawn ${JSON.stringify({ task: "!call gate\n!then\n!say all good", label: "busy" })}`;
  await sessions.ask(
    MAIN,
    [question, spawn("told", {}), spawn("untold", { announce: false }), busy].join("\n"),
  );
  await gate.reached();
  await sessions.spawn("!say more", { name: "untold", resumeIfExists: true });
  const action = (given: object): string => `!call subagents ${JSON.stringify(given)}`;
  const again = { task: "!say done", name: "told", resumeIfExists: true, announce: false };
  const steered = { sessionKey: "agent:main:thread:told", message: "!say less" };
  await sessions.ask(
    MAIN,
    [action({ action: "spawn", ...again }), action({ action: "steer", ...steered })].join("\n!then\n"),
  );
  const task = ["session", MAIN, "task", "followup", "!say done"];
  assert.deepEqual((await waiting(stage, "agent:main:thread:told")).map(short), [
    task,
    task,
    ["session", MAIN, "message", "steer", "!say less"],
  ]);
  assert.deepEqual((await waiting(stage, "agent:main:thread:untold")).map(short), [
    task,
    ["person", "a person", "task", "followup", "!say more"],
  ]);
  const message = ["session", MAIN, "message", "followup", "!say an answer"];
  assert.deepEqual((await waiting(stage, OTHER)).map(short), [message]);

  await sessions.stop(MAIN);
  await sessions.cont(OTHER);
  await stage.rest(OTHER);
  gate.open();
  const letters = await stage.until(async () => {
    const found = await waiting(stage, MAIN);
    return found.length === 2 && found;
  });
  const [answer, report] = letters;
  assert.deepEqual(answer && short(answer), ["session", OTHER, "answer", "followup", "an answer"]);
  assert.equal(report?.kind, "report");
  assert.match(report?.from ?? "", /^agent:main:subagent:/);
  assert.match(report?.text ?? "", /^Report of busy .*: done\n[^]*all good$/);
});

test("orders, beats, runs of jobs and notices are told in words, and an order has no mode", async (t) => {
  const store = await localStore(t);
  const stage = await Stage.open(t, {}, { store });
  await stage.sessions.stop(MAIN);
  const ours = (id: string, cause: string, more: Partial<Letter> = {}): Letter => ({
    ...{ id, class: "scheduled", mode: "followup", replyTo: null, origin: null },
    from: { kind: "internal_system", cause },
    content: [{ type: "text", text: `of ${cause}` }],
    ...more,
  });
  const to = { id: "e", seq: 12 };
  const key = parseKey(OTHER);
  const letters = [
    wishLetter("1", "compact", { focus: "the prices" }),
    wishLetter("2", "compact", { focus: null }),
    wishLetter("3", "handoff", { key, focus: null, transcript: "t", settings: {}, message: "go on" }),
    wishLetter("4", "rewind", { to, contextSeq: 1, after: 20 }),
    wishLetter("5", "rotate", { transcript: "t" }),
    wishLetter("6", "reset", { transcript: "t", model: null }),
    ours(abortId("1"), "abort"),
    ours(deadlineId("ext:a"), "deadline"),
    ours(beatId("main", "7"), "heartbeat"),
    ours(afterBeatId("main", "7", "alert"), "heartbeat"),
    ours(runLetterId("j", "r"), "cron", { replyTo: timerRoute("job:j", "r") }),
  ];
  const posts = letters.map((letter): Change => ({ do: "post", to: [parseKey(MAIN)], letter }));
  await store.commit(posts);
  const order = (cause: string, words: string) => ["sessiond", `sessiond: ${cause}`, "order", null, words];
  assert.deepEqual((await waiting(stage, MAIN)).map(short), [
    order("compact", "summarise the earlier conversation: the prices"),
    order("compact", "summarise the earlier conversation"),
    order("handoff", `hand over to ${OTHER}: go on`),
    order("rewind", "go back to entry 12"),
    order("rotate", "go on in a new file"),
    order("reset", "begin a new conversation"),
    order("abort", "of abort"),
    order("deadline", "of deadline"),
    ["sessiond", "sessiond: heartbeat", "beat", "followup", "of heartbeat"],
    ["sessiond", "sessiond: heartbeat", "notice", "followup", "of heartbeat"],
    ["sessiond", "sessiond: cron", "task", "followup", "of cron"],
  ]);
});

test("pages of letters have each once; long ones are cut, and secrets are taken out, also at the cut", async (t) => {
  const stage = await Stage.open(t);
  await stage.sessions.stop(MAIN);
  const secret = `sk-${"a1B2".repeat(10)}`;
  const long = `${"x".repeat(MAIL_CHARS_TOLD - 10)} ${secret} ${"y".repeat(5_000)}`;
  const texts = [long, `the key is ${secret}`, ...Array.from({ length: 9 }, (_, n) => `number ${n}`)];
  for (const text of texts) await stage.sessions.send(MAIN, text);
  const letters: Told[] = [];
  let cursor: string | null = null;
  do {
    const page: { letters: Told[]; next: string | null } = await stage.sessions.call("mail", {
      ...{ sessionKey: MAIN, limit: 4 },
      ...(cursor === null ? {} : { cursor }),
    });
    assert.ok(page.letters.length <= 4);
    letters.push(...page.letters);
    cursor = page.next;
  } while (cursor !== null);
  assert.deepEqual(
    letters.map(({ chars }) => chars),
    texts.map(({ length }) => length),
  );
  assert.deepEqual(
    letters.slice(2).map(({ text }) => text),
    texts.slice(2),
  );
  assert.equal(letters[1]?.text, "the key is [redacted: key]");
  assert.doesNotMatch(JSON.stringify(letters), /sk-a1/);
  assert.ok((letters[0]?.text.length ?? Infinity) < MAIL_CHARS_TOLD + 50);
  assert.match(letters[0]?.text ?? "", /^x+ [^y]* \[… \d+ more characters\]$/);
  for (const wrong of [{ limit: 0 }, { limit: 201 }, { cursor: "elsewhere" }])
    await assert.rejects(
      stage.sessions.call("mail", { sessionKey: MAIN, ...wrong }),
      fault("bad_input", /limit|cursor/),
    );
});
