import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { answered, asked, entriesOf, text } from "../../test/fixtures/conversation.ts";
import { MESSAGE_PICTURES_BYTES_MAX, REQUEST_PICTURES_BYTES_MAX } from "../limits.ts";
import type { Block, Message } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { withPictures } from "./pictures.ts";

const MIB = 1024 * 1024;

function picture(bytes: number): Block {
  const blob = { sha256: "a".repeat(64), bytes };
  return { type: "text", text: "[a picture]", blob, mimeType: "image/png" } as Block;
}

/** Each message as the model sees it: its pictures' sizes, or − for one of which only the words are left. */
async function seen(messages: readonly Message[]): Promise<string[]> {
  const shown = await withPictures(messages, async ({ bytes }) => Buffer.from(`${bytes}`));
  return shown.map(({ content }) =>
    typeof content === "string"
      ? content
      : content
          .map((block) => (block.type === "image" ? Buffer.from(block.data, "base64").toString() : "−"))
          .join(" "),
  );
}

function shownBytes(shown: readonly string[]): number {
  return shown
    .join(" ")
    .split(" ")
    .reduce((sum, each) => sum + (/^\d+$/.test(each) ? Number(each) : 0), 0);
}

test("pictures fit a request, the newest message keeps its own, and the beginning changes seldom", async () => {
  const size = fc.integer({ min: 1, max: MESSAGE_PICTURES_BYTES_MAX / 4 });
  const runs = fc.array(fc.array(size, { maxLength: 4 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(runs, async (messages) => {
      const all = entriesOf(
        messages.flatMap((sizes) => [asked([text("look"), ...sizes.map(picture)]), answered([text("ok")])]),
      );
      let [before, changes, bytes] = [[] as string[], 0, 0];
      for (let at = 0; at < messages.length; at += 1) {
        const shown = await seen(assemble(all.slice(0, at * 2 + 1), false));
        assert.ok(shownBytes(shown) <= REQUEST_PICTURES_BYTES_MAX);
        assert.ok(!shown[at * 2]?.slice(1).includes("−"), "the newest message is shown whole");
        if (before.some((each, index) => each !== shown[index])) changes += 1;
        bytes += shownBytes(shown.slice(at * 2));
        before = shown;
      }
      // Each change makes room for at least half of the bound less the message that it was made for.
      const each = REQUEST_PICTURES_BYTES_MAX / 2 - MESSAGE_PICTURES_BYTES_MAX / 4;
      assert.ok(changes <= 1 + bytes / each, `${changes} changes for ${bytes} bytes`);
    }),
    { numRuns: 100 },
  );
});

test("one picture more than there is room for makes room for several", async () => {
  const ask = (count: number) =>
    seen(
      assemble(
        entriesOf(
          Array.from({ length: count }, () => [asked([picture(4 * MIB)]), answered([text("ok")])]).flat(),
        ),
        false,
      ),
    );
  const gone = async (count: number): Promise<number> =>
    (await ask(count)).filter((each, at) => at % 2 === 0 && each === "−").length;
  assert.deepEqual(await Promise.all([8, 9, 10, 13, 14].map(gone)), [0, 5, 5, 5, 10]);
});

test("pictures that no answer has seen go only when they alone are too much", async () => {
  const all = entriesOf([
    asked([picture(20 * MIB)]),
    answered([text("ok")]),
    asked([picture(10 * MIB)]),
    asked([picture(10 * MIB)]),
    asked([picture(10 * MIB)]),
  ]);
  const size = `${10 * MIB}`;
  assert.deepEqual(await seen(assemble(all, false)), ["−", "−", size, size, size]);
  const more = [...all, ...entriesOf([asked([picture(10 * MIB)])], all.length)];
  assert.deepEqual(await seen(assemble(more, false)), ["−", "−", "−", size, size, size]);
});
