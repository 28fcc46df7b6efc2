import assert from "node:assert/strict";
import { test } from "node:test";
import { beginsLike, PICTURE_BYTES_MAX, pictureKind, type PictureType } from "./picture.ts";

/** Whole pictures of one or two pixels. */
const PICTURES: readonly (readonly [PictureType, string])[] = [
  [
    "image/png",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ],
  ["image/gif", "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"],
  ["image/webp", "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="],
  ["image/webp", "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"],
  [
    "image/jpeg",
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAACAAIBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/ACv/2Q==",
  ],
];
const pictures = PICTURES.map(([type, base64]) => [type, Buffer.from(base64, "base64")] as const);
const of = (type: PictureType): Buffer =>
  Buffer.from(pictures.find(([each]) => each === type)?.[1] ?? assert.fail(type));

test("a whole picture is known as what it is, also with something behind it", () => {
  for (const [type, bytes] of pictures) {
    assert.equal(pictureKind(bytes), type);
    assert.equal(pictureKind(Buffer.concat([bytes, Buffer.from("more")])), type);
  }
});

test("what only begins like a picture is none, wherever it was cut", () => {
  for (const [type, bytes] of pictures) {
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(pictureKind(bytes.subarray(0, length)), null, `${type} of ${length} bytes`);
    const rest = Buffer.alloc(bytes.length - 12, "text");
    assert.equal(pictureKind(Buffer.concat([bytes.subarray(0, 12), rest])), null);
    assert.equal(beginsLike(bytes.subarray(0, 12)), type);
  }
  for (const text of ["", "no picture", "RIFF1234WAVE"]) {
    assert.equal(pictureKind(Buffer.from(text)), null);
    assert.equal(beginsLike(Buffer.from(text)), null);
  }
});

test("sides of no pixels, or of more than are taken, are of no picture", () => {
  const png = (width: number): Buffer => {
    const bytes = of("image/png");
    bytes.writeUInt32BE(width, 16);
    return bytes;
  };
  assert.deepEqual(
    [0, 1, 8_000, 8_001, 2 ** 32 - 1].map((width) => pictureKind(png(width))),
    [null, "image/png", "image/png", null, null],
  );
  const gif = of("image/gif");
  gif.writeUInt16LE(9_000, 8);
  assert.equal(pictureKind(gif), null);
  const webp = of("image/webp");
  webp.writeUInt32LE(0x3fff, 21); // 16384 pixels wide
  assert.equal(pictureKind(webp), null);
});

test("a picture without an image in it is none", () => {
  const png = of("image/png");
  png.write("tEXt", png.indexOf("IDAT"), "latin1");
  assert.equal(pictureKind(png), null);
  const gif = of("image/gif");
  assert.equal(pictureKind(Buffer.concat([gif.subarray(0, 19), Buffer.from(";")])), null);
});

test("a picture is no longer than providers take, in base64", () => {
  const long = (bytes: number): Buffer => Buffer.concat([of("image/gif")], bytes);
  assert.equal(pictureKind(long(PICTURE_BYTES_MAX)), "image/gif");
  assert.equal(pictureKind(long(PICTURE_BYTES_MAX + 1)), null);
  assert.equal(long(PICTURE_BYTES_MAX).toString("base64").length, 5 * 1024 * 1024);
});

test("bytes that anybody made are looked at once, to their end", () => {
  for (const [, bytes] of pictures) {
    const zeros = Buffer.concat([bytes.subarray(0, 16), Buffer.alloc(PICTURE_BYTES_MAX - 16)]);
    const ones = Buffer.concat([bytes.subarray(0, 16), Buffer.alloc(PICTURE_BYTES_MAX - 16, 0xff)]);
    for (const each of [zeros, ones]) assert.equal(pictureKind(each), null);
  }
});
