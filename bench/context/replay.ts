// A transcript lived through again, call by call: what each call would have been sent, and what that costs.
//
// What decides is what turns use: dueIn, and src/context. What is not as it would be:
//   - the answers are those of the transcript, whatever they were shown: nobody reads again what was taken away
//   - the summary is a stand-in, because no model is asked: pieces of what was cut off, in sections, 1,500 tokens, which is what
//     1,000 words of them are that a summariser is asked for
//   - a flush is one call that writes nothing; nothing is pinned
//   - the meter hears of tokens that are strictly in proportion to its own bytes: it is never wrong
//   - a cache forgets nothing in the time between two calls
//
//   full      every call is sent all that came before it
//   pruned    old tool results leave the prompt
//   compacted that, and past a size what is old becomes a summary

import { assemble } from "../../src/context/assemble.ts";
import type { Cut } from "../../src/context/cut.ts";
import { flushNote, withoutFlushes } from "../../src/context/flush.ts";
import { materialOf, type Material } from "../../src/context/material.ts";
import { meter, type Speaker } from "../../src/context/meter.ts";
import { chunksOf, questionOf } from "../../src/context/question.ts";
import type { Room } from "../../src/context/room.ts";
import { SECTIONS } from "../../src/context/sections.ts";
import { mended } from "../../src/context/summary.ts";
import type { Body, Entry, Message, MessageUsage } from "../../src/transcript/entry.ts";
import {
  compactionOf,
  dueIn,
  worthCutting,
  type Made,
  type Measured,
  type Showing,
} from "../../src/turns/compacting.ts";
import { reportedOf, weightOf, type Told } from "./told.ts";

/** One person speaks, and nothing is pinned. */
const SHOWING: Showing = { pins: new Set(), shared: false, copied: 0 };

export type Way = "full" | "pruned" | "compacted";

/** What providers charge for a token of input that they have, and for one that they shall keep. */
const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;

/** What a model writes that is asked for a summary in sections, and does not spare words. */
const SUMMARY_TOKENS = 1_500;

/** All in tokens of input, over all calls. */
export interface Cost {
  readonly calls: number;
  /** Without a cache, the summariser's included. */
  readonly input: number;
  /** With one: read at a tenth, written at one and a quarter; the summariser's at their full price. */
  readonly priced: number;
  readonly read: number;
  readonly summariser: number;
  readonly largest: number;
  readonly prunings: number;
  readonly compactions: number;
}

/** `roomFor` says how the window is divided, of which system prompt and tools take so many tokens. */
export function replay(told: Told, way: Way, roomFor: (frame: number) => Room): Cost {
  const living = new Living(told, way, roomFor);
  for (const entry of told.entries) living.add(entry);
  return living.cost;
}

class Living {
  readonly #told: Told;
  readonly #way: Way;
  readonly #roomFor: (frame: number) => Room;
  /** From where the context starts, as a store gives them. */
  #entries: Entry[] = [];
  #notes = 0;
  #sent: readonly Message[] | null = null; // null: no call was made
  cost: Cost = {
    ...{ calls: 0, input: 0, priced: 0, read: 0, summariser: 0 },
    ...{ largest: 0, prunings: 0, compactions: 0 },
  };

  constructor(told: Told, way: Way, roomFor: (frame: number) => Room) {
    this.#told = told;
    this.#way = way;
    this.#roomFor = roomFor;
  }

