// What a gateway is told, after defaults: every value is there. schema.ts says what may be written down.

import type { AgentId } from "../routing/key.ts";

export interface Config {
  readonly home: string; //                    an absolute path
  readonly agents: ReadonlyMap<AgentId, Agent>; // main is always among them
  readonly models: { readonly aliases: Readonly<Record<string, string>> };
  readonly session: SessionConfig;
  readonly scheduler: { readonly slots: number }; // model calls in flight
  readonly log: { readonly level: string };
}

/** A configured persona. */
export interface Agent {
  readonly id: AgentId;
  readonly model: string;
  readonly workspace: string; //               an absolute path; its prompt files are here
  readonly thinking: string;
  readonly verbose: Verbose;
  readonly queueMode: QueueMode | null; //     null: people steer, everything else waits its turn (followup)
  readonly tools: ToolPolicy;
  readonly limits: TurnLimits;
}

export type Verbose = "off" | "on" | "full";
export type QueueMode = "steer" | "followup" | "collect" | "interrupt";

/** What a session may know and reach of others. */
export type Visibility = "self" | "tree" | "agent" | "all";

export interface ToolPolicy {
  readonly allow: readonly string[] | null; // null: all there are
  readonly deny: readonly string[]; //         wins over allow
  readonly visibility: Visibility;
}

export interface TurnLimits {
  readonly stepsPerTurn: number;
  readonly turnSeconds: number;
  readonly toolSeconds: number;
}

export interface SessionConfig {
  readonly dmScope: DmScope;
  /** A person's name → that person's addresses, each `<channel>:<peer>`. */
  readonly identityLinks: Readonly<Record<string, readonly string[]>>;
  /** What a thread of a chat starts with: nothing, or the last messages of the chat. */
  readonly threads: "empty" | "parent";
  readonly sendPolicy: SendPolicy;
  /** How long a `collect` letter waits for others. */
  readonly collectMs: number;
}

export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/** Whether answers may leave through a door. The first rule that matches decides. */
export interface SendPolicy {
  readonly default: "allow" | "deny";
  readonly rules: readonly SendRule[];
}

/** Every given property must match. */
export interface SendRule {
  readonly action: "allow" | "deny";
  readonly channel: string | null;
  readonly chatType: "direct" | "group" | "channel" | "room" | null;
  readonly keyPrefix: string | null; //        a key, or the beginning of one that ends between two parts
}
