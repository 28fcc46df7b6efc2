// Tidying
//
// Keeps the context of a session as small as it should be. Before each step of a turn: past one size old tool results leave
// the prompt; past another its older part becomes a summary, after the agent had the chance to write down what is to last.
// When a model refuses a request for its size, the same once more. And what people want done to the history.
//
//   Owns:      when, and how often at most.
//   Does not:  decide what goes (context/), ask for summaries (summarising.ts), write them (compacting.ts).
//
// Invariants
//   D1. It ends: at most one compaction before a step, two failed attempts at a summary and two refusals in a turn; beyond
//       these a step is asked with what there is, cut to fit.
//   D2. What a model was shown before stays as it was, byte for byte, unless a note of a pruning or a compaction is written.
//   D3. A wish is taken in the commit that fulfils it, or that says why not.

import { Fault } from "../base/fault.ts";
import { FITTED_BYTES_MIN } from "../context/fit.ts";
import { flushNote, hasFlushed, isFlushing } from "../context/flush.ts";
import { meter, type Reading } from "../context/meter.ts";
import { roomOf } from "../context/room.ts";
import { bytesShown, wholeBytes } from "../context/tally.ts";
import { OVERFLOWS_MAX, WINDOW_TOKENS_MIN } from "../limits.ts";
import type { Mail } from "../mail/letter.ts";
import { wishedIn, wishOf } from "../mail/wish.ts";
import type { Model } from "../models/model.ts";
import type { Entry } from "../transcript/entry.ts";
import type { Answered } from "./answers.ts";
import type { Question } from "./ask.ts";
import {
  compact,
  dueIn,
  shownOf,
  worthCutting,
  type Compacted,
  type Compacting,
  type Measured,
  type WorthCut,
} from "./compacting.ts";
import { handOff } from "./handoff.ts";
import type { Place, TurnParts } from "./parts.ts";
import { isShared } from "./request.ts";
import type { Voice } from "./spoken.ts";
import type { Standing } from "./standing.ts";
import { Attempts } from "./summarising.ts";
import type { Voices } from "./voices.ts";

/** The part of a window that a refusal leaves: a request of this size was too large, and counts may be off. */
const REFUSED_SHARE = 0.7;

/** The tool without which nothing can be written down. */
const MEMORY_TOOL = "memory_write";

type Given = Pick<Compacting, "occasion"> & Partial<Pick<Compacting, "focus" | "order" | "cut">>;

export class Tidying {
  readonly #parts: TurnParts;
  readonly #place: Place;
  readonly #standing: Standing;
  readonly #question: () => Question; // what the step before which it is done wants to know
  readonly #attempts = new Attempts();
  #compactedAt = -1; // the step
  #refusals = 0;
  #windowMax = Infinity; // tokens, from refusals in this turn
  #read: { readonly of: string; readonly reading: Reading } | null = null; // the last, and what it was of
  readonly #fulfilments: (readonly [id: string, said: Answered])[] = []; // of wishes, not told yet
  /** The wish that is being fulfilled. */
  obeying: Mail | null = null;
  /** In words, for people; null: nothing. */
  doing: string | null = null;

  constructor(parts: TurnParts, place: Place, standing: Standing, question: () => Question) {
    this.#parts = parts;
    this.#place = place;
    this.#standing = standing;
    this.#question = question;
  }

