import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { FOLLOWER_BYTES_MAX } from "../limits.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import { Bus, type Event } from "./bus.ts";
import { CutOff, follow } from "./follow.ts";

const KEY = namedKey(DEFAULT_AGENT, "a");
const LARGE = "x".repeat(FOLLOWER_BYTES_MAX / 2 + 1);

/** A history, and those who write it. It is read in pieces, so that things happen in between. */
class Told {
  readonly bus = new Bus();
  readonly lines: (Entry | Gap)[] = [];
  readonly key = KEY;
  reads = 0;

  append(options: { readonly untold?: boolean } = {}): void {
    const seq = this.lines.length + 1;
    const entry: Entry = {
      type: "session_info",
      id: `e-${seq}`,
      parentId: null,
      seq,
      timestamp: "2026-01-01T00:00:00.000Z",
    };
    this.lines.push(entry);
    if (!options.untold) this.bus.tell({ type: "entry", key: KEY, seq, entry });
  }

  damage(): void {
    this.lines.push({ type: "gap", reason: "not_json", offset: this.lines.length, bytes: 1 });
  }

  speak(text: string): void {
    this.bus.tell({ type: "delta", key: KEY, turn: "t", step: 1, kind: "text", text });
  }

  readonly readSince = async function* (this: Told, seq: number): AsyncIterable<Entry | Gap> {
    this.reads += 1;
    for (let at = seq - 1; at < this.lines.length; at += 1) {
      await Promise.resolve();
      const line = this.lines[at];
      if (line) yield line;
    }
  }.bind(this);

  get seqs(): number[] {
    return this.lines.flatMap((line) => (line.type === "gap" ? [] : [line.seq]));
  }

  follow(from: number, signal = new AbortController().signal): AsyncGenerator<Event, void> {
    return follow(this.bus, this, from, signal);
  }
}

/** Reads when it is allowed to, and goes on from where it was cut off, like a client would. */
class Reader {
  readonly seqs: number[] = [];
  readonly #told: Told;
  #events: AsyncGenerator<Event, void>;
  #reading: Promise<void> | null = null;
  cuts = 0;

  constructor(told: Told) {
    this.#told = told;
    this.#events = told.follow(0);
  }

  /** Asks for one more. What comes is read when it comes. */
  read(): void {
    this.#reading ??= this.#next().finally(() => (this.#reading = null));
  }

  async #next(): Promise<void> {
    try {
      const { value } = await this.#events.next();
      if (value?.type === "entry") this.seqs.push(value.seq);
    } catch (error) {
      assert.ok(error instanceof CutOff, String(error));
      assert.equal(error.seq, this.seqs.at(-1) ?? 0, "it is told what it was given last");
      this.cuts += 1;
      this.#events = this.#told.follow(error.seq);
    }
  }

  async restart(): Promise<void> {
    if (this.#reading !== null) return;
    await this.#events.return();
    this.#events = this.#told.follow(this.seqs.at(-1) ?? 0);
  }
}

const deed = fc.oneof(
  { weight: 5, arbitrary: fc.constant("append" as const) },
  { weight: 2, arbitrary: fc.constantFrom("untold" as const, "damage" as const, "speak" as const) },
  { weight: 2, arbitrary: fc.constantFrom("flood" as const, "restart" as const, "wait" as const) },
  { weight: 6, arbitrary: fc.constant("read" as const) },
);

test("each entry arrives once and in order, whatever is written, missed, cut off and gone on with", async () => {
  let cuts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 60 }), async (deeds) => {
      const told = new Told();
      const reader = new Reader(told);
      for (const what of deeds) {
        if (what === "append") told.append();
        else if (what === "untold") told.append({ untold: true });
        else if (what === "damage") told.damage();
        else if (what === "speak") told.speak("piece");
        else if (what === "flood") for (const text of [LARGE, LARGE]) told.speak(text);
        else if (what === "restart") await reader.restart();
        else if (what === "read") reader.read();
        else await settle();
      }
      for (let round = 0; round < 2; round += 1) {
        told.append(); // What was not told comes with what is.
        const isBehind = (): boolean => reader.seqs.length < told.seqs.length;
        for (let beyond = 0, n = 0; n < 300 && beyond < 10; n += 1, beyond += isBehind() ? 0 : 1) {
          reader.read();
          await settle();
        }
      }
      assert.deepEqual(reader.seqs, told.seqs);
      cuts += reader.cuts;
    }),
    { numRuns: 300 },
  );
  assert.ok(cuts > 0, "some were cut off");
});

