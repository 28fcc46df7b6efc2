// Kept
//
// What a transcript keeps of one result or message, as one run of bytes: texts of the entry and blobs that it names, one
// after the other.
//
//   Owns:      how an entry, or a blob, is found by what a model was told of it; reading ranges of it.
//   Does not:  know pages or matches (results.ts, matches.ts), or who may see the session (reach.ts).
//
// Invariants
//   K1. A blob is read only when an entry of this session names it: a hash alone opens nothing.
//   K2. At most RESULT_RANGE_BYTES of a blob are asked for at once, so that other sessions come in between.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { ENTRY_LOOKBACK_ENTRIES } from "../limits.ts";
import { RESULT_RANGE_BYTES } from "./limits.ts";
import type { Session } from "../sessions/session.ts";
import type { Range, Store } from "../store/store.ts";
import {
  entryId,
  isBlobName,
  isSpilled,
  textOf,
  type BlobName,
  type Block,
  type Entry,
} from "../transcript/entry.ts";

export interface Kept {
  readonly entry: Entry; //            that has it, or names it
  readonly parts: readonly Part[];
  readonly total: number; //           bytes of all parts
  readonly picture: BlobName | null; // it is words for this one, which was asked for; null: it is what is kept
}

type Part = { readonly at: number; readonly bytes: number } & (
  | { readonly inline: Buffer }
  | { readonly blob: BlobName }
);

/** The text of the entry, or the blob, that `ref` names. Fault not_found: this session has none. */
export async function keptBy(
  store: Store,
  session: Session,
  ref: string,
  signal: AbortSignal,
): Promise<Kept> {
  if (/^[0-9a-f]{64}$/.test(ref)) {
    const entry = await lookedFor({ store, session, signal }, (each) => namingIn(each, ref) !== null);
    const naming = entry === null ? null : namingIn(entry, ref);
    if (entry !== null && naming !== null) {
      const { blob, mimeType } = naming;
      if (mimeType === null) return { entry, ...joined([blob]), picture: null };
      return { entry, ...joined([picture(mimeType, blob.bytes)]), picture: blob };
    }
    throw new Fault(
      "not_found",
      `no entry of ${session.key} names a blob ${ref}, among the last ${ENTRY_LOOKBACK_ENTRIES} of its active path; ` +
        "what an older one keeps is read by the id of that entry",
    );
  }
  const entry = await entryOf({ store, session, signal }, ref);
  if (entry === null)
    throw new Fault(
      "not_found",
      `${session.key} has no entry ${shown(ref)}; a ref is the number of an entry, its id as in "(… bytes, ref <id>)", ` +
        'or the 64 digits after "blob"',
    );
  const parts = partsOf(entry);
  if (parts.length === 0)
    throw new Fault("not_found", `entry ${shown(ref)} of ${session.key} (${entry.type}) has no text`);
  return { entry, ...joined(parts), picture: null };
}

/** The picture itself in place of its words. */
export function pictured({ entry, picture: blob }: Kept & { readonly picture: BlobName }): Kept {
  return { entry, ...joined([blob]), picture: blob };
}

// ── Finding it ──────────────────────────────────────────────────────────────────────────────────────────────

interface Looking {
  readonly store: Store;
  readonly session: Session;
  readonly signal: AbortSignal;
}

/**
 * A number is a seq, as far as there are any; what others wrote may have larger ones as ids. The id of an own entry says its seq, so it is read where it stands, also if a rewind has left it behind; others keep the id
 * that they were copied with, and are looked for.
 */
async function entryOf(looking: Looking, id: string): Promise<Entry | null> {
  const { id: transcript, lastSeq } = looking.session.transcript;
  const number = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
  if (number >= 1 && number <= lastSeq) {
    const { found } = await firstIn(looking, { since: number }, () => true, 1);
    return found?.seq === number ? found : null;
  }
  const seq = Number(/-(\d{1,15})$/.exec(id)?.[1] ?? 0);
  if (seq >= 1 && seq <= lastSeq) {
    const there = await firstIn(looking, { since: seq }, () => true, 1);
    if (there.found?.id === id) return there.found;
  }
  if (seq > 0 && id === entryId(transcript, seq)) return null;
  return await lookedFor(looking, (entry) => entry.id === id);
}

/** Back from the end; then among those that a fork began with, which may be further back than that. */
async function lookedFor(looking: Looking, is: (entry: Entry) => boolean): Promise<Entry | null> {
  const { leafId, copied } = looking.session.transcript;
  if (leafId === null) return null;
  const back = await firstIn(looking, { before: null }, is, ENTRY_LOOKBACK_ENTRIES);
  if (back.found !== null || back.isAll || copied === 0) return back.found;
  return (await firstIn(looking, { since: 1 }, is, copied)).found;
}

