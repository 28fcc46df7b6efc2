import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { PIXEL } from "../../../test/providers/asking.ts";
import { listed, named } from "./listed.ts";
import { resultOf } from "./results.ts";

const FORM = { type: "object" };

test("the same tools have the same names and order, whichever way round they were listed", () => {
  const names = fc.uniqueArray(fc.string({ unit: "binary", minLength: 1, maxLength: 90 }), { maxLength: 20 });
  fc.assert(
    fc.property(names, names, fc.infiniteStream(fc.nat(1)), (one, other, coins) => {
      const placed = [
        ...one.map((name) => ({ server: "a", name })),
        ...other.map((name) => ({ server: "a_", name })),
      ].map(({ server, name }) => ({ server, tool: listed([{ name, inputSchema: FORM }]).kept[0] }));
      const known = placed.flatMap(({ server, tool }) => (tool ? [{ server, tool }] : []));
      const there = named(known);
      assert.equal(there.size, known.length);
      for (const name of there.keys()) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
      const shuffled = named(known.toSorted(() => (coins.next().value === 0 ? -1 : 1)));
      assert.deepEqual([...shuffled], [...there]);
    }),
  );
});

test("plain names stay as they are; those that would be called the same are told apart by a hash", () => {
  const { kept } = listed(["echo", "get.user", "get user"].map((name) => ({ name, inputSchema: FORM })));
  const names = [...named(kept.map((tool) => ({ server: "web", tool }))).keys()];
  assert.equal(names[0], "web__echo");
  assert.equal(names.length, 3);
  for (const name of names.slice(1)) assert.match(name, /^web__get_user_[0-9a-f]{8}$/);
});

test("a tool may be run again after a crash only if its server says that it changes nothing", () => {
  const hints = [
    undefined,
    "nonsense",
    {},
    { readOnlyHint: "yes" },
    { readOnlyHint: true },
    { idempotentHint: true },
  ];
  const { kept } = listed(
    hints.map((annotations, at) => ({ name: `t${at}`, inputSchema: FORM, annotations })),
  );
  assert.deepEqual(
    kept.map(({ replay }) => replay),
    ["never", "never", "never", "never", "safe", "never"],
  );
});

test("whatever a server answers becomes blocks of text and pictures that a model can be shown", () => {
  const png = PIXEL;
  const { content, isError } = resultOf({
    content: [
      { type: "text", text: "a\ud800" },
      { type: "image", data: png, mimeType: "image/png" },
      { type: "image", data: png, mimeType: "image/jpg" },
      { type: "image", data: "not base64", mimeType: "image/png" },
      { type: "image", data: png.slice(0, 60), mimeType: "image/png" },
      { type: "image", data: 7, mimeType: "image/png" },
      { type: "image", data: Buffer.from("<svg/>").toString("base64"), mimeType: "image/svg+xml" },
      { type: "audio", data: png, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a", text: "inside" } },
      { type: "resource", resource: { uri: "file:///b", blob: png, mimeType: "image/png" } },
      { type: "resource", resource: { uri: "file:///c", blob: png } },
      { type: "resource_link", uri: "file:///d", name: "d", description: "a\nlink" },
      { type: "hologram\u0000" },
      null,
    ],
    isError: true,
  });
  assert.equal(isError, true);
  assert.deepEqual(content, [
    { type: "text", text: "a\ufffd" },
    { type: "image", data: png, mimeType: "image/png" },
    { type: "image", data: png, mimeType: "image/png" },
    { type: "text", text: "[a picture of type image/png: it cannot be shown]" },
    { type: "text", text: "[a picture of type image/png: it cannot be shown]" },
    { type: "text", text: "[a picture of type image/png: it cannot be shown]" },
    { type: "text", text: "[a picture of type image/svg+xml: it cannot be shown]" },
    { type: "text", text: "[audio of type audio/wav: it cannot be heard here]" },
    { type: "text", text: "[resource file:///a]\ninside" },
    { type: "image", data: png, mimeType: "image/png" },
    { type: "text", text: "[resource file:///c of type unknown: it is no text]" },
    { type: "text", text: "[link file:///d] d: a link" },
    { type: "text", text: "[a block of type hologram: it is not known here]" },
    { type: "text", text: "[a block of type unknown: it is not known here]" },
  ]);
});

test("structured content is shown when there is no text, and only then", () => {
  const structuredContent = { degrees: 21 };
  const words = [{ type: "text", text: "21 degrees" }];
  assert.deepEqual(resultOf({ structuredContent }).content, [{ type: "text", text: '{"degrees":21}' }]);
  assert.deepEqual(resultOf({ content: words, structuredContent }).content, words);
  assert.deepEqual(resultOf({}).content, [{ type: "text", text: "It returned nothing." }]);
});

test("a result of very many blocks keeps the first of them, and says how many are left out", () => {
  const { content } = resultOf({ content: Array.from({ length: 100_000 }, () => ({})) });
  assert.equal(content.length, 501);
  assert.deepEqual(content.at(-1), { type: "text", text: "[left out: 99500 more blocks]" });
});
