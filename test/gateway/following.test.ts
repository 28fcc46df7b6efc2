// What happens, followed through the daemon: by server-sent events and by a socket, without gap or repeat.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../src/transcript/entry.ts";
import { Daemon } from "./daemon.ts";
import { Line, type Told } from "./line.ts";

const MAIN = "agent:main:main";

interface Heard {
  readonly event: string;
  readonly id: string | null;
  readonly data: {
    readonly type?: string;
    readonly seq?: number;
    readonly code?: string;
    readonly text?: string;
  };
}

/** Server-sent events until there are enough of them. */
async function listen(
  daemon: Daemon,
  path: string,
  isEnough: (heard: readonly Heard[]) => boolean,
  headers: Record<string, string> = {},
): Promise<Heard[]> {
  const over = new AbortController();
  const response = await daemon.fetch(path, { headers, signal: over.signal });
  assert.equal(response.status, 200, await (response.ok ? "" : response.text()));
  assert.match(response.headers.get("content-type") ?? "", /text\/event-stream/);
  const heard: Heard[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string | null =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
      const data = field("data");
      if (data !== null)
        heard.push({ event: field("event") ?? "", id: field("id"), data: JSON.parse(data) as Heard["data"] });
    }
    if (isEnough(heard)) break;
  }
  over.abort();
  return heard;
}

const seqsOf = (heard: readonly Heard[]): (number | undefined)[] =>
  heard.filter(({ event }) => event === "entry").map(({ data }) => data.seq);

const hasEnded = (heard: readonly Heard[], turns: number): boolean =>
  heard.filter(
    ({ event, data }) =>
      event === "entry" &&
      (data as { entry?: Entry }).entry?.type === "custom" &&
      JSON.stringify(data).includes("sessiond/turn-ended"),
  ).length >= turns;

test("server-sent events", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say one" });

  await t.test("tell every entry from the beginning, and pieces of what is said now", async () => {
    const path = `/v1/sessions/${MAIN}/events?from=0`;
    const listening = listen(daemon, path, (heard) => hasEnded(heard, 2));
    await daemon.call("ask", { sessionKey: MAIN, message: "!say two words" });
    const heard = await listening;
    const seqs = seqsOf(heard);
    assert.deepEqual(
      seqs,
      seqs.map((_, at) => at + 1),
    );
  });

  await t.test("go on after the last event that a client has, without gap or repeat", async () => {
    const first = await listen(daemon, `/v1/sessions/${MAIN}/events?from=0`, (heard) => heard.length >= 3);
    const last = first[2]?.id ?? ""; // Whatever came after it is not had.
    const rest = await listen(daemon, `/v1/sessions/${MAIN}/events`, (heard) => hasEnded(heard, 1), {
      "last-event-id": last,
    });
    assert.equal(seqsOf(rest)[0], Number.parseInt(last, 10) + 1);
  });

  await t.test("refuse a place that is not there", async () => {
    assert.equal((await daemon.fetch(`/v1/sessions/${MAIN}/events?from=99999`)).status, 400);
    assert.equal((await daemon.fetch("/v1/sessions/agent:main:direct:nobody/events")).status, 404);
    for (const cursor of ["garbage", "x\ndata: forged\n\n"]) {
      const refused = await daemon.fetch(`/v1/events?from=${encodeURIComponent(cursor)}`);
      assert.equal(refused.status, 410);
      assert.match(await refused.text(), /"cursor_expired"/);
    }
  });

  await t.test(
    "end when the session is removed, and do not go on in the middle of the next of its key",
    async () => {
      const key = "agent:main:direct:eve";
      const path = `/v1/sessions/${key}/events`;
      await daemon.call("ask", { sessionKey: key, message: "!say one" });
      const listening = listen(daemon, `${path}?from=0`, (heard) => heard.at(-1)?.event === "error");
      await listen(daemon, `${path}?from=0`, (heard) => hasEnded(heard, 1)); // So the other has begun as well.
      await daemon.call("remove", { sessionKey: key });
      const heard = await listening;
      assert.equal(heard.at(-1)?.data.code, "not_found");
      const last = heard.findLast(({ id }) => id !== null)?.id ?? "";
      await daemon.call("ask", { sessionKey: key, message: "!say two" });
      await daemon.call("ask", { sessionKey: key, message: "!say three" });
      const again = await daemon.fetch(path, { headers: { "last-event-id": last } });
      assert.equal(again.status, 400);
      assert.match(await again.text(), /was removed since, .*and begins anew; follow it from 0/);
    },
  );

  await t.test(
    "go on over a reset: who is there hears of it, and who comes back hears all of it",
    async () => {
      const key = "agent:main:direct:rae";
      const path = `/v1/sessions/${key}/events`;
      await daemon.call("ask", { sessionKey: key, message: "!say one" });
      const listening = listen(daemon, `${path}?from=0`, (heard) => hasEnded(heard, 2));
      const before = await listen(daemon, `${path}?from=0`, (heard) => hasEnded(heard, 1));
      await daemon.call("reset", { sessionKey: key });
      await daemon.call("ask", { sessionKey: key, message: "!say two" });
      const seqs = seqsOf(await listening);
      assert.deepEqual(
        seqs,
        seqs.map((_, at) => at + 1),
      );
      for (const { id } of before.filter(({ event }) => event === "entry")) {
        const headers = { "last-event-id": id ?? "" };
        const rest = await listen(daemon, path, (heard) => hasEnded(heard, 1), headers);
        assert.deepEqual(seqsOf(rest), seqs.slice(seqsOf(before).length));
      }
    },
  );

  await t.test("of all sessions go on after the last event that a client has", async () => {
    const [begin] = await listen(daemon, "/v1/events", (heard) => heard.length > 0);
    await daemon.call("ask", { sessionKey: "agent:main:direct:bob", message: "hi" });
    const path = `/v1/events?from=${encodeURIComponent(begin?.id ?? "")}`;
    const heard = await listen(daemon, path, (all) => all.length >= 2);
    assert.deepEqual([heard[0]?.event, heard[0]?.id], ["begin", begin?.id]);
    assert.ok(JSON.stringify(heard[1]).includes("agent:main:direct:bob"));
  });

  await t.test("tell of every session that changes, and of those that are gone", async () => {
    const listening = listen(daemon, "/v1/events", (heard) => heard.some(({ event }) => event === "gone"));
    await listen(daemon, "/v1/events", (heard) => heard.length > 0); // So the other has begun as well.
    await daemon.call("ask", { sessionKey: "agent:main:direct:ann", message: "hi" });
    await daemon.call("remove", { sessionKey: "agent:main:direct:ann" });
    const heard = await listening;
    assert.equal(heard[0]?.event, "begin");
    assert.ok(JSON.stringify(heard).includes("agent:main:direct:ann"));
  });
});

