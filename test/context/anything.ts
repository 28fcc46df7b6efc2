// Any transcript, as a file may hold it, and a session that has it: for what must be true of all of them.

import * as fc from "fast-check";
import { SimulatedWorld } from "../../src/base/world.ts";
import type { CompactionDetails } from "../../src/context/compaction.ts";
import { flushNote } from "../../src/context/flush.ts";
import { PRUNED } from "../../src/context/prune.ts";
import { Bus } from "../../src/events/bus.ts";
import { DEFAULT_AGENT, mainKey } from "../../src/routing/key.ts";
import { Held } from "../../src/sessions/held.ts";
import { Corner } from "../../src/store/contract/corner.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import type { Change } from "../../src/store/change.ts";
import { entryId, type Block, type Body, type Entry } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";
import { answered, asked, call, compacted, returned, text } from "../fixtures/conversation.ts";

/** An entry that may name others: it is told their ids by their numbers, and its own number. */
export type Making = (idOf: (seq: number) => string, seq: number) => Body;

const KEY = mainKey(DEFAULT_AGENT);

// ── Entries ─────────────────────────────────────────────────────────────────────────────────────────────────

const letters = fc.constantFrom(
  "a",
  "é",
  "語",
  "🙂",
  "\n",
  '"',
  "\ud800",
  "word ",
  "src/a.ts ",
  "always do so. ",
);
const sizes = fc.oneof(
  { weight: 6, arbitrary: fc.nat(60) },
  { weight: 3, arbitrary: fc.nat(3_000) },
  { weight: 1, arbitrary: fc.nat(60_000) },
);
const filler = fc
  .tuple(letters, sizes)
  .map(([each, bytes]) => each.repeat(Math.floor(bytes / Buffer.byteLength(each))));

/** What an entry says begins with its number: so it is found again in whatever is made of it. */
export function opening(seq: number): string {
  return `(${seq}) `;
}

const picture = {
  ...text("[a picture]"),
  blob: { sha256: "a".repeat(64), bytes: 68 },
  mimeType: "image/png",
} as Block;
const junk = fc.constantFrom<unknown[]>(null, 7, {}, { type: "text" }, { type: "other", text: 1 }, []);
const callId = fc.constantFrom("1", "2", "3", "4", "call|5");

/** What users and tools say. */
const said: fc.Arbitrary<(seq: number) => string | readonly Block[]> = fc.oneof(
  { weight: 6, arbitrary: filler.map((words) => (seq: number) => `${opening(seq)}${words}`) },
  fc.constantFrom("", " ").map((blank) => () => blank),
  fc
    .tuple(fc.array(fc.oneof(filler.map(text), fc.constant(picture), junk), { maxLength: 3 }))
    .map(([blocks]) => (seq: number) => [text(opening(seq)), ...(blocks as Block[])]),
  fc.array(junk, { maxLength: 3 }).map((blocks) => () => blocks as Block[]),
);

const answer: fc.Arbitrary<Making> = fc
  .record({
    words: fc.option(filler),
    thought: fc.option(filler, { freq: 4 }),
    calls: fc.array(fc.tuple(callId, fc.option(filler)), { maxLength: 4 }),
    tokens: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(2_000), fc.nat(500_000)),
    stopReason: fc.constantFrom("stop", "stop", "toolUse", "aborted", "error", "length"),
  })
  .map(({ words, thought, calls, tokens, stopReason }) => (_idOf, seq) => {
    const blocks: Block[] = [];
    if (thought !== null) blocks.push({ type: "thinking", thinking: thought, thinkingSignature: "s" });
    if (words !== null) blocks.push(text(`${opening(seq)}${words}`));
    for (const [id, given] of calls) blocks.push(call(id, given === null ? {} : { path: given }));
    const body = answered(blocks, tokens) as Extract<Body, { type: "message" }>;
    return { ...body, message: { ...body.message, stopReason } as typeof body.message };
  });

