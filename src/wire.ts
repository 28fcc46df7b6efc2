// Wire
//
// Puts a system together from its parts. Which parts is not decided here: main.ts brings threads, files, programs and
// providers; the simulator brings a memory and a clock that it holds.
//
//   Owns:      who is told of whom.
//   Does not:  import a store engine, a provider, a client of tool servers, or anything that starts programs. So what
//              is wired here can be run where nothing of that exists.

import type { Log } from "./base/log.ts";
import { cleaning } from "./base/redact.ts";
import type { World } from "./base/world.ts";
import type { System, Tokens } from "./calls/call.ts";
import { Door, toolsOf } from "./calls/door.ts";
import { opening } from "./calls/send.ts";
import { Totals } from "./calls/totals.ts";
import { deadlineDue } from "./children/deadline.ts";
import { isCircle } from "./children/waiting.ts";
import type { Agent, Config } from "./config/config.ts";
import { secretsIn } from "./config/outside.ts";
import type { Prompts } from "./config/prompt.ts";
import { Bus } from "./events/bus.ts";
import type { Memory } from "./memory/memory.ts";
import type { Deliver } from "./mail/outbox.ts";
import type { Catalog } from "./models/catalog.ts";
import { mainKey } from "./routing/key.ts";
import { Routes } from "./routing/route.ts";
import type { Processes } from "./sandbox/processes.ts";
import { Lanes } from "./scheduler/lanes.ts";
import { Slots } from "./scheduler/slots.ts";
import { Budgets } from "./sessions/budget.ts";
import type { Change, Receipt, Store } from "./store/store.ts";
import { Clock } from "./timers/clock.ts";
import type { McpServers } from "./tools/mcp/tools.ts";
import type { Tool } from "./tools/tool.ts";
import { Toolbox } from "./tools/toolbox.ts";
import { Answers } from "./turns/answers.ts";
import type { WriteFile } from "./turns/handoff.ts";
import { Suspects } from "./turns/resuming.ts";
import { beginWork, type SessionWorker, type WorkParts } from "./turns/worker.ts";

export interface Wiring {
  readonly config: Config;
  readonly world: World;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly prompts: Pick<Prompts, "of">;
  readonly channels: ReadonlyMap<string, Deliver>;
  readonly store: Store;
  readonly processes: Pick<Processes, "all" | "killAll" | "killEverything">;
  readonly mcp: Pick<McpServers, "names" | "tools" | "status" | "close">;
  readonly memory: Memory;
  /** Who may call from outside; without it, nobody does. */
  readonly tokens?: Tokens | undefined;
  /** Hears of every commit of this process once it is durable: what is counted is counted from these. */
  readonly told?: ((changes: readonly Change[], receipt: Receipt) => void) | undefined;
  readonly writeFile: WriteFile;
  readonly tools: {
    /** For every agent, besides the calls that agents may make. */
    readonly ours: readonly Tool[];
    /** Those that run programs. */
    readonly exec: readonly Tool[];
    /** What the program brought along. */
    readonly given: readonly Tool[];
  };
}

export interface Wired {
  readonly system: System;
  readonly bus: Bus;
  readonly door: Door;
}

/** Nothing runs yet: `begin` starts it. */
export function wire(wiring: Wiring): Wired {
  const { config, world, log, catalog, prompts, channels, store, processes, mcp } = wiring;
  const base = { world, log, store };
  const bus = new Bus();
  const slots = modelSlots(world, config);
  const processSlots = toolSlots(world, config);
  const shared = { world, store, catalog, processes, slots, processSlots, answers: new Answers() };
  const totals = new Totals(world.nowMs());
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const receipt = await store.commit(changes);
    lanes.told(changes, receipt);
    clock.told(changes);
    totals.told(changes);
    wiring.told?.(changes, receipt);
    return receipt;
  };
  const { ours, exec, given } = wiring.tools;
  const tools = new Toolbox({ ours: [...toolsOf(() => system), ...ours], given, exec, mcp });
  warnOfPolicies(config, log, tools);
  const agents: ReadonlyMap<string, Agent> = config.agents;
  const work: WorkParts = {
    ...shared,
    log,
    bus,
    commit,
    mayBegin: () => !door.isDraining,
    raise: (key, to) => {
      slots.raise(key, to);
      processSlots.raise(key, to);
    },
    tools,
    prompts,
    session: config.session,
    writeFile: wiring.writeFile,
    agents,
    isCircle: (key, others) => isCircle({ store, lanes }, key, others),
    suspects: new Suspects(),
    budgets: new Budgets({ agents, find: (key) => store.session(key) }),
    channels: new Set(channels.keys()),
    clean: cleaning(secretsIn(config)),
    outbox: { store, commit, world, log, channels },
  };
  const lanes: Lanes<SessionWorker> = new Lanes({ ...base, begin: (claim) => beginWork(work, claim) });
  const clock = new Clock({ ...base, commit, due: (timer) => deadlineDue(store, timer) });
  const system: System = {
    ...shared,
    config,
    routes: new Routes(config.session),
    lanes,
    clock,
    mcp,
    memory: wiring.memory,
    totals,
    tokens: wiring.tokens ?? null,
  };
  const door = new Door({ system, bus, commit });
  return { system, bus, door };
}

/** Every agent's main session exists from the first start; then what was left is gone on with. */
export async function begin(system: System): Promise<void> {
  const mains = [...system.config.agents.keys()].map(mainKey);
  await system.store.commit(await Promise.all(mains.map((key) => opening(system, key))));
  system.lanes.start();
  system.clock.start();
}

function warnOfPolicies({ agents }: Config, log: Log, tools: Toolbox): void {
  for (const { id, tools: policy } of agents.values())
    for (const name of tools.unknownIn(policy))
      log.warn({ agent: id, tool: name }, "the tool policy names a tool that is not there");
}

/** Model calls in flight; what they cost is counted in tokens. */
function modelSlots(world: World, { scheduler, models }: Config): Slots {
  const limited = [...models.providers.values()].flatMap(({ id, concurrency }): [string, number][] =>
    concurrency === null ? [] : [[id, concurrency]],
  );
  return new Slots(world, { ...scheduler, providers: new Map(limited) });
}

/** Programs that are waited for; what they cost is counted in milliseconds. */
function toolSlots(world: World, { scheduler: { processes, reserve, share } }: Config): Slots {
  return new Slots(world, { slots: processes, reserve, share, providers: new Map() });
}