  /** An answer is a call first. One without usage is none: it was stopped, and nobody knows what was charged. */
  add(entry: Entry): void {
    if (reportedOf(entry) === 0 || entry.type !== "message" || entry.message.role !== "assistant") {
      this.#entries.push(entry);
      return;
    }
    if (this.#way !== "full") this.#makeRoom({ provider: entry.message.provider, name: entry.message.model });
    const usage = { ...this.#call(), output: entry.message.usage.output };
    this.#entries.push({ ...entry, message: { ...entry.message, usage } });
  }

  /** As a turn does it before each step (turns/tidying.ts). */
  #makeRoom(speaker: Speaker): void {
    let due = dueIn(this.#measured(speaker), SHOWING);
    if (due !== null && "prune" in due) {
      this.#note(due.prune);
      this.cost = { ...this.cost, prunings: this.cost.prunings + 1 };
      due = dueIn(this.#measured(speaker), SHOWING);
    }
    if (this.#way !== "compacted" || due === null || "prune" in due) return;
    this.#flush(speaker);
    const measured = this.#measured(speaker);
    const cut = worthCutting(measured, SHOWING);
    if (cut !== null) this.#compact(cut, measured);
  }

  #measured(speaker: Speaker): Measured {
    const reading = meter(this.#entries, this.#told.frame, speaker, false);
    const model = `${speaker.provider}/${speaker.name}`;
    const { system, tools } = reading.parts;
    return { entries: this.#entries, reading, room: this.#roomFor(system + tools), model };
  }

  /** Before a compaction the agent is asked whether something is to last; here it has nothing, and that is one call more. */
  #flush({ provider, name }: Speaker): void {
    this.#note(flushNote());
    const usage = this.#call();
    const content = [{ type: "text", text: "NO_REPLY" }] as const;
    const by = { api: provider, provider, model: name, stopReason: "stop", timestamp: 0 } as const;
    this.#note({ type: "message", message: { role: "assistant", content, ...by, usage } });
  }

  #compact(cut: Cut, measured: Measured): void {
    const shown = withoutFlushes(this.#entries);
    const material = materialOf(shown, cut, SHOWING);
    const summariser = this.#summariser(material, measured);
    const sections = standIn(material, this.#told.tokensPerByte);
    const summary = { sections, truncated: null };
    const made: Made = { cut, material, summary, occasion: "size", order: null };
    const tail = { id: this.#told.name, lastSeq: this.#entries.at(-1)?.seq ?? 0, copied: 0 };
    const entry = compactionOf(measured, made, tail, false);
    this.#entries = shown.slice(cut.at);
    this.#note(entry);
    this.cost = {
      ...this.cost,
      input: this.cost.input + summariser,
      priced: this.cost.priced + summariser,
      summariser: this.cost.summariser + summariser,
      compactions: this.cost.compactions + 1,
    };
  }

  /** Input of all questions that a summary of this takes. */
  #summariser(material: Material, { reading, room }: Measured): number {
    const roomBytes = Math.min(room.most, room.window / 2) / reading.tokensPerByte; // as turns/compacting.ts has it
    let bytes = 0;
    for (const chunk of chunksOf(material, roomBytes)) {
      const { system, text } = questionOf(chunk, null);
      bytes += Buffer.byteLength(system) + Buffer.byteLength(text);
    }
    return bytes * this.#told.tokensPerByte;
  }

  /** What this call is charged, as its provider would report it. */
  #call(): MessageUsage {
    const { frame, tokensPerByte } = this.#told;
    const prompt = assemble(this.#entries, false);
    const same = this.#sent === null ? 0 : sameFromTheStart(this.#sent, prompt);
    const around = frame.system + frame.tools;
    const input = (around + weightOf(prompt)) * tokensPerByte;
    const read = this.#sent === null ? 0 : (around + weightOf(prompt.slice(0, same))) * tokensPerByte;
    this.#sent = prompt;
    this.cost = {
      ...this.cost,
      calls: this.cost.calls + 1,
      input: this.cost.input + input,
      priced: this.cost.priced + read * READ_PRICE + (input - read) * WRITE_PRICE,
      read: this.cost.read + read,
      largest: Math.max(this.cost.largest, input),
    };
    const whole = Math.round(read);
    return { input: 0, output: 0, cacheRead: whole, cacheWrite: Math.round(input) - whole };
  }

  #note(body: Body): void {
    const last = this.#entries.at(-1);
    const [parentId, seq] = [last?.id ?? null, (last?.seq ?? 0) + 1];
    const timestamp = last?.timestamp ?? new Date(0).toISOString();
    this.#entries.push({ ...body, id: this.#nextId(), parentId, seq, timestamp });
    this.#notes += 1;
  }

  #nextId(): string {
    return `replay-${this.#notes + 1}`;
  }
}

/** How many messages are byte for byte the same, from the start. */
function sameFromTheStart(before: readonly Message[], now: readonly Message[]): number {
  const differs = before.findIndex((message, at) => {
    const other = now[at];
    return other === undefined || (other !== message && sentOf(other) !== sentOf(message));
  });
  return differs < 0 ? before.length : differs;
}

/** Without what stays here: when it was said, and what it cost. */
function sentOf(message: Message): string {
  const { role, content } = message;
  if (message.role !== "toolResult") return JSON.stringify({ role, content });
  return JSON.stringify({ role, content, call: message.toolCallId, isError: message.isError });
}

/** Sections of even size, filled with the newest of what is cut off; then mended as one that a model wrote. */
function standIn(material: Material, tokensPerByte: number): string {
  const bytes = Math.floor(SUMMARY_TOKENS / tokensPerByte);
  const each = Math.floor(bytes / SECTIONS.length);
  const words = Buffer.from(material.pieces.join(" ").replaceAll(/\s+/g, " "));
  const sections = SECTIONS.map((section, at) => {
    const from = Math.max(0, words.length - (at + 1) * each);
    const text = words.subarray(from, from + each - section.length - 2).toString("latin1");
    return `${section}\n${text.replaceAll(/[^ -~]/g, "*")}`;
  });
  return mended(sections.join("\n"), material, 2 * bytes);
}
