// One step's question to the model: what it is shown, the slot it needs, and whom to ask when the first cannot be.

import { unlessAborted } from "../base/waiting.ts";
import { assemble, withPictures } from "../context/assemble.ts";
import {
  FAILOVER_PATIENCE_MS,
  FAILURE_CHARS_MAX,
  MODEL_RETRY_MS,
  MODEL_TRIES_BEFORE_FAILOVER,
  MODEL_TRIES_MAX,
} from "../limits.ts";
import type { Class } from "../mail/letter.ts";
import type { Answer, Model, Request } from "../models/model.ts";
import { MARKER_NOTE } from "../routing/envelope.ts";
import { describeKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import { formOf, type Tool } from "../tools/tool.ts";
import type { Block, MessageUsage } from "../transcript/entry.ts";
import type { PassedOver, Voice } from "./spoken.ts";
import type { TurnParts } from "./parts.ts";

export interface Question {
  /** Who is asked: the first, or in this order the others, when the ones before cannot be reached. At least one. */
  readonly voices: readonly Voice[];
  readonly held: Held;
  readonly persona: Promise<string>; // what the agent's files said when the turn began
  readonly tools: Promise<readonly Tool[]>;
  readonly turn: string;
  readonly step: number;
  /** Of all who wait for the session now. */
  readonly class: () => Class;
  /** Aborted with a Stopped. */
  readonly signal: AbortSignal;
}

export interface Asked {
  readonly answer: Answer;
  readonly modelMs: number; // of all tries together
  readonly voice: Voice; //    who answered, or failed last
  readonly passedOver: readonly PassedOver[]; // those before it, and why
}

/** Who is being asked, and the words of the try that counts: for whoever stops it in the middle. */
export interface Speaking {
  voice: Voice;
  words: string[];
}

/**
 * Every step asks the first again: a fallback is for one step. A failure that another model would meet too (the context
 * is too large, or what we ask for is wrong) is nobody's to fall back on.
 */
export async function askModel(parts: TurnParts, question: Question, speaking: Speaking): Promise<Asked> {
  const passedOver: PassedOver[] = [];
  const request = onlyOnce(() => requestOf(parts, question));
  let modelMs = 0;
  for (const [at, voice] of question.voices.entries()) {
    const { id, provider } = voice.model;
    const isLast = at === question.voices.length - 1;
    const coolsForMs = parts.slots.coolsForMs(provider);
    if (!isLast && coolsForMs > HASTY.pauseMsMax) {
      const why = `${provider} asked for a pause, of which ${Math.ceil(coolsForMs / 1_000)} s are left`;
      passedOver.push({ model: id, why });
      continue;
    }
    speaking.voice = voice;
    const asked = await askVoice(parts, { ...question, request, ...(isLast ? PATIENT : HASTY) }, speaking);
    modelMs += asked.modelMs;
    const { answer } = asked;
    const isOther = answer.kind === "failed" && (answer.why === "retry" || answer.why === "auth");
    if (isLast || !isOther) return { answer: withStory(answer, passedOver), modelMs, voice, passedOver };
    passedOver.push({ model: id, why: answer.message });
  }
  throw new Error("nobody to ask");
}

/** Of a step that failed whole: whom it asked before. */
function withStory(answer: Answer, passedOver: readonly PassedOver[]): Answer {
  if (answer.kind === "reply" || passedOver.length === 0) return answer;
  const before = passedOver.map(({ model, why }) => `${model}: ${why}`).join("; ");
  return bounded({ ...answer, message: `${answer.message} (before it, ${before})` });
}

interface OneVoice extends Question, Patience {
  readonly request: () => Promise<Request>;
}

/** How long one model is waited for: less when there is another. */
interface Patience {
  readonly triesMax: number;
  readonly pauseMsMax: number; // of its provider
}

const PATIENT: Patience = { triesMax: MODEL_TRIES_MAX, pauseMsMax: Infinity };
const HASTY: Patience = { triesMax: MODEL_TRIES_BEFORE_FAILOVER, pauseMsMax: FAILOVER_PATIENCE_MS };

/**
 * The context is put together when there is a slot: what waits for one is small. Between tries the slot is somebody
 * else's. A provider that asks for a pause gets it from everybody: the slots see to that, and there is no need to sleep.
 */
async function askVoice(
  parts: TurnParts,
  question: OneVoice,
  speaking: Speaking,
): Promise<{ readonly answer: Answer; readonly modelMs: number }> {
  const { held, signal } = question;
  const { key, root, settings } = held.row;
  const { provider } = speaking.voice.model;
  let modelMs = 0;
  for (let tries = 1; ; tries += 1) {
    const asking = { key, root, class: question.class(), nice: settings.nice, provider };
    const slot = await parts.slots.take(asking, signal);
    let answer: Answer | null = null;
    try {
      const request = await question.request();
      speaking.words.length = 0;
      const fromMs = parts.world.nowMs();
      answer = await askOnce(parts, question, request, speaking);
      modelMs += parts.world.nowMs() - fromMs;
      if (answer.kind === "failed" && answer.throttled) parts.slots.throttled(provider, answer.retryAfterMs);
    } finally {
      slot.giveBack(answer?.kind === "reply" ? spentOn(answer.usage) : null);
    }
    if (answer.kind === "reply" || answer.why !== "retry" || tries >= question.triesMax)
      return { answer, modelMs };
    if (parts.slots.coolsForMs(provider) > question.pauseMsMax) return { answer, modelMs };
    if (!answer.throttled)
      await parts.world.sleep(answer.retryAfterMs ?? MODEL_RETRY_MS * 2 ** (tries - 1), signal);
  }
}

/** What a call is charged in the scheduler: tokens, of which those that the provider remembered cost it a tenth. */
function spentOn({ input, output, cacheRead, cacheWrite }: MessageUsage): number {
  return input + output + cacheWrite + cacheRead / 10;
}

async function askOnce(
  { bus }: TurnParts,
  { held: { key }, turn, step, signal }: Question,
  request: Request,
  { voice: { model }, words }: Speaking,
): Promise<Answer> {
  const show: Parameters<Model["ask"]>[1] = ({ kind, text }) => {
    if (kind === "text") words.push(text);
    if (!bus.isQuiet(key)) bus.tell({ type: "delta", key, turn, step, kind, text });
  };
  try {
    const answer = await unlessAborted(model.ask(request, show), signal);
    if (!isWellFormed(answer)) throw new Error("it gave something that is no answer");
    return bounded(answer);
  } catch (error) {
    signal.throwIfAborted();
    // A model answers its failures. One that throws is broken: the turn fails, and the session goes on.
    const said = error instanceof Error ? error.message : String(error);
    const message = `${model.id} broke: ${said.slice(0, FAILURE_CHARS_MAX)}`;
    return { kind: "failed", why: "local", message, retryAfterMs: null, throttled: false };
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

function onlyOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => (made ??= make());
}

async function requestOf(parts: TurnParts, question: Question): Promise<Request> {
  const { held, signal, voices } = question;
  const { chatType } = describeKey(held.key);
  const isShared = chatType !== null && chatType !== "direct";
  const [persona, tools, entries] = await Promise.all([question.persona, question.tools, held.entries()]);
  const messages = await withPictures(assemble(entries, isShared), async ({ sha256, bytes }) =>
    parts.store.readBlob(sha256, { from: 0, bytes }),
  );
  return {
    system: systemOf(persona, held),
    messages,
    tools: tools.map(formOf),
    thinking: voices[0]?.thinking ?? "off",
    cacheKey: held.row.transcript.id,
    signal,
  };
}

/** Byte for byte the same from step to step while nothing in it changes: providers charge less for what they have seen. */
function systemOf(persona: string, held: Held): string {
  const about = `You are the agent ${held.row.agent} in the session ${held.key}. ${MARKER_NOTE}`;
  return persona === "" ? about : `${persona}\n\n${about}`;
}
