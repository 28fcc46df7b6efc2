import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { SimulatedWorld } from "../base/world.ts";
import { assemble } from "../context/assemble.ts";
import { FORK_BYTES_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { Corner, refused } from "../store/contract/corner.ts";
import { noted, said } from "../store/contract/samples.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import type { Block, Draft, Entry, Gap } from "../transcript/entry.ts";
import { contextStart } from "../transcript/fold.ts";
import { copyOf, type Copy } from "./copy.ts";

const AT = "2026-01-01T00:00:00.000Z";

async function corner(): Promise<Corner> {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  const nothing = async (): Promise<void> => {};
  return new Corner({ store, world, reopen: nothing, sweep: nothing, close: () => store.close() });
}

const BY = { api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 0 };
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const SO: Block = { type: "text", text: "so" };

function answered(...calls: readonly string[]): Draft {
  const content = [SO, ...calls.map((id): Block => ({ type: "toolCall", id, name: "look", arguments: {} }))];
  return { type: "message", timestamp: AT, message: { role: "assistant", content, usage: USAGE, ...BY } };
}

function settled(toolCallId: string): Draft {
  const of = { toolCallId, toolName: "look", isError: false, timestamp: 0 };
  return { type: "message", timestamp: AT, message: { role: "toolResult", content: [SO], ...of } };
}

function summarised(firstKeptEntryId: string): Draft {
  return { type: "compaction", timestamp: AT, summary: "all that", firstKeptEntryId, tokensBefore: 9 };
}

/** A session with these entries, and what of it is copied. */
async function copying(
  drafts: readonly Draft[],
  through: number | null = null,
  entriesMax?: number,
): Promise<readonly [number, number] | null> {
  const at = await corner();
  const key = await at.open("source");
  const summary = drafts.findLastIndex(({ type }) => type === "compaction");
  if (drafts.length > 0) await at.append(key, drafts, { contextSeq: summary < 0 ? null : summary + 1 });
  const copy = await copyOf(at.store, await at.row(key), through, entriesMax);
  return copy && [copy.fromSeq, copy.throughSeq];
}

describe("where a copy ends", () => {
  test("without an entry named, at the end of the path", async () => {
    assert.deepEqual(await copying([said("1"), answered(), noted("ended")]), [1, 3]);
  });

  test("an answer whose calls are not all settled is left out, and what follows it", async () => {
    const turn = [said("1"), answered("a", "b"), settled("b"), noted("x"), settled("a"), answered()];
    assert.deepEqual(
      await Promise.all([1, 2, 3, 4, 5, 6].map((through) => copying(turn, through))),
      [1, 1, 1, 1, 5, 6].map((last) => [1, last]),
    );
  });

  test("models use the ids of calls again: a result is that of the last answer before it", async () => {
    const turn = [said("1"), answered("a"), settled("a"), answered("a")];
    assert.deepEqual(await copying(turn), [1, 3]);
    assert.deepEqual(await copying([...turn, settled("a")]), [1, 5]);
  });

  test("when nothing was said, or nothing before a call, there is nothing to copy", async () => {
    assert.equal(await copying([]), null);
    assert.equal(await copying([answered("a")]), null);
  });

  test("an entry that is not on the path is refused, and the range is named", async () => {
    const at = await corner();
    const key = await at.talk("source", ["1", "2", "3"]);
    await at.rewind(key, 1, ["4"]);
    const row = await at.row(key);
    for (const through of [0, 2, 3, 5]) {
      await assert.rejects(copyOf(at.store, row, through), {
        code: "not_found",
        message: /name one from 1 to 4 that no rewind left behind/,
      });
    }
    assert.deepEqual(await copyOf(at.store, row, 4), { of: key, fromSeq: 1, throughSeq: 4 });
    assert.deepEqual(await copyOf(at.store, row, 1), { of: key, fromSeq: 1, throughSeq: 1 });
  });
});

describe("where a copy begins", () => {
  /** What was kept is 3 to 6, the summary is 7. */
  async function compacted(entriesMax?: number): Promise<(through: number | null) => Promise<unknown>> {
    const at = await corner();
    const key = await at.talk("source", ["1", "2", "3", "4", "5", "6"]);
    const [, , third] = await at.entries(key, { from: 1 });
    await at.append(key, [summarised(third?.id ?? ""), said("8"), answered()], { contextSeq: 3 });
    return async (through) => {
      const copy = await copyOf(at.store, await at.row(key), through, entriesMax);
      return copy && [copy.fromSeq, copy.throughSeq];
    };
  }

  test("with what the newest compaction kept", async () => {
    const copy = await compacted();
    assert.deepEqual(await copy(null), [3, 9]);
    assert.deepEqual(await copy(7), [3, 7]);
  });

  test("before a compaction it did not hold yet: the copy begins where the context started then", async () => {
    const copy = await compacted();
    assert.deepEqual(await copy(6), [1, 6]);
    assert.deepEqual(await copy(2), [1, 2]);
  });

  test("with the summary, when what was kept has no room: a part of it would not be shown", async () => {
    const copy = await compacted(5);
    assert.deepEqual(await copy(null), [7, 9]);
    assert.deepEqual(await copy(6), [2, 6]);
  });

  test("with the summary, when what it kept is not on the path", async () => {
    assert.deepEqual(await copying([said("1"), summarised("gone"), said("3")]), [2, 3]);
  });

  test("a long context begins later, with a user's message", async () => {
    const turn = [said("1"), answered("a"), settled("a"), answered()];
    const turns = [...turn, ...turn, ...turn];
    assert.deepEqual(await copying(turns, null, 12), [1, 12]);
    assert.deepEqual(await copying(turns, null, 11), [5, 12]);
    assert.equal(await copying(turns, null, 3), null);
  });

  test("nor does it begin with a message that came between a call and its result", async () => {
    const turn = [said("1"), answered("a", "b"), settled("a"), said("steer"), settled("b"), answered()];
    assert.equal(await copying([noted("x"), ...turn], null, 5), null);
    assert.deepEqual(await copying([noted("x"), ...turn], null, 6), [2, 7]);
  });

  test("bytes are bounded too", async () => {
    const long = "x".repeat(FORK_BYTES_MAX / 8);
    const turns = Array.from({ length: 12 }, () => [said(long), answered()]).flat();
    assert.deepEqual(await copying(turns), [11, 24], "seven of them and their envelopes fit");
  });
});

describe("damage", () => {
  const GAP: Gap = { type: "gap", reason: "not_json", offset: 0, bytes: 1 };

  /** The same entries, some of which cannot be read. */
  async function damaged(drafts: readonly Draft[], lost: readonly number[], through: number | null = null) {
    const at = await corner();
    const key = await at.open("source");
    await at.append(key, drafts);
    const store: Pick<Store, "entries"> = {
      async *entries(id, range) {
        for await (const entry of at.store.entries(id, range))
          yield entry.type !== "gap" && lost.includes(entry.seq) ? GAP : entry;
      },
    };
    const copy = await copyOf(store, await at.row(key), through);
    return copy && [copy.fromSeq, copy.throughSeq];
  }

  const turn = [said("1"), answered("a"), settled("a"), answered()];

  test("a copy begins after it, with the next turn", async () => {
    assert.deepEqual(await damaged([...turn, ...turn, ...turn], [3]), [5, 12]);
    assert.deepEqual(await damaged([...turn, ...turn, ...turn], [5]), [9, 12]);
    assert.equal(await damaged(turn, [2]), null);
  });

  test("what stands behind the end of the copy does not matter", async () => {
    assert.deepEqual(await damaged([...turn, ...turn], [8]), [1, 7]);
    assert.deepEqual(await damaged([...turn, ...turn], [7, 8]), [1, 5], "the call has lost its result");
    assert.deepEqual(await damaged([...turn, ...turn], [5], 4), [1, 4]);
  });

  test("an entry that cannot be read is not one that can be forked", async () => {
    await refused("not_found", damaged([...turn, ...turn], [6], 6));
  });
});

// ── Any conversation ────────────────────────────────────────────────────────────────────────────────────────

interface Turn {
  readonly steps: readonly { readonly calls: number; readonly steered: boolean }[];
  readonly isNoted: boolean;
  readonly end: "goes on" | "is summarised" | "is rewound";
  readonly back: number; // which of the messages before it is kept, or gone back to
}

const turns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    steps: fc.array(fc.record({ calls: fc.nat({ max: 3 }), steered: fc.boolean() }), { maxLength: 3 }),
    isNoted: fc.boolean(),
    end: fc.constantFrom("goes on" as const, "goes on", "is summarised", "is rewound"),
    back: fc.nat(),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Ids of calls are the same in every step, as some models make them; results come in another order. */
function draftsOf({ steps, isNoted }: Turn): Draft[] {
  const note = (what: string): Draft[] => (isNoted ? [noted(what)] : []);
  const made = steps.flatMap(({ calls, steered }) => {
    const ids = Array.from({ length: calls }, (_, n) => `call-${n}`);
    const results = ids.toReversed().flatMap((id) => [...note(id), settled(id)]);
    return [answered(...ids), ...results, ...(steered ? [said("and this")] : [])];
  });
  return [...note("started"), said("do it"), ...made, answered(), ...note("ended")];
}

/** Writes them down, and gives the path. */
async function write(at: Corner, key: SessionKey, all: readonly Turn[]): Promise<readonly Entry[]> {
  for (const turn of all) {
    await at.append(key, draftsOf(turn));
    const path = await at.entries(key, { from: 1 });
    const asked = path.filter(isAsked);
    const target = asked[turn.back % asked.length];
    if (target === undefined || turn.end === "goes on") continue;
    if (turn.end === "is summarised") {
      await at.append(key, [summarised(target.id)], { contextSeq: target.seq });
      continue;
    }
    const contextSeq = contextStart(path.filter(({ seq }) => seq <= target.seq));
    await at.append(key, [answered()], { rewindTo: { id: target.id, seq: target.seq }, contextSeq });
  }
  return await at.entries(key, { from: 1 });
}

function isAsked(entry: Entry | undefined): boolean {
  return entry?.type === "message" && entry.message.role === "user";
}

/** Whether every call has its result, and every result its call: before the next answer, and before the end. */
function isPaired(entries: readonly Entry[]): boolean {
  let open: string[] = [];
  for (const entry of entries) {
    if (entry.type !== "message" || entry.message.role === "user") continue;
    const { message } = entry;
    if (message.role === "toolResult") {
      if (!open.includes(message.toolCallId)) return false;
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    if (open.length > 0) return false;
    open = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
  }
  return open.length === 0;
}

test("of any conversation, up to any entry and within any bound, a copy is whole", async () => {
  await fc.assert(
    fc.asyncProperty(
      turns,
      fc.option(fc.nat()),
      fc.integer({ min: 1, max: 80 }),
      async (all, end, entriesMax) => {
        const at = await corner();
        const key = await at.open("source");
        const path = await write(at, key, all);
        const through = end === null ? null : (path[end % path.length]?.seq ?? null);
        const copy = await copyOf(at.store, await at.row(key), through, entriesMax);
        const before = path.filter(({ seq }) => seq <= (through ?? Infinity));
        if (copy === null) {
          const asked = before.findLastIndex(isAsked);
          return assert.ok(before.length - asked > entriesMax, "no turn begins within the bound");
        }
        const part = before.filter(({ seq }) => seq >= copy.fromSeq && seq <= copy.throughSeq);
        assert.deepEqual(copy, { of: key, fromSeq: part[0]?.seq, throughSeq: part.at(-1)?.seq });
        assert.ok(part.length <= entriesMax);
        assert.ok(isPaired(part));
        if (isPaired(before))
          assert.equal(copy.throughSeq, before.at(-1)?.seq, "nothing is left out needlessly");
        const upTo = before.filter(({ seq }) => seq <= copy.throughSeq);
        const start = contextStart(upTo);
        if (copy.fromSeq === start) return await isTheSame(at, copy, upTo);
        const needed = before.filter(({ seq }) => seq >= start).length;
        assert.ok(needed > entriesMax, "it begins later only when it has to");
        assert.ok(copy.fromSeq > start);
        assert.ok(isAsked(part[0]) || part[0]?.type === "compaction");
      },
    ),
    { numRuns: 300 },
  );
});

/** A model is shown the same of the copy as it was shown of the source. */
async function isTheSame(at: Corner, copy: Copy, path: readonly Entry[]): Promise<void> {
  const fork = await at.open("fork", { copy });
  const shown = assemble(await at.entries(fork, { from: "context" }), false);
  const source = path.filter(({ seq }) => seq >= copy.fromSeq);
  assert.deepEqual(shown, assemble(source, false));
}
