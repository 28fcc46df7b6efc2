// Models of the stand-in, and the shortest way to ask one: for the tests of everything between a request and a connection.

import { Secret } from "../../src/base/secret.ts";
import { RealWorld, type World } from "../../src/base/world.ts";
import type { Api, ModelFacts, Provider } from "../../src/config/config.ts";
import type { Answer, Delta, Model, Request } from "../../src/models/model.ts";
import { providers } from "../../src/models/providers.ts";
import type { Block, Message } from "../../src/transcript/entry.ts";
import type { Standin } from "./standin.ts";

export const APIS: readonly Api[] = ["anthropic", "openai", "google", "openai-compatible"];
export const KEY = "sk-ant-do-not-tell-0123456789";

/** A model of each protocol that thinks. */
export const NAMES: Readonly<Record<Api, string>> = {
  anthropic: "claude-sonnet-4-5",
  openai: "gpt-5",
  google: "gemini-3.1-pro-preview",
  "openai-compatible": "qwen3",
};

export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Chosen {
  readonly name?: string;
  readonly silenceMs?: number;
  readonly world?: World;
  readonly provider?: Partial<Provider>;
  readonly facts?: Partial<ModelFacts>;
}

export function modelAt(standin: Standin, api: Api, chosen: Chosen = {}): Model {
  const name = chosen.name ?? NAMES[api];
  const facts = { windowTokens: null, outputTokensMax: null, images: null, prices: null, ...chosen.facts };
  const provider: Provider = {
    id: api,
    api,
    baseUrl: standin.baseUrl(api),
    apiKey: new Secret(KEY),
    keyNames: [`${api.toUpperCase()}_API_KEY`],
    headers: {},
    concurrency: null,
    models: { [name]: facts },
    ...chosen.provider,
  };
  const options = chosen.silenceMs === undefined ? undefined : { silenceMs: chosen.silenceMs };
  const [source] = providers(chosen.world ?? new RealWorld(), new Map([[api, provider]]), options);
  if (source === undefined) throw new Error("there is no source");
  return source.model(name);
}

export function asking(messages: readonly Message[], more: Partial<Request> = {}): Request {
  const signal = new AbortController().signal;
  return { system: "Be kind.", messages, tools: [], thinking: "off", cacheKey: "k1", signal, ...more };
}

export async function ask(
  model: Model,
  messages: readonly Message[],
  more: Partial<Request> = {},
): Promise<{ readonly answer: Answer; readonly shown: readonly Delta[] }> {
  const shown: Delta[] = [];
  const answer = await model.ask(asking(messages, more), (delta) => shown.push(delta));
  return { answer, shown };
}

export function user(content: string | readonly Block[]): Message {
  return { role: "user", content, timestamp: 1 };
}

/** As a turn writes down what a model said. */
export function saidBy(
  { api, provider, name }: Pick<Model, "api" | "provider" | "name">,
  content: readonly Block[],
): Message {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { role: "assistant", content, api, provider, model: name, usage, stopReason: "stop", timestamp: 2 };
}

export function result(toolCallId: string, content: readonly Block[], isError = false): Message {
  return { role: "toolResult", toolCallId, toolName: "look", content, isError, timestamp: 3 };
}
