// Wires the parts: the only file that knows them all.

import { homedir } from "node:os";
import { Fault } from "./base/fault.ts";
import { openLog, type Log } from "./base/log.ts";
import { RealWorld, type World } from "./base/world.ts";
import type { System } from "./calls/call.ts";
import { Door, toolsOf } from "./calls/door.ts";
import { Sessions } from "./calls/library.ts";
import { opening } from "./calls/send.ts";
import type { Agent, Config } from "./config/config.ts";
import { readConfig } from "./config/load.ts";
import { checkParts } from "./config/parts.ts";
import { Prompts } from "./config/prompt.ts";
import type { ConfigInput } from "./config/schema.ts";
import { Bus } from "./events/bus.ts";
import type { Deliver } from "./mail/outbox.ts";
import { Catalog } from "./models/catalog.ts";
import type { Model } from "./models/model.ts";
import { rehearsals } from "./models/rehearsal.ts";
import { mainKey } from "./routing/key.ts";
import { Routes } from "./routing/route.ts";
import { Lanes } from "./scheduler/lanes.ts";
import { Slots } from "./scheduler/slots.ts";
import { LocalStore } from "./store/local/local.ts";
import type { Change, Receipt, Store } from "./store/store.ts";
import type { Tool } from "./tools/tool.ts";
import { Answers } from "./turns/answers.ts";
import { beginWork, type SessionWorker, type WorkParts } from "./turns/worker.ts";

/** What a program brings along. Everything has a default. */
export interface Parts {
  readonly world?: World;
  readonly log?: Log;
  /** Where sessions are kept; by default files and SQLite in the configured home. It is closed with the rest. */
  readonly store?: Store;
  /** Models besides the rehearsal. */
  readonly models?: readonly Model[];
  /** Tools besides those of sessiond. */
  readonly tools?: readonly Tool[];
  /** Doors that answers go through, by the name of their channel. */
  readonly channels?: Readonly<Record<string, Deliver>>;
  /** Told once, when the store cannot go on. The process should say why and stop; a start recovers. */
  readonly died?: (fault: Fault) => void;
}

/** Takes the home, recovers what was going on, and goes on with it. `config` is what config.json5 would say. */
export async function open(input: ConfigInput = {}, parts: Parts = {}): Promise<Sessions> {
  const config = readConfig(input, { homeDir: homedir(), cwd: process.cwd() });
  checkParts(parts);
  const world = parts.world ?? new RealWorld();
  const log = parts.log ?? openLog(config.log.level);
  const catalog = new Catalog([...rehearsals(world), ...(parts.models ?? [])], config.models.aliases);
  for (const { id, model } of config.agents.values()) mustKnow(catalog, `agents.${id}.model`, model);
  const channels = new Map(Object.entries(parts.channels ?? {}));
  const store =
    parts.store ?? (await LocalStore.open(config.home, { world, log, died: parts.died ?? (() => {}) }));
  try {
    const wired = wire({ ...parts, config, world, log, catalog, channels, store });
    await openMains(wired.system);
    wired.system.lanes.start();
    return new Sessions(wired);
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Wiring extends Omit<Parts, "channels"> {
  readonly config: Config;
  readonly world: World;
  readonly log: Log;
  readonly catalog: Catalog;
  readonly channels: ReadonlyMap<string, Deliver>;
  readonly store: Store;
}

function wire(wiring: Wiring): { readonly system: System; readonly bus: Bus; readonly door: Door } {
  const { config, world, log, catalog, channels, store } = wiring;
  const bus = new Bus();
  const slots = new Slots(config.scheduler.slots);
  const answers = new Answers();
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const receipt = await store.commit(changes);
    lanes.told(changes, receipt);
    return receipt;
  };
  const tools = allTools(config, log, [...toolsOf(() => system), ...(wiring.tools ?? [])]);
  const work: WorkParts = {
    world,
    log,
    bus,
    store,
    commit,
    slots,
    catalog,
    answers,
    tools,
    prompts: new Prompts(),
    session: config.session,
    agents: config.agents as ReadonlyMap<string, Agent>,
    channels: new Set(channels.keys()),
    outbox: { store, commit, world, log, channels },
  };
  const lanes: Lanes<SessionWorker> = new Lanes({
    store,
    world,
    log,
    begin: (claim) => beginWork(work, claim),
  });
  const routes = new Routes(config.session);
  const system: System = { store, world, config, catalog, routes, lanes, slots, answers };
  return { system, bus, door: new Door(system, commit) };
}

/** Every agent's main session exists from the first start. */
async function openMains(system: System): Promise<void> {
  const mains = [...system.config.agents.keys()].map(mainKey);
  await system.store.commit(await Promise.all(mains.map((key) => opening(system, key))));
}

function mustKnow(catalog: Catalog, where: string, model: string): void {
  try {
    catalog.find(model);
  } catch (error) {
    throw error instanceof Fault ? new Fault(error.code, `config: ${where}: ${error.message}`) : error;
  }
}

/** Names that an agent's policy knows and nobody else does are most likely misspelt; but a tool may also just be missing. */
function allTools({ agents }: Config, log: Log, tools: readonly Tool[]): readonly Tool[] {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw new Fault("bad_input", `open: a tool of sessiond is called ${name} too`);
    names.add(name);
  }
  for (const { id, tools: policy } of agents.values())
    for (const name of [...(policy.allow ?? []), ...policy.deny])
      if (!names.has(name))
        log.warn({ agent: id, tool: name }, "the tool policy names a tool that is not there");
  return tools;
}
