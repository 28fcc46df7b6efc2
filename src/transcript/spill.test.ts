import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { BLOCK_BYTES_MAX, MESSAGE_BYTES_MAX, NESTING_LEVELS_MAX, RESULT_BYTES_MAX } from "../limits.ts";
import { blobsOf, isSpilled, type BlobName, type Block, type Message } from "./entry.ts";
import { spillMessage } from "./spill.ts";

/** Head and tail that stay, and a generous line between them. */
const KEPT_BYTES_MAX = 2 * 2 * 1024 + 200;

class Blobs {
  readonly kept = new Map<string, Buffer>();
  readonly put = async (bytes: Uint8Array): Promise<BlobName> => {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.kept.set(sha256, Buffer.from(bytes));
    return { sha256, bytes: bytes.length };
  };

  of(block: Block | undefined): Buffer {
    const bytes = this.kept.get(block?.blob?.sha256 ?? "");
    assert.ok(bytes, "the block names a blob that was put");
    assert.equal(block?.blob?.bytes, bytes.length);
    return bytes;
  }
}

test("a text stays up to its bound and is a blob one byte above it: 16 KiB of a result, 256 KiB of others", async () => {
  for (const [role, bytesMax] of [
    ["toolResult", RESULT_BYTES_MAX],
    ["assistant", BLOCK_BYTES_MAX],
    ["user", BLOCK_BYTES_MAX],
  ] as const) {
    for (const char of ["x", "é", "€", "🙂"]) {
      const filled = char.repeat(Math.floor(bytesMax / Buffer.byteLength(char)));
      const fits = filled + "x".repeat(bytesMax - Buffer.byteLength(filled));
      const blobs = new Blobs();
      const kept = await spillMessage(message(role, [{ type: "text", text: fits }]), blobs.put);
      assert.deepEqual(kept, message(role, [{ type: "text", text: fits }]));
      assert.equal(blobs.kept.size, 0);
      const [spilled] = contentOf(
        await spillMessage(message(role, [{ type: "text", text: `${fits}y` }]), blobs.put),
      );
      assert.equal(blobs.of(spilled).toString("utf8"), `${fits}y`);
    }
  }
});

test("nothing of a text is lost: the blob is all of it, and head and tail are its own, cut between characters", async () => {
  const char = fc.constantFrom("a", "é", "€", "🙂", "\n", "\u0000", "\u2028");
  const text = fc.array(char, { minLength: 50, maxLength: 60 }).map((chars) => chars.join("").repeat(400));
  await fc.assert(
    fc.asyncProperty(text, async (words) => {
      const blobs = new Blobs();
      const [block] = contentOf(
        await spillMessage(message("toolResult", [{ type: "text", text: words }]), blobs.put),
      );
      assert.ok(block?.type === "text");
      assert.equal(blobs.of(block).toString("utf8"), words);
      const [, head = "", left, all, tail = ""] =
        /^(.*)\n\[… (\d+) bytes left out; all (\d+) are in blob [0-9a-f]{64} …\]\n(.*)$/s.exec(block.text) ??
        [];
      assert.ok(words.startsWith(head) && words.endsWith(tail));
      assert.ok(!block.text.includes("\ufffd"));
      assert.equal(
        Number(left),
        Buffer.byteLength(words) - Buffer.byteLength(head) - Buffer.byteLength(tail),
      );
      assert.equal(Number(all), Buffer.byteLength(words));
      assert.ok(Buffer.byteLength(block.text) <= KEPT_BYTES_MAX);
      assert.ok(Buffer.byteLength(head) > 2_000 && Buffer.byteLength(tail) > 2_000);
    }),
    { numRuns: 50 },
  );
});

test("what a tool returns is bounded as a whole: many large blocks and large details leave a short line", async () => {
  const texts = Array.from({ length: 1_000 }, (_, at) => `${at} ${"x".repeat(16_000)}`);
  const details = { rows: Array.from({ length: 50_000 }, (_, at) => `row ${at} ${"y".repeat(90)}`) };
  const blobs = new Blobs();
  const large = { ...message("toolResult", texts.map(textBlock)), details } as Message;
  const spilled = await spillMessage(large, blobs.put);
  assert.ok(Buffer.byteLength(JSON.stringify(spilled)) < 5 * RESULT_BYTES_MAX);
  // Nothing is lost: whole, in a blob of its own, or in the list of those that were too many.
  const found = contentOf(spilled).flatMap((block) => {
    if (block.type !== "text") return [];
    if (!block.blob) return [block.text];
    const bytes = blobs.of(block).toString("utf8");
    return bytes.startsWith("[")
      ? (JSON.parse(bytes) as { text: string }[]).map(({ text }) => text)
      : [bytes];
  });
  assert.deepEqual(found, texts);
  assert.ok(spilled.role === "toolResult" && isSpilled(spilled.details));
  assert.deepEqual(JSON.parse(blobs.kept.get(spilled.details.blob.sha256)?.toString("utf8") ?? ""), details);
  assert.deepEqual(new Set(blobsOf({ type: "message", message: spilled })), new Set(blobs.kept.keys()));
  assert.deepEqual(await spillMessage(spilled, blobs.put), spilled);
});

