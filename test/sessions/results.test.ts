// What is not in a prompt, or not any more, is read by its ref: whole, by pages, by the lines that have a text; by people
// without secrets, by an agent as it was, and by nobody who may not.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { z } from "zod";
import type { Answer, Block, Entry, Output, Tool } from "../../src/index.ts";
import { BLOCK_BYTES_MAX, RESULT_BYTES_MAX } from "../../src/limits.ts";
import { RESULT_PAGE_BYTES_MAX } from "../../src/calls/limits.ts";
import { blobsOf } from "../../src/transcript/entry.ts";
import { MAIN } from "./family.ts";
import { fault, Glass, saying, Stage, tool } from "./stage.ts";

type Result = Output<"result">;

const OTHER = "agent:main:channel:other";
const KEY = `sk-${"Ab1".repeat(14)}`;

/** A tool that gives this. */
function gives(name: string, content: Awaited<ReturnType<Tool["run"]>>): Tool {
  return tool(name, () => Promise.resolve(content));
}

/** A model's answer that calls a tool, after it has said something or nothing. */
function calling(name: string, input: object, said: readonly Block[] = []): Answer {
  const call: Block = { type: "toolCall", id: `to ${name}`, name, arguments: { ...input } };
  return { ...saying(""), content: [...said, call], stopReason: "toolUse" } as Answer;
}

/** The entry with the last result of a tool. */
async function resultOf(stage: Stage, name: string, key = MAIN): Promise<Entry> {
  const entry = (await stage.entries(key)).findLast(
    (each) => each.type === "message" && each.message.role === "toolResult" && each.message.toolName === name,
  );
  return entry ?? assert.fail(`there is no result of ${name}`);
}

/** All pages, each from where the one before says. */
async function pages(stage: Stage, ref: string, bytes?: number): Promise<Result[]> {
  const all: Result[] = [];
  for (let from: number | null = 0; from !== null; from = all.at(-1)?.next ?? null)
    all.push(await stage.sessions.result(MAIN, ref, { from, ...(bytes === undefined ? {} : { bytes }) }));
  return all;
}

function whole(all: readonly Result[]): string {
  return all.map(({ text }) => text).join("");
}

/** What the agent's own tool says. */
async function read(stage: Stage, input: object, key = MAIN): Promise<Result> {
  await stage.sessions.ask(key, `!call read_result ${JSON.stringify(input)}\n!then\n!say read`);
  const { text, isError } = (await stage.results(key)).at(-1) ?? assert.fail();
  assert.equal(isError, false, text);
  return JSON.parse(text) as Result;
}

describe("a result of 19 MB", async () => {
  const lines = Array.from(
    { length: 400_000 },
    (_, at) => `${at}: größer als 😀 und "vieles", Zeile für Zeile — ${at % 7}`,
  );
  lines[200_000] = "200000: the NEEDLE in the middle";
  const text = lines.join("\n");
  const size = Buffer.byteLength(text);
  assert.ok(size > 18_000_000);

  test("is a small entry, and its pages joined are what the tool returned, byte for byte", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [gives("big", text)] });
    await stage.sessions.ask(MAIN, "!call big");
    const entry = await resultOf(stage, "big");
    assert.ok(JSON.stringify(entry).length < RESULT_BYTES_MAX);
    const [sha256 = ""] = blobsOf(entry);
    for (const ref of [entry.id, sha256]) {
      const all = await pages(stage, ref);
      assert.ok(whole(all) === text, "byte for byte");
      assert.ok(all.every((page) => page.isText && page.bytes <= RESULT_PAGE_BYTES_MAX));
      assert.deepEqual([all[0]?.total, all[0]?.tool, all[0]?.entry], [size, "big", entry.id]);
      assert.ok(all.length <= Math.ceil(size / (RESULT_PAGE_BYTES_MAX - 3)));
    }
  });

  test("is looked through for a text, by people and by its agent", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [gives("big", text)] });
    await stage.sessions.ask(MAIN, "!call big");
    const { id: ref } = await resultOf(stage, "big");
    const at = Buffer.byteLength(text.slice(0, text.indexOf("NEEDLE")));
    const asked = { grep: "needle", ignoreCase: true, context: 2 };
    const found = await stage.sessions.result(MAIN, ref, asked);
    assert.deepEqual(found.matches, [
      {
        line: 200_001,
        at,
        text: lines[200_000],
        before: lines.slice(199_998, 200_000),
        after: lines.slice(200_001, 200_003),
      },
    ]);
    assert.deepEqual([found.next, found.text], [null, null]);
    assert.deepEqual((await read(stage, { ref, ...asked })).matches, found.matches);
    assert.equal((await read(stage, { ref, from: at, bytes: 6 })).text, "NEEDLE");

    const seen: number[] = [];
    for (let from: number | null = 0; from !== null && seen.length < 500;) {
      const page: Result = await read(stage, { ref, grep: "99: ", from, limit: 200 });
      seen.push(...(page.matches ?? []).map(({ line }) => line));
      from = page.next;
    }
    assert.deepEqual(
      seen.slice(0, 500),
      Array.from({ length: seen.length }, (_, index) => index * 100 + 100).slice(0, 500),
    );
    const own = await stage.results(MAIN);
    for (const { tool: name, text: said } of own)
      if (name === "read_result")
        assert.ok(Buffer.byteLength(said) <= RESULT_BYTES_MAX && !said.includes("left out"));
  });
});

