import { isFlushing } from "../context/flush.ts";
import { cutNote } from "../context/meter.ts";
import type { Model, Thinking } from "../models/model.ts";
import type { Held } from "../sessions/held.ts";
import type { Block, Body, Message, MessageUsage } from "../transcript/entry.ts";
import { spillMessage, type PutBlob } from "../transcript/spill.ts";
import { preface } from "./preface.ts";

type Assistant = Extract<Message, { role: "assistant" }>;

/** Who speaks in a step. */
export interface Voice {
  readonly model: Model;
  readonly thinking: Thinking;
}

export type Said = Pick<Assistant, "content" | "usage" | "stopReason" | "timestamp"> & {
  readonly errorMessage?: string;
  readonly passedOver?: readonly PassedOver[];
  readonly cutTo?: number | null; // bytes of the messages that it was given to; null: they were whole
};

/** A model that should have spoken, and why it did not. */
export interface PassedOver {
  readonly model: string;
  readonly why: string;
}

/** What the entry says that stands before the answer of a fallback. */
export interface Failover {
  readonly passedOver: readonly PassedOver[];
  readonly spoke: string;
}

/** Of an answer that was not finished nobody says what it cost. */
export const NO_TOKENS_TOLD: MessageUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The entries of an answer: what has changed since the last one, then the answer. */
export async function spoken(
  held: Held,
  { model, thinking }: Voice,
  { passedOver = [], cutTo = null, ...said }: Said,
  putBlob: PutBlob,
): Promise<Body[]> {
  const { api, provider, name } = model;
  const message: Message = { role: "assistant", api, provider, model: name, ...said };
  const entries = await held.entries();
  const silent = isFlushing(entries) ? ({ silent: true } as const) : {};
  const notes = preface(entries, { model, thinking, settings: held.row.settings });
  if (passedOver.length > 0) {
    const data: Failover = { passedOver, spoke: model.id };
    notes.push({ type: "custom", customType: "sessiond/failover", data });
  }
  if (cutTo !== null) notes.push(cutNote(cutTo));
  return [...notes, { type: "message", message: await spillMessage(message, putBlob), ...silent }];
}

/** What a call's id may be to keep its name: short, and nothing that a letter's id could not hold. */
const CALL_ID = /^[\w.:-]{1,64}$/;

/**
 * Results are matched to calls by id, and ids of effects are made of it: so within an answer they differ, and are short.
 * Most models see to that; one that does not gets names of ours.
 */
export function named(content: readonly Block[], seq: number): readonly Block[] {
  const seen = new Set<string>();
  return content.map((block, at) => {
    if (block.type !== "toolCall") return block;
    const isOurs = block.id.startsWith(`call-${seq}-`); // It could become another's.
    const isKept = CALL_ID.test(block.id) && !isOurs && !seen.has(block.id);
    const id = isKept ? block.id : `call-${seq}-${at}`;
    seen.add(id);
    return id === block.id ? block : { ...block, id };
  });
}
