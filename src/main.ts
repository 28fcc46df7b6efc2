// Wires the parts: the only file that knows them all.

import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Fault } from "./base/fault.ts";
import { openLog, type Log } from "./base/log.ts";
import { cleaning } from "./base/redact.ts";
import { RealWorld, type World } from "./base/world.ts";
import type { System } from "./calls/call.ts";
import { Door, toolsOf } from "./calls/door.ts";
import { Sessions } from "./calls/library.ts";
import { opening } from "./calls/send.ts";
import type { Agent, Config } from "./config/config.ts";
import { readConfig } from "./config/load.ts";
import { secretsIn } from "./config/outside.ts";
import { checkParts } from "./config/parts.ts";
import { Prompts } from "./config/prompt.ts";
import type { ConfigInput } from "./config/schema.ts";
import { Bus } from "./events/bus.ts";
import type { Deliver } from "./mail/outbox.ts";
import { Catalog } from "./models/catalog.ts";
import type { Model } from "./models/model.ts";
import { providers } from "./models/providers.ts";
import { rehearsals } from "./models/rehearsal.ts";
import { mainKey } from "./routing/key.ts";
import { Routes } from "./routing/route.ts";
import { Processes } from "./sandbox/processes.ts";
import { folderWithin } from "./sandbox/within.ts";
import { Lanes } from "./scheduler/lanes.ts";
import { Slots } from "./scheduler/slots.ts";
import { LocalStore } from "./store/local/local.ts";
import type { Change, Claim, Receipt, Store } from "./store/store.ts";
import { execTools } from "./tools/exec.ts";
import { McpServers } from "./tools/mcp/tools.ts";
import type { Tool } from "./tools/tool.ts";
import { Toolbox } from "./tools/toolbox.ts";
import { workspaceTools } from "./tools/workspace/tools.ts";
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
  const config = readConfig(input, { homeDir: homedir(), cwd: process.cwd(), env: process.env });
  checkParts(parts);
  const world = parts.world ?? new RealWorld();
  const log = parts.log ?? openLog(config.log.level);
  const models = [...rehearsals(world), ...(parts.models ?? [])];
  const sources = providers(world, config.models.providers);
  const catalog = placed("models.aliases", () => new Catalog(models, sources, config.models.aliases));
  for (const { id, model, failover } of config.agents.values()) {
    placed(`agents.${id}.model`, () => catalog.find(model));
    for (const each of failover) placed(`agents.${id}.failover`, () => catalog.find(each));
  }
  await checkWorkspaces(config, log);
  const channels = new Map(Object.entries(parts.channels ?? {}));
  const store =
    parts.store ?? (await LocalStore.open(config.home, { world, log, died: parts.died ?? (() => {}) }));
  try {
    const processes = new Processes({ folder: join(config.home, "processes"), world, log });
    await processes.reapLeft(); // Before anything goes on that may have started them.
    const wired = wire({ ...parts, config, world, log, catalog, channels, store, processes });
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
  readonly processes: Processes;
}

function wire(wiring: Wiring): { readonly system: System; readonly bus: Bus; readonly door: Door } {
  const { config, world, log, catalog, channels, store, processes } = wiring;
  const bus = new Bus();
  const slots = modelSlots(world, config);
  const processSlots = toolSlots(world, config);
  const mcp = new McpServers({ world, log, processes, servers: config.mcp });
  const answers = new Answers();
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const receipt = await store.commit(changes);
    lanes.told(changes, receipt);
    return receipt;
  };
  const folderOf = ({ workspace }: Agent, path: string | null) => folderWithin(workspace, path);
  const exec = execTools({ processes, world, folderOf });
  const ours = [...toolsOf(() => system), ...workspaceTools(world, processes)];
  const tools = new Toolbox({ ours, given: wiring.tools ?? [], exec, mcp });
  warnOfPolicies(config, log, tools);
  const work: WorkParts = {
    world,
    log,
    bus,
    store,
    commit,
    slots,
    processSlots,
    raise: (key, to) => {
      slots.raise(key, to);
      processSlots.raise(key, to);
    },
    catalog,
    answers,
    tools,
    prompts: new Prompts(),
    session: config.session,
    agents: config.agents as ReadonlyMap<string, Agent>,
    channels: new Set(channels.keys()),
    processes,
    clean: cleaning(secretsIn(config)),
    outbox: { store, commit, world, log, channels },
  };
  const begin = (claim: Claim): Promise<SessionWorker | null> => beginWork(work, claim);
  const lanes: Lanes<SessionWorker> = new Lanes({ store, world, log, begin });
  const routes = new Routes(config.session);
  const system: System = {
    store,
    world,
    config,
    catalog,
    routes,
    lanes,
    slots,
    processSlots,
    processes,
    mcp,
    answers,
  };
  return { system, bus, door: new Door(system, commit) };
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

/** Every agent's main session exists from the first start. */
async function openMains(system: System): Promise<void> {
  const mains = [...system.config.agents.keys()].map(mainKey);
  await system.store.commit(await Promise.all(mains.map((key) => opening(system, key))));
}

/** What is refused here was named in that place of the configuration. */
function placed<Value>(where: string, look: () => Value): Value {
  try {
    return look();
  } catch (error) {
    throw error instanceof Fault ? new Fault(error.code, `config: ${where}: ${error.message}`) : error;
  }
}

/** A folder that is not there is made by the first tool that needs it. If somebody named it, that may be a mistake. */
async function checkWorkspaces({ home, agents }: Config, log: Log): Promise<void> {
  const look = async ({ id, workspace }: Agent): Promise<void> => {
    const found = await stat(workspace).catch(() => null);
    if (found !== null && !found.isDirectory())
      throw new Fault("bad_input", `config: agents.${id}.workspace: ${workspace} is not a folder`);
    if (found === null && !workspace.startsWith(join(home, "agents")))
      log.warn({ agent: id, workspace }, "the workspace is not there; it will be made, and is empty then");
  };
  await Promise.all([...agents.values()].map(look));
}