describe("pages", () => {
  test("cut no character in two, whatever their size, and come to the end", async (t) => {
    const text = "aé€😀\n".repeat(20);
    const stage = await Stage.open(t, {}, { tools: [gives("small", text)] });
    await stage.sessions.ask(MAIN, "!call small");
    const { id } = await resultOf(stage, "small");
    for (const bytes of [1, 2, 3, 4, 5, 7, 11, 100_000]) {
      const all = await pages(stage, id, bytes);
      assert.equal(whole(all), text, String(bytes));
      assert.ok(all.every((page) => page.bytes <= Math.max(4, bytes) && page.bytes > 0));
    }
    const within = await stage.sessions.result(MAIN, id, { from: 2, bytes: 2 });
    assert.deepEqual(
      [within.from, within.text],
      [1, "é"],
      "it begins with the character that the byte is of",
    );
  });

  test("of an agent stay whole in their entry, however much of them is escaped", async (t) => {
    const text = `${'"\\\n\u0001'.repeat(10_000)}${"plain ".repeat(10_000)}`;
    const stage = await Stage.open(t, {}, { tools: [gives("odd", text)] });
    await stage.sessions.ask(MAIN, "!call odd");
    const { id: ref } = await resultOf(stage, "odd");
    let said = "";
    for (let from: number | null = 0; from !== null;) {
      const page: Result = await read(stage, { ref, from, bytes: RESULT_PAGE_BYTES_MAX });
      said += page.text;
      from = page.next;
    }
    assert.ok(said === text);
  });

  test("run over all blocks of a result, spilled or not, and say what a picture is", async (t) => {
    const long = "x".repeat(RESULT_BYTES_MAX + 1);
    const image = (bytes: number) =>
      ({ type: "image", data: Buffer.alloc(bytes, 7).toString("base64"), mimeType: "image/png" }) as const;
    const content = [
      { type: "text", text: "first" } as const,
      { type: "text", text: long } as const,
      image(30_000),
      image(300),
      { type: "text", text: "last" } as const,
    ];
    const stage = await Stage.open(t, {}, { tools: [gives("mixed", { content })] });
    await stage.sessions.ask(MAIN, "!call mixed");
    const entry = await resultOf(stage, "mixed");
    const [text = "", picture = ""] = blobsOf(entry);
    const pictures = [
      `[image/png of 30000 bytes, blob ${picture}]`,
      "[image/png of 300 bytes: a picture, not text]",
    ];
    const all = whole(await pages(stage, entry.id, 1_000));
    assert.ok(all === ["first", long, ...pictures, "last"].join("\n"), all.slice(-300));
    assert.equal(whole(await pages(stage, text)), long);
    const shown = await stage.sessions.result(MAIN, picture);
    assert.equal(shown.text, "[image/png of 30000 bytes: a picture, not text]");
  });
});

