// Facts of models, as of November 2026. They go out of date every month: what the configuration says of a model overrides
// them, and a model that is not here is guessed. Prices are for requests of usual length; some providers charge more for
// very long ones, which only the configuration can say.

import type { Api, ModelFacts, Prices } from "../config/config.ts";
import type { Thinking } from "./model.ts";

/** What a model of which nothing is known is taken to hold. Most are larger; one that is smaller answers `overflow`. */
const WINDOW_TOKENS_GUESSED = 128_000;

/**
 * Tokens of an answer that are asked for where a provider must be told a number. Some take it off the window, so a model's
 * largest would leave less room for the conversation. Who wants longer answers says so in the configuration.
 */
const OUTPUT_TOKENS_ASKED = 32_000;

export interface Facts {
  readonly windowTokens: number;
  readonly outputTokens: number | null; // null: the provider decides
  readonly images: boolean; //            true also when nobody knows: it is tried
  readonly prices: Prices | null; //      null: not known, so its answers say no cost
}

type Row = readonly [
  windowTokens: number,
  outputTokensMax: number,
  prices: readonly [input: number, output: number, cacheRead: number, cacheWrite: number] | null,
];

const OPUS_4 = [5, 25, 0.5, 6.25] as const;
const SONNET_4 = [3, 15, 0.3, 3.75] as const;
const GPT_5 = [1.25, 10, 0.125, 0] as const;

/** All of them see pictures. The window of OpenAI's is what may be asked: the room for the answer is taken off. */
const KNOWN: Readonly<Record<Api, Readonly<Record<string, Row>>>> = {
  anthropic: {
    "claude-opus-5-5": [1_000_000, 128_000, [4, 20, 0.2, 5]],
    "claude-sonnet-5-5": [1_000_000, 128_000, [2, 10, 0.1, 2.5]],
    "claude-haiku-5-5": [1_000_000, 128_000, [0.1, 0.5, 0.01, 0.125]],
    "claude-fable-5": [1_000_000, 128_000, [10, 50, 1, 12.5]],
    "claude-opus-5": [1_000_000, 128_000, OPUS_4],
    "claude-sonnet-5": [1_000_000, 128_000, [2, 10, 0.2, 2.5]],
    "claude-opus-4-8": [1_000_000, 128_000, OPUS_4],
    "claude-opus-4-7": [1_000_000, 128_000, OPUS_4],
    "claude-opus-4-6": [1_000_000, 128_000, OPUS_4],
    "claude-sonnet-4-6": [1_000_000, 64_000, SONNET_4],
    "claude-opus-4-5": [200_000, 64_000, OPUS_4],
    "claude-sonnet-4-5": [200_000, 64_000, SONNET_4],
    "claude-haiku-4-5": [200_000, 64_000, [1, 5, 0.1, 1.25]],
  },
  openai: {
    "gpt-6-astra": [922_000, 128_000, [10, 50, 1, 12.5]],
    "gpt-6.1-sol": [922_000, 128_000, [2, 10, 0.1, 2.5]],
    "gpt-6-sol": [922_000, 128_000, [2, 10, 0.2, 2.5]],
    "gpt-6-luna": [922_000, 128_000, [0.1, 0.5, 0.01, 0.125]],
    "gpt-5.6": [922_000, 128_000, null],
    "gpt-5.6-sol": [922_000, 128_000, null],
    "gpt-5.6-terra": [922_000, 128_000, null],
    "gpt-5.6-luna": [922_000, 128_000, null],
    "gpt-5.5": [922_000, 128_000, [5, 30, 0.5, 0]],
    "gpt-5.4": [922_000, 128_000, [2.5, 15, 0.25, 0]],
    "gpt-5.2": [272_000, 128_000, [1.75, 14, 0.175, 0]],
    "gpt-5.1": [272_000, 128_000, GPT_5],
    "gpt-5": [272_000, 128_000, GPT_5],
    "gpt-5-codex": [272_000, 128_000, GPT_5],
    "gpt-5-mini": [272_000, 128_000, [0.25, 2, 0.025, 0]],
    "gpt-5-nano": [272_000, 128_000, [0.05, 0.4, 0.005, 0]],
    "gpt-4.1": [1_000_000, 32_768, [2, 8, 0.5, 0]],
    "gpt-4.1-mini": [1_000_000, 32_768, [0.4, 1.6, 0.1, 0]],
    "gpt-4o": [112_000, 16_384, [2.5, 10, 1.25, 0]],
    "gpt-4o-mini": [112_000, 16_384, [0.15, 0.6, 0.075, 0]],
  },
  google: {
    "gemini-3.8-flash": [1_048_576, 65_536, [0.75, 3.75, 0.075, 0]],
    "gemini-3.7-flash": [1_048_576, 65_536, [1.5, 7.5, 0.15, 0]],
    "gemini-3.5-flash": [1_048_576, 65_536, [1.5, 9, 0.15, 0]],
    "gemini-3.1-pro-preview": [1_048_576, 65_536, [2, 12, 0.2, 0]],
    "gemini-2.5-pro": [1_048_576, 65_536, [1.25, 10, 0.125, 0]],
    "gemini-2.5-flash": [1_048_576, 65_536, [0.3, 2.5, 0.03, 0]],
    "gemini-2.5-flash-lite": [1_048_576, 65_536, [0.1, 0.4, 0.01, 0]],
  },
  "openai-compatible": {},
};

