// Packing
//
// The main thread's part in upkeep of files: it lets the packer do the work, and asks the writer before and after. What is asked for at
// the same time is moved together, as commits are made in groups; commits go on meanwhile.
//
//   Owns:      the packer, from the first time that there is something to do for it; who waits for which archive.
//   Does not:  touch a file or a table.
//
// Invariants
//   K1. Moves of one archive happen in the order they were asked for. Otherwise what is unpacked goes first: somebody waits for it.
//   K2. Closing waits for no file: the packer is made to be killed, and the writer tidies up after it (intents.ts).

import { Fault, faultFrom, type FaultWords } from "../../base/fault.ts";
import { BLOB_HELD_MS, PACK_AT_ONCE } from "../../limits.ts";
import { noSuchArchive } from "../archived.ts";
import { placeFrom, cursorTo } from "../cursor.ts";
import type { Collected } from "../store.ts";
import { FOLDERS } from "./folders.ts";
import { isMove, type Begun, type Counted, type Move } from "./moves.ts";
import type { BlobFile, FromPacker, Jobs, ToPacker } from "./packer.ts";
import type { Form } from "./tables.ts";
import { isFaultWords, Thread } from "./thread.ts";
import { wordsOf } from "./trouble.ts";
import type { Notice, WriterAnswer, WriterAsk } from "./wire.ts";

/** Blobs that the writer, or the reader, is asked of at once: it looks at each, and others wait for that. */
const BLOBS_AT_ONCE = 256;

/** How old the answer may be to how much all blobs are: it takes a look at every one of them. */
const WEIGHED_MS = 60_000;

export interface PackingParts {
  readonly start: () => Thread<ToPacker, FromPacker>;
  readonly ask: (ask: WriterAsk) => Promise<WriterAnswer>;
  /** Of blobs, those that nobody names; asked of the reader. */
  readonly unnamed: (names: readonly string[]) => Promise<readonly string[]>;
  readonly tell: (notice: Notice) => void;
  readonly nowMs: () => number;
}

