// One step's question to the model: what it is shown, the slot it needs, and asking again when it was busy.

import { unlessAborted } from "../base/waiting.ts";
import { assemble, withPictures } from "../context/assemble.ts";
import { FAILURE_CHARS_MAX, MODEL_RETRY_MS, MODEL_TRIES_MAX } from "../limits.ts";
import type { Class } from "../mail/letter.ts";
import type { Answer, Model, Request } from "../models/model.ts";
import { MARKER_NOTE } from "../routing/envelope.ts";
import { describeKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import { formOf, type Tool } from "../tools/tool.ts";
import type { Block } from "../transcript/entry.ts";
import type { Voice } from "./spoken.ts";
import type { TurnParts } from "./parts.ts";

export interface Question {
  readonly voice: Voice;
  readonly held: Held;
  readonly persona: Promise<string>; // what the agent's files said when the turn began
  readonly tools: readonly Tool[];
  readonly turn: string;
  readonly step: number;
  readonly class: Class;
  /** Aborted with a Stopped. */
  readonly signal: AbortSignal;
}

export interface Asked {
  readonly answer: Answer;
  readonly modelMs: number; // of all tries together
}

/**
 * `said` collects the words of the try that counts, for whoever stops it in the middle. The context is put together when
 * there is a slot: what waits for one is small. Between tries the slot is somebody else's.
 */
export async function askModel(parts: TurnParts, question: Question, said: string[]): Promise<Asked> {
  const { held, signal } = question;
  const { key, root, settings } = held.row;
  let request: Request | null = null;
  let modelMs = 0;
  for (let tries = 1; ; tries += 1) {
    const slot = await parts.slots.take({ key, root, class: question.class, nice: settings.nice }, signal);
    let asked: Asked;
    try {
      request ??= await requestOf(parts, question);
      said.length = 0;
      asked = await askOnce(parts, question, request, said);
    } finally {
      slot.giveBack();
    }
    modelMs += asked.modelMs;
    const { answer } = asked;
    const isBusy = answer.kind === "failed" && answer.why === "retry";
    if (!isBusy || tries >= MODEL_TRIES_MAX) return { answer, modelMs };
    await parts.world.sleep(answer.retryAfterMs ?? MODEL_RETRY_MS * 2 ** (tries - 1), signal);
  }
}

async function askOnce(
  { world, bus }: TurnParts,
  { held: { key }, voice: { model }, turn, step, signal }: Question,
  request: Request,
  said: string[],
): Promise<Asked> {
  const fromMs = world.nowMs();
  const show: Parameters<Model["ask"]>[1] = ({ kind, text }) => {
    if (kind === "text") said.push(text);
    if (!bus.isQuiet(key)) bus.tell({ type: "delta", key, turn, step, kind, text });
  };
  try {
    const answer = await unlessAborted(model.ask(request, show), signal);
    if (!isWellFormed(answer)) throw new Error("it gave something that is no answer");
    return { answer: bounded(answer), modelMs: world.nowMs() - fromMs };
  } catch (error) {
    signal.throwIfAborted();
    // A model answers its failures. One that throws is broken: the turn fails, and the session goes on.
    const words = error instanceof Error ? error.message : String(error);
    const message = `${model.id} broke: ${words.slice(0, FAILURE_CHARS_MAX)}`;
    const answer: Answer = { kind: "failed", why: "local", message, retryAfterMs: null };
    return { answer, modelMs: world.nowMs() - fromMs };
  }
}

/** Programs bring models along, and JavaScript returns anything. */
function isWellFormed(answer: Answer | null | undefined): answer is Answer {
  if (answer?.kind === "failed") return typeof answer.message === "string";
  if (answer?.kind !== "reply") return false;
  const { content, usage } = answer;
  const amounts = [usage?.input, usage?.output, usage?.cacheRead, usage?.cacheWrite, usage?.cost?.total ?? 0];
  return Array.isArray(content) && content.every(isBlock) && amounts.every(Number.isFinite);
}

function isBlock(block: Partial<Block> | null): boolean {
  switch (block?.type) {
    case "text":
      return typeof block.text === "string";
    case "thinking":
      return typeof block.thinking === "string";
    case "toolCall": {
      const { id, name, arguments: given } = block;
      return (
        typeof id === "string" && typeof name === "string" && typeof given === "object" && given !== null
      );
    }
    default:
      return false;
  }
}

/** What a provider says about a failure can be a page of HTML. */
function bounded(answer: Answer): Answer {
  if (answer.kind === "reply") return answer;
  return { ...answer, message: answer.message.slice(0, FAILURE_CHARS_MAX).toWellFormed() };
}

async function requestOf(parts: TurnParts, question: Question): Promise<Request> {
  const { held, tools, signal, voice } = question;
  const { chatType } = describeKey(held.key);
  const isShared = chatType !== null && chatType !== "direct";
  const [persona, entries] = await Promise.all([question.persona, held.entries()]);
  const messages = await withPictures(assemble(entries, isShared), async ({ sha256, bytes }) =>
    parts.store.readBlob(sha256, { from: 0, bytes }),
  );
  return {
    system: systemOf(persona, held),
    messages,
    tools: tools.map(formOf),
    thinking: voice.thinking,
    signal,
  };
}

/** Byte for byte the same from step to step while nothing in it changes: providers charge less for what they have seen. */
function systemOf(persona: string, held: Held): string {
  const about = `You are the agent ${held.row.agent} in the session ${held.key}. ${MARKER_NOTE}`;
  return persona === "" ? about : `${persona}\n\n${about}`;
}
