// A model is asked for a summary, and what it says is checked before anything rests on it. Whatever it does, there is one: at
// the latest the one that is made without a model, and says so.

import { sized, type Material } from "../context/material.ts";
import { chunksOf, questionOf } from "../context/question.ts";
import { cleaned, mended, problemsIn, truncationOf } from "../context/summary.ts";
import { alarm } from "../base/waiting.ts";
import { SUMMARY_TRIES_MAX } from "../limits.ts";
import type { Answer, Request } from "../models/model.ts";
import { PAID, type Paid } from "../transcript/fold.ts";
import type { Question } from "./ask.ts";
import type { Writing } from "../sessions/held.ts";
import type { TurnParts } from "./parts.ts";
import { reserved } from "./reserving.ts";
import type { Voice } from "./spoken.ts";
import { askModel, type Voices } from "./voices.ts";

export interface Summarising extends Question {
  readonly voices: Voices;
  readonly material: Material;
  readonly focus: string | null; // what is to be kept above all
  readonly bytesMax: number; //     of the summary
  readonly roomBytes: number; //    of what the summariser is shown at once
  readonly limitMs: number; //      of one attempt
}

export interface Summarised {
  readonly sections: string;
  /** Why no model's summary stands here; null: one does. */
  readonly truncated: string | null;
}

/** Characters that the summary of a part has at least: less is none. */
const PART_CHARS_MIN = 200;

/** Attempts at a summary that came to nothing, in one turn: one that keeps failing is not asked for ever. */
export class Attempts {
  #failed = 0;

  get areLeft(): boolean {
    return this.#failed < SUMMARY_TRIES_MAX;
  }

  failed(): void {
    this.#failed += 1;
  }
}

/** Rejects with the reason of the signal, or when a budget is used up. */
export async function summarised(
  parts: TurnParts,
  asked: Summarising,
  attempts: Attempts,
): Promise<Summarised> {
  const { bytesMax } = asked;
  const material = sized(asked.material, bytesMax);
  let why = "it could not be made twice in this turn";
  let best: string | null = null;
  let roomBytes = asked.roomBytes;
  let problems: readonly string[] = [];
  while (attempts.areLeft) {
    const said = await inTime(parts, { ...asked, material, roomBytes, problems });
    if (typeof said === "string") {
      problems = problemsIn(said, material, bytesMax);
      if (problems.length === 0) return { sections: cleaned(said), truncated: null };
      why = problems.join("; ");
      best = said;
    } else {
      why = said.message;
      if (said.why === "overflow") roomBytes = Math.floor(roomBytes * shareFor(said.voice, asked.voices));
    }
    attempts.failed();
    parts.log.warn({ key: asked.held.key, why }, "a summary was not good enough");
    if (typeof said !== "string" && (said.why === "auth" || said.why === "local")) break; // Asking again will not help.
  }
  const whole = best === null ? null : mended(best, material, bytesMax);
  if (whole !== null && problemsIn(whole, material, bytesMax).length === 0)
    return { sections: whole, truncated: null };
  return { sections: truncationOf(material, why, bytesMax), truncated: why };
}

interface Attempt extends Summarising {
  readonly problems: readonly string[]; // of the summary before; none: it is the first
}

/** One that takes too long has failed: else a slow model would use up turn after turn, and nothing would come of it. */
async function inTime(parts: TurnParts, asked: Attempt): Promise<string | Failed> {
  const late = new AbortController();
  const seconds = Math.ceil(asked.limitMs / 1_000);
  const callOff = alarm(parts.world, asked.limitMs, () => late.abort());
  try {
    return await written(parts, { ...asked, signal: AbortSignal.any([asked.signal, late.signal]) });
  } catch (error) {
    if (asked.signal.aborted || !late.signal.aborted) throw error;
    return failed(`it took longer than ${seconds} s`, asked.voices[0]);
  } finally {
    callOff();
  }
}

function failed(message: string, voice: Voice): Failed {
  return { kind: "failed", why: "retry", message, retryAfterMs: null, throttled: false, voice };
}

/** A history larger than the summariser's window goes in parts, each on top of the summary of those before it. */
async function written(
  parts: TurnParts,
  { material, focus, roomBytes, problems, voices, ...question }: Attempt,
): Promise<string | Failed> {
  const { held, signal } = question;
  let before = material.before;
  const chunks = chunksOf(material, roomBytes);
  for (const [at, chunk] of chunks.entries()) {
    const { system, text } = questionOf({ ...chunk, before }, focus);
    const content = problems.length === 0 ? text : `${text}\n\n${againWords(problems)}`;
    const request: Request = {
      system,
      messages: [{ role: "user", content, timestamp: parts.world.nowMs() }],
      tools: [],
      thinking: "off",
      cacheKey: `${held.row.transcript.id}-summary`,
      signal,
    };
    const step = { ...question, voices, request: () => Promise.resolve(request), isSilent: true } as const;
    const settle = await reserved(parts.budgets, held, signal);
    const { answer, modelMs, voice } = await askModel(parts, step, {
      voice: voices[0],
      words: [],
      trouble: null,
    }).finally(settle);
    await held.commit(paidFor(answer, modelMs));
    if (answer.kind === "failed") return { ...answer, voice };
    before = saidIn(answer);
    // What is lost here would not be missed later: the next part goes on from it.
    const isLost = before.length < PART_CHARS_MIN || answer.stopReason === "length";
    if (isLost && at < chunks.length - 1) return failed("the summary of a part came to nothing", voice);
  }
  return before ?? "";
}

type Failed = Extract<Answer, { kind: "failed" }> & { readonly voice: Voice };

/** Of what it was shown: a half, or as much as a fallback's window is smaller than that of the first. */
function shareFor({ model }: Voice, [first]: Voices): number {
  return Math.min(1 / 2, model.windowTokens / first.model.windowTokens);
}

/** Words for whoever has to write it once more. */
function againWords(problems: readonly string[]): string {
  return `A summary of this was refused: ${problems.join("; ")}. Write one without these faults.`;
}

function saidIn({ content }: Extract<Answer, { kind: "reply" }>): string {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.join("\n").trim();
}

/** What is written down and charged of a model that was asked: it was paid for, whatever comes of it. */
function paidFor(answer: Answer, modelMs: number): Pick<Writing, "entries" | "charge"> {
  if (answer.kind === "failed") return { charge: { modelMs } };
  const { usage } = answer;
  const { cost, ...tokens } = usage;
  const data: Paid = { usage };
  return {
    entries: [{ type: "custom", customType: PAID, data }],
    charge: { ...tokens, cost: cost?.total ?? 0, modelMs },
  };
}
