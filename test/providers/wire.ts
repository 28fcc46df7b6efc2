// How each protocol streams an answer, and how it says that something is wrong.

import type { Api } from "../../src/config/config.ts";

export interface Spoken {
  readonly thinking?: string;
  /** Thinking that only its provider can read. */
  readonly redacted?: boolean;
  readonly text?: string;
  readonly calls?: readonly { readonly id?: string; readonly name: string; readonly arguments: object }[];
  /** `input` is what was not cached. */
  readonly usage?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
  readonly ends?: "stop" | "length" | "filtered";
}

/** A frame of the stream; `part` says where a cut hurts. */
export interface Frame {
  readonly part: "open" | "thinking" | "text" | "call" | "close";
  readonly data: object | string;
}

export type Sign = (text: string) => string;

export function frames(api: Api, spoken: Spoken, sign: Sign): Frame[] {
  return WIRE[api](spoken, sign);
}

/** As the protocol writes it. */
export function written(api: Api, { data }: Frame): string {
  if (typeof data === "string") return `data: ${data}\n\n`;
  const named =
    (api === "anthropic" || api === "openai") && "type" in data ? `event: ${String(data.type)}\n` : "";
  return `${named}data: ${JSON.stringify(data)}\n\n`;
}

export function errorBody(api: Api, status: number, message: string, code: string | null = null): object {
  switch (api) {
    case "anthropic":
      return { type: "error", error: { type: code ?? anthropicType(status), message }, request_id: "req_1" };
    case "google":
      return { error: { code: status, message, status: code ?? googleStatus(status) } };
    default:
      return { error: { message, type: code ?? "invalid_request_error", param: null, code } };
  }
}

export function overflowBody(api: Api): object {
  switch (api) {
    case "anthropic":
      return errorBody(api, 400, "prompt is too long: 210000 tokens > 200000 maximum");
    case "openai":
      return errorBody(
        api,
        400,
        "Your input exceeds the context window of this model.",
        "context_length_exceeded",
      );
    case "google":
      return errorBody(
        api,
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      );
    case "openai-compatible":
      return errorBody(
        api,
        400,
        "the request exceeds the available context size. try increasing the context size",
      );
  }
}

/** Of a picture that cannot be read. */
export function pictureBody(api: Api): object {
  switch (api) {
    case "anthropic":
      return errorBody(api, 400, "messages.0.content.1.image.source.base64.data: Could not process image");
    case "openai":
      return errorBody(
        api,
        400,
        "The image data you provided does not represent a valid image.",
        "invalid_image",
      );
    case "google":
      return errorBody(api, 400, "Unable to process input image. Please retry or report in the forum.");
    case "openai-compatible":
      return errorBody(api, 400, "qwen3 is not a multimodal model");
  }
}

