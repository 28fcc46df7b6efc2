// Bytes as they are, for people: pictures and files, and neither a text nor a secret by this way.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test, type TestContext } from "node:test";
import type { Answer, Block, Entry, Output } from "../../src/index.ts";
import { blobsOf } from "../../src/transcript/entry.ts";
import { MAIN } from "./family.ts";
import { fault, Glass, saying, Stage, tool } from "./stage.ts";

type Result = Output<"result">;

const KEY = `sk-${"Ab1".repeat(14)}`;

/** The entry with the last result of a tool. */
async function resultOf(stage: Stage): Promise<Entry> {
  const entry = (await stage.entries(MAIN)).findLast(
    (each) => each.type === "message" && each.message.role === "toolResult",
  );
  return entry ?? assert.fail("there is no result");
}

/** A picture of one pixel: half of it is text to who looks at bytes alone. */
const DOT = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const refusal = (about: RegExp): ((error: unknown) => boolean) => fault("bad_input", about);

/** A session whose last result names this blob. */
async function naming(
  t: TestContext,
  bytes: Buffer,
): Promise<{ readonly stage: Stage; readonly ref: string }> {
  const data = bytes.toString("base64");
  const picture = { type: "image", data, mimeType: "image/png" } as const;
  const stage = await Stage.open(
    t,
    {},
    { tools: [tool("picture", () => Promise.resolve({ content: [picture] }))] },
  );
  await stage.sessions.ask(MAIN, "!call picture");
  const [ref = assert.fail("it is no blob")] = blobsOf(await resultOf(stage));
  return { stage, ref };
}

test("the pages of a picture joined are the picture, byte for byte, whatever their size", async (t) => {
  // What stands in it without compression looks like a text for a while.
  const picture = Buffer.concat([DOT, Buffer.alloc(40_000, "grey"), randomBytes(40_000), DOT]);
  const { stage, ref } = await naming(t, picture);
  for (const bytes of [undefined, 1_000, 33_333]) {
    const all: Result[] = [];
    for (let from: number | null = 0; from !== null; from = all.at(-1)?.next ?? null)
      all.push(await stage.sessions.result(MAIN, ref, { as: "base64", from, ...(bytes ? { bytes } : {}) }));
    const joined = Buffer.concat(all.map(({ data }) => Buffer.from(data ?? "", "base64")));
    assert.ok(joined.equals(picture));
    assert.ok(all.every((page) => page.text === null && page.matches === null && !page.isText));
    assert.ok(all.every((page) => page.total === picture.length && page.bytes <= (bytes ?? Infinity)));
  }
  const end = await stage.sessions.result(MAIN, ref, { as: "base64", from: Number.MAX_SAFE_INTEGER });
  assert.deepEqual([end.data, end.from, end.next], ["", picture.length, null]);
  const words = await stage.sessions.result(MAIN, ref, { as: "text" });
  assert.deepEqual(
    [words.text, words.data],
    [`[image/png of ${picture.length} bytes: a picture, not text]`, null],
  );
});

test("a text is refused, whatever it calls itself, and so is looking for one", async (t) => {
  const svg = Buffer.from(`<svg>${"<!-- größer -->".repeat(3_000)}</svg>`);
  const { stage, ref } = await naming(t, svg);
  const entry = await resultOf(stage);
  for (const each of [ref, entry.id, String(entry.seq)])
    for (const from of [0, 3, 30])
      await assert.rejects(
        stage.sessions.result(MAIN, each, { as: "base64", from }),
        refusal(/are text: read them without/),
      );
  await assert.rejects(stage.sessions.result(MAIN, ref, { as: "base64", grep: "x" }), refusal(/grep/));
  await assert.rejects(stage.sessions.result(MAIN, ref, { as: "hex" } as never), refusal(/as/));
});

test("no byte of a secret among others is given, at any edge of a page", async (t) => {
  const noise = Buffer.alloc(20_000, 0xfe);
  const bytes = Buffer.concat([DOT, noise, Buffer.from(`\0${KEY}\0`), noise]);
  const { stage, ref } = await naming(t, bytes);
  const at = bytes.indexOf(KEY);
  const page = (from: number, length: number): Promise<Result> =>
    stage.sessions.result(MAIN, ref, { as: "base64", from, bytes: length });
  for (const [from, length] of [
    [0, 50_000],
    [at - 1, 2],
    [at + 3, 1],
    [at + KEY.length - 1, 10],
  ] as const)
    await assert.rejects(page(from, length), refusal(/looks like a secret/));
  const before = await page(0, at);
  const after = await page(at + KEY.length, 50_000);
  assert.deepEqual([before.bytes, after.next], [at, null]);
});

const CALL: Block = { type: "toolCall", id: "a", name: "read_result", arguments: { ref: "1", as: "base64" } };
const READING = { ...saying(""), content: [CALL], stopReason: "toolUse" } as Answer;

test("it is for people: an agent is not told of it, and is refused", async (t) => {
  const glass = new Glass(async (_request, times) => (times === 1 ? READING : saying("Done.")));
  const stage = await Stage.open(t, { agents: { main: { model: glass.id } } }, { models: [glass] });
  await stage.sessions.ask(MAIN, "Look.");
  const [result] = await stage.results(MAIN);
  assert.ok(result?.isError === true && /\bas\b/.test(result.text), result?.text);
  const given = (name: string): string[] => {
    const form = glass.requests[0]?.tools.find((each) => each.name === name) ?? assert.fail(name);
    return Object.keys(form.input["properties"] as object);
  };
  assert.ok(given("read_result").includes("grep") && !given("read_result").includes("as"));
  assert.ok(given("sessions_list").includes("title") && !given("sessions_list").includes("text"));
});
