// What is told of a turn to whoever traces: the turn, each time a model is asked, and each tool that runs, under the names of
// OpenTelemetry's conventions for generative AI. Never what was said: a trace is read by others than a transcript.

import { SpanKind } from "@opentelemetry/api";
import { Span, typeOf } from "../base/span.ts";
import type { Answer, Model } from "../models/model.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Held } from "../sessions/held.ts";
import type { Result } from "../tools/tool.ts";
import { Stopped, type Rest } from "./stop.ts";
import type { ToolCall, TurnOutcome } from "./where.ts";

/** Characters of a tool's name in that of a span: a model may call anything. */
const NAME_CHARS_MAX = 80;

/** What the conventions call a provider, where that is not what we call it. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["google", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
]);

/** Ends of a turn that nobody wanted. */
const UNWANTED: ReadonlySet<string> = new Set(["failed", "overflow", "timeout", "limit", "interrupted"]);

export function turnSpan(agent: string, key: SessionKey): Span {
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": agent,
    "gen_ai.conversation.id": key,
  };
  return new Span({ name: `invoke_agent ${agent}`, kind: SpanKind.INTERNAL, attributes }, null);
}

/** A turn that rests goes on in a span of its own. */
export function tellEnd(span: Span, outcome: TurnOutcome | Rest["kind"]): void {
  span.set({ "sessiond.turn.outcome": outcome });
  if (UNWANTED.has(outcome)) span.failed(outcome);
}

/** What a model is asked for, or a tool runs for. */
interface Within {
  readonly span: Span; // of the turn
  readonly held: Pick<Held, "key">;
}

/** One time that a model is asked. */
export async function tracedAsk(
  { provider, name }: Model,
  { span: turn, held: { key } }: Within,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": PROVIDERS.get(provider) ?? provider,
    "gen_ai.request.model": name,
    "gen_ai.conversation.id": key,
  };
  const span = new Span({ name: `chat ${name}`, kind: SpanKind.CLIENT, attributes }, turn);
  return await span.over(endOf, async () => {
    const answer = await ask();
    if (answer.kind === "failed") span.failed(answer.throttled ? "throttled" : answer.why);
    else span.set(usageIn(answer));
    return answer;
  });
}

/** Tokens that a provider remembered are counted among those that it read. */
function usageIn({ usage, stopReason }: Extract<Answer, { kind: "reply" }>) {
  const { input, output, cacheRead, cacheWrite } = usage;
  return {
    "gen_ai.usage.input_tokens": input + cacheRead + cacheWrite,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cacheRead,
    "gen_ai.usage.cache_creation.input_tokens": cacheWrite,
    "gen_ai.response.finish_reasons": [stopReason],
  };
}

/** One time that a tool runs, or is refused. */
export async function tracedCall(
  { id, name }: ToolCall,
  { span: turn, held: { key } }: Within,
  run: () => Promise<Result>,
): Promise<Result> {
  const tool = name.slice(0, NAME_CHARS_MAX);
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.call.id": id,
    "gen_ai.conversation.id": key,
  };
  const span = new Span({ name: `execute_tool ${tool}`, kind: SpanKind.INTERNAL, attributes }, turn);
  return await span.over(endOf, async () => {
    const result = await run();
    if (result.isError === true) span.failed("tool_error");
    return result;
  });
}

/** A stop is no failure of a model's or a tool's, and says its kind. */
export function endOf(error: unknown): string {
  return error instanceof Stopped ? error.stop.kind : typeOf(error);
}
