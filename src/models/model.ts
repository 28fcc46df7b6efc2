// What a turn asks, and what comes back. Providers and the rehearsal implement it; nobody else knows how a model is reached.

import type { Prices } from "../config/config.ts";
import type { Block, Message, MessageUsage } from "../transcript/entry.ts";

/** How much a model thinks before it speaks. A model that knows fewer levels takes the nearest. */
export const THINKING = ["off", "minimal", "low", "medium", "high"] as const;
export type Thinking = (typeof THINKING)[number];

/** A tool as a model is shown it. */
export interface ToolForm {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Request {
  readonly system: string;
  /** Ends with what is to be answered: a user message or tool results. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolForm[];
  readonly thinking: Thinking;
  /** The same for all requests of one conversation: providers that cache find what they have seen by it. */
  readonly cacheKey: string;
  /** Aborted: nobody wants the answer any more. */
  readonly signal: AbortSignal;
}

/** A piece of an answer while it comes. It is shown, and never kept: what counts is the Answer. */
export interface Delta {
  readonly kind: "text" | "thinking";
  readonly text: string;
}

/**
 * A failure is an answer too:
 *   retry      the model is busy or was not reached; later it may work
 *   overflow   the context is larger than the model's window
 *   auth       the key is missing or wrong; only a person can help
 *   local      we asked for something that this model cannot do; asking again will not help
 */
export type Answer =
  | {
      readonly kind: "reply";
      readonly content: readonly Block[]; // text, thinking and tool calls, in their order
      readonly usage: MessageUsage;
      readonly stopReason: "stop" | "length" | "toolUse";
    }
  | {
      readonly kind: "failed";
      readonly why: "retry" | "overflow" | "auth" | "local";
      readonly message: string;
      readonly retryAfterMs: number | null; // null: the model did not say
      /** True: the provider has too much to do. Nobody else asks it either until it has had its pause. */
      readonly throttled: boolean;
    };

export interface Model {
  /** `<provider>/<name>`, as settings and the configuration say it. */
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  /** The protocol, as transcripts name it. */
  readonly api: string;
  readonly windowTokens: number;
  /** What it says that it costs. Absent: its source says it, or nobody knows. */
  readonly prices?: Prices;
  /** Rejects only when the signal is aborted, with its reason. `show` gets pieces as they come. */
  ask(request: Request, show: (delta: Delta) => void): Promise<Answer>;
}
