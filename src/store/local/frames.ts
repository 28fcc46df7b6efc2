// Transcripts of archives, packed: zstd frames one after the other, each of some mebibytes. So a transcript of any length
// is packed and unpacked in bounded memory, `zstd -dc` reads it, and what a damaged byte costs is one frame.
//
// Invariants
//   Z1. A packed file has its name only when it was read back, gave the very bytes it was made of, and is synced.
//   Z2. What is unpacked has its name only when it is as long as the state says, every frame's checksum was right, and it is
//       synced. A file that holds more than it should is not unpacked beyond that.
//
// All of it is synchronous: it runs on a thread of its own (packer.ts), or in a command that does nothing else.

import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { makeDirectory } from "../../base/directory.ts";
import { Fault } from "../../base/fault.ts";
import { FileSource, type Source } from "../../transcript/lines.ts";
import { syncDirectory } from "./files.ts";
import { unfinished } from "./paths.ts";
import { isMissing } from "./trouble.ts";

/** Bytes of a transcript in one frame. With more of them a frame is hardly smaller (one part in a hundred at sixteen times as many). */
const FRAME_BYTES = 4 * 1024 * 1024;

/** Bytes that a frame of somebody else may hold, as of a file that was packed anew by hand. */
const FRAME_BYTES_MAX = 256 * 1024 * 1024;

/**
 * A quarter smaller than level 3, at 150 MB/s still faster than most disks; level 19 saves another tenth and takes forty
 * times as long.
 */
const LEVEL = 9;

const PARAMS = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };

/** Durable when it returns: how long the packed file is. `bytes` of the transcript are packed, and it must have them. */
export function packFile(from: string, to: string, bytes: number): number {
  const length = writePacked(from, to, bytes);
  syncNames([to]);
  return length;
}

/** The same, but its name is not durable yet: for who makes many of them. */
export function writePacked(from: string, to: string, bytes: number): number {
  const source = openSource(from);
  try {
    if (source.size < bytes)
      throw new Fault(
        "damaged",
        `${from} has ${source.size} bytes, and should have ${bytes}; nothing was packed`,
      );
    return makeFile(to, (write) => {
      const print = createHash("sha256");
      for (let at = 0; at < bytes; at += FRAME_BYTES) {
        const some = source.read(at, Math.min(FRAME_BYTES, bytes - at));
        print.update(some);
        write(zstdCompressSync(some, { params: PARAMS }));
      }
      const again = createHash("sha256");
      return () => {
        for (const some of unpacked(unfinished(to), bytes)) again.update(some);
        if (again.digest("hex") !== print.digest("hex"))
          // Z1
          throw new Fault("damaged", `${from} could not be packed: what was written does not read as it was`);
      };
    });
  } finally {
    source.close();
  }
}

/** Its name is not durable yet (Z2). Fault damaged; the packed file stays as it is. */
export function writeUnpacked(from: string, to: string, bytes: number): void {
  makeFile(to, (write) => {
    for (const some of unpacked(from, bytes)) write(some);
    return null;
  });
}

/** Its first bytes: for whoever knows it from a time when it was no longer than that. Durable when it returns. */
export function unpackBeginning(from: string, to: string, bytes: number): void {
  makeFile(to, (write) => {
    let left = bytes;
    for (const some of unpackedFrames(from, () => FRAME_BYTES_MAX)) {
      write(some.subarray(0, left));
      left = Math.max(0, left - some.length);
      if (left === 0) return null;
    }
    if (left > 0) throw damaged(from, `it lacks ${left} bytes of ${bytes}`);
    return null;
  });
  syncNames([to]);
}

/** Throws a Fault `damaged` where it cannot go on, and at the end if that is not after so many bytes. */
export function* unpacked(path: string, bytes: number): Generator<Buffer> {
  let done = 0;
  for (const some of unpackedFrames(path, () => Math.min(bytes - done, FRAME_BYTES_MAX))) {
    done += some.length;
    yield some;
  }
  if (done !== bytes) throw damaged(path, `it holds ${done} bytes, and should hold ${bytes}`);
}

/** `most`: bytes that the next frame may hold. */
function* unpackedFrames(path: string, most: () => number): Generator<Buffer> {
  const source = openSource(path);
  try {
    for (const frame of framesOf(source, path)) yield decompressed(frame, most(), path);
  } finally {
    source.close();
  }
}

