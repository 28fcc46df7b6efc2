// A response as a client is shown it: when it has begun, when it is over, and whenever it is asked for again.

import type { Person } from "../../calls/call.ts";
import { saidTo } from "../../calls/reach.ts";
import { agentOf } from "../../routing/key.ts";
import { turnProblem, type Problem } from "./errors.ts";
import type { Reading, Tokens } from "./reading.ts";
import { OWN_NAME } from "./sessions.ts";
import type { ResponsesRequest } from "./shapes.ts";
import { spotName, type Named, type Told } from "./turn.ts";

type Status = "queued" | "in_progress" | "completed" | "incomplete" | "failed";

/** What a response says that does not change while it comes. */
export interface Frame {
  readonly id: string;
  readonly createdAt: number; //       seconds
  readonly request: ResponsesRequest | null; // null: it is not kept, and this is asked for later
  readonly model: string;
}

const PREFIX = "resp_";

export function responseId(named: Named): string {
  return `${PREFIX}${spotName(named)}`;
}

/** The name of the spot; an id of another kind names none. */
export function spotIn(id: string): string {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : "";
}

export function itemId({ id }: Frame): string {
  return `msg_${id.slice(PREFIX.length)}`;
}

export function outputText(text: string): object {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

export function outputItem(frame: Frame, status: Status, text: string | null): object {
  const content = text === null ? [] : [outputText(text)];
  return { id: itemId(frame), type: "message", role: "assistant", status, content };
}

export function begun(frame: Frame, status: "queued" | "in_progress"): object {
  return responseOf(frame, { status, output: [], problem: null, tokens: null });
}

export function statusOf({ outcome, isCut }: Told): Status {
  if (outcome !== "done") return "failed";
  return isCut ? "incomplete" : "completed";
}

export function ended(frame: Frame, told: Told): object {
  const status = statusOf(told);
  const { outcome, reason, text, tokens } = told;
  const problem = outcome === "done" ? null : turnProblem(outcome, reason);
  const output =
    text === "" && problem !== null
      ? []
      : [outputItem(frame, status === "completed" ? status : "incomplete", text)];
  return responseOf(frame, { status, output, problem, tokens });
}

/** It broke on the way to the client: what became of the turn is to be asked for again. */
export function broken(frame: Frame, problem: Problem): object {
  return responseOf(frame, { status: "failed", output: [], problem, tokens: null });
}

/** Of a response that is asked for later, whose request is not kept. */
export function frameOf(named: Named, sinceMs: number): Frame {
  return {
    id: responseId(named),
    createdAt: Math.floor(sinceMs / 1_000),
    request: null,
    model: `${OWN_NAME}/${agentOf(named.key)}`,
  };
}

/** As the transcript has it. */
export function kept(frame: Frame, reading: Reading, caller: Person): object {
  const { end, tokens, isCut } = reading;
  if (end === null) return begun(frame, reading.sinceMs === null ? "queued" : "in_progress");
  const { outcome, reason } = end;
  return ended(frame, saidTo(caller, { outcome, reason, text: reading.text(), tokens, isCut }));
}

function responseOf(
  { id, createdAt, request, model }: Frame,
  of: {
    readonly status: Status;
    readonly output: readonly object[];
    readonly problem: Problem | null;
    readonly tokens: Tokens | null;
  },
): object {
  const { status, output, problem, tokens } = of;
  return {
    id,
    object: "response",
    created_at: createdAt,
    status,
    error: problem && { code: "server_error", message: problem.error.message },
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: request?.instructions ?? null,
    metadata: request?.metadata ?? {},
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: request?.previous_response_id ?? null,
    store: true, // a session keeps what was said in it
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: null,
    usage: tokens && usageOf(tokens),
    ...(request?.user == null ? {} : { user: request.user }),
  };
}

function usageOf({ input, cached, output }: Tokens): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 }, // nobody says how many of them were thought
    total_tokens: input + output,
  };
}
