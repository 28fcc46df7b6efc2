// One model is asked: with a slot, again when it was busy, and whatever it does, an answer comes back.

import type { Span } from "../base/span.ts";
import { unlessAborted } from "../base/waiting.ts";
import { FAILURE_CHARS_MAX, MODEL_RETRY_MS } from "../limits.ts";
import type { Class } from "../mail/letter.ts";
import type { Answer, Delta, Model, Request } from "../models/model.ts";
import type { Slot } from "../scheduler/slots.ts";
import type { Held } from "../sessions/held.ts";
import type { Block, MessageUsage } from "../transcript/entry.ts";
import type { TurnParts } from "./parts.ts";
import type { Voice } from "./spoken.ts";
import { tracedAsk } from "./traced.ts";

/** What a step wants to know, whoever is asked. */
export interface Question {
  readonly held: Held;
  readonly turn: string;
  readonly span: Span; // of the turn
  readonly step: number;
  /** Nobody is shown what comes: it is no answer to anybody. */
  readonly isSilent?: true;
  /** Of all who wait for the session now. */
  readonly class: () => Class;
  /** Aborted with a Stopped. */
  readonly signal: AbortSignal;
}

/** How long one model is waited for: less when there is another. */
export interface Patience {
  readonly triesMax: number;
  readonly pauseMsMax: number; // of its provider
}

/** Who is being asked, and the words of the try that counts: for whoever stops it in the middle. */
export interface Speaking {
  voice: Voice;
  words: string[];
  trouble: string | null; // what the try before came to; null: none has failed in this step
}

/** `request` is made when there is a slot, and once. */
interface OneVoice extends Question, Patience {
  readonly request: () => Promise<Request>;
}

/**
 * The context is put together when there is a slot: what waits for one is small. Between tries the slot is somebody
 * else's. A provider that asks for a pause gets it from everybody: the slots see to that, and there is no need to sleep.
 * Null: it was not asked, because its provider has a longer pause than is waited for.
 */
export async function askVoice(
  parts: TurnParts,
  question: OneVoice,
  speaking: Speaking,
): Promise<{ readonly answer: Answer | null; readonly modelMs: number }> {
  const { held, signal, pauseMsMax } = question;
  const { key, root, settings } = held.row;
  const { provider } = speaking.voice.model;
  let modelMs = 0;
  let answer: Answer | null = null;
  for (let tries = 1; ; tries += 1) {
    const asking = { key, root, class: question.class(), nice: settings.nice, provider };
    const slot = await parts.slots.takeSoon(asking, signal, pauseMsMax);
    if (slot === null) return { answer, modelMs };
    answer = null;
    try {
      const request = await question.request();
      const fromMs = parts.world.nowMs();
      const once = (): Promise<Answer> => askOnce(parts, { ...question, request, slot }, speaking);
      answer = await tracedAsk(speaking.voice.model, question, once);
      modelMs += parts.world.nowMs() - fromMs;
      if (answer.kind === "failed" && answer.throttled) parts.slots.throttled(provider, answer.retryAfterMs);
    } finally {
      slot.giveBack(answer?.kind === "reply" ? spentOn(answer.usage) : null);
    }
    if (answer.kind === "reply") return { answer, modelMs };
    speaking.words.length = 0; // What it had said is not an answer, nor the beginning of one.
    speaking.trouble = `${speaking.voice.model.id} failed: ${answer.message}`;
    const { why, message } = answer;
    parts.log.info({ key, model: speaking.voice.model.id, why, message, tries }, "a model gave no answer");
    if (why !== "retry" || tries >= question.triesMax) return { answer: counted(answer, tries), modelMs };
    if (answer.throttled) continue;
    const againMs = answer.retryAfterMs ?? MODEL_RETRY_MS * 2 ** (tries - 1);
    if (againMs > pauseMsMax) return { answer, modelMs };
    await parts.world.sleep(againMs, signal);
  }
}

function counted(answer: Answer, tries: number): Answer {
  if (answer.kind === "reply" || tries === 1) return answer;
  return bounded({ ...answer, message: `${answer.message} (it was asked ${tries} times)` });
}

/** What a call is charged in the scheduler: tokens, of which those that the provider remembered cost it a tenth. */
export function spentOn({ input, output, cacheRead, cacheWrite }: MessageUsage): number {
  return input + output + cacheWrite + cacheRead / 10;
}

async function askOnce(
  { bus, clean }: TurnParts,
  question: Question & { readonly request: Request; readonly slot: Slot },
  { voice: { model }, words }: Speaking,
): Promise<Answer> {
  const { held, turn, step, signal, request, slot, isSilent } = question;
  const { key } = held;
  let begins: { readonly begins?: true } = { begins: true };
  return await answeredBy(model, { request, slot, signal, clean }, ({ kind, text }) => {
    if (kind === "text") words.push(text);
    if (isSilent !== true && !bus.isQuiet(key))
      bus.tell({ type: "delta", key, turn, step, kind, text, ...begins });
    begins = {};
  });
}

interface Asked {
  readonly request: Request;
  readonly slot: Slot;
  readonly signal: AbortSignal;
  /** Takes the secrets of the configuration out of what it says about a failure: before that is cut, which may be in one of them. */
  readonly clean: (text: string) => string;
}

/**
 * One model, one time, whatever it does. Once it speaks, or says what is wrong with the question, it works; when it is busy or
 * silent, nobody knows. Rejects only when the signal is aborted, with its reason.
 */
export async function answeredBy(
  model: Model,
  { request, slot, signal, clean }: Asked,
  heard: (delta: Delta) => void,
): Promise<Answer> {
  let hasSpoken = false;
  const show = (delta: Delta): void => {
    if (!hasSpoken) slot.works();
    hasSpoken = true;
    heard(delta);
  };
  try {
    const answer = await unlessAborted(model.ask(request, show), signal);
    if (!isWellFormed(answer)) throw new Error("it gave something that is no answer");
    if (answer.kind === "reply" || answer.why !== "retry") slot.works();
    return answer.kind === "reply" ? answer : bounded({ ...answer, message: clean(answer.message) });
  } catch (error) {
    signal.throwIfAborted();
    // A model answers its failures. One that throws is broken: the turn fails, and the session goes on.
    const said = error instanceof Error ? error.message : String(error);
    const message = `${model.id} broke: ${clean(said)}`;
    return bounded({ kind: "failed", why: "local", message, retryAfterMs: null, throttled: false });
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
export function bounded(answer: Answer): Answer {
  if (answer.kind === "reply") return answer;
  return { ...answer, message: answer.message.slice(0, FAILURE_CHARS_MAX).toWellFormed() };
}
