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
  for (const limit of [1, 2, 3, 5]) {
    const all = await pages(stage, limit);
    assert.deepEqual(
      all.flatMap(({ entries }) => entries),
      whole?.entries,
    );
  }
});

test("a session that is not there, and a number that is none, are refused in words", async (t) => {
  const { sessions } = await Stage.open(t);
  await assert.rejects(
    sessions.call("entries", { sessionKey: "agent:main:thread:x" }),
    fault("not_found", /thread:x/),
  );
  await assert.rejects(sessions.call("entries", { from: 0 }), fault("bad_input", /from/));
  await assert.rejects(sessions.call("entries", { limit: 201 }), fault("bad_input", /limit/));
});