const entrySeqs = (told: readonly Told[]): number[] =>
  told.flatMap(({ params: { event } }) => (event?.type === "entry" ? [event.seq ?? 0] : []));

test("a socket that follows over a kill of the daemon sees every entry once", async (t) => {
  const daemon = await Daemon.start(t);
  const seqs: number[] = [];
  {
    await using line = await Line.open(daemon);
    await line.subscribe("follow", { sessionKey: MAIN, from: 0 });
    await daemon.call("send", { sessionKey: MAIN, message: "!slow 300\n!say late" });
    await line.until((told) => entrySeqs(told).length >= 2);
    await daemon.kill();
    seqs.push(...entrySeqs(line.told));
  }
  await daemon.begin();
  await using line = await Line.open(daemon);
  await line.subscribe("follow", { sessionKey: MAIN, from: seqs.at(-1) });
  await line.until((told) => JSON.stringify(told).includes("turn-ended"));
  seqs.push(...entrySeqs(line.told));
  assert.deepEqual(
    seqs,
    seqs.map((_, at) => at + 1),
  );
});

test("an answer comes in pieces while it is said, and then as an entry", async (t) => {
  const daemon = await Daemon.start(t);
  await using line = await Line.open(daemon);
  await line.subscribe("follow", { sessionKey: MAIN });
  await line.rpc("send", { sessionKey: MAIN, message: "!say these words come one after the other" });
  const told = await line.until((all) => JSON.stringify(all).includes("turn-ended"));
  const pieces = told.flatMap(({ params: { event } }) => (event?.type === "delta" ? [event["text"]] : []));
  assert.equal(pieces.join(""), "these words come one after the other");
});

