// Where real models are asked, as the configuration says. A provider's package is loaded when its first model is asked:
// a start stays fast, and who only rehearses never loads one.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { World } from "../base/world.ts";
import type { Api, Provider } from "../config/config.ts";
import type { KnownModel, ModelSource } from "./catalog.ts";
import { factsOf, namesOf } from "./known.ts";
import { ProviderModel } from "./provider.ts";

/**
 * How long a provider may say nothing at all. Models think for minutes, but their providers show signs of life; a
 * connection that is dead without saying so is given up after this.
 */
const SILENCE_MS_MAX = 120_000;

export interface ProviderOptions {
  readonly silenceMs: number;
}

export function providers(
  world: World,
  configured: ReadonlyMap<string, Provider>,
  { silenceMs }: ProviderOptions = { silenceMs: SILENCE_MS_MAX },
): readonly ModelSource[] {
  return [...configured.values()].map((provider) => {
    let loaded: Promise<Models> | null = null;
    const load = async (): Promise<Models> => {
      loaded ??= PACKAGES[provider.api](provider);
      return await loaded;
    };
    return {
      provider: provider.id,
      model: (name: string) => new ProviderModel({ world, provider, load, silenceMs }, name),
      known: () => knownOf(provider),
    };
  });
}

/** What the configuration names comes first. */
function knownOf({ id, api, models }: Provider): KnownModel[] {
  const names = new Set([...Object.keys(models), ...namesOf(api)]);
  return [...names].map((name) => {
    const { windowTokens, prices } = factsOf(api, name, models[name] ?? null);
    return { id: `${id}/${name}`, windowTokens, prices };
  });
}

type Models = (name: string) => LanguageModelV4;

/** Addresses are named, also the providers' own: else the packages would take them from the environment. */
const PACKAGES: Readonly<Record<Api, (provider: Provider) => Promise<Models>>> = {
  async anthropic({ apiKey, baseUrl, headers }) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const baseURL = baseUrl ?? "https://api.anthropic.com/v1";
    return createAnthropic({ apiKey: apiKey?.reveal() ?? "", baseURL, headers: revealed(headers) });
  },
  async openai({ apiKey, baseUrl, headers }) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const baseURL = baseUrl ?? "https://api.openai.com/v1";
    const made = createOpenAI({ apiKey: apiKey?.reveal() ?? "", baseURL, headers: revealed(headers) });
    return (name) => made.responses(name);
  },
  async google({ apiKey, baseUrl, headers }) {
    const { createGoogle } = await import("@ai-sdk/google");
    const baseURL = baseUrl ?? "https://generativelanguage.googleapis.com/v1beta";
    return createGoogle({ apiKey: apiKey?.reveal() ?? "", baseURL, headers: revealed(headers) });
  },
  async "openai-compatible"({ id, apiKey, baseUrl, headers }) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    if (baseUrl === null) throw new Error(`it has no address: set models.providers.${id}.baseUrl`);
    const key = apiKey === null ? {} : { apiKey: apiKey.reveal() };
    const name = "openaiCompatible";
    const made = createOpenAICompatible({
      name,
      baseURL: baseUrl,
      includeUsage: true,
      headers: revealed(headers),
      ...key,
    });
    return (model) => made.chatModel(model);
  },
};

function revealed(headers: Provider["headers"]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, secret]) => [name, secret.reveal()]));
}