test("blocks share the room of their message in their order, and small ones find what the large ones left", async () => {
  const [half, most] = [RESULT_BYTES_MAX / 2, RESULT_BYTES_MAX - 500];
  const blobs = new Blobs();
  const content = [half, most, half - 100, 100, 5_000].map((bytes) => textBlock("x".repeat(bytes)));
  const kept = contentOf(await spillMessage(message("toolResult", content), blobs.put));
  assert.deepEqual(
    kept.map(({ blob }) => blob?.bytes ?? null),
    [null, most, null, null, 5_000],
  );
});

test("any number of empty blocks makes no long line", async () => {
  const blobs = new Blobs();
  const empty = Array.from({ length: 100_000 }, () => textBlock(""));
  const spilled = await spillMessage(message("toolResult", empty), blobs.put);
  assert.ok(JSON.stringify(spilled).length < RESULT_BYTES_MAX);
  assert.equal(blobs.kept.size, 1);
});

test("an answer keeps each of its calls, however many and large they are", async () => {
  const blobs = new Blobs();
  const text = "x".repeat(BLOCK_BYTES_MAX - 100);
  const calls = Array.from({ length: 40 }, (_, at) => ({
    type: "toolCall" as const,
    id: `c${at}`,
    name: "write",
    arguments: { text: `${at} ${text}` },
  }));
  const spilled = await spillMessage(message("assistant", calls), blobs.put);
  assert.deepEqual(
    contentOf(spilled).map((block) => block.type === "toolCall" && block.id),
    calls.map(({ id }) => id),
  );
  assert.ok(JSON.stringify(spilled).length < 2 * MESSAGE_BYTES_MAX);
});

test("details stay up to 16 KiB, and above them are an object that names them", async () => {
  const blobs = new Blobs();
  const fits = { diff: "d".repeat(RESULT_BYTES_MAX - '{"diff":""}'.length) };
  for (const details of [fits, null, "text", 5, [1]]) {
    const result = { ...message("toolResult", []), details } as Message;
    assert.deepEqual(await spillMessage(result, blobs.put), result);
  }
  assert.equal(blobs.kept.size, 0);
  for (const details of [{ diff: `${fits.diff}d` }, "é".repeat(RESULT_BYTES_MAX)]) {
    const spilled = await spillMessage({ ...message("toolResult", []), details } as Message, blobs.put);
    assert.ok(spilled.role === "toolResult" && isSpilled(spilled.details));
    const { blob } = spilled.details;
    assert.deepEqual(JSON.parse(blobs.kept.get(blob.sha256)?.toString("utf8") ?? ""), details);
    assert.ok(Buffer.byteLength(spilled.details.spilled) <= KEPT_BYTES_MAX);
  }
});

test("what is nested too deeply is refused with a reason, in arguments and in details", async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = level % 2 === 0 ? [deep] : { deep };
  const call = { type: "toolCall", id: "c", name: "write", arguments: { deep } } as const;
  for (const refused of [
    message("assistant", [call]),
    { ...message("toolResult", []), details: deep } as Message,
  ]) {
    await assert.rejects(spillMessage(refused, new Blobs().put), {
      code: "bad_input",
      message: new RegExp(`nested too deeply: more than ${NESTING_LEVELS_MAX}`),
    });
  }
});

test("a message of plain text becomes a block only when it spills", async () => {
  const blobs = new Blobs();
  const short: Message = { role: "user", content: "hello", timestamp: 1 };
  assert.equal(await spillMessage(short, blobs.put), short);
  const long = "ö".repeat(BLOCK_BYTES_MAX);
  const spilled = await spillMessage({ role: "user", content: long, timestamp: 1 }, blobs.put);
  const [block, ...others] = contentOf(spilled);
  assert.equal(others.length, 0);
  assert.equal(block?.type, "text");
  assert.equal(blobs.of(block).toString("utf8"), long);
  assert.deepEqual({ ...spilled, content: "" }, { role: "user", content: "", timestamp: 1 });
});

