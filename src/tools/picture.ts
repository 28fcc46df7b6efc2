// Which bytes are a picture that a model can be shown. Providers refuse a whole request for one picture that they cannot
// read, and a picture in a transcript is in every later request: what only begins like one must not get there.
//
// Nothing is decoded. The parts of a file are walked from the first to the last; what is broken inside of one passes.

export type PictureType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Bytes of a picture. In base64 it is a third more, and providers take 5 MiB of that. */
export const PICTURE_BYTES_MAX = 3.75 * 1024 * 1024;

/** Pixels of a side: what providers take. */
const SIDE_MAX = 8_000;

/** What is known of a picture from its parts. Null: it has not all of them. */
type Sides = readonly [width: number, height: number] | null;

interface Form {
  readonly type: PictureType;
  readonly begins: RegExp; // in latin1
  readonly sidesOf: (bytes: Buffer) => Sides;
}

const FORMS: readonly Form[] = [
  { type: "image/png", begins: /^\x89PNG\r\n[^]\n/, sidesOf: sidesOfPng },
  { type: "image/jpeg", begins: /^\xff\xd8\xff/, sidesOf: sidesOfJpeg },
  { type: "image/gif", begins: /^GIF8[79]a/, sidesOf: sidesOfGif },
  { type: "image/webp", begins: /^RIFF[^]{4}WEBP/, sidesOf: sidesOfWebp },
];

/** The kind of picture that these bytes are, all of them, and that can be shown. Null: they are none. */
export function pictureKind(bytes: Buffer): PictureType | null {
  const form = formOf(bytes);
  if (form === null || bytes.length > PICTURE_BYTES_MAX) return null;
  const sides = wholeOrNull(() => form.sidesOf(bytes));
  return sides?.every((side) => side >= 1 && side <= SIDE_MAX) === true ? form.type : null;
}

/** Which kind the file would be that begins so: only a reason to look at all of it. */
export function beginsLike(beginning: Buffer): PictureType | null {
  return formOf(beginning)?.type ?? null;
}

function formOf(beginning: Buffer): Form | null {
  const text = beginning.toString("latin1", 0, 12);
  return FORMS.find(({ begins }) => begins.test(text)) ?? null;
}

/** Numbers are read by methods that throw beyond the end: a file that is cut short ends so. */
function wholeOrNull(walk: () => Sides): Sides {
  try {
    return walk();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Chunks of length, name, content and checksum: IHDR first, then some IDAT, then IEND. */
function sidesOfPng(bytes: Buffer): Sides {
  const nameAt = (at: number): string => bytes.toString("latin1", at + 4, at + 8);
  if (nameAt(8) !== "IHDR" || bytes.readUInt32BE(8) !== 13) return null;
  let hasContent = false;
  for (let at = 8; ; at += 12 + bytes.readUInt32BE(at)) {
    const name = nameAt(at);
    hasContent ||= name === "IDAT";
    if (name !== "IEND") continue;
    const isWhole = hasContent && at + 12 <= bytes.length;
    return isWhole ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : null;
  }
}

/** Segments of marker and length; one of them tells the sides. After "start of scan" comes the content, then the end. */
function sidesOfJpeg(bytes: Buffer): Sides {
  let sides: Sides = null;
  for (let at = 2; bytes.readUInt8(at) === 0xff;) {
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += marker === 0xff ? 1 : 2; // filling, or a marker without a length
      continue;
    }
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return null;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) sides = [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
    at += 2 + length;
    // Cameras add things behind the end, so it is not always the last.
    if (marker === 0xda) return bytes.lastIndexOf("\xff\xd9", undefined, "latin1") >= at ? sides : null;
  }
  return null;
}

/** Blocks, of which one at least is an image, then the trailer. */
function sidesOfGif(bytes: Buffer): Sides {
  const colours = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  const behindPieces = (from: number): number => {
    let at = from;
    for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) at += 1 + length;
    return at + 1;
  };
  let hasImage = false;
  for (let at = 13 + colours(bytes.readUInt8(10)); ;) {
    const block = bytes.readUInt8(at);
    if (block === 0x3b) return hasImage ? [bytes.readUInt16LE(6), bytes.readUInt16LE(8)] : null;
    if (block === 0x21) at = behindPieces(at + 2);
    else if (block === 0x2c) at = behindPieces(at + 11 + colours(bytes.readUInt8(at + 9)));
    else return null;
    hasImage ||= block === 0x2c;
  }
}

/** Chunks of name, length and content inside of one. The first tells the sides; in the simple forms it is the content too. */
function sidesOfWebp(bytes: Buffer): Sides {
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) return null;
  let hasContent = false;
  for (let at = 12; at + 8 <= end;) {
    const name = bytes.toString("latin1", at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    if (at + 8 + length > end) return null;
    hasContent ||= name === "VP8 " || name === "VP8L" || name === "ANMF";
    at += 8 + length + (length % 2);
  }
  return hasContent ? sidesOfFirstChunk(bytes) : null;
}

function sidesOfFirstChunk(bytes: Buffer): Sides {
  const name = bytes.toString("latin1", 12, 16);
  if (name === "VP8X") return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (name === "VP8 " && bytes.readUIntBE(23, 3) === 0x9d012a)
    return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  if (name !== "VP8L" || bytes.readUInt8(20) !== 0x2f) return null;
  const bits = bytes.readUInt32LE(21);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}
