// What a gateway is told, after defaults: every value is there. schema.ts says what may be written down.

import type { Secret } from "../base/secret.ts";
import type { AgentId } from "../routing/key.ts";
import type { ToolScope } from "../sessions/session.ts";

export interface Config {
  readonly home: string; //                    an absolute path
  readonly agents: ReadonlyMap<AgentId, Agent>; // main is always among them
  readonly models: {
    readonly aliases: Readonly<Record<string, string>>;
    readonly providers: ReadonlyMap<string, Provider>; // anthropic, openai and google are always among them
  };
  readonly mcp: ReadonlyMap<string, McpServer>; // servers whose tools agents may use, by name
  readonly session: SessionConfig;
  readonly scheduler: SchedulerConfig;
  readonly gateway: GatewayConfig;
  readonly webhooks: ReadonlyMap<string, Webhook>; // channels of other programs, by name
  readonly log: LogConfig;
  readonly timezone: string; //                IANA; whose hours are meant where nobody names another
  readonly upkeep: UpkeepPolicy;
}

/** What keeps the disk bounded. 0: never, or no bound. */
export interface UpkeepPolicy {
  readonly mode: "warn" | "enforce";
  readonly everyMinutes: number;
  readonly staleDays: number; //               sessions without a change for so long are archived
  readonly sessionsMax: number; //             the oldest above so many are archived
  readonly subagentHours: number; //           sub-agents that ended so long ago are archived
  readonly rotateMiB: number; //               transcripts above it go on in a new file
  readonly archiveDays: number; //             archives above it are erased
  readonly diskMiB: number; //                 above it the oldest go, down to
  readonly highWater: number; //               this share of it
}

/** How often an agent looks by itself whether there is something to do. */
export interface HeartbeatPolicy {
  readonly everyMinutes: number; //            0: never
  readonly hours: ActiveHours | null; //       null: all day
  readonly model: string | null; //            null: the agent's own
  readonly to: "main" | "route" | "none"; //   where an alert goes
}

/** Minutes of the day. From later than to: over midnight. */
export interface ActiveHours {
  readonly fromMinute: number;
  readonly toMinute: number; //                1440: midnight
  readonly zone: string;
}

/** When a conversation begins anew. */
export type Reset =
  | { readonly mode: "none" }
  | { readonly mode: "daily"; readonly hour: number; readonly zone: string }
  | { readonly mode: "idle"; readonly minutes: number };

export type ResetType = "main" | "named" | "direct" | "group" | "channel" | "thread";

/** A channel's own goes before that of the kind of chat, and that before the usual. */
export interface ResetPolicy {
  readonly usual: Reset; //                    of chats; not of main and named sessions
  readonly byType: ReadonlyMap<ResetType, Reset>;
  readonly byChannel: ReadonlyMap<string, Reset>;
}

/** Where the daemon listens, and whom it lets in. */
export interface GatewayConfig {
  readonly host: string;
  readonly port: number; //                    0: any that is free
  readonly remote: boolean; //                 whether other machines may reach it
  readonly hosts: readonly string[]; //        names it is reached by, besides localhost and its address
  readonly origins: readonly string[]; //      other pages that may call it
  readonly requestsPerSecond: number; //       of one token
  readonly drainSeconds: number;
}

export interface Webhook {
  readonly name: string; //                    of the channel
  readonly secret: Secret;
  readonly url: string | null; //              null: it takes no answers
  readonly agent: string | null; //            null: each message says who is spoken to
}

export interface LogConfig {
  readonly level: string;
  readonly file: string | null; //             an absolute path; null: standard error
  readonly fileBytes: number;
  readonly files: number;
}

export interface SchedulerConfig {
  readonly slots: number; //                   model calls in flight
  readonly reserve: number; //                 of these, kept for people
  readonly share: number; //                   every class with work gets at least one of so many grants
  readonly processes: number; //               tool processes that are waited for
}

