// What the real providers refuse, as far as a history can violate it. Each returns the words of the refusal, or null.

import type { Api } from "../../src/config/config.ts";

/** What the stand-in has signed, by signature: the text that it belongs to. */
export type Issued = ReadonlyMap<string, string>;

type Json = Readonly<Record<string, unknown>>;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ID = /^[A-Za-z0-9_-]{1,40}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

class Refused extends Error {}

export function problemOf(api: Api, model: string, body: unknown, issued: Issued): string | null {
  try {
    wellFormed(body);
    RULES[api](recordOf(body), issued, model);
    return null;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

const RULES: Readonly<Record<Api, (body: Json, issued: Issued, model: string) => void>> = {
  anthropic: (body, issued) => anthropic(body, issued),
  openai: (body, issued) => responses(body, issued),
  "openai-compatible": (body) => completions(body),
  google: (body, issued, model) => google(body, issued, model),
};

function must(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Refused(words);
}

function recordOf(value: unknown, what = "an object"): Json {
  must(typeof value === "object" && value !== null && !Array.isArray(value), `${what} is missing`);
  return value as Json;
}

function listOf(value: unknown, what: string): readonly Json[] {
  must(Array.isArray(value) && value.length > 0, `${what}: must be a list that is not empty`);
  return value.map((each) => recordOf(each, what));
}

function textOf(value: unknown, what: string): string {
  must(typeof value === "string" && value.trim() !== "", `${what}: text must be non-empty`);
  return value;
}

function wellFormed(value: unknown): void {
  if (typeof value === "string") must(value.isWellFormed(), "invalid unicode: lone surrogate");
  else if (typeof value === "object" && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      wellFormed(name);
      wellFormed(each);
    }
  }
}

function anthropic(body: Json, issued: Issued): void {
  must(Number.isInteger(body["max_tokens"]) && Number(body["max_tokens"]) > 0, "max_tokens: Field required");
  if (body["system"] !== undefined)
    for (const part of listOf(body["system"], "system")) textOf(part["text"], "system");
  const messages = listOf(body["messages"], "messages");
  must(messages[0]?.["role"] === "user", "messages: first message must use the user role");
  must(messages.at(-1)?.["role"] === "user", "This model does not support assistant message prefill.");
  must(
    (JSON.stringify(body).match(/"cache_control"/g) ?? []).length <= 4,
    "A maximum of 4 blocks with cache_control",
  );
  const ids = new Set<string>();
  let waiting = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const where = `messages.${at}`;
    const blocks = listOf(message["content"], where);
    const results = blocks
      .filter(({ type }) => type === "tool_result")
      .map((each) => String(each["tool_use_id"]));
    must(new Set(results).size === results.length, `${where}: each tool_use must have a single result`);
    for (const id of results)
      must(waiting.has(id), `${where}: unexpected tool_use_id found in tool_result blocks: ${id}`);
    for (const id of waiting) must(results.includes(id), `${where}: tool_use ids without tool_result: ${id}`);
    waiting = new Set();
    if (message["role"] === "user") {
      const firstOther = blocks.findIndex(({ type }) => type !== "tool_result");
      const lastResult = blocks.findLastIndex(({ type }) => type === "tool_result");
      must(firstOther < 0 || lastResult < firstOther, `${where}: tool_result blocks must come first`);
      for (const block of blocks) anthropicUserBlock(block, where);
      continue;
    }
    must(message["role"] === "assistant", `${where}: unexpected role`);
    must(
      !String(blocks.at(-1)?.["type"]).includes("thinking"),
      `${where}: the final block cannot be thinking`,
    );
    for (const block of blocks) {
      anthropicAnswerBlock(block, where, issued);
      if (block["type"] !== "tool_use") continue;
      const id = String(block["id"]);
      must(!ids.has(id), `${where}: tool_use ids must be unique`);
      ids.add(id);
      waiting.add(id);
    }
  }
  anthropicThinking(body, messages);
}

function anthropicThinking(body: Json, messages: readonly Json[]): void {
  const thinking = body["thinking"] === undefined ? {} : recordOf(body["thinking"]);
  if (thinking["type"] !== "enabled") return;
  must(Number(thinking["budget_tokens"]) >= 1024, "thinking.enabled.budget_tokens: at least 1024");
  must(
    Number(body["max_tokens"]) > Number(thinking["budget_tokens"]),
    "max_tokens must be greater than budget_tokens",
  );
  const last = messages.findLast(({ role }) => role === "assistant");
  const blocks = last === undefined ? [] : listOf(last["content"], "messages");
  if (blocks.some(({ type }) => type === "tool_use"))
    must(
      String(blocks[0]?.["type"]).includes("thinking"),
      "Expected `thinking` or `redacted_thinking`, but found another",
    );
}

