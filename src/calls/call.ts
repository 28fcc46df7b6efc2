// Call
//
// One operation of the system: what it takes, what it gives, who may, and what it does. The table (table.ts) holds all of
// them, and every door is made from the table: the library, the agents' tools, and the doors that follow.
//
// A call that changes something does not commit: it says what is to be committed. A person's door commits that and
// answers; an agent's tool hands it to the turn, which commits it together with the tool's result. So there is one
// description of every effect, and an agent's call cannot happen twice.

import type { z } from "zod";
import type { Disk } from "../base/disk.ts";
import type { World } from "../base/world.ts";
import type { Config } from "../config/config.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Routes } from "../routing/route.ts";
import type { Processes } from "../sandbox/processes.ts";
import type { Memory } from "../memory/memory.ts";
import type { Lanes } from "../scheduler/lanes.ts";
import type { Slots } from "../scheduler/slots.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../timers/clock.ts";
import type { JobParts } from "../timers/firing.ts";
import type { HeartbeatParts } from "../timers/heartbeat.ts";
import type { Upkeep } from "../upkeep/rounds.ts";
import type { McpServers } from "../tools/mcp/tools.ts";
import type { Calling } from "../tools/tool.ts";
import type { Answers } from "../turns/answers.ts";
import type { SessionWorker } from "../turns/worker.ts";
import type { Failures } from "./failures.ts";
import type { Later } from "./later.ts";
import type { Today } from "./today.ts";
import type { Totals } from "./totals.ts";

/** What a person may do: look; work with sessions; say who may. Each contains those before it. */
export const SCOPES = ["read", "operate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export function isWithin(needed: Scope, given: Scope): boolean {
  return SCOPES.indexOf(needed) <= SCOPES.indexOf(given);
}

/** Who calls from outside. `principal` is whose ids of messages these are: two people may both have a message 1. */
export interface Person {
  readonly kind: "person";
  readonly principal: string;
  readonly scope: Scope;
}

/** Who calls. */
export type Caller =
  | Person
  /** A session, by one of its tools. `cause` is the same whenever this call is run. */
  | ({ readonly kind: "agent"; readonly tool: string } & Omit<Calling, "signal">);

/** What calls are made of. */
export interface System {
  readonly store: Store;
  readonly world: World;
  readonly config: Config;
  readonly catalog: Catalog;
  readonly routes: Routes;
  readonly lanes: Lanes<SessionWorker>;
  readonly clock: Clock; //        what fires timers
  readonly upkeep: Upkeep; //      what keeps the disk bounded
  readonly heartbeat: HeartbeatParts;
  readonly jobs: JobParts; //      what begins runs of jobs
  readonly slots: Slots; //        model calls
  readonly processSlots: Slots; // programs that agents run
  readonly processes: Pick<Processes, "all" | "killEverything">;
  readonly mcp: Pick<McpServers, "status" | "close">;
  readonly memory: Memory; //      what agents write down
  readonly answers: Answers;
  readonly totals: Totals; //      since the start
  readonly today: Today; //        since midnight
  readonly failures: Failures; //  the newest
  readonly disk: (() => Promise<Disk>) | null; // null: there is none
  readonly configFile: string | null; // null: the configuration came from no file
  readonly later: Later; //        chat commands that take long
  readonly tokens: Tokens | null; // null: nobody but this program calls
  /**
   * For what follows from a call once its changes are durable. What a call itself does is in its changes: a second commit may
   * never come, because a crash may. `remove` alone takes some away before the rest (removing.ts).
   */
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  /** The gateway is about to close: nothing new is taken. */
  readonly isDraining: () => boolean;
}

/** Who may call from outside. The gateway keeps them (gateway/tokens.ts). */
export interface Tokens {
  list(): Promise<readonly TokenRow[]>;
  /** The text is told once, here, and kept nowhere. Fault exists when there is one of that name. */
  create(name: string, scope: Scope): Promise<TokenRow & { readonly token: string }>;
  /** False: there is none of that name. */
  revoke(name: string): Promise<boolean>;
}

export interface TokenRow {
  readonly name: string;
  readonly scope: Scope;
  readonly madeAtMs: number;
}

/** A method and a path. GET takes the rest of its input from the query, the others from a JSON body. */
export type Place = `${"GET" | "POST" | "PATCH" | "DELETE"} /${string}`;

/** What a call comes to. `receipt` is null when nothing was committed, or will be together with something else. */
export interface Done<Out> {
  readonly changes: readonly Change[];
  readonly output: (receipt: Receipt | null) => Out | Promise<Out>;
  /** What an agent's transcript keeps of it for sessiond itself. */
  readonly details?: unknown;
}

export interface Call<In extends z.ZodType = z.ZodType, Out extends z.ZodType = z.ZodType> {
  /** For people and models: what it does, in a sentence or two. */
  readonly about: string;
  readonly who: "person" | "agent" | "both";
  /** The name that agents know it by; null: no agent calls it. */
  readonly tool: string | null;
  /** What a person must be allowed to call it. */
  readonly scope: Scope;
  /** Where it is, below /v1; `:name` is that property of the input. Null: only agents call it. */
  readonly http: Place | null;
  readonly input: In;
  /** What agents may give it, where that is less: it is in each of their requests. Without it, `input`. */
  readonly toolInput?: z.ZodType<z.output<In>>;
  readonly output: Out;
  /** See Tool. */
  readonly delegates?: true;
  /** True: calling it twice does what calling it once does. */
  readonly idempotent: boolean;
  /** The signal is aborted when nobody waits for the output any more, at the latest when there is one. */
  readonly run: (
    system: System,
    caller: Caller,
    input: z.output<In>,
    signal: AbortSignal,
  ) => Promise<Done<z.input<Out>>>;
}

/** Only so that the types of one row agree with each other. */
export function call<In extends z.ZodType, Out extends z.ZodType>(row: Call<In, Out>): Call<In, Out> {
  return row;
}

/** A call that only looks. */
export function just<Out>(output: Out): Done<Out> {
  return { changes: [], output: () => output };
}
