// What a model is shown of any transcript, in any window, after all that is done to make it small.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as fc from "fast-check";
import { assemble, sourceOf, withPictures } from "../../src/context/assemble.ts";
import { withoutFlushes } from "../../src/context/flush.ts";
import { fitted } from "../../src/context/fit.ts";
import { materialOf, sized } from "../../src/context/material.ts";
import { meter } from "../../src/context/meter.ts";
import { roomOf } from "../../src/context/room.ts";
import { mended, problemsIn, truncationOf } from "../../src/context/summary.ts";
import { bytesOf } from "../../src/context/weight.ts";
import type { Api } from "../../src/config/config.ts";
import type { Model } from "../../src/models/model.ts";
import type { Held } from "../../src/sessions/held.ts";
import { textOf, type Entry, type Message } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";
import {
  compactionOf,
  dueIn,
  sectionsBytes,
  worthCutting,
  type Measured,
} from "../../src/turns/compacting.ts";
import { asked, wordsOf } from "../fixtures/conversation.ts";
import { APIS, ask, modelAt, PIXEL } from "../providers/asking.ts";
import { Standin } from "../providers/standin.ts";
import { Kept, making, opening, type Making } from "./anything.ts";
import { assertSpoken } from "./spoken.ts";

/** Shrinking would take minutes: a seed replays what failed. */
const RUNS = 100;

const FRAME = { system: 400, tools: 600 };
const SPEAKER = { provider: "p", name: "m" };
const POLICY = { sizeTokens: null, reserveTokens: null };

/** What a pinned message may weigh beside its text when it is cut: heading, mark, and the calls and results of its step. */
const PINNED_AROUND_BYTES = 2_200;
const PINNED_HEAD_BYTES = 280;

let standin: Standin;
const models = new Map<Api, Model>();
before(async () => {
  standin = await Standin.open();
  for (const api of APIS) models.set(api, modelAt(standin, api));
});
after(() => standin.close());

interface Case {
  readonly makings: readonly Making[];
  readonly window: number;
  readonly pinned: readonly number[];
  readonly summaries: readonly string[]; // what the summariser says, again and again; none: it fails
  readonly shared: boolean;
  readonly api: Api;
}

const any: fc.Arbitrary<Case> = fc.record({
  makings: fc.array(making, { maxLength: 60, size: "max" }),
  window: fc.oneof(
    fc.integer({ min: 4_000, max: 10_000 }),
    fc.integer({ min: 4_000, max: 60_000 }),
    fc.integer({ min: 4_000, max: 400_000 }),
  ),
  pinned: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 6 }),
  summaries: fc.array(fc.oneof(fc.constant(""), fc.string(), fc.string({ minLength: 5_000 })), {
    maxLength: 2,
  }),
  shared: fc.boolean(),
  api: fc.constantFrom(...APIS),
});

/** With pinned messages first that are long, in a window that has room for their heads. */
const pinning: fc.Arbitrary<Case> = fc
  .tuple(any, fc.array(fc.integer({ min: 4_000, max: 30_000 }), { minLength: 1, maxLength: 2 }))
  .map(([each, sizes]) => ({
    ...each,
    window: 12_000 + (each.window % 30_000),
    makings: [
      ...sizes.map(
        (bytes): Making =>
          (_idOf, seq) =>
            asked(`${opening(seq)}${"word ".repeat(bytes / 5)}`),
      ),
      ...each.makings,
    ],
    pinned: sizes.map((_size, at) => at + 1),
  }));

const cases = fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: pinning });

function weightOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + bytesOf(message), 0);
}

/** One session of a case, and what turns do to it. */
class Tidied {
  readonly kept: Kept;
  readonly held: Held;
  readonly pins: ReadonlySet<string>;
  readonly #case: Case;
  #summary = 0;

  private constructor(kept: Kept, held: Held, of: Case) {
    this.kept = kept;
    this.held = held;
    this.#case = of;
    const { id } = held.row.transcript;
    this.pins = new Set(of.pinned.map((seq) => `${id.slice(-8)}-${seq}`));
  }

