// The rehearsal, with somebody who looks at what it is shown: nothing that is not durable, and every call with its result.

import { isDeepStrictEqual } from "node:util";
import { assemble } from "../src/context/assemble.ts";
import type { Answer, Delta, Model, Request } from "../src/models/model.ts";
import type { Entry } from "../src/transcript/entry.ts";
import type { Home } from "./home.ts";

export class Watched implements Model {
  readonly #of: Model;
  readonly #home: Home;
  readonly #isDead: () => boolean;

  constructor(of: Model, home: Home, isDead: () => boolean) {
    this.#of = of;
    this.#home = home;
    this.#isDead = isDead;
  }

  get id(): string {
    return this.#of.id;
  }
  get provider(): string {
    return this.#of.provider;
  }
  get name(): string {
    return this.#of.name;
  }
  get api(): string {
    return this.#of.api;
  }
  get windowTokens(): number {
    return this.#of.windowTokens;
  }

  async ask(request: Request, show: (delta: Delta) => void): Promise<Answer> {
    if (!this.#isDead()) await this.#look(request);
    return await this.#of.ask(request, show);
  }

  async #look({ cacheKey, messages }: Request): Promise<void> {
    const { store } = this.#home;
    const transcript = cacheKey.replace(/-summary$/, "");
    const row = (await store.sessions({ limit: 500 })).rows.find(
      ({ transcript: { id } }) => id === transcript,
    );
    if (!row) return this.#home.wrong(`J8 a model is asked in ${transcript}, which is gone`);
    const entries = (await Array.fromAsync(store.entries(transcript, { from: "context" }))) as Entry[];
    for (const cause of unsettled(entries.filter(({ seq }) => seq > row.transcript.copied)))
      this.#home.wrong(`J8 a model is asked in ${transcript}, and ${cause} has no durable result`);
    if (transcript !== cacheKey) return; // It is shown a text that tells of them.
    const isDurable = [false, true].some((shared) =>
      isDeepStrictEqual(jsonOf(assemble(entries, shared)), jsonOf(messages)),
    );
    if (!isDurable) this.#home.wrong(`J8 a model is shown in ${transcript} what is not durable`);
  }
}

function jsonOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function unsettled(entries: readonly Entry[]): string[] {
  const open = new Map<string, string>();
  for (const entry of entries) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "assistant")
      for (const block of message.content)
        if (block.type === "toolCall") open.set(block.id, `${block.name} ${entry.seq}:${block.id}`);
    if (message.role === "toolResult") open.delete(message.toolCallId);
  }
  return [...open.values()];
}