/** Where models are asked. */
export interface Provider {
  readonly id: string; //                      the first part of its models' ids
  readonly api: Api;
  readonly baseUrl: string | null; //          null: the provider's own
  readonly apiKey: Secret | null; //           null: none is known; asking will say so, unless it needs none
  readonly keyNames: readonly string[]; //     environment variables that were looked at for it
  readonly headers: Readonly<Record<string, Secret>>; // sent along
  readonly concurrency: number | null; //      calls in flight; null: as many as there are slots
  readonly models: Readonly<Record<string, ModelFacts>>; // what is written down; the rest is known or guessed
}

/** The protocol of a provider. */
export type Api = "anthropic" | "openai" | "google" | "openai-compatible";

/** What is known of a model. Null: it is not known, or the model has none. */
export interface ModelFacts {
  readonly windowTokens: number | null;
  readonly outputTokensMax: number | null;
  readonly images: boolean | null; //          null: it is tried
  readonly prices: Prices | null;
}

/** In dollars for a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A server of tools: a program that is started, or an address. */
export type McpServer =
  | {
      readonly kind: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, Secret>>;
      readonly cwd: string; //                 an absolute path
    }
  | {
      readonly kind: "http";
      readonly name: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, Secret>>;
    };

/** A configured persona. */
export interface Agent {
  readonly id: AgentId;
  readonly model: string;
  readonly failover: readonly string[]; //     models that are asked for a step when the first cannot be
  readonly workspace: string; //               an absolute path; its prompt files are here
  readonly thinking: string;
  readonly verbose: Verbose;
  readonly queueMode: QueueMode | null; //     null: people steer, everything else waits its turn (followup)
  readonly tools: ToolPolicy;
  readonly limits: TurnLimits;
  readonly subagents: SubagentPolicy;
  readonly context: ContextPolicy;
  readonly heartbeat: HeartbeatPolicy;
}

/** How large a session's context grows, and what happens then. */
export interface ContextPolicy {
  readonly sizeTokens: number | null; //       it is summarised when it is larger; null: a share of the window
  readonly reserveTokens: number | null; //    of the window, for the answer; null: a share of it
  readonly summaryModel: string | null; //     who writes summaries; null: the model in force
  readonly flush: boolean; //                  whether the agent may write down what is to last before that
}

/** What sessions of an agent may spawn. */
export interface SubagentPolicy {
  readonly depth: number; //                   generations below a root; 0: none are spawned
  readonly children: number; //                tasks that one session may have in flight
  readonly agents: readonly string[]; //       other agents that may be named; its own always may
  readonly model: string | null; //            null: the agent's own
  readonly thinking: string | null; //         null: the agent's own
}

export type Verbose = "off" | "on" | "full";
export type QueueMode = "steer" | "followup" | "collect" | "interrupt";

/** What a session may know and reach of others. */
export type Visibility = "self" | "tree" | "agent" | "all";

export interface ToolPolicy {
  readonly allow: readonly string[] | null; // null: all there are
  readonly deny: readonly string[]; //         wins over allow
  readonly exec: boolean; //                   whether it may run programs; nothing confines them yet
  readonly visibility: Visibility;
  readonly within: readonly ToolScope[]; //    of a sub-agent: what it was given must let a tool through too
}

export interface TurnLimits {
  readonly stepsPerTurn: number;
  readonly turnSeconds: number;
  readonly toolSeconds: number;
  readonly tokens: number | null; //           of a session with all its descendants; null: no bound
  readonly cost: number | null; //             the same in US dollars
}

export interface SessionConfig {
  readonly dmScope: DmScope;
  /** A person's name → that person's addresses, each `<channel>:<peer>`. */
  readonly identityLinks: Readonly<Record<string, readonly string[]>>;
  /** What a thread of a chat starts with: nothing, or the last messages of the chat. */
  readonly threads: "empty" | "parent";
  readonly sendPolicy: SendPolicy;
  readonly reset: ResetPolicy;
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
