// Who is asked in a step: the model in force, and when it cannot be reached, those to fall back on.

import type { Agent } from "../config/config.ts";
import { FAILOVER_PATIENCE_MS, MODEL_TRIES_BEFORE_FAILOVER, MODEL_TRIES_MAX } from "../limits.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Answer, Request, Thinking } from "../models/model.ts";
import type { InForce } from "../sessions/inforce.ts";
import { askVoice, bounded, type Patience, type Question, type Speaking } from "./ask.ts";
import type { TurnParts } from "./parts.ts";
import type { PassedOver, Voice } from "./spoken.ts";

/** The first is asked; the others, in this order, when the ones before cannot be reached. */
export type Voices = readonly [Voice, ...Voice[]];

/** bad_input: there is no such model. */
export function voicesOf(catalog: Catalog, agent: Agent, { model, thinking }: InForce): Voices {
  const voice = (name: string): Voice => ({ model: catalog.find(name), thinking: thinking as Thinking });
  const first = voice(model);
  const others = agent.failover.map(voice).filter((each) => each.model.id !== first.model.id);
  return [first, ...others];
}

export interface Step extends Question {
  readonly voices: Voices;
  readonly request: () => Promise<Request>;
}

export interface Asked {
  readonly answer: Answer;
  readonly modelMs: number; // of all tries together
  readonly voice: Voice; //    who answered, or failed last
  readonly passedOver: readonly PassedOver[]; // those before it, and why
}

/**
 * Every step asks the first again: a fallback is for one step. A failure that another model would meet too (the context
 * is too large, or what we ask for is wrong) is nobody's to fall back on.
 */
export async function askModel(parts: TurnParts, step: Step, speaking: Speaking): Promise<Asked> {
  const { voices } = step;
  const request = onlyOnce(step.request);
  const left = [...voices];
  const failed: PassedOver[] = [];
  let modelMs = 0;
  for (;;) {
    const [voice, patience] = nextVoice(parts, left);
    speaking.voice = voice;
    const asked = await askVoice(parts, { ...step, ...patience, request }, speaking);
    modelMs += asked.modelMs;
    const { answer } = asked;
    if (answer === null) continue; // It got its pause while it was waited for: who is back soonest now?
    left.splice(left.indexOf(voice), 1);
    const isOther = answer.kind === "failed" && (answer.why === "retry" || answer.why === "auth");
    if (left.length === 0 || !isOther) {
      const passedOver = [...failed, ...paused(parts, { voices, left, spoke: voice })];
      return { answer: withStory(answer, passedOver), modelMs, voice, passedOver };
    }
    failed.push({ model: voice.model.id, why: answer.message });
  }
}

const HASTY: Patience = { triesMax: MODEL_TRIES_BEFORE_FAILOVER, pauseMsMax: FAILOVER_PATIENCE_MS };

/** The first whose provider has no long pause. All have one: who is back soonest, and then that is waited for. */
function nextVoice(
  { slots }: TurnParts,
  left: readonly Voice[],
): readonly [voice: Voice, patience: Patience] {
  const pauseMs = ({ model }: Voice): number => slots.coolsForMs(model.provider);
  const [soonest] = left.toSorted((one, other) => pauseMs(one) - pauseMs(other));
  const voice = left.find((each) => pauseMs(each) <= HASTY.pauseMsMax) ?? soonest;
  if (voice === undefined) throw new Error("there is nobody to ask");
  if (left.length === 1) return [voice, { triesMax: MODEL_TRIES_MAX, pauseMsMax: Infinity }];
  return [voice, pauseMs(voice) <= HASTY.pauseMsMax ? HASTY : { ...HASTY, pauseMsMax: Infinity }];
}

/** Those before the one who spoke that were not asked, because their provider has a pause. */
function paused(
  { slots }: TurnParts,
  {
    voices,
    left,
    spoke,
  }: { readonly voices: Voices; readonly left: readonly Voice[]; readonly spoke: Voice },
): PassedOver[] {
  const before = left.filter((voice) => voices.indexOf(voice) < voices.indexOf(spoke));
  return before.map(({ model: { id, provider } }) => {
    const seconds = Math.ceil(slots.coolsForMs(provider) / 1_000);
    return { model: id, why: `${provider} asked for a pause, of which ${seconds} s are left` };
  });
}

/** Of a step that failed whole: whom it asked before. */
function withStory(answer: Answer, passedOver: readonly PassedOver[]): Answer {
  if (answer.kind === "reply" || passedOver.length === 0) return answer;
  const before = passedOver.map(({ model, why }) => `${model}: ${why}`).join("; ");
  return bounded({ ...answer, message: `${answer.message} (before it, ${before})` });
}

function onlyOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => (made ??= make());
}