/**
 * All of it, into a file that nobody else knows and that is not synced: for commands that do not know how much it should hold. Fault
 * damaged, also when that is more than `most` bytes; then there is no file.
 */
export function unpackUpTo(from: string, to: string, most: number): void {
  let left = most;
  const file = openSync(to, "w", 0o600);
  try {
    for (const some of unpackedFrames(from, () => Math.min(left, FRAME_BYTES_MAX))) {
      for (let done = 0; done < some.length;) done += writeSync(file, some, done);
      left -= some.length;
    }
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function decompressed(frame: Buffer, most: number, path: string): Buffer {
  try {
    // Even a frame of nothing needs room for one byte, by the rules of zlib.
    const some = zstdDecompressSync(frame, { maxOutputLength: Math.max(1, most) });
    if (some.length <= most) return some;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    if (!isOfZlib(error)) throw damaged(path, words, error);
  }
  throw damaged(path, "it holds more than it should");
}

/** ERR_BUFFER_TOO_LARGE is the only one that is about how much there is, and not about what. */
function isOfZlib(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50; // to …5f: room for other programs' notes

/** The frames of a file, whole: node's own functions stop after the first one, and say nothing. RFC 8878, section 3. */
function* framesOf(source: Source, path: string): Generator<Buffer> {
  for (let at = 0; at < source.size;) {
    const head = source.read(at, 18); // the longest header
    const magic = head.length < 8 ? 0 : head.readUInt32LE(0);
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      at += 8 + head.readUInt32LE(4);
      continue;
    }
    if (magic !== MAGIC) throw damaged(path, `byte ${at} is not where a frame begins`);
    const bytes = frameBytes(source, at, head[4] ?? 0);
    const frame = bytes > FRAME_BYTES_MAX ? Buffer.alloc(0) : source.read(at, bytes);
    if (frame.length < bytes) throw damaged(path, `the frame at byte ${at} is cut off, or too long`);
    yield frame;
    at += bytes;
  }
}

/** How long a frame is: its header, its blocks and its checksum. A block says how long it is, and whether it is the last. */
function frameBytes(source: Source, start: number, descriptor: number): number {
  const single = (descriptor >> 5) & 1;
  const sized = [single, 2, 4, 8][descriptor >> 6] ?? 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  let at = start + 5 + (1 - single) + dictionary + sized;
  for (let last = false; !last && at < Math.min(source.size, start + FRAME_BYTES_MAX);) {
    const block = source.read(at, 3);
    const head = block.length < 3 ? 1 : block.readUIntLE(0, 3);
    last = (head & 1) === 1;
    at += 3 + (((head >> 1) & 3) === 1 ? 1 : head >> 3); // one byte, repeated; or so many
  }
  return at + ((descriptor >> 2) & 1) * 4 - start;
}

/** Written under another name, synced, checked, and then named. Returns its length. */
function makeFile(path: string, fill: (write: (bytes: Buffer) => void) => (() => void) | null): number {
  const folder = dirname(path);
  makeDirectory(folder);
  const making = unfinished(path);
  let length = 0;
  try {
    const file = openSync(making, "w", 0o600);
    let check: (() => void) | null = null;
    try {
      check = fill((bytes) => {
        for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
        length += bytes.length;
      });
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    check?.();
    renameSync(making, path);
  } catch (error) {
    rmSync(making, { force: true });
    throw error;
  }
  return length;
}

/** The names of new transcripts are durable when it returns. */
export function syncNames(paths: readonly string[]): void {
  // Up to the folder of all agents: whoever made them may have crashed before they were synced.
  const folders = paths.flatMap((path) => [
    dirname(path),
    dirname(dirname(path)),
    dirname(dirname(dirname(path))),
  ]);
  for (const each of new Set(folders)) syncDirectory(each);
}

function openSource(path: string): FileSource {
  try {
    return new FileSource(path);
  } catch (error) {
    if (isMissing(error)) throw new Fault("damaged", `${path} is missing`, { cause: error });
    throw error;
  }
}

function damaged(path: string, why: string, cause?: unknown): Fault {
  return new Fault("damaged", `${path} cannot be unpacked: ${why}`, { cause });
}