  /**
   * Bytes that the messages of a request may have, so that it fits the window: what they have now, and what the rest of the window
   * would hold. A provider may count tools by another measure than words: their bytes do not say what room is left.
   */
  async roomBytes(): Promise<number> {
    if (await this.#isSmall()) return Infinity;
    const { entries, reading, room } = await this.#measured();
    const left = (room.most - reading.tokens) / reading.tokensPerByte;
    return Math.floor(bytesShown(entries, isShared(this.#place.held.key)) + left);
  }

  /** True: something is to be done before the step that was about to be. */
  async makeRoom(): Promise<boolean> {
    const { held } = this.#place;
    if (await this.#isSmall()) return false;
    let measured = await this.#measured();
    let due = dueIn(measured, shownOf(this.#place));
    if (due !== null && "prune" in due) {
      await held.commit({ entries: [due.prune] });
      measured = await this.#measured();
      due = dueIn(measured, shownOf(this.#place));
    }
    const { step } = this.#question();
    if (due === null || "prune" in due || this.#compactedAt === step) return false;
    if (await this.#flushes(measured, due.cut)) return true;
    this.#compactedAt = step;
    return (await this.#compact(measured, { occasion: "size", cut: due.cut })) !== "nothing"; // Who wrote meanwhile is heard first.
  }

  /** A model refused the request for its size. False: nothing more can be done about it. */
  async recover({ model }: Voice): Promise<boolean> {
    this.#refusals += 1;
    if (this.#refusals > OVERFLOWS_MAX) return false;
    const { reading, room } = await this.#measured();
    const refused = Math.min(reading.tokens, room.window, model.windowTokens); // It may be a fallback's, and smaller.
    this.#windowMax = Math.max(WINDOW_TOKENS_MIN, Math.floor(refused * REFUSED_SHARE));
    this.#parts.log.warn(
      { key: this.#place.held.key, model: model.id, tokens: refused },
      "a context was refused",
    );
    const measured = await this.#measured();
    const isSmaller = (await this.#compact(measured, { occasion: "overflow" })) !== "nothing";
    const bytes = bytesShown(measured.entries, isShared(this.#place.held.key));
    const isCut = bytes > Math.max(FITTED_BYTES_MIN, await this.roomBytes());
    return isSmaller || isCut; // Else it would be asked the same again.
  }

  /** What people want. True: something is to be done before that. */
  async obey(): Promise<boolean> {
    for (;;) {
      const { held, mailbox } = this.#place;
      const order = await this.blame();
      if (order === null || isFlushing(await held.entries())) return false;
      const measured = asked(await this.#measured());
      if (
        wishOf(order) === "compact" &&
        (await this.#flushes(measured, worthCutting(measured, shownOf(this.#place))))
      )
        return true; // Who stops that stops the wish.
      const said = await this.#fulfilled(order, measured);
      mailbox.remove([order.id]);
      this.obeying = null;
      this.#fulfilments.push([order.id, { ...said, seq: held.row.transcript.lastSeq }]);
    }
  }

  /** What is wanted next, if anything. The turn that ends now ends over it. */
  async blame(): Promise<Mail | null> {
    const waiting = await this.#place.mailbox.waiting();
    const order = waiting.find((mail) => wishOf(mail) === "compact" || wishOf(mail) === "handoff");
    return (this.obeying = order ?? null);
  }

  /** To those who wait for what they wished. */
  tell(): void {
    for (const [id, said] of this.#fulfilments.splice(0)) this.#parts.answers.tell([id], said);
  }

  /** D3. */
  async #fulfilled(order: Mail, measured: Measured): Promise<Omit<Answered, "seq">> {
    const { held } = this.#place;
    try {
      if (wishOf(order) === "handoff") {
        const compacting = this.#compacting(measured, { occasion: "asked", order });
        const path = await this.#while("hands over", () => handOff(this.#parts, this.#place, compacting));
        return { outcome: "done", reason: null, text: path };
      }
      const { focus } = wishedIn(order, "compact");
      const came = await this.#compact(measured, { occasion: "asked", order, focus });
      if (came === "done" || came === "cut off") {
        const after = await this.#measured();
        const tokens = [measured.reading.tokens, after.reading.tokens];
        const reason = came === "done" ? null : "it was cut off: no summary could be made";
        return { outcome: "done", reason, text: JSON.stringify(tokens) };
      }
      if (came !== "nothing")
        throw new Fault("bad_input", `no summary could be made: ${came.refused}. Nothing was changed`);
      await held.commit({ take: [order.id] });
      return { outcome: "done", reason: "there is too little to summarise yet", text: "" };
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "stale_writer") throw error;
      await held.commit({ take: [order.id] });
      return { outcome: "failed", reason: error.message, text: "" };
    }
  }

  /** Asks the agent to write down what is to last. False: it may not, cannot, or was asked since the last compaction. */
  async #flushes(measured: Measured, cut: WorthCut | null): Promise<boolean> {
    const { held, agent } = this.#place;
    const { parent, state } = held.row;
    // A turn that rests asks nobody.
    const may = agent.context.flush && parent === null && state.kind !== "waiting";
    if (!may || hasFlushed(measured.entries) || measured.reading.tokens > measured.room.most) return false;
    if (cut === null || !(await this.#standing.tools).some(({ name }) => name === MEMORY_TOOL)) return false;
    await held.commit({ entries: [flushNote()] });
    return true;
  }

  #compact(measured: Measured, given: Given): Promise<Compacted> {
    const compacting = this.#compacting(measured, given);
    return this.#while("summarises what was said", () => compact(this.#parts, this.#place, compacting));
  }

  async #while<Value>(words: string, work: () => Promise<Value>): Promise<Value> {
    this.doing = words;
    try {
      return await work();
    } finally {
      this.doing = null;
    }
  }

  #compacting(measured: Measured, given: Given): Compacting {
    const voices = this.#summarisers();
    const question = this.#question();
    return {
      focus: null,
      order: null,
      cut: null,
      ...given,
      measured,
      voices,
      question,
      attempts: this.#attempts,
    };
  }

  /** The model in force writes the summary too, unless the agent has another for it; then the first stands behind that one. */
  #summarisers(): Voices {
    const { summaryModel } = this.#place.agent.context;
    const plain = (model: Model): Voice => ({ model, thinking: "off" });
    const [first, ...others] = this.#standing.voices();
    const voices: Voices = [plain(first.model), ...others.map(({ model }) => plain(model))];
    return summaryModel === null ? voices : [plain(this.#parts.catalog.find(summaryModel)), ...voices];
  }

  async #measured(): Promise<Measured> {
    const { held, agent } = this.#place;
    const entries = await held.entries();
    const [{ model }] = this.#standing.voices();
    const frame = await this.#standing.frame();
    const of = `${held.row.transcript.lastSeq} ${model.id}`;
    if (this.#read?.of !== of) this.#read = { of, reading: meter(entries, frame, model, isShared(held.key)) };
    const { reading } = this.#read;
    const { system, tools } = reading.parts;
    const window = Math.min(model.windowTokens, this.#windowMax);
    const room = roomOf(window, agent.context, system + tools);
    measuredLast.set(entries, {
      length: entries.length,
      left: room.pruneAt - reading.tokens,
      model: model.id,
    });
    return { entries, reading, room, model: model.id };
  }

  /**
   * What came since it was last measured cannot have made it large: most steps of most sessions need not measure all of it
   * again. Never after a refusal: then the measure was wrong.
   */
  async #isSmall(): Promise<boolean> {
    const { held } = this.#place;
    const entries = await held.entries();
    await this.#standing.frame(); // The end of the turn tells of it.
    const last = measuredLast.get(entries);
    const [{ model }] = this.#standing.voices();
    if (last === undefined || last.model !== model.id || this.#refusals > 0) return false;
    const shared = isShared(held.key);
    let left = last.left;
    for (let at = last.length; at < entries.length && left > 0; at += 1)
      left -= wholeBytes(entries[at] as Entry, shared) * TOKENS_PER_BYTE_MOST;
    return left > 0;
  }
}

/** Contexts in memory: with how many entries they were last measured, and how many tokens were left until pruning begins. */
const measuredLast = new WeakMap<
  readonly Entry[],
  { readonly length: number; readonly left: number; readonly model: string }
>();

/** No text has more: a token is a byte at least. */
const TOKENS_PER_BYTE_MOST = 1;

/** Who asks for it wants less than what is left when nobody does. */
function asked(measured: Measured): Measured {
  const { reading, room } = measured;
  return { ...measured, room: { ...room, keep: Math.min(room.keep, Math.floor(reading.tokens / 5)) } };
}
