// What clients of OpenAI send, as far as it means something here. Names that are not known are let through: clients send
// many, and most of them are wishes about sampling that an agent's model is not asked for.

import { z } from "zod";
import { Refused, unsupported } from "./errors.ts";

const text = z.string().nullish();
const list = z.array(z.unknown()).nullish();

/** A piece of a message. Which kinds there are is looked at where they are read (message.ts). */
const part = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(part), z.null()], "is a text or a list of parts").optional();

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;

const message = z.looseObject({ role: z.enum(ROLES), content });

export type Part = Readonly<z.output<typeof part>>;
export type Message = Readonly<z.output<typeof message>>;

const format = z.looseObject({ type: z.string() }).nullish();

/** In both kinds of request. */
const common = {
  stream: z.boolean().nullish(),
  user: text,
  tools: list,
};

const chatShape = z.looseObject({
  ...common,
  model: z.string("is needed: sessiond, sessiond/<agent>, or the name of a model"),
  messages: z.array(message, "is a list of messages").min(1, "has at least one message"),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  functions: list,
  n: z.int().nullish(),
  response_format: format,
  modalities: z.array(z.string()).nullish(),
  audio: z.unknown().optional(),
});

/** An item of an input. A message need not say that it is one. */
const item = z.looseObject({ type: z.string().optional(), role: z.enum(ROLES).optional(), content });

export type Item = Readonly<z.output<typeof item>>;

const responsesShape = z.looseObject({
  ...common,
  model: text,
  input: z.union([z.string(), z.array(item)], "is a text or a list of items"),
  instructions: text,
  previous_response_id: text,
  metadata: z.record(z.string(), z.string()).nullish(),
  background: z.boolean().nullish(),
  text: z.looseObject({ format }).nullish(),
  conversation: z.unknown().optional(),
  prompt: z.unknown().optional(),
});

export type ChatRequest = Readonly<z.output<typeof chatShape>>;
export type ResponsesRequest = Readonly<z.output<typeof responsesShape>>;

const OWN_TOOLS = "an agent has tools of its own (tools in its configuration, MCP servers); leave it out";
const ONLY_TEXT = "answers are plain text; leave it out and say in the message what form you want";

export function chatRequest(body: unknown): ChatRequest {
  const request = fitting(chatShape, body);
  noTools(request.tools, "tools");
  noTools(request.functions, "functions");
  if ((request.n ?? 1) !== 1) throw unsupported("n", "a session answers once; send several requests");
  onlyText(request.response_format, "response_format");
  if (request.audio != null || (request.modalities ?? []).includes("audio"))
    throw unsupported("audio", "answers are text");
  return request;
}

export function responsesRequest(body: unknown): ResponsesRequest {
  const request = fitting(responsesShape, body);
  noTools(request.tools, "tools");
  onlyText(request.text?.format, "text.format");
  if (request.conversation != null)
    throw unsupported(
      "conversation",
      "name the session instead: previous_response_id, `user`, or the header X-Session-Key",
    );
  if (request.prompt != null) throw unsupported("prompt", "templates are not kept here; send the text");
  return request;
}

function noTools(given: readonly unknown[] | null | undefined, param: string): void {
  if (given != null && given.length > 0) throw unsupported(param, OWN_TOOLS);
}

function onlyText(given: { readonly type: string } | null | undefined, param: string): void {
  if (given != null && given.type !== "text") throw unsupported(param, ONLY_TEXT);
}

/** Mistakes that a refusal names; there may be one in every message. */
const MISTAKES_SHOWN_MAX = 3;

function fitting<Shape extends z.ZodType>(shape: Shape, body: unknown): z.output<Shape> {
  const { success, data, error } = shape.safeParse(body);
  if (success) return data;
  const mistakes = error.issues.map(({ path, message: what }) => ({ param: path.join("."), what }));
  const named = mistakes
    .slice(0, MISTAKES_SHOWN_MAX)
    .map(({ param, what }) => `${param === "" ? "the body" : param}: ${what}`);
  const param = mistakes[0]?.param ?? "";
  throw new Refused("bad_input", named.join("; "), param === "" ? {} : { param });
}
