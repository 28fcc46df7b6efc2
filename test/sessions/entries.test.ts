// The transcript of a session as it is handed out: page by page, without gap or repeat, and without secrets.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Output } from "../../src/index.ts";
import { BLOCK_BYTES_MAX } from "../../src/limits.ts";
import { HISTORY_BYTES_MAX } from "../../src/calls/limits.ts";
import { MAIN } from "./family.ts";
import { fault, Glass, saying, Stage } from "./stage.ts";

type Entries = Output<"entries">;

/** All pages, each asked for with what the one before said. */
async function pages(stage: Stage, limit: number): Promise<Entries[]> {
  const all: Entries[] = [];
  for (let from: number | null = 1; from !== null; from = all.at(-1)?.next ?? null)
    all.push(await stage.sessions.call("entries", { from, limit }));
  return all;
}

/** All pages from the end back, each asked for with what the one after it said; oldest first. */
async function pagesBack(stage: Stage, limit: number): Promise<Entries[]> {
  const all: Entries[] = [];
  for (let before: number | null = LAST; before !== null; before = all[0]?.prev ?? null)
    all.unshift(await stage.sessions.call("entries", { before, limit }));
  return all;
}

const LAST = Number.MAX_SAFE_INTEGER;

function told(all: readonly Entries[]): Entries["entries"] {
  return all.flatMap(({ entries }) => entries);
}

/** From any page one comes to the one before it and to the one after it, and at the ends to none. */
async function assertJoined(stage: Stage, all: readonly Entries[]): Promise<void> {
  for (const [at, { prev, next, entries }] of all.entries()) {
    const seqs = entries.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
    assert.equal(prev === null, at === 0, `before page ${at}`);
    assert.equal(next === null, at === all.length - 1, `after page ${at}`);
    if (prev !== null && seqs.length > 0) assert.equal(prev, seqs[0]);
    if (next === null) continue;
    const [first] = (await stage.sessions.call("entries", { from: next, limit: 1 })).entries;
    assert.deepEqual(
      first,
      all[at + 1]?.entries.find(({ type }) => type !== "gap"),
    );
  }
}

test("pages forward give every entry once and as it is, whatever their size", async (t) => {
  const stage = await Stage.open(t);
  assert.deepEqual((await stage.sessions.call("entries", {})).next, null);
  for (let n = 0; n < 12; n += 1)
    await stage.sessions.ask(MAIN, `!call sessions_list\n!then\n!say answer ${n}`);
  const whole = await stage.entries(MAIN);
  const { transcript } = await stage.sessions.status(MAIN);
  for (const limit of [1, 7, 12, 200]) {
    const all = await pages(stage, limit);
    assert.deepEqual(
      all.flatMap(({ entries }) => entries),
      whole,
    );
    assert.ok(all.slice(0, -1).every(({ entries }) => entries.length === limit));
    assert.ok(all.every((page) => page.transcript === transcript && page.lastSeq === whole.length));
  }
  const last = await stage.sessions.call("entries", { from: whole.length + 1 });
  assert.deepEqual([last.entries, last.next], [[], null]);
});

test("pages back from the end give the same, and every page says how to go on both ways", async (t) => {
  const stage = await Stage.open(t);
  const none = await stage.sessions.call("entries", { before: 5 });
  assert.deepEqual([none.entries, none.prev, none.next], [[], null, null]);
  for (let n = 0; n < 12; n += 1) await stage.sessions.ask(MAIN, `!say answer ${n}`);
  const whole = await stage.entries(MAIN);
  for (const limit of [1, 7, 12, 48, 200]) {
    const all = await pagesBack(stage, limit);
    assert.deepEqual(told(all), whole);
    assert.ok(all.slice(1).every(({ entries }) => entries.length === limit));
    await assertJoined(stage, all);
    await assertJoined(stage, await pages(stage, limit));
  }
  const page = await stage.sessions.call("entries", { before: 20, limit: 5 });
  assert.deepEqual(page.entries, whole.slice(14, 19));
  assert.deepEqual([page.prev, page.next, page.lastSeq], [15, 20, whole.length]);
  const last = await stage.sessions.call("entries", { last: 5 });
  assert.deepEqual([last.entries, last.prev, last.next], [whole.slice(-5), whole.length - 4, null]);
  const first = await stage.sessions.call("entries", { before: 1 });
  assert.deepEqual([first.entries, first.prev, first.next], [[], null, 1]);
  const beyond = await stage.sessions.call("entries", { from: 1_000 });
  assert.deepEqual([beyond.entries, beyond.prev, beyond.next], [[], 1_000, null]);
});