function anthropicType(status: number): string {
  const types: Readonly<Record<number, string>> = {
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

function googleStatus(status: number): string {
  const names: Readonly<Record<number, string>> = {
    401: "UNAUTHENTICATED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
  };
  return names[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}

function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function usageOf({ usage }: Spoken): Required<NonNullable<Spoken["usage"]>> {
  return { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, ...usage };
}

const WIRE: Readonly<Record<Api, (spoken: Spoken, sign: Sign) => Frame[]>> = {
  anthropic(spoken, sign) {
    const { input, output, cacheRead, cacheWrite } = usageOf(spoken);
    const counted = {
      input_tokens: input,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
    };
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
    };
    const out: Frame[] = [
      {
        part: "open",
        data: { type: "message_start", message: { ...message, usage: { ...counted, output_tokens: 1 } } },
      },
      { part: "open", data: { type: "ping" } },
    ];
    let index = 0;
    const block = (part: Frame["part"], start: object, deltas: readonly object[]): void => {
      out.push({ part: "open", data: { type: "content_block_start", index, content_block: start } });
      for (const delta of deltas) out.push({ part, data: { type: "content_block_delta", index, delta } });
      out.push({ part: "open", data: { type: "content_block_stop", index } });
      index += 1;
    };
    if (spoken.thinking !== undefined && spoken.redacted === true)
      block("thinking", { type: "redacted_thinking", data: sign(spoken.thinking) }, []);
    else if (spoken.thinking !== undefined)
      block("thinking", { type: "thinking", thinking: "", signature: "" }, [
        ...halves(spoken.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: sign(spoken.thinking) },
      ]);
    if (spoken.text !== undefined)
      block(
        "text",
        { type: "text", text: "" },
        halves(spoken.text).map((text) => ({ type: "text_delta", text })),
      );
    for (const [at, call] of (spoken.calls ?? []).entries())
      block(
        "call",
        { type: "tool_use", id: call.id ?? `toolu_${at}`, name: call.name, input: {} },
        halves(JSON.stringify(call.arguments)).map((json) => ({
          type: "input_json_delta",
          partial_json: json,
        })),
      );
    const reasons = {
      stop: spoken.calls ? "tool_use" : "end_turn",
      length: "max_tokens",
      filtered: "refusal",
    };
    const delta = { stop_reason: reasons[spoken.ends ?? "stop"], stop_sequence: null };
    out.push({ part: "close", data: { type: "message_delta", delta, usage: { output_tokens: output } } });
    out.push({ part: "close", data: { type: "message_stop" } });
    return out;
  },

  openai(spoken, sign) {
    const { input, output, cacheRead, cacheWrite } = usageOf(spoken);
    const about = { id: "resp_1", created_at: 1, model: "m" };
    const out: Frame[] = [
      { part: "open", data: { type: "response.created", response: about } },
      { part: "open", data: { type: "response.in_progress", response: about } },
    ];
    let index = 0;
    const item = (added: object, deltas: readonly Frame[], done: object): void => {
      out.push({
        part: "open",
        data: { type: "response.output_item.added", output_index: index, item: added },
      });
      out.push(...deltas);
      out.push({
        part: "open",
        data: { type: "response.output_item.done", output_index: index, item: done },
      });
      index += 1;
    };
    if (spoken.thinking !== undefined) {
      const id = `rs_${index}`;
      const place = { item_id: id, output_index: index, summary_index: 0 };
      const deltas = halves(spoken.thinking).map((delta): Frame => ({
        part: "thinking",
        data: { type: "response.reasoning_summary_text.delta", ...place, delta },
      }));
      const summary = [{ type: "summary_text", text: spoken.thinking }];
      const done = { type: "reasoning", id, summary, encrypted_content: sign(spoken.thinking) };
      item(
        { type: "reasoning", id, summary: [], encrypted_content: null },
        [
          { part: "open", data: { type: "response.reasoning_summary_part.added", ...place } },
          ...deltas,
          { part: "open", data: { type: "response.reasoning_summary_part.done", ...place } },
        ],
        done,
      );
    }
    if (spoken.text !== undefined) {
      const id = `msg_${index}`;
      const place = { item_id: id, output_index: index };
      const deltas = halves(spoken.text).map((delta): Frame => ({
        part: "text",
        data: { type: "response.output_text.delta", ...place, delta },
      }));
      item({ type: "message", id, phase: "final_answer" }, deltas, {
        type: "message",
        id,
        phase: "final_answer",
      });
    }
    for (const [at, call] of (spoken.calls ?? []).entries()) {
      const json = JSON.stringify(call.arguments);
      const about = {
        type: "function_call",
        id: `fc_${index}`,
        call_id: call.id ?? `call_${at}`,
        name: call.name,
      };
      const deltas = halves(json).map((delta): Frame => ({
        part: "call",
        data: {
          type: "response.function_call_arguments.delta",
          item_id: about.id,
          output_index: index,
          delta,
        },
      }));
      item({ ...about, arguments: "" }, deltas, { ...about, arguments: json, status: "completed" });
    }
    const usage = {
      input_tokens: input + cacheRead + cacheWrite,
      input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
    };
    const reasons = {
      stop: null,
      length: { reason: "max_output_tokens" },
      filtered: { reason: "content_filter" },
    };
    const details = reasons[spoken.ends ?? "stop"];
    const type = details === null ? "response.completed" : "response.incomplete";
    out.push({ part: "close", data: { type, response: { ...about, incomplete_details: details, usage } } });
    return out;
  },

  "openai-compatible"(spoken) {
    const { input, output, cacheRead } = usageOf(spoken);
    const chunk = (part: Frame["part"], delta: object, reason: string | null = null): Frame => ({
      part,
      data: {
        ...{ id: "c1", object: "chat.completion.chunk", created: 1, model: "m" },
        choices: [{ index: 0, delta, finish_reason: reason }],
      },
    });
    const out: Frame[] = [chunk("open", { role: "assistant", content: "" })];
    for (const each of halves(spoken.thinking ?? ""))
      if (each !== "") out.push(chunk("thinking", { reasoning_content: each }));
    for (const each of halves(spoken.text ?? "")) if (each !== "") out.push(chunk("text", { content: each }));
    for (const [at, call] of (spoken.calls ?? []).entries()) {
      const begun = {
        index: at,
        id: call.id ?? `call_${at}`,
        type: "function",
        function: { name: call.name, arguments: "" },
      };
      out.push(chunk("open", { tool_calls: [begun] }));
      for (const each of halves(JSON.stringify(call.arguments)))
        out.push(chunk("call", { tool_calls: [{ index: at, function: { arguments: each } }] }));
    }
    const reasons = {
      stop: spoken.calls ? "tool_calls" : "stop",
      length: "length",
      filtered: "content_filter",
    };
    out.push(chunk("close", {}, reasons[spoken.ends ?? "stop"]));
    const prompt = { prompt_tokens: input + cacheRead, prompt_tokens_details: { cached_tokens: cacheRead } };
    const usage = { ...prompt, completion_tokens: output, total_tokens: input + cacheRead + output };
    out.push({
      part: "close",
      data: { id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage },
    });
    out.push({ part: "close", data: "[DONE]" });
    return out;
  },

  google(spoken, sign) {
    const { input, output, cacheRead } = usageOf(spoken);
    const chunk = (part: Frame["part"], content: object, reason?: string): Frame => ({
      part,
      data: {
        responseId: "r1",
        candidates: [{ index: 0, content: { role: "model", parts: [content] }, finishReason: reason }],
      },
    });
    const out: Frame[] = [];
    if (spoken.thinking !== undefined) {
      const [first, second] = halves(spoken.thinking);
      out.push(chunk("thinking", { text: first, thought: true }));
      out.push(chunk("thinking", { text: second, thought: true, thoughtSignature: sign(spoken.thinking) }));
    }
    for (const text of halves(spoken.text ?? "")) if (text !== "") out.push(chunk("text", { text }));
    for (const [at, call] of (spoken.calls ?? []).entries()) {
      const signed = at === 0 ? { thoughtSignature: sign(call.name) } : {};
      const functionCall = { id: call.id ?? `fc${at}`, name: call.name, args: call.arguments };
      out.push(chunk("call", { functionCall, ...signed }));
    }
    const reasons = { stop: "STOP", length: "MAX_TOKENS", filtered: "SAFETY" };
    const usageMetadata = {
      ...{ promptTokenCount: input + cacheRead, cachedContentTokenCount: cacheRead },
      ...{ candidatesTokenCount: output, totalTokenCount: input + cacheRead + output },
    };
    const last = {
      index: 0,
      content: { role: "model", parts: [] },
      finishReason: reasons[spoken.ends ?? "stop"],
    };
    out.push({ part: "close", data: { responseId: "r1", candidates: [last], usageMetadata } });
    return out;
  },
};