describe("a ref", () => {
  test("is of a message, an answer, spilled arguments or spilled details too", async (t) => {
    const written: string[] = [];
    const taking = tool(
      "write_down",
      async (input) => {
        written.push((input as { readonly text: string }).text);
        return { content: "done", details: { diff: "d".repeat(RESULT_BYTES_MAX) } };
      },
      z.object({ text: z.string() }),
    );
    const text = "ä".repeat(BLOCK_BYTES_MAX);
    const glass = new Glass(async (_request, times) =>
      times === 1
        ? calling("write_down", { text }, [{ type: "text", text: "I write." }])
        : saying("Written."),
    );
    const agents = { main: { model: glass.id } };
    const stage = await Stage.open(t, { agents }, { models: [glass], tools: [taking] });
    await stage.sessions.ask(MAIN, `Write: ${text}`);
    assert.deepEqual(written, [text]);
    const entries = await stage.entries(MAIN);
    const asked = entries.find((each) => each.type === "message" && each.message.role === "user");
    const answer = entries.find((each) => each.type === "message" && each.message.role === "assistant");
    assert.ok(asked && answer);
    assert.ok(whole(await pages(stage, asked.id)) === `Write: ${text}`);
    const said = whole(await pages(stage, answer.id));
    assert.ok(said === `I write.\n[call write_down] ${JSON.stringify({ text })}`);
    assert.ok(whole(await pages(stage, blobsOf(answer)[0] ?? "")) === JSON.stringify({ text }));
    const [details = ""] = blobsOf(await resultOf(stage, "write_down"));
    assert.deepEqual(JSON.parse(whole(await pages(stage, details))), { diff: "d".repeat(RESULT_BYTES_MAX) });
    const note = entries.find(({ type }) => type === "custom");
    await assert.rejects(stage.sessions.result(MAIN, note?.id ?? ""), fault("not_found", /has no text/));
  });

  test("that a fork has copied is read in the fork, and a blob of another session is not there", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [gives("big", "y".repeat(40_000))] });
    await stage.sessions.ask(OTHER, "!say hi");
    await stage.sessions.ask(MAIN, "!call big");
    const entry = await resultOf(stage, "big");
    const [sha256 = ""] = blobsOf(entry);
    const { sessionKey } = await stage.sessions.fork(MAIN);
    for (const ref of [entry.id, sha256])
      assert.equal((await stage.sessions.result(sessionKey, ref, { bytes: 5 })).text, "yyyyy");
    for (const ref of [entry.id, sha256]) {
      await assert.rejects(stage.sessions.result(OTHER, ref), fault("not_found", /agent:main:channel:other/));
      await stage.sessions.ask(OTHER, `!call read_result {"ref":"${ref}"}`);
      assert.match((await stage.results(OTHER)).at(-1)?.text ?? "", /not_found/);
    }
  });

  test("whose blob is gone is damage, and says which", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [gives("big", "z".repeat(40_000))] });
    await stage.sessions.ask(MAIN, "!call big");
    const entry = await resultOf(stage, "big");
    rmSync(join(stage.home, "blobs"), { recursive: true });
    await assert.rejects(stage.sessions.result(MAIN, entry.id), fault("damaged", new RegExp(entry.id)));
  });

  test("that is none, and a range that is none, are refused in words", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [gives("small", "text")] });
    await assert.rejects(stage.sessions.result(MAIN, "x-1"), fault("not_found", /has no entry "x-1"/));
    await stage.sessions.ask(MAIN, "!call small");
    const { id: ref } = await resultOf(stage, "small");
    const { transcript } = await stage.sessions.status(MAIN);
    const own = transcript.slice(-8);
    for (const none of [
      `${own}-0`,
      `${own}-999999`,
      `${own}-${"9".repeat(15)}`,
      `${own}-1e3`,
      "../../etc",
      "a/b",
      "%2F",
    ])
      await assert.rejects(stage.sessions.result(MAIN, none), fault("not_found", /has no entry/), none);
    for (const none of ["f".repeat(64), "0".repeat(64)])
      await assert.rejects(
        stage.sessions.result(MAIN, none),
        fault("not_found", /no entry of .* names a blob/),
      );
    for (const bad of [
      { from: -1 },
      { from: 1.5 },
      { from: Number.MAX_VALUE },
      { bytes: 0 },
      { bytes: RESULT_PAGE_BYTES_MAX + 1 },
      { grep: "" },
      { grep: "two\nlines" },
      { grep: "x".repeat(1_000) },
      { grep: "x", context: 1_000 },
      { grep: "x", limit: 0 },
    ])
      await assert.rejects(
        stage.sessions.result(MAIN, ref, bad),
        fault("bad_input", /result/),
        JSON.stringify(bad),
      );
    await assert.rejects(stage.sessions.result(MAIN, ""), fault("bad_input", /ref/));
    const beyond = await stage.sessions.result(MAIN, ref, { from: Number.MAX_SAFE_INTEGER });
    assert.deepEqual([beyond.text, beyond.from, beyond.total, beyond.next], ["", 4, 4, null]);
    const nothing = await stage.sessions.result(MAIN, ref, { grep: "t", from: Number.MAX_SAFE_INTEGER });
    assert.deepEqual([nothing.matches, nothing.next], [[], null]);
  });
});

