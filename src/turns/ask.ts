// One step's question to the model: what it is shown, the slot it needs, and asking again when it was busy.

import type { Agent } from "../config/config.ts";
import { assemble, withPictures } from "../context/assemble.ts";
import { MODEL_RETRY_MS, MODEL_TRIES_MAX } from "../limits.ts";
import type { Class } from "../mail/letter.ts";
import type { Answer, Model, Request, Thinking } from "../models/model.ts";
import { MARKER_NOTE } from "../routing/envelope.ts";
import { describeKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import { formOf, type Tool } from "../tools/tool.ts";
import type { Voice } from "./spoken.ts";
import { unlessAborted } from "./stop.ts";
import type { TurnParts } from "./turn.ts";

export interface Question {
  readonly voice: Voice;
  readonly held: Held;
  readonly agent: Agent;
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

/** `said` collects the words of the try that counts, for whoever stops it in the middle. */
export async function askModel(parts: TurnParts, question: Question, said: string[]): Promise<Asked> {
  const { model, thinking } = question.voice;
  const request = await requestOf(parts, question, thinking);
  let modelMs = 0;
  for (let tries = 1; ; tries += 1) {
    said.length = 0;
    const { answer, tookMs } = await askOnce(parts, question, { model, request, said });
    modelMs += tookMs;
    const isBusy = answer.kind === "failed" && answer.why === "retry";
    if (!isBusy || tries >= MODEL_TRIES_MAX) return { answer, modelMs };
    await parts.world.sleep(answer.retryAfterMs ?? MODEL_RETRY_MS * 2 ** (tries - 1), question.signal);
  }
}

async function askOnce(
  parts: TurnParts,
  { held, turn, step, class: of, signal }: Question,
  { model, request, said }: { readonly model: Model; readonly request: Request; readonly said: string[] },
): Promise<{ readonly answer: Answer; readonly tookMs: number }> {
  const { key, root, settings } = held.row;
  const slot = await parts.slots.take({ key, root, class: of, nice: settings.nice }, signal);
  const fromMs = parts.world.nowMs();
  try {
    const isQuiet = parts.bus.isQuiet(key);
    const show: Parameters<Model["ask"]>[1] = ({ kind, text }) => {
      if (kind === "text") said.push(text);
      if (!isQuiet) parts.bus.tell({ type: "delta", key, turn, step, kind, text });
    };
    const answer = await unlessAborted(model.ask(request, show), signal);
    return { answer, tookMs: parts.world.nowMs() - fromMs };
  } catch (error) {
    signal.throwIfAborted();
    // A model answers its failures. One that throws is broken: the turn fails, and the session goes on.
    const message = `${model.id} broke: ${error instanceof Error ? error.message : String(error)}`;
    const answer: Answer = { kind: "failed", why: "local", message, retryAfterMs: null };
    return { answer, tookMs: parts.world.nowMs() - fromMs };
  } finally {
    slot.giveBack();
  }
}

async function requestOf(parts: TurnParts, question: Question, thinking: Thinking): Promise<Request> {
  const { held, agent, tools, signal } = question;
  const { kind, chatType } = describeKey(held.key);
  const isShared = chatType !== null && chatType !== "direct";
  const [persona, entries] = await Promise.all([
    parts.prompts.of(agent, kind === "subagent" ? "subagent" : "session"),
    held.entries(),
  ]);
  const messages = await withPictures(assemble(entries, isShared), async ({ sha256, bytes }) =>
    parts.store.readBlob(sha256, { from: 0, bytes }),
  );
  return { system: systemOf(persona, held), messages, tools: tools.map(formOf), thinking, signal };
}

/** Byte for byte the same from step to step while nothing in it changes: providers charge less for what they have seen. */
function systemOf(persona: string, held: Held): string {
  const about = `You are the agent ${held.row.agent} in the session ${held.key}. ${MARKER_NOTE}`;
  return persona === "" ? about : `${persona}\n\n${about}`;
}