/** `isAll`: there are no more than those that were looked at. */
async function firstIn(
  { store, session, signal }: Looking,
  range: Range,
  is: (entry: Entry) => boolean,
  most: number,
): Promise<{ readonly found: Entry | null; readonly isAll: boolean }> {
  let looked = 0;
  for await (const entry of store.entries(session.transcript.id, range)) {
    signal.throwIfAborted();
    if (entry.type === "gap") continue;
    if (is(entry)) return { found: entry, isAll: false };
    if ((looked += 1) >= most) return { found: null, isAll: false };
  }
  return { found: null, isAll: true };
}

// ── What it is made of ──────────────────────────────────────────────────────────────────────────────────────

interface Naming {
  readonly blob: BlobName;
  /** Null: it is no picture. */
  readonly mimeType: string | null;
}

/** Where an entry names this blob: in a block, in the arguments of a call, in the details of a result. Null: nowhere. */
function namingIn(entry: Entry, sha256: string): Naming | null {
  const blocks: readonly { readonly blob?: BlobName }[] = blocksOf(entry);
  const details =
    entry.type === "message" && entry.message.role === "toolResult" ? entry.message.details : null;
  const named = [...blocks, ...(isSpilled(details) ? [details] : [])].find(
    ({ blob }) => isWhole(blob) && blob.sha256 === sha256,
  );
  return named?.blob === undefined ? null : { blob: named.blob, mimeType: mimeTypeOf(named) };
}

/** A file may say anything of the size of a blob. */
function isWhole(blob: BlobName | undefined): blob is BlobName {
  return isBlobName(blob) && Number.isSafeInteger(blob.bytes) && blob.bytes >= 0;
}

function mimeTypeOf(block: object): string | null {
  const { mimeType } = block as { readonly mimeType?: unknown };
  return typeof mimeType === "string" ? mimeType : null;
}

function picture(mimeType: string, bytes: number): Buffer {
  return Buffer.from(`[${mimeType} of ${bytes} bytes: a picture, not text]`);
}

function blocksOf(entry: Entry): readonly Block[] {
  const content: unknown =
    entry.type === "message" ? entry.message.content : entry.type === "custom_message" ? entry.content : null;
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is Block => typeof block === "object" && block !== null);
}

/** What was said, and what tools were called with. Thinking is the model's own. */
function partsOf(entry: Entry): readonly (Buffer | BlobName)[] {
  if (entry.type === "compaction" || entry.type === "branch_summary") return [Buffer.from(textOf(entry))];
  const blocks = blocksOf(entry).map(blockParts);
  const between = Buffer.from("\n");
  return blocks
    .filter(({ length }) => length > 0)
    .flatMap((parts, at) => (at === 0 ? parts : [between, ...parts]));
}

function blockParts(block: Block): readonly (Buffer | BlobName)[] {
  const blob = isWhole(block.blob) ? block.blob : null;
  switch (block.type) {
    case "text":
      // In place of a picture there are words, which say what it is.
      if (blob !== null && mimeTypeOf(block) === null) return [blob];
      return typeof block.text === "string" ? [Buffer.from(block.text)] : [];
    case "toolCall":
      return [
        Buffer.from(`[call ${block.name}] `),
        blob ?? Buffer.from(JSON.stringify(block.arguments ?? {})),
      ];
    case "image":
      return [picture(block.mimeType, Buffer.byteLength(String(block.data), "base64"))];
    default:
      return [];
  }
}

function joined(pieces: readonly (Buffer | BlobName)[]): Pick<Kept, "parts" | "total"> {
  let total = 0;
  const parts = pieces.map((piece): Part => {
    const at = total;
    const bytes = Buffer.isBuffer(piece) ? piece.length : piece.bytes;
    total += bytes;
    return Buffer.isBuffer(piece) ? { at, bytes, inline: piece } : { at, bytes, blob: piece };
  });
  return { parts, total };
}

// ── Reading it ──────────────────────────────────────────────────────────────────────────────────────────────

/** The bytes from `from` to `to`, as far as there are any. Fault damaged: a blob is gone, or shorter than it was. */
export async function readKept(
  store: Store,
  { parts, total, entry }: Kept,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = Math.min(from, total); at < Math.min(to, total);) {
    signal.throwIfAborted();
    const place = at;
    const part = parts.find((each) => place >= each.at && place < each.at + each.bytes);
    if (part === undefined) break;
    const most = Math.min(to, part.at + part.bytes) - at;
    const piece =
      "inline" in part
        ? part.inline.subarray(at - part.at, at - part.at + most)
        : await store.readBlob(part.blob.sha256, {
            from: at - part.at,
            bytes: Math.min(most, RESULT_RANGE_BYTES),
          });
    if (piece === null || piece.length === 0) {
      const name = "blob" in part ? part.blob.sha256 : "";
      throw new Fault(
        "damaged",
        `blob ${name} of entry ${entry.id} is ${piece === null ? "gone" : "too short"}`,
      );
    }
    pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    at += piece.length;
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}