function note(customType: string, data: unknown): Body {
  return { type: "custom", customType, data };
}

const notes: fc.Arbitrary<Making> = fc.oneof(
  fc.constant(() => note("sessiond/turn-started", { turn: "t", class: "interactive" })),
  fc
    .constantFrom("done", "failed", "aborted")
    .map((outcome) => () => note("sessiond/turn-ended", { turn: "t", outcome, reason: "why", steps: 1 })),
  fc.constant(() => note("other/thing", null)),
  fc.constant(
    () => ({ type: "custom_message", customType: "other", content: "note", display: true }) as Body,
  ),
  fc.constant(() => ({ type: "unheard-of", words: "x" }) as unknown as Body),
  fc.constant(flushNote),
  fc.tuple(fc.nat(60), fc.array(fc.nat(60), { maxLength: 2 })).map(
    ([through, except]) =>
      (idOf: (seq: number) => string) =>
        note(PRUNED, { through: idOf(through), results: 1, bytes: 1, except: except.map(idOf) }),
  ),
);

const compaction: fc.Arbitrary<Making> = fc
  .tuple(filler, fc.nat(60), fc.boolean())
  .map(([summary, kept, isOurs]) => (idOf) => {
    const body = compacted(summary, idOf(kept));
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const details: CompactionDetails = {
      ...{ by: "sessiond", occasion: "size", sections: summary, truncated: null, pinned: [], asked: [] },
      ...{ turn: null, awaits: [], tasks: [], tokensAfter: 1_000, model: "p/m", usage, order: null },
    };
    return isOurs ? ({ ...body, details } as Body) : body;
  });

export const making: fc.Arbitrary<Making> = fc.oneof(
  {
    weight: 5,
    arbitrary: said.map(
      (words): Making =>
        (_idOf, seq) =>
          asked(words(seq)),
    ),
  },
  { weight: 8, arbitrary: answer },
  {
    weight: 10,
    arbitrary: fc.tuple(callId, said).map(
      ([id, words]): Making =>
        (_idOf, seq) =>
          returned(id, words(seq)),
    ),
  },
  { weight: 3, arbitrary: notes },
  { weight: 1, arbitrary: compaction },
);

// ── A session ───────────────────────────────────────────────────────────────────────────────────────────────

/** A session that has such a transcript, and whoever opens it again. */
export class Kept {
  readonly #world = new SimulatedWorld(1);
  readonly #at: Corner;
  readonly #store: MemoryStore;

  private constructor() {
    const nothing = async (): Promise<void> => {};
    const store = new MemoryStore(this.#world);
    this.#store = store;
    this.#at = new Corner({ store, world: this.#world, reopen: nothing, sweep: nothing, close: nothing });
  }

  static async of(makings: readonly Making[]): Promise<Kept> {
    const kept = new Kept();
    const at = kept.#at;
    await at.open("main", { key: KEY });
    const transcript = await at.transcript(KEY);
    const timestamp = new Date(kept.#world.nowMs()).toISOString();
    const idOf = (seq: number): string => entryId(transcript, seq);
    const drafts = makings.map((make, index) => ({ ...make(idOf, index + 1), timestamp }));
    const entries = drafts.map((draft, index): Entry => {
      const seq = index + 1;
      return { ...draft, id: idOf(seq), parentId: seq === 1 ? null : idOf(seq - 1), seq };
    });
    if (drafts.length > 0) await at.append(KEY, drafts, { contextSeq: contextStart(entries) });
    return kept;
  }

  /** All entries, and not only those of the context. */
  entries(): Promise<Entry[]> {
    return this.#at.entries(KEY, { since: 0 });
  }

  /** As a process that has just started. */
  async held(): Promise<Held> {
    const commit = (changes: readonly Change[]) => this.#store.commit(changes);
    const parts = { store: this.#store, commit, bus: new Bus(), world: this.#world };
    return new Held(parts, { key: KEY, fence: 0 }, await this.#at.row(KEY));
  }
}
