// Packing
//
// The main thread's part in upkeep of files: it lets the packer do the work, and asks the writer before and after. One archive
// at a time; commits go on meanwhile.
//
//   Owns:      the packer, from the first time that there is something to do for it.
//   Does not:  touch a file or a table.

import { Fault } from "../../base/fault.ts";
import { BLOB_HELD_MS } from "../../limits.ts";
import { noSuchArchive } from "../archived.ts";
import { placeFrom, cursorTo } from "../cursor.ts";
import type { Collected } from "../store.ts";
import type { Move } from "./moves.ts";
import { FOLDERS } from "./folders.ts";
import type { BlobFile, FromPacker, Jobs, ToPacker } from "./packer.ts";
import type { Form } from "./tables.ts";
import type { Thread } from "./thread.ts";
import type { Notice, WriterAnswer, WriterAsk } from "./wire.ts";

/** Blobs that the writer is asked of at once: it looks at each, and commits wait for that. */
const BLOBS_AT_ONCE = 256;

/** How old the answer may be to how much all blobs are: it takes a look at every one of them. */
const WEIGHED_MS = 60_000;

export interface PackingParts {
  readonly start: () => Thread<ToPacker, FromPacker>;
  readonly ask: (ask: WriterAsk) => Promise<WriterAnswer>;
  readonly tell: (notice: Notice) => void;
  readonly nowMs: () => number;
}

export class Packing {
  readonly #parts: PackingParts;
  #thread: Thread<ToPacker, FromPacker> | null = null;
  #last: Promise<unknown> = Promise.resolve(); // the move before
  #isClosing = false;
  #weighed: { readonly bytes: number; readonly atMs: number } | null = null;

  constructor(parts: PackingParts) {
    this.#parts = parts;
  }

  /** Null: nothing was done yet that it is needed for. */
  get thread(): Thread<ToPacker, FromPacker> | null {
    return this.#thread;
  }

  /** The files of an archive are in this form when it resolves, durably, and only in this one. */
  move(archive: string, to: Form): Promise<void> {
    const moved = this.#last.then(() => this.#move(archive, to));
    this.#last = moved.catch(() => null); // whoever asked for it hears how it went
    return moved;
  }

  async #move(archive: string, to: Form): Promise<void> {
    if (this.#isClosing) throw new Fault("closed", "the store is closed");
    const move = (await this.#parts.ask({ what: "move", archive, to })) as Move | null;
    if (move === null) return;
    const from: Form = to === "packed" ? "plain" : "packed";
    const made = to === "packed" ? this.#do("pack", move) : this.#do("unpack", move);
    const packedBytes = await made.catch(async (error: unknown) => {
      // Its files may be missing because it was purged just now.
      throw (await this.#keep(move, from)) ? error : noSuchArchive(archive);
    });
    try {
      await this.#parts.ask({ what: "moved", intent: move.intent, archive, packedBytes });
    } catch (error) {
      // Only where it is sure that the old files still count. What is not is decided by the next start.
      if (error instanceof Fault && REFUSED.has(error.code)) await this.#keep(move, from);
      throw error;
    }
    await this.#keep(move, to);
  }

  /** The move under way is finished; those that wait for it are refused. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#last;
  }

  /** Whether the archive is still there. */
  async #keep(move: Move, form: Form): Promise<boolean> {
    for (const notice of await this.#do("keep", { ...move, form })) this.#parts.tell(notice);
    return (await this.#parts.ask({ what: "left", intent: move.intent, archive: move.archive })) === true;
  }

  /** One folder of blobs. */
  async collect({ cursor, isDry }: { cursor: string | null; isDry: boolean }): Promise<Collected> {
    const [at] = placeFrom(cursor, [0] as [number]) ?? [0];
    const folder = FOLDERS[at];
    if (folder === undefined)
      throw new Fault("bad_input", "not a cursor: pass on the `next` of the part before, unchanged");
    const nowMs = this.#parts.nowMs();
    const old = (await this.#do("list", { folder })).filter(({ atMs }) => atMs <= nowMs - BLOB_HELD_MS);
    const gone: BlobFile[] = [];
    for (let from = 0; from < old.length; from += BLOBS_AT_ONCE) {
      const some = old.slice(from, from + BLOBS_AT_ONCE);
      const names = some.map(({ name }) => name);
      const unnamed = new Set((await this.#parts.ask({ what: "collect", names, nowMs, isDry })) as string[]);
      gone.push(...some.filter(({ name }) => unnamed.has(name)));
    }
    if (!isDry && gone.length > 0) this.forgetWeight();
    const next = at + 1 < FOLDERS.length ? cursorTo([at + 1]) : null;
    return { blobs: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0), next };
  }

  /** Bytes of all blobs, at most a minute ago; but never from before some were removed. */
  async blobBytes(): Promise<number> {
    const nowMs = this.#parts.nowMs();
    if (this.#weighed !== null && Math.abs(nowMs - this.#weighed.atMs) < WEIGHED_MS)
      return this.#weighed.bytes;
    this.#weighed = { bytes: await this.#do("weigh", null), atMs: nowMs };
    return this.#weighed.bytes;
  }

  forgetWeight(): void {
    this.#weighed = null;
  }

  #do<What extends keyof Jobs>(what: What, ask: Jobs[What]["ask"]): Promise<Jobs[What]["answer"]> {
    this.#thread ??= this.#parts.start();
    return this.#thread.ask((id) => ({ id, what, ask }) as ToPacker);
  }
}

/** By the writer, and then nothing has changed. */
const REFUSED: ReadonlySet<string> = new Set(["not_found", "disk_full"]);