test("what the store has comes first, from after the entry that is known", async () => {
  const told = new Told();
  for (let n = 0; n < 5; n += 1) told.append();
  const events = told.follow(3);
  const seqs: number[] = [];
  for await (const event of events) {
    if (event.type === "entry") seqs.push(event.seq);
    if (seqs.length === 2) told.append();
    if (seqs.length === 3) break;
  }
  assert.deepEqual(seqs, [4, 5, 6]);
  assert.equal(told.bus.isQuiet(KEY), true, "who stops reading is forgotten");
});

test("an entry that was told is not read from the store again", async () => {
  const told = new Told();
  const events = told.follow(0);
  const first = events.next();
  await settle();
  for (let n = 0; n < 10; n += 1) told.append();
  await first;
  for (let n = 1; n < 10; n += 1) await events.next();
  assert.equal(told.reads, 1);
  await events.return();
});

test("aborting ends it while it waits, and nobody is left behind", async () => {
  const told = new Told();
  const abort = new AbortController();
  const events = told.follow(0, abort.signal);
  const next = events.next();
  await settle();
  assert.equal(told.bus.isQuiet(KEY), false);
  abort.abort();
  assert.deepEqual(await next, { done: true, value: undefined });
  assert.equal(told.bus.isQuiet(KEY), true);
});

test("aborting ends it while the store is being read", async () => {
  const told = new Told();
  for (let n = 0; n < 100; n += 1) told.append();
  const abort = new AbortController();
  const events = told.follow(0, abort.signal);
  await events.next();
  abort.abort();
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  assert.equal(told.bus.isQuiet(KEY), true);
});

test("whoever was aborted before never begins", async () => {
  const told = new Told();
  told.append();
  assert.deepEqual(await Array.fromAsync(told.follow(0, AbortSignal.abort())), []);
  assert.equal(told.reads, 0);
  assert.equal(told.bus.isQuiet(KEY), true);
});

test("a store that cannot be read ends it, and nobody is left behind", async () => {
  const bus = new Bus();
  const readSince = async function* (): AsyncIterable<Entry> {
    yield* [];
    throw new Error("no such transcript");
  };
  const events = follow(bus, { key: KEY, readSince }, 0, new AbortController().signal);
  await assert.rejects(events.next(), /no such transcript/);
  assert.equal(bus.isQuiet(KEY), true);
});

test("pieces of answers come between the entries, as they were told", async () => {
  const told = new Told();
  const events = told.follow(0);
  const next = events.next();
  await settle();
  told.speak("one");
  told.append();
  told.speak("two");
  const heard = [await next, await events.next(), await events.next()].map(({ value }) =>
    value?.type === "delta" ? value.text : value?.type,
  );
  assert.deepEqual(heard, ["one", "entry", "two"]);
  told.bus.close();
  assert.equal((await events.next()).done, true);
});

test("an entry that was told while the store was read, and that the store had too, comes once", async () => {
  const told = new Told();
  for (let n = 0; n < 3; n += 1) told.append();
  const events = told.follow(0);
  await events.next();
  told.append();
  const seqs: number[] = [];
  for (let n = 0; n < 3; n += 1) seqs.push(seqOf(await events.next()));
  const next = events.next(); // The store is at its end: what was told comes now.
  await settle();
  told.append();
  assert.deepEqual([...seqs, seqOf(await next)], [2, 3, 4, 5]);
  await events.return();
});

function seqOf({ value }: IteratorResult<Event, void>): number {
  return value?.type === "entry" ? value.seq : 0;
}