describe("secrets", () => {
  test("are taken out for people and other sessions, over the edges of pages too; their agent sees what it saw", async (t) => {
    const text = `${"word ".repeat(3_000)}${KEY} password=hunter2hunter2\n${"word ".repeat(3_000)}`;
    const agents = { main: { tools: { visibility: "all" as const } } };
    const stage = await Stage.open(t, { agents }, { tools: [gives("keys", text)] });
    await stage.sessions.ask(MAIN, "!call keys");
    const { id: ref } = await resultOf(stage, "keys");
    const at = text.indexOf(KEY);
    for (let from = at - 2; from < at + KEY.length + 30; from += 5)
      for (const bytes of [1, 10, 1_000]) {
        const page = await stage.sessions.result(MAIN, ref, { from, bytes });
        assert.doesNotMatch(page.text ?? "", /Ab1|hunter|sk-/);
        assert.equal(page.bytes, bytes, "offsets are those of what is kept");
      }
    const shown = whole(await pages(stage, ref));
    assert.equal(shown, text.replace(KEY, "[redacted: key]").replace("hunter2hunter2", "[redacted]"));
    const other = await read(stage, { sessionKey: MAIN, ref, from: at - 5, bytes: 100 }, OTHER);
    assert.doesNotMatch(other.text ?? "", /Ab1|hunter/);
    const own = await read(stage, { ref, from: at, bytes: KEY.length });
    assert.equal(own.text, KEY);
    assert.deepEqual((await stage.sessions.result(MAIN, ref, { grep: KEY.slice(0, 9) })).matches, []);
    assert.equal((await read(stage, { ref, grep: KEY.slice(0, 9) })).matches?.length, 1);
  });
});

test("an agent is told of the tool, and reads what its model was shown only head and tail of", async (t) => {
  const text = `begin\n${"m".repeat(30_000)}\nend`;
  const glass = new Glass(async (request, times) => {
    if (times === 1) return calling("big", {});
    if (times > 2) return saying("Done.");
    const blob = /all \d+ are in blob ([0-9a-f]{64})/.exec(JSON.stringify(request.messages))?.[1];
    return calling("read_result", { ref: blob, from: 20_000, bytes: 10 });
  });
  const agents = { main: { model: glass.id } };
  const stage = await Stage.open(t, { agents }, { models: [glass], tools: [gives("big", text)] });
  await stage.sessions.ask(MAIN, "Look.");
  assert.ok(glass.requests[0]?.tools.some(({ name }) => name === "read_result"));
  const { text: said } = (await stage.results(MAIN)).at(-1) ?? assert.fail();
  const { text: page, next } = JSON.parse(said) as Result;
  assert.deepEqual([page, next], ["m".repeat(10), 20_010]);
});