test("after a rewind, pages of either way go along what is left, and a new conversation begins with none", async (t) => {
  const stage = await Stage.open(t);
  for (let n = 0; n < 6; n += 1) await stage.sessions.ask(MAIN, `!say answer ${n}`);
  await stage.sessions.call("rewind", { sessionKey: MAIN, seq: 12 });
  for (let n = 0; n < 3; n += 1) await stage.sessions.ask(MAIN, `!say other ${n}`);
  const whole = told(await pages(stage, 200));
  assert.ok(whole.length < (await stage.entries(MAIN)).length - 8, "some were left behind");
  for (const limit of [1, 2, 5, 13, 200]) {
    const all = await pagesBack(stage, limit);
    assert.deepEqual(told(all), whole);
    await assertJoined(stage, all);
    await assertJoined(stage, await pages(stage, limit));
  }
  // One that was left behind is a number like others.
  const left = await stage.sessions.call("entries", { before: 16, limit: 3 });
  assert.deepEqual(
    left.entries.map(({ seq }) => seq),
    [10, 11, 12],
  );
  await stage.sessions.call("reset", { sessionKey: MAIN });
  await stage.sessions.ask(MAIN, "!say anew");
  for (const limit of [1, 2, 200]) {
    const all = await pagesBack(stage, limit);
    assert.ok(Number(all[0]?.entries[0]?.["seq"]) > whole.length);
    await assertJoined(stage, all);
  }
});

test("a page is bounded in bytes, and an entry that is larger comes alone", async (t) => {
  const block = { type: "text", text: "x".repeat(BLOCK_BYTES_MAX - 1_000) } as const;
  const glass = new Glass((_request, times) => {
    const answer = saying("short");
    return Promise.resolve(times === 3 ? { ...answer, content: [block, block] } : answer);
  });
  const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
  for (let n = 0; n < 5; n += 1) await stage.sessions.ask(MAIN, "y".repeat(100_000));
  const all = await pages(stage, 200);
  assert.deepEqual(
    all.flatMap(({ entries }) => entries),
    await stage.entries(MAIN),
  );
  const larger = all.filter(({ entries }) => JSON.stringify(entries).length > HISTORY_BYTES_MAX);
  assert.deepEqual(
    larger.map(({ entries }) => entries.length),
    [1],
  );
  assert.ok(all.length > 3 && all.length < 8);
  const back = await pagesBack(stage, 200);
  assert.deepEqual(told(back), told(all));
  const alone = back.filter(({ entries }) => JSON.stringify(entries).length > HISTORY_BYTES_MAX);
  assert.deepEqual(
    alone.map(({ entries }) => entries.length),
    [1],
  );
  assert.ok(back.length > 3 && back.length < 8);
  await assertJoined(stage, back);
});

test("no page holds a secret of the usual shapes, wherever it stood", async (t) => {
  const stage = await Stage.open(t);
  const secrets = [
    "sk-abcdefghijklmnopqrstuvwx",
    "hunter2hunter2",
    "AKIAABCDEFGHIJKLMNOP",
    "ghp_abcdefghijklmnopqrstu",
    "zzzzyyyyzzzz",
    "listed-among-others",
  ];
  const [key, password, access, hub, variable, listed] = secrets;
  await stage.sessions.ask(MAIN, `My key is ${key}, and password: ${password}\n!say I keep ${access}`);
  const nested = {
    password,
    deep: [{ [String(hub)]: { access_token: password } }],
    env: [{ name: "OPENAI_API_KEY", value: variable }],
    token: [listed],
  };
  await stage.sessions.ask(MAIN, `!call sessions_list ${JSON.stringify(nested)}\n!then\n!say done`);
  const kept = JSON.stringify(await stage.entries(MAIN));
  const told = JSON.stringify(await pages(stage, 200));
  for (const secret of secrets) {
    assert.ok(kept.includes(secret), `${secret} is in the transcript`);
    assert.ok(!told.includes(secret), `${secret} is not handed out`);
  }
  const followed: unknown[] = [];
  const { entries: last } = await stage.sessions.status(MAIN);
  for await (const event of stage.sessions.follow(MAIN, { from: 0 })) {
    followed.push(event);
    if (event.type === "entry" && event.seq >= last) break;
  }
  for (const secret of secrets)
    assert.ok(
      JSON.stringify(followed).includes(secret),
      "a program that embeds sessions follows them as they are",
    );
});

