// Chat completions: a message to a session, and what its turn says.

import { problemResponse, turnProblem } from "./errors.ts";
import { saidIn } from "./message.ts";
import { streamed } from "./pieces.ts";
import type { Tokens } from "./reading.ts";
import { sessionFor, wantedIn, type Naming } from "./sessions.ts";
import type { ChatRequest } from "./shapes.ts";
import { ask, send, spotName, spotOf, telling, type Asking, type Sent, type Told } from "./turn.ts";

export async function chat(
  asking: Asking,
  request: ChatRequest,
  naming: Omit<Naming, "user">,
): Promise<Response> {
  const { gate, caller } = asking;
  const wanted = wantedIn(gate, request.model);
  const session = sessionFor(gate, caller, wanted, { ...naming, user: request.user });
  const message = {
    sessionKey: session.sessionKey,
    ...saidIn(request.messages, { param: "messages", isFresh: session.isFresh }),
    id: naming.messageId,
    model: wanted.model ?? undefined,
  };
  if (request.stream === true) {
    const sent = await send(asking, message);
    const hasUsage = request.stream_options?.include_usage === true;
    const chunks = chunksOf(asking, sent, new Frame(asking, sent, { model: request.model, hasUsage }));
    return streamed(asking, sent, chunks, ({ error }) => chunk({ error }));
  }
  const { sent, told } = await ask(asking, message);
  if (told.outcome !== "done") return problemResponse(turnProblem(told.outcome, told.reason));
  return Response.json(completion(asking, sent, told, request.model), {
    headers: { "x-session-key": sent.sessionKey },
  });
}

function completion({ gate }: Asking, sent: Sent, told: Told, model: string): object {
  return {
    id: idOf(sent),
    object: "chat.completion",
    created: Math.floor(gate.system.world.nowMs() / 1_000),
    model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: told.text, refusal: null },
        logprobs: null,
        finish_reason: finishOf(told),
      },
    ],
    usage: usageOf(told.tokens),
  };
}

function idOf(sent: Sent): string {
  return `chatcmpl-${spotName(spotOf(sent))}`;
}

/** What is around each piece. */
class Frame {
  readonly #base: object;
  readonly hasUsage: boolean;

  constructor(
    { gate }: Asking,
    sent: Sent,
    { model, hasUsage }: { readonly model: string; readonly hasUsage: boolean },
  ) {
    const created = Math.floor(gate.system.world.nowMs() / 1_000);
    this.#base = { id: idOf(sent), object: "chat.completion.chunk", created, model };
    this.hasUsage = hasUsage;
  }

  piece(delta: object, finish: "stop" | "length" | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return chunk({ ...this.#base, choices, ...(this.hasUsage ? { usage: null } : {}) });
  }

  usage(tokens: Tokens): string {
    return chunk({ ...this.#base, choices: [], usage: usageOf(tokens) });
  }
}

async function* chunksOf(asking: Asking, sent: Sent, frame: Frame): AsyncGenerator<string, void> {
  yield frame.piece({ role: "assistant", content: "" });
  for await (const piece of telling(asking, sent)) {
    if (typeof piece === "string") {
      yield frame.piece({ content: piece });
      continue;
    }
    if (piece.outcome !== "done") {
      yield chunk({ error: turnProblem(piece.outcome, piece.reason).error });
      return;
    }
    yield frame.piece({}, finishOf(piece));
    if (frame.hasUsage) yield frame.usage(piece.tokens);
  }
  yield "data: [DONE]\n\n";
}

function chunk(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function finishOf({ isCut }: Told): "stop" | "length" {
  return isCut ? "length" : "stop";
}

function usageOf({ input, cached, output }: Tokens): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