/** Somebody waits for it. */
interface Wanted {
  readonly archive: string;
  readonly to: Form;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Packing {
  readonly #parts: PackingParts;
  #thread: Thread<ToPacker, FromPacker> | null = null;
  #wanted: Wanted[] = [];
  #running: Promise<void> | null = null; // null: nothing is wanted
  #isClosing = false;
  #weighed: { readonly bytes: number; readonly atMs: number } | null = null;
  #removals = 0; // of blobs, perhaps

  constructor(parts: PackingParts) {
    this.#parts = parts;
  }

  /** Null: nothing was done yet that it is needed for. */
  get thread(): Thread<ToPacker, FromPacker> | null {
    return this.#thread;
  }

  /** The files of an archive are in this form when it resolves, durably, and only in this one. */
  move(archive: string, to: Form): Promise<void> {
    if (this.#isClosing) return Promise.reject(closed());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#wanted.push({ archive, to, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // whoever asks in the same moment
    while (this.#wanted.length > 0) {
      const some = this.#isClosing ? this.#wanted : this.#next();
      try {
        if (this.#isClosing) throw closed();
        await this.#together(some);
      } catch (error) {
        this.#settle(some, () => error); // those of them that are not settled yet
      }
    }
    this.#running = null;
  }

  /** K1. */
  #next(): readonly Wanted[] {
    const firsts = this.#wanted.filter(
      ({ archive }, at) => this.#wanted.findIndex((other) => other.archive === archive) === at,
    );
    const to = firsts.some((one) => one.to === "plain") ? "plain" : "packed";
    return firsts.filter((one) => one.to === to).slice(0, PACK_AT_ONCE);
  }

  /** Those that the writer begins with; the others stay wanted. */
  async #together(some: readonly Wanted[]): Promise<void> {
    const to = some[0]?.to ?? "plain";
    const archives = some.map(({ archive }) => archive);
    const begun = (await this.#parts.ask({ what: "move", archives, to })) as readonly Begun[];
    const moves = begun.filter(isMove);
    const came = moves.length === 0 ? new Map<string, unknown>() : await this.#move(moves, to);
    this.#settle(some.slice(0, begun.length), (archive, at) => {
      const one = begun[at] ?? null;
      return isFaultWords(one) ? faultFrom(one) : (came.get(archive) ?? null);
    });
  }

  /** What came of each: null, or why not. */
  async #move(moves: readonly Move[], to: Form): Promise<ReadonlyMap<string, unknown>> {
    const from: Form = to === "packed" ? "plain" : "packed";
    const made = await this.#made(moves, to);
    const whole = moves.flatMap((move, at) => {
      const one = made[at] ?? null;
      return isFaultWords(one) ? [] : [{ ...move, packedBytes: one }];
    });
    const counted = await this.#counted(whole);
    const failed = new Map<string, FaultWords>();
    for (const [at, { archive }] of moves.entries()) note(failed, archive, made[at] ?? null);
    for (const [at, { archive }] of whole.entries()) note(failed, archive, counted[at] ?? null);
    const kept = await this.#do("keep", {
      moves: moves.map((move) => ({ ...move, form: failed.has(move.archive) ? from : to })),
    });
    for (const notice of kept.notices) this.#parts.tell(notice);
    const tidy = moves.filter((_, at) => kept.left[at] === null);
    const there = (await this.#parts.ask({ what: "left", moves: tidy })) as readonly boolean[];
    const gone = new Set(tidy.filter((_, at) => there[at] === false).map(({ archive }) => archive));
    return new Map(
      moves.map(({ archive }, at) => {
        const words = failed.get(archive) ?? kept.left[at] ?? null;
        // Its files may be missing because it was purged just now.
        return [
          archive,
          words === null ? null : gone.has(archive) ? noSuchArchive(archive) : faultFrom(words),
        ];
      }),
    );
  }

  /** The new files of each, or why there are none. */
  async #made(moves: readonly Move[], to: Form): Promise<readonly (number | FaultWords | null)[]> {
    try {
      return await this.#do(to === "packed" ? "pack" : "unpack", { moves });
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "closed") throw error;
      return moves.map(() => wordsOf(error));
    }
  }

  /** Only a full disk makes it sure that the old files still count. What is not sure is decided by the next start. */
  async #counted(whole: Extract<WriterAsk, { what: "moved" }>["moves"]): Promise<readonly Counted[]> {
    try {
      return whole.length === 0
        ? []
        : ((await this.#parts.ask({ what: "moved", moves: whole })) as readonly Counted[]);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "disk_full") throw error;
      return whole.map(() => wordsOf(error));
    }
  }

  #settle(some: readonly Wanted[], came: (archive: string, at: number) => unknown): void {
    this.#wanted = this.#wanted.filter((one) => !some.includes(one));
    for (const [at, { archive, resolve, reject }] of some.entries()) {
      const error = came(archive, at);
      if (error === null) resolve();
      else reject(error);
    }
  }

  /** K2. Whoever waits is refused. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#thread?.stop();
    await this.#running;
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
      const unnamed = isDry
        ? await this.#parts.unnamed(names)
        : ((await this.#parts.ask({ what: "collect", names, nowMs })) as readonly string[]);
      const found = new Set(unnamed);
      gone.push(...some.filter(({ name }) => found.has(name)));
    }
    if (!isDry && gone.length > 0) this.forgetWeight();
    const next = at + 1 < FOLDERS.length ? cursorTo([at + 1]) : null;
    return { blobs: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0), next };
  }

  /** Bytes of all blobs, at most a minute ago; but never from before some were removed. By folders, so that others get between. */
  async blobBytes(): Promise<number> {
    const nowMs = this.#parts.nowMs();
    if (this.#weighed !== null && Math.abs(nowMs - this.#weighed.atMs) < WEIGHED_MS)
      return this.#weighed.bytes;
    const removals = this.#removals;
    let bytes = 0;
    for (const folder of FOLDERS) bytes += await this.#do("weigh", { folder });
    if (removals === this.#removals) this.#weighed = { bytes, atMs: nowMs };
    return bytes;
  }

  forgetWeight(): void {
    this.#weighed = null;
    this.#removals += 1;
  }

  #do<What extends keyof Jobs>(what: What, ask: Jobs[What]["ask"]): Promise<Jobs[What]["answer"]> {
    if (this.#isClosing) return Promise.reject(closed());
    this.#thread ??= this.#parts.start();
    return this.#thread.ask((id) => ({ id, what, ask }) as ToPacker);
  }
}

export function startPacker(home: string, died: (fault: Fault) => void): Thread<ToPacker, FromPacker> {
  const packer: Thread<ToPacker, FromPacker> = new Thread("packer", home, {
    hear: ({ id, answer }) => packer.settle(id, answer),
    died,
  });
  return packer;
}

function note(failed: Map<string, FaultWords>, archive: string, came: number | FaultWords | null): void {
  if (isFaultWords(came)) failed.set(archive, came);
}

function closed(): Fault {
  return new Fault("closed", "the store is closed");
}