test("nobody who follows is told a secret that entries would not show: of a message, a call, its result, or an answer in pieces", async (t) => {
  const daemon = await Daemon.start(t);
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  await using line = await Line.open(daemon, token);
  await line.subscribe("follow", { sessionKey: MAIN });
  const secret = "Ab1".repeat(14);
  const message = [
    `my key is sk-${secret}, and password: ${secret}`,
    `!call write ${JSON.stringify({ path: "key.txt", content: `token = ${secret}\n` })}`,
    "!then",
    '!call read {"path":"key.txt"}',
    "!then",
    `!say it says token = ${secret} and no more`,
  ].join("\n");
  const { text } = await daemon.call("ask", { sessionKey: MAIN, message });
  assert.equal(text, `it says token = ${secret} and no more`, "who asked is answered");

  const live = await line.until((told) => JSON.stringify(told).includes("turn-ended"));
  const pieces = live.flatMap(({ params: { event } }) => (event?.type === "delta" ? [event["text"]] : []));
  assert.equal(pieces.join(""), "it says token = [redacted] and no more");
  const past = await listen(daemon, `/v1/sessions/${MAIN}/events?from=0`, (heard) => hasEnded(heard, 1), {
    authorization: `Bearer ${token}`,
  });
  for (const told of [live, past]) {
    assert.ok(!JSON.stringify(told).includes("Ab1Ab1"), JSON.stringify(told));
    assert.ok(JSON.stringify(told).split("[redacted").length > 5);
  }
  const entries = past.flatMap(({ data }) => ("entry" in data ? [data.entry] : []));
  assert.deepEqual((await daemon.call("entries", { sessionKey: MAIN })).entries, entries);
});

test("who is unsubscribed hears no more, and other subscriptions go on", async (t) => {
  const daemon = await Daemon.start(t);
  await using line = await Line.open(daemon);
  const left = await line.subscribe("follow", { sessionKey: MAIN });
  const stays = await line.subscribe("follow", { sessionKey: MAIN });
  await line.rpc("unsubscribe", { subscription: left });
  await line.until((told) => told.some(({ method }) => method === "ended"));
  await daemon.call("ask", { sessionKey: MAIN, message: "!say hello" });
  const told = await line.until((all) => JSON.stringify(all).includes("turn-ended"));
  const events = told.filter(({ method }) => method === "event");
  assert.ok(events.every(({ params }) => params.subscription === stays));
});

/** A message of the visitor ida, and its answer. */
async function visit(daemon: Daemon, text: string): Promise<string> {
  const envelope = { channel: "web", chatType: "direct", peer: "ida" } as const;
  const { sessionKey, id } = await daemon.call("receive", { ...envelope, message: `!say ${text}` });
  await daemon.call("wait", { sessionKey, id });
  return sessionKey;
}

/** What can be gone on from: no pieces. */
function lasting(told: readonly Told[]): string {
  return JSON.stringify(told.filter(({ method, params }) => method === "event" && params.resume !== null));
}

/** The session begins anew, and then its old conversation is put back. Returns what a follower was told last in that. */
async function swapped(daemon: Daemon, line: Line, stream: string): Promise<string> {
  const told = async (text: string): Promise<string> => {
    const sessionKey = await visit(daemon, text);
    await line.until((all) => lasting(all).includes(`"${text}"`));
    return sessionKey;
  };
  const sessionKey = await told(`${stream} one`);
  const old = line.told.findLast(({ params }) => params.resume !== null)?.params.resume ?? "";
  const { archive } = await daemon.call("reset", { sessionKey });
  await told(`${stream} two`);
  await daemon.call("restore", { id: archive ?? "", swap: true });
  return old;
}

test("who follows as an archive takes the place of its session is ended, and begins anew", async (t) => {
  const daemon = await Daemon.start(t);
  const sessionKey = await visit(daemon, "zero");
  for (const [stream, input] of [
    ["follow", { sessionKey }],
    ["chat", { peer: "ida" }],
  ] as const) {
    await using line = await Line.open(daemon);
    await line.subscribe(stream, { ...input, from: 0 });
    const old = await swapped(daemon, line, stream);
    const { resume, error } =
      (await line.until((all) => all.at(-1)?.method === "ended")).at(-1)?.params ?? {};
    assert.equal(error?.code, "not_found");
    assert.match(error?.message ?? "", /begins anew: follow it from 0/);
    const late = Number.parseInt(resume ?? "", 10);
    assert.ok(late > Number.parseInt(old, 10));
    await assert.rejects(line.subscribe(stream, { ...input, from: resume }), /begins anew; follow it from 0/);
    for (const text of ["three", "four", "five"]) await visit(daemon, `${stream} ${text}`);
    assert.ok((await daemon.call("status", { sessionKey })).entries > late, "there are such numbers now");
    await assert.rejects(line.subscribe(stream, { ...input, from: resume }), /begins anew; follow it from 0/);
    await line.subscribe(stream, { ...input, from: late }); // a bare number is taken as it is
    const again = await line.subscribe(stream, { ...input, from: old });
    const toldAgain = (): string => lasting(line.told.filter(({ params }) => params.subscription === again));
    await line.until(() => toldAgain().includes(`"${stream} five"`));
    const heard = toldAgain();
    assert.ok(
      heard.includes(`"${stream} three"`) && !heard.includes(`"${stream} one"`),
      "of its own history nothing is missed",
    );
  }
});
