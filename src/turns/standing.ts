import { unlessAborted } from "../base/waiting.ts";
import type { Frame } from "../context/meter.ts";
import type { Request } from "../models/model.ts";
import { inForce } from "../sessions/inforce.ts";
import type { Tool } from "../tools/tool.ts";
import type { Place, TurnParts } from "./parts.ts";
import { frameOf, requestOf } from "./request.ts";
import { voicesOf, type Voices } from "./voices.ts";

/**
 * What a turn asks models with. The agent's prompt and its tools stay the same for the whole turn, so that what a provider has
 * seen comes again word for word.
 */
export class Standing {
  /** Those that the agent may use. A server of tools may take its time to start. */
  readonly tools: Promise<readonly Tool[]>;
  /** Read while the letters are being written down. */
  readonly #persona: Promise<string>;
  readonly #parts: TurnParts;
  readonly #place: Place;
  readonly #signal: AbortSignal;
  #frame: Frame | null = null;
  #cutTo: number | null = null;

  constructor(parts: TurnParts, place: Place, signal: AbortSignal) {
    this.#parts = parts;
    this.#place = place;
    this.#signal = signal;
    this.tools = parts.tools.of(place.agent);
    this.#persona = parts.prompts.of(place.persona, place.held.row.parent !== null ? "subagent" : "session");
    for (const read of [this.tools, this.#persona]) read.catch(() => {}); // Whoever asks the model hears of it.
  }

  /** Settings may have changed since the last step. */
  voices(): Voices {
    const { held, agent } = this.#place;
    return voicesOf(this.#parts.catalog, agent, inForce(held.row, agent));
  }

  /** Null: nobody has asked yet. */
  get framed(): Frame | null {
    return this.#frame;
  }

  /** Bytes that the messages of the last request were cut to; null: they were whole. */
  get cutTo(): number | null {
    return this.#cutTo;
  }

  /** How large what stands around the conversation is. */
  async frame(): Promise<Frame> {
    this.#frame ??= frameOf(await this.#about());
    return this.#frame;
  }

  /** `roomBytes` is what the messages may have. Nobody's slot is held while tools start: it is made when they are there. */
  async request(roomBytes: number): Promise<() => Promise<Request>> {
    const [{ thinking }] = this.voices();
    const asking = { ...(await this.#about()), thinking, roomBytes, signal: this.#signal };
    return async () => {
      const { request, cutTo } = await requestOf(this.#parts.store, asking);
      this.#cutTo = cutTo;
      return request;
    };
  }

  async #about(): Promise<Pick<Parameters<typeof requestOf>[1], "held" | "persona" | "tools">> {
    const [persona, tools] = await unlessAborted(Promise.all([this.#persona, this.tools]), this.#signal);
    return { held: this.#place.held, persona, tools };
  }
}