test("thinking and the arguments of a call spill as texts do, and keep their other fields", async () => {
  const blobs = new Blobs();
  const thinking = "t".repeat(BLOCK_BYTES_MAX + 1);
  const call = { path: "a.txt", text: "\ud800 half a character, and\n".repeat(20_000) };
  const content = [
    { type: "thinking", thinking, thinkingSignature: "signed" },
    { type: "toolCall", id: "c", name: "write", arguments: call, thoughtSignature: "too" },
    { type: "toolCall", id: "d", name: "read", arguments: { path: "b.txt" } },
  ] as unknown as Block[];
  const [first, second, third] = contentOf(await spillMessage(message("assistant", content), blobs.put));
  assert.equal(blobs.of(first).toString("utf8"), thinking);
  assert.deepEqual(JSON.parse(blobs.of(second).toString("utf8")), call);
  assert.deepEqual(third, content[2]);
  assert.ok(first?.type === "thinking" && second?.type === "toolCall");
  assert.ok(first.thinking.startsWith("tttt") && first.thinking.length < KEPT_BYTES_MAX);
  assert.deepEqual({ ...first, thinking: 0, blob: 0 }, { ...content[0], thinking: 0, blob: 0 });
  assert.deepEqual({ ...second, arguments: 0, blob: 0 }, { ...content[1], arguments: 0, blob: 0 });
  assert.deepEqual(Object.keys(second.arguments), ["spilled"]);
});

test("a picture is kept whole or becomes a blob of its bytes, with words and its type in its place", async () => {
  const bytes = Buffer.from(Array.from({ length: RESULT_BYTES_MAX }, (_, at) => (at * 7) % 256));
  const fits = bytes.subarray(0, (RESULT_BYTES_MAX / 4) * 3).toString("base64");
  assert.equal(fits.length, RESULT_BYTES_MAX);
  const blobs = new Blobs();
  const kept = message("toolResult", [{ type: "image", data: fits, mimeType: "image/png" }]);
  assert.deepEqual(await spillMessage(kept, blobs.put), kept);
  const large = {
    type: "image",
    data: bytes.toString("base64"),
    mimeType: "image/png",
    detail: "high",
  } as const;
  const [block] = contentOf(await spillMessage(message("toolResult", [large]), blobs.put));
  assert.deepEqual(blobs.of(block), bytes);
  const text = `[image/png of ${bytes.length} bytes, blob ${block?.blob?.sha256}]`;
  assert.deepEqual(block, { type: "text", text, mimeType: "image/png", detail: "high", blob: block?.blob });
});

test("what is called a picture and is no base64 is kept as the text it is", async () => {
  for (const data of [
    "data:image/png;base64,AAAA".repeat(2_000),
    "AAA\n".repeat(9_000),
    "not base64 at all ".repeat(2_000),
  ]) {
    const blobs = new Blobs();
    const [block] = contentOf(
      await spillMessage(message("toolResult", [{ type: "image", data, mimeType: "image/png" }]), blobs.put),
    );
    assert.equal(blobs.of(block).toString("utf8"), data);
  }
});

test("a block of a kind nobody knows stays as it came", async () => {
  const odd = { type: "hologram", data: "z".repeat(2 * BLOCK_BYTES_MAX) } as unknown as Block;
  const blobs = new Blobs();
  const spilled = await spillMessage(message("assistant", [odd, { type: "text", text: "x" }]), blobs.put);
  assert.deepEqual(spilled, message("assistant", [odd, { type: "text", text: "x" }]));
  assert.equal(blobs.kept.size, 0);
});

test("spilling what has been spilled changes nothing", async () => {
  const blobs = new Blobs();
  const once = await spillMessage(
    message("toolResult", [{ type: "text", text: "x".repeat(99_999) }]),
    blobs.put,
  );
  assert.deepEqual(await spillMessage(once, blobs.put), once);
  assert.equal(blobs.kept.size, 1);
});

test("a blob that cannot be put fails the message: nothing is cut without being kept", async () => {
  const large = message("toolResult", [{ type: "text", text: "x".repeat(99_999) }]);
  const full = new Error("the disk is full");
  await assert.rejects(
    spillMessage(large, () => Promise.reject(full)),
    full,
  );
});

function textBlock(text: string): Block {
  return { type: "text", text };
}

function message(role: "user" | "assistant" | "toolResult", content: readonly Block[]): Message {
  return { role, content, toolCallId: "c", details: { kept: [1, 2] }, timestamp: 1 } as unknown as Message;
}

function contentOf({ content }: Message): readonly Block[] {
  assert.ok(typeof content !== "string");
  return content;
}