/** `written`: what the configuration says of this model; null: nothing. */
export function factsOf(api: Api, name: string, written: ModelFacts | null): Facts {
  const [windowTokens, outputTokensMax, prices] = rowOf(api, name) ?? [null, null, null];
  const asked =
    api === "anthropic" ? Math.min(outputTokensMax ?? OUTPUT_TOKENS_ASKED, OUTPUT_TOKENS_ASKED) : null;
  return {
    windowTokens: written?.windowTokens ?? windowTokens ?? WINDOW_TOKENS_GUESSED,
    outputTokens: written?.outputTokensMax ?? asked,
    images: written?.images ?? true,
    prices: written?.prices ?? (prices === null ? null : pricesOf(prices)),
  };
}

/** Names of models in the table. */
export function namesOf(api: Api): readonly string[] {
  return Object.keys(KNOWN[api]);
}

/** A name with a date is a snapshot of the model without it. */
function rowOf(api: Api, name: string): Row | null {
  const rows = KNOWN[api];
  const plain = name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "");
  const found = [name, plain].find((each) => Object.hasOwn(rows, each));
  return found === undefined ? null : (rows[found] ?? null);
}

function pricesOf([input, output, cacheRead, cacheWrite]: NonNullable<Row[2]>): Prices {
  return { input, output, cacheRead, cacheWrite };
}

type Level = "none" | "minimal" | "low" | "medium" | "high";

/** Anthropic's before 4.6 think on a budget: with it, an answer that called tools must have begun with a thought. */
const THINKS_ON_A_BUDGET = /claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[015])?(?:-\d{8})?$)/;

/** OpenAI's of which the provider package does not know the levels: these think by themselves, these from low on. */
const THINKS_BY_ITSELF = /-(?:pro|chat)(?:-|$)/;
const THINKS_FROM_LOW = /^o\d|-codex(?:-|$)/;

/** Google's that refuse to be told how much to think. */
const THINKS_NOT = /gemini-(?:1|2\.0)|gemma|learnlm/;

/**
 * The level that makes a valid request; undefined: none is named, and the provider's own default holds. The provider
 * packages take the nearest level of the models that they know.
 */
export function levelOf(api: Api, name: string, thinking: Thinking): Level | undefined {
  const level = thinking === "off" ? "none" : thinking;
  switch (api) {
    case "anthropic":
      return level;
    case "openai":
      if (THINKS_BY_ITSELF.test(name)) return undefined;
      return THINKS_FROM_LOW.test(name) ? fromLow(thinking) : level;
    case "google":
      return THINKS_NOT.test(name) ? undefined : level;
    case "openai-compatible":
      return fromLow(thinking); // A server that knows no levels must not be sent one because thinking is off.
  }
}

function fromLow(thinking: Thinking): Level | undefined {
  if (thinking === "off") return undefined;
  return thinking === "minimal" ? "low" : thinking;
}

export function thinksOnABudget(name: string): boolean {
  return THINKS_ON_A_BUDGET.test(name);
}
