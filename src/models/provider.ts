// One model at a provider: asked through the package that speaks its protocol. The loop, the tries and the tools are ours.
//
// Invariants
//   P1. It rejects only when the request's signal is aborted, with its reason; everything else is an Answer.
//   P2. When it has answered, nothing of the request is left: the connection is given back or ended, no alarm rings.
//   P3. No message holds a key.
//   P4. A picture that the provider refuses costs a request, and not the session: it is asked again with words for it.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { alarm, CALLED_OFF, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Api, Provider } from "../config/config.ts";
import { convert, type Target } from "./convert.ts";
import { failureOf, isAboutPictures, noKey, silent, type Asked } from "./failures.ts";
import { factsOf } from "./known.ts";
import type { Answer, Delta, Model, Request } from "./model.ts";
import { Broken, listen } from "./stream.ts";

/** As transcripts name the protocols. */
const API_NAMES: Readonly<Record<Api, string>> = {
  anthropic: "anthropic-messages",
  openai: "openai-responses",
  google: "google-generative-ai",
  "openai-compatible": "openai-completions",
};

export interface ProviderParts {
  readonly world: World;
  readonly provider: Provider;
  /** Loads the provider's package when it is asked for the first time. */
  readonly load: () => Promise<(name: string) => LanguageModelV4>;
  /** How long it may say nothing at all. */
  readonly silenceMs: number;
}

interface Tried {
  readonly answer: Answer;
  readonly isRefusedForPictures: boolean;
}

export class ProviderModel implements Model {
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  readonly api: string;
  readonly windowTokens: number;
  readonly #parts: ProviderParts;
  readonly #target: Target;

  constructor(parts: ProviderParts, name: string) {
    const { id, api, models } = parts.provider;
    const written = Object.hasOwn(models, name) ? (models[name] ?? null) : null;
    const facts = factsOf(api, name, written);
    this.id = `${id}/${name}`;
    this.provider = id;
    this.name = name;
    this.api = API_NAMES[api];
    this.windowTokens = facts.windowTokens;
    this.#parts = parts;
    this.#target = { api, apiName: this.api, provider: id, model: name, facts };
  }

  async ask(request: Request, show: (delta: Delta) => void): Promise<Answer> {
    request.signal.throwIfAborted();
    const { provider } = this.#parts;
    if (provider.apiKey === null && provider.api !== "openai-compatible") return noKey(this.#asked());
    const { answer, isRefusedForPictures } = await this.#try(request, this.#target, show);
    if (!isRefusedForPictures || !this.#target.facts.images || !hasPictures(request)) return answer;
    // P4. Nothing was shown of the first try: it was refused as a whole.
    const { facts } = this.#target;
    const inWords = { ...this.#target, facts: { ...facts, images: false } };
    const { answer: second } = await this.#try(request, inWords, show);
    return second.kind === "failed" && second.why === "local" ? answer : second;
  }

  async #try(request: Request, target: Target, show: (delta: Delta) => void): Promise<Tried> {
    const { world, provider, silenceMs } = this.#parts;
    const ending = new AbortController();
    const watch = new Watch(world, silenceMs, () => ending.abort(CALLED_OFF));
    try {
      const signal = AbortSignal.any([request.signal, ending.signal]);
      const options = { ...convert(request, target), abortSignal: signal };
      const answer = await this.#listen(options, signal, (part) => {
        watch.heard();
        if (part !== null) show(part);
      });
      return { answer, isRefusedForPictures: false };
    } catch (error) {
      request.signal.throwIfAborted(); // P1
      if (watch.rang) return { answer: silent(provider.id, silenceMs), isRefusedForPictures: false };
      return { answer: failureOf(error, this.#asked()), isRefusedForPictures: isAboutPictures(error) };
    } finally {
      watch.end();
      ending.abort(CALLED_OFF); // P2
    }
  }

  /** `heard` gets null for what is a sign of life and nothing else. */
  async #listen(
    options: LanguageModelV4CallOptions,
    signal: AbortSignal,
    heard: (delta: Delta | null) => void,
  ): Promise<Answer> {
    const models = await this.#parts.load();
    const { stream } = await unlessAborted(Promise.resolve(models(this.name).doStream(options)), signal);
    const reader = stream.getReader();
    try {
      return await listen(() => pieceOf(reader, signal), {
        show: heard,
        heard: () => heard(null),
        prices: this.#target.facts.prices,
      });
    } finally {
      reader.cancel(CALLED_OFF).catch(() => {}); // It has ended, or nobody reads on.
    }
  }

  #asked(): Asked {
    const { provider, world } = this.#parts;
    const { id, apiKey, keyNames, headers } = provider;
    const [variable] = keyNames;
    return {
      provider: id,
      secrets: [...(apiKey === null ? [] : [apiKey]), ...Object.values(headers)],
      keyHint: `${variable === undefined ? "set" : `set ${variable}, or`} models.providers.${id}.apiKey`,
      nowMs: world.nowMs(),
    };
  }
}

function hasPictures({ messages }: Request): boolean {
  return messages.some(
    ({ content }) => typeof content !== "string" && content.some(({ type }) => type === "image"),
  );
}

/** Null: it has ended. What fails here is the connection, and never our own code. */
async function pieceOf(
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  signal: AbortSignal,
): Promise<LanguageModelV4StreamPart | null> {
  try {
    const { done, value } = await unlessAborted(reader.read(), signal);
    return done ? null : value;
  } catch (error) {
    throw new Broken(error);
  }
}

/** Rings when nothing was heard for a while. One alarm at a time: most pieces come when there is one already. */
class Watch {
  readonly #world: World;
  readonly #silenceMs: number;
  readonly #ring: () => void;
  #heardMs: number;
  #off: () => void;
  rang = false;

  constructor(world: World, silenceMs: number, ring: () => void) {
    this.#world = world;
    this.#silenceMs = silenceMs;
    this.#ring = ring;
    this.#heardMs = world.nowMs();
    this.#off = this.#set(silenceMs);
  }

  heard(): void {
    this.#heardMs = this.#world.nowMs();
  }

  end(): void {
    this.#off();
  }

  #set(ms: number): () => void {
    return alarm(this.#world, ms, () => {
      const leftMs = this.#heardMs + this.#silenceMs - this.#world.nowMs();
      if (leftMs > 0) {
        this.#off = this.#set(leftMs);
        return;
      }
      this.rang = true;
      this.#ring();
    });
  }
}