  static async of(each: Case): Promise<Tidied> {
    const kept = await Kept.of(each.makings);
    return new Tidied(kept, await kept.held(), each);
  }

  async messages(): Promise<readonly Message[]> {
    return assemble(await this.held.entries(), this.#case.shared);
  }

  async measured(): Promise<Measured> {
    const entries = await this.held.entries();
    const reading = meter(entries, FRAME, SPEAKER, this.#case.shared);
    const { system, tools } = reading.parts;
    return { entries, reading, room: roomOf(this.#case.window, POLICY, system + tools), model: "p/m" };
  }

  async roomBytes(): Promise<number> {
    const { reading, room } = await this.measured();
    return Math.floor(room.most / reading.tokensPerByte) - FRAME.system - FRAME.tools;
  }

  /** As before a step. */
  async makeRoom(): Promise<void> {
    const shown = { pins: this.pins, shared: this.#case.shared, copied: 0 };
    const due = dueIn(await this.measured(), shown);
    if (due !== null && "prune" in due) await this.held.commit({ entries: [due.prune] });
    const now = await this.measured();
    const then = dueIn(now, shown);
    if (then !== null && "cut" in then) await this.compact(now);
  }

  /** False: there is nothing to gain. */
  async compact(measured: Measured): Promise<boolean> {
    const { shared } = this.#case;
    const shown = { pins: this.pins, shared, copied: 0 };
    const cut = worthCutting(measured, shown);
    if (cut === null) return false;
    const material = materialOf(withoutFlushes(measured.entries), cut, shown);
    const bytesMax = sectionsBytes(measured, material, cut.savedBytes);
    const wanted = sized(material, bytesMax);
    const said = this.#said();
    const whole = said === null ? null : mended(said, wanted, bytesMax);
    const isGood = whole !== null && problemsIn(whole, wanted, bytesMax).length === 0;
    const sections = isGood ? whole : truncationOf(wanted, "it failed", bytesMax);
    const summary = { sections, truncated: isGood ? null : "it failed" };
    const made = { cut, material, summary, occasion: "size", order: null } as const;
    await this.held.commit({ entries: [compactionOf(measured, made, this.held.row.transcript, shared)] });
    return true;
  }

  #said(): string | null {
    const { summaries } = this.#case;
    const said = summaries[this.#summary % Math.max(1, summaries.length)] ?? null;
    this.#summary += 1;
    return said;
  }
}

// ── Validity ────────────────────────────────────────────────────────────────────────────────────────────────

const PICTURE = Buffer.from(PIXEL, "base64");

async function assertTaken(messages: readonly Message[], api: Api): Promise<void> {
  const shown = await withPictures(messages, () => Promise.resolve(PICTURE));
  assertSpoken(shown);
  const model = models.get(api);
  assert.ok(model);
  const { answer } = await ask(model, shown);
  assert.equal(standin.requests.pop()?.refused, null);
  assert.equal(answer.kind, "reply", JSON.stringify(answer));
}

// ── What is in it ───────────────────────────────────────────────────────────────────────────────────────────

/** Without what a quotation or an envelope adds, pictures, and characters that a request cannot have. */
function plain(words: string): string {
  return words.toWellFormed().replaceAll(/\[\[sessiond .*?\]\]|\[a picture\]|[\s|]/gu, "");
}

/** How often a claim was held against something: one that never was says nothing. */
const seen = {
  ...{ pruned: 0, compacted: 0, cut: 0, cutWithPins: 0 },
  ...{ pinnedWhole: 0, pinnedHead: 0, askedInWords: 0, askedBlank: 0 },
};

/** The mark for what is left out, which may stand after the newest question. */
const LEFT_OUT = /^\[… \d+ messages left out /;

/** The newest that a user said is there, and nothing but answers and results comes after it. */
function assertEnds(whole: readonly Message[], shown: readonly Message[]): void {
  const newest = whole.findLast(({ role }) => role === "user");
  if (newest !== undefined) {
    const words = plain(wordsOf(newest));
    const head = /^\(\d+\)/.exec(words)?.[0] ?? words.slice(0, 10);
    const last = shown.findLast((message) => message.role === "user" && !LEFT_OUT.test(wordsOf(message)));
    assert.ok(last !== undefined, "a question is there");
    if (head === "") assert.equal(plain(wordsOf(last)), "", "and it is the newest, which is blank");
    else assert.ok(plain(wordsOf(last)).includes(head), `the newest question is there: ${head}`);
    seen[head === "" ? "askedBlank" : "askedInWords"] += 1;
  }
  assert.equal(shown.at(-1)?.role, whole.at(-1)?.role, "it ends as the conversation does");
  const [last, end] = [whole.at(-1), shown.at(-1)];
  if (last?.role === "toolResult" && end?.role === "toolResult")
    assert.equal(end.toolCallId, last.toolCallId);
}

function assertPinned(pinned: readonly Entry[], shown: readonly Message[], share: number): void {
  const all = plain(shown.map(wordsOf).join("\n"));
  const bytes = pinned.reduce((sum, entry) => sum + 3 * Buffer.byteLength(textOf(entry)), 0); // quoted, at most
  const around = pinned.length * PINNED_AROUND_BYTES;
  for (const entry of pinned) {
    const words = plain(textOf(entry));
    const head = plain(opening(entry.seq));
    if (!words.startsWith(head)) continue; // It is blank: nothing of it could be found.
    if (bytes + around <= share) {
      seen.pinnedWhole += 1;
      assert.ok(all.includes(words), `entry ${entry.id} is whole`);
    } else if (pinned.length * PINNED_HEAD_BYTES + around <= share) {
      seen.pinnedHead += 1;
      assert.ok(all.includes(head), `entry ${entry.id} is there`);
    }
  }
}

test("any transcript in any window is a prompt that every provider takes, fits, and has what it must have", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (each) => {
      const session = await Tidied.of(each);
      const pinned = (await session.messages())
        .flatMap((message) => sourceOf(message) ?? [])
        .filter(({ id }) => session.pins.has(id));
      await session.makeRoom();
      const whole = await session.messages();
      const roomBytes = await session.roomBytes();
      const shown = fitted(whole, roomBytes, session.pins);
      assert.ok(weightOf(shown) <= Math.max(2_000, roomBytes), "it fits");
      await assertTaken(shown, each.api);
      assertEnds(whole, shown);
      const { reading, room } = await session.measured();
      const share = Math.min(room.compactAt / reading.tokensPerByte, Math.max(2_000, roomBytes)) / 4;
      assertPinned(pinned, shown, share);

      const all = await session.kept.entries();
      assert.equal(session.held.row.transcript.contextSeq, contextStart(all));
      const again = await session.kept.held();
      const read = assemble(await again.entries(), each.shared);
      assert.equal(JSON.stringify(read), JSON.stringify(whole), "a restart changes nothing");
      assert.equal(JSON.stringify(fitted(read, roomBytes, session.pins)), JSON.stringify(shown));

      const made = new Set(all.slice(each.makings.length).map(({ type }) => type));
      if (made.has("custom")) seen.pruned += 1;
      if (made.has("compaction")) seen.compacted += 1;
      if (shown !== whole) seen.cut += 1;
      if (shown !== whole && pinned.length > 0) seen.cutWithPins += 1;
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, `it was ${what}`);
});

test("compacting again and again comes to an end, and each time there is less", async () => {
  let compactions = 0;
  await fc.assert(
    fc.asyncProperty(cases, async (each) => {
      const session = await Tidied.of(each);
      const most = each.makings.length + 2;
      for (let times = 0; ; times += 1) {
        assert.ok(times < most, "it ends");
        const weight = weightOf(await session.messages());
        if (!(await session.compact(await session.measured()))) break;
        compactions += 1;
        const now = weightOf(await session.messages());
        assert.ok(now < weight, `${now} bytes are fewer than ${weight}`);
      }
      assert.equal(session.held.row.transcript.contextSeq, contextStart(await session.kept.entries()));
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  assert.ok(compactions > 20);
});
