// Where real models are asked, as the configuration says. A provider's package is loaded when its first model is asked:
// a start stays fast, and who only rehearses never loads one.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import { redirectIn, Redirected } from "../base/redirect.ts";
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
    const load = (): Promise<Models> => {
      loaded ??= PACKAGES[provider.api](provider).catch((error: unknown) => {
        loaded = null; // What was in its way may be gone when it is asked next.
        throw error;
      });
      return loaded;
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
  async anthropic(provider) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const baseURL = provider.baseUrl ?? "https://api.anthropic.com/v1";
    return createAnthropic({ apiKey: keyOf(provider), baseURL, ...wayOf(provider) });
  },
  async openai(provider) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const baseURL = provider.baseUrl ?? "https://api.openai.com/v1";
    const made = createOpenAI({ apiKey: keyOf(provider), baseURL, ...wayOf(provider) });
    return (name) => made.responses(name);
  },
  async google(provider) {
    const { createGoogle } = await import("@ai-sdk/google");
    const baseURL = provider.baseUrl ?? "https://generativelanguage.googleapis.com/v1beta";
    return createGoogle({ apiKey: keyOf(provider), baseURL, ...wayOf(provider) });
  },
  async "openai-compatible"(provider) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const { id, apiKey, baseUrl: baseURL } = provider;
    if (baseURL === null) throw new Error(`it has no address: set models.providers.${id}.baseUrl`);
    const key = apiKey === null ? {} : { apiKey: apiKey.reveal() };
    const name = "openaiCompatible";
    const made = createOpenAICompatible({ name, baseURL, includeUsage: true, ...key, ...wayOf(provider) });
    return (model) => made.chatModel(model);
  },
};

function keyOf({ apiKey }: Provider): string {
  return apiKey?.reveal() ?? "";
}

/** How each of them is asked: with the headers that are configured, and never anywhere else. */
function wayOf({ id, headers }: Provider): {
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
} {
  const revealed = Object.entries(headers).map(([name, secret]) => [name, secret.reveal()] as const);
  return {
    headers: Object.fromEntries(revealed),
    async fetch(input, init) {
      const response = await fetch(input, { ...init, redirect: "manual" });
      const elsewhere = redirectIn(response);
      if (elsewhere === null) return response;
      await response.body?.cancel();
      throw new Redirected(elsewhere, `set models.providers.${id}.baseUrl to it`);
    },
  };
}