function anthropicUserBlock(block: Json, where: string): void {
  if (block["type"] === "text") textOf(block["text"], where);
  else if (block["type"] === "image") anthropicPicture(block, where);
  else {
    must(block["type"] === "tool_result", `${where}: unexpected block`);
    if (typeof block["content"] === "string") textOf(block["content"], where);
    else
      for (const part of listOf(block["content"], where)) {
        if (part["type"] === "text") textOf(part["text"], where);
        else anthropicPicture(part, where);
      }
  }
}

function anthropicPicture({ source }: Json, where: string): void {
  const { type, media_type: mediaType, data } = recordOf(source, where);
  must(type === "base64" && PICTURES.has(String(mediaType)), `${where}: media_type`);
  must(typeof data === "string" && BASE64.test(data), `${where}: image cannot be empty`);
}

function anthropicAnswerBlock(block: Json, where: string, issued: Issued): void {
  switch (block["type"]) {
    case "text":
      textOf(block["text"], where);
      return;
    case "thinking":
      must(
        issued.get(String(block["signature"])) === block["thinking"],
        `${where}: Invalid signature in thinking block`,
      );
      return;
    case "redacted_thinking":
      must(issued.has(String(block["data"])), `${where}: Invalid data in redacted_thinking block`);
      return;
    case "tool_use":
      must(ID.test(String(block["id"])), `${where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      must(NAME.test(String(block["name"])), `${where}.name: String should match pattern`);
      recordOf(block["input"], `${where}.input`);
      return;
    default:
      must(false, `${where}: unexpected block`);
  }
}

function responses(body: Json, issued: Issued): void {
  must(body["store"] === false, "store is not false");
  must(String(body["prompt_cache_key"] ?? "").length <= 64, "Invalid 'prompt_cache_key': string too long");
  const input = listOf(body["input"], "input");
  const calls = new Set<string>();
  const answered = new Set<string>();
  for (const [at, item] of input.entries()) {
    const where = `input[${at}]`;
    switch (item["type"] ?? "message") {
      case "message":
        responsesMessage(item, where);
        break;
      case "reasoning": {
        const summary = item["summary"];
        must(Array.isArray(summary), `${where}.summary is missing`);
        const text = summary.map((part) => String(recordOf(part)["text"])).join("");
        must(
          issued.get(String(item["encrypted_content"])) === text,
          `${where}: encrypted content could not be verified`,
        );
        const next = input[at + 1];
        const follows =
          next?.["type"] === "function_call" ||
          next?.["role"] === "assistant" ||
          next?.["type"] === "reasoning";
        must(
          follows,
          `Item '${String(item["id"])}' of type 'reasoning' was provided without its required following item.`,
        );
        break;
      }
      case "function_call":
        must(ID.test(String(item["call_id"])) && !calls.has(String(item["call_id"])), `${where}.call_id`);
        must(NAME.test(String(item["name"])), `${where}.name`);
        recordOf(JSON.parse(String(item["arguments"])), `${where}.arguments`);
        calls.add(String(item["call_id"]));
        break;
      case "function_call_output":
        must(
          calls.has(String(item["call_id"])),
          `No tool call found for function call output with call_id ${String(item["call_id"])}.`,
        );
        must(!answered.has(String(item["call_id"])), `${where}: a second output`);
        answered.add(String(item["call_id"]));
        if (typeof item["output"] === "string") textOf(item["output"], where);
        else for (const part of listOf(item["output"], where)) responsesPart(part, where);
        break;
      default:
        must(false, `${where}: unknown type`);
    }
  }
  for (const id of calls) must(answered.has(id), `No tool output found for function call ${id}.`);
  must(input.at(-1)?.["role"] !== "assistant", "the last item is the assistant's");
}

function responsesMessage({ role, content }: Json, where: string): void {
  must(["system", "developer", "user", "assistant"].includes(String(role)), `${where}.role`);
  if (typeof content === "string") textOf(content, where);
  else for (const part of listOf(content, where)) responsesPart(part, where);
}

function responsesPart(part: Json, where: string): void {
  if (part["type"] === "input_image") must(DATA_URL.test(String(part["image_url"])), `${where}.image_url`);
  else if (["input_text", "output_text"].includes(String(part["type"]))) textOf(part["text"], where);
  else must(false, `${where}: unknown part`);
}

/** As strict as the templates of local models: people and the model speak in turns. */
function completions(body: Json): void {
  const messages = listOf(body["messages"], "messages");
  must(recordOf(body["stream_options"])["include_usage"] === true, "no usage was asked for");
  const ids = new Set<string>();
  let waiting = new Set<string>();
  let before = "";
  for (const [at, message] of messages.entries()) {
    const where = `messages[${at}]`;
    const role = String(message["role"]);
    if (role === "tool") {
      const id = String(message["tool_call_id"]);
      must(
        waiting.delete(id),
        `${where}: messages with role 'tool' must be a response to a preceding 'tool_calls'`,
      );
      textOf(message["content"], where);
      before = role;
      continue;
    }
    must(
      waiting.size === 0,
      `${where}: an assistant message with 'tool_calls' must be followed by tool messages`,
    );
    if (role === "system") must(at === 0, `${where}: system must be first`);
    must(role !== before, `${where}: conversation roles must alternate`);
    if (before === "" || before === "system")
      must(role !== "assistant", `${where}: the first must be the user's`);
    before = role;
    if (role === "assistant") waiting = completionsAnswer(message, where, ids);
    else if (typeof message["content"] === "string") textOf(message["content"], where);
    else
      for (const part of listOf(message["content"], where)) {
        if (part["type"] === "text") textOf(part["text"], where);
        else must(DATA_URL.test(String(recordOf(part["image_url"])["url"])), `${where}.image_url`);
      }
  }
  must(waiting.size === 0 && before !== "assistant", "the last message is the assistant's");
}

function completionsAnswer(message: Json, where: string, ids: Set<string>): Set<string> {
  const calls = message["tool_calls"] === undefined ? [] : listOf(message["tool_calls"], where);
  if (calls.length === 0 || message["content"] !== null) textOf(message["content"], where);
  for (const call of calls) {
    const id = String(call["id"]);
    must(ID.test(id) && !ids.has(id), `${where}.tool_calls.id`);
    ids.add(id);
    const { name, arguments: given } = recordOf(call["function"]);
    must(NAME.test(String(name)), `${where}.name`);
    recordOf(JSON.parse(String(given)), `${where}.arguments`);
  }
  return new Set(calls.map(({ id }) => String(id)));
}

function google(body: Json, issued: Issued, model: string): void {
  const contents = listOf(body["contents"], "contents");
  let waiting: string[] = [];
  for (const [at, { role, parts: given }] of contents.entries()) {
    const where = `contents[${at}]`;
    const parts = listOf(given, `${where}.parts`);
    const results = parts.flatMap((part) =>
      part["functionResponse"] === undefined ? [] : [String(recordOf(part["functionResponse"])["id"])],
    );
    must(
      results.toSorted().join() === waiting.toSorted().join(),
      `${where}: as many function responses as function calls`,
    );
    must(role === "user" || role === "model", `${where}.role`);
    if (at === 0 || at === contents.length - 1) must(role === "user", `${where}: must be the user's`);
    waiting = parts.flatMap((part) =>
      part["functionCall"] === undefined ? [] : [String(recordOf(part["functionCall"])["id"])],
    );
    must(waiting.length === 0 || role === "model", `${where}: a user calls no functions`);
    const first = parts.find((part) => part["functionCall"] !== undefined);
    if (first !== undefined && /gemini-3/.test(model))
      must(first["thoughtSignature"] !== undefined, `${where}: Function call is missing a thought_signature`);
    for (const part of parts) googlePart(part, where, issued);
  }
  must(waiting.length === 0, "the last call has no response");
}

function googlePart(part: Json, where: string, issued: Issued): void {
  const signature = part["thoughtSignature"];
  const isSigned = signature !== undefined && signature !== "skip_thought_signature_validator";
  if (isSigned) must(issued.has(String(signature)), `${where}: Corrupted thought signature.`);
  if (part["thought"] === true) must(isSigned, `${where}: a thought without a signature`);
  if (typeof part["text"] === "string" && !isSigned) textOf(part["text"], where);
  if (part["functionCall"] !== undefined) recordOf(recordOf(part["functionCall"])["args"], `${where}.args`);
  if (part["inlineData"] === undefined) return;
  const { mimeType, data } = recordOf(part["inlineData"]);
  must(PICTURES.has(String(mimeType)) && BASE64.test(String(data)), `${where}.inlineData`);
}