test("what cannot be read comes as a gap, in its place and once, at any size of a page", async (t) => {
  const stage = await Stage.open(t);
  for (let n = 0; n < 3; n += 1) await stage.sessions.ask(MAIN, `!say answer ${n}`);
  const file = await stage.file(MAIN);
  await stage.close();
  const lines = readFileSync(file, "utf8").split("\n");
  for (const at of [4, 5, 8]) lines[at] = "#".repeat(Buffer.byteLength(lines[at] ?? ""));
  writeFileSync(file, lines.join("\n"));
  await stage.reopen();
  const [whole] = await pages(stage, 200);
  const kinds = whole?.entries.map(({ type }) => type === "gap") ?? [];
  assert.deepEqual(
    kinds.flatMap((isGap, at) => (isGap ? [at] : [])),
    [3, 4, 7],
  );
  for (const limit of [1, 2, 3, 5, 200]) {
    const all = await pages(stage, limit);
    assert.deepEqual(
      all.flatMap(({ entries }) => entries),
      whole?.entries,
    );
    assert.deepEqual(told(await pagesBack(stage, limit)), whole?.entries, `back by ${limit}`);
  }
});

/** Lines of a transcript taken out, or made unreadable, while nobody has it open. Its first line is 0. */
async function damaged(stage: Stage, change: (lines: string[]) => void): Promise<void> {
  const file = await stage.file(MAIN);
  await stage.close();
  const lines = readFileSync(file, "utf8").split("\n");
  const bytes = Buffer.byteLength(lines.join("\n"));
  change(lines);
  // As long as it was: what is shorter than was committed is damage of another kind.
  const missing = bytes - Buffer.byteLength(lines.join("\n"));
  lines[0] = `${lines[0]}${" ".repeat(missing)}`;
  writeFileSync(file, lines.join("\n"));
  await stage.reopen();
}

test("what vanished without a trace, also at the beginning, is told once on the way back", async (t) => {
  const stage = await Stage.open(t);
  for (let n = 0; n < 4; n += 1) await stage.sessions.ask(MAIN, `!say answer ${n}`);
  const count = (await stage.entries(MAIN)).length;
  await damaged(stage, (lines) => {
    lines.splice(9, 2);
    lines.splice(1, 1);
  });
  const [whole] = await pagesBack(stage, 200);
  const shown = whole?.entries.map(({ type, seq }) => (type === "gap" ? "gap" : seq)) ?? [];
  assert.deepEqual(shown.slice(0, 9), ["gap", 2, 3, 4, 5, 6, 7, 8, "gap"]);
  assert.equal(shown.length, count - 3 + 2);
  for (const limit of [1, 2, 3, 5, 7]) {
    const all = await pagesBack(stage, limit);
    assert.deepEqual(told(all), whole?.entries, `back by ${limit}`);
  }
});

test("damage after a rewind is not told again on pages that come before it", async (t) => {
  const stage = await Stage.open(t);
  for (let n = 0; n < 4; n += 1) await stage.sessions.ask(MAIN, `!say answer ${n}`);
  await stage.sessions.call("rewind", { sessionKey: MAIN, seq: 12 });
  for (let n = 0; n < 3; n += 1) await stage.sessions.ask(MAIN, `!say other ${n}`);
  await damaged(stage, (lines) => {
    for (const at of [5, lines.length - 4]) lines[at] = "#".repeat(Buffer.byteLength(lines[at] ?? ""));
  });
  const [whole] = await pagesBack(stage, 200);
  assert.equal(whole?.entries.filter(({ type }) => type === "gap").length, 2);
  for (const limit of [1, 2, 3, 5]) {
    const all = await pagesBack(stage, limit);
    assert.deepEqual(told(all), whole.entries, `back by ${limit}`);
  }
});

test("a session that is not there, and a number that is none, are refused in words", async (t) => {
  const { sessions } = await Stage.open(t);
  await assert.rejects(
    sessions.call("entries", { sessionKey: "agent:main:thread:x" }),
    fault("not_found", /thread:x/),
  );
  await assert.rejects(sessions.call("entries", { from: 0 }), fault("bad_input", /from/));
  await assert.rejects(sessions.call("entries", { before: 0 }), fault("bad_input", /before/));
  await assert.rejects(sessions.call("entries", { limit: 201 }), fault("bad_input", /limit/));
  for (const both of [
    { from: 1, last: 1 },
    { from: 1, before: 2 },
    { last: 1, before: 2 },
    { from: 1, last: 1, before: 2 },
  ])
    await assert.rejects(sessions.call("entries", both), fault("bad_input", /one of them/));
});
