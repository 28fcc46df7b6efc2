// Opens everything that a system is made of, and has it wired: the only file that knows all the parts.

import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { lookAtDisk, type Disk } from "./base/disk.ts";
import { Fault } from "./base/fault.ts";
import { openLog, type Log } from "./base/log.ts";
import { RealWorld, type World } from "./base/world.ts";
import { Sessions } from "./calls/library.ts";
import { channelsOf, doorsOf, type Given } from "./channels/channel.ts";
import { Typing } from "./channels/typing.ts";
import { webChannel } from "./channels/web.ts";
import { webhookChannels } from "./channels/webhook.ts";
import type { Agent, Config } from "./config/config.ts";
import { readConfig } from "./config/load.ts";
import { checkParts } from "./config/parts.ts";
import { Prompts } from "./config/prompt.ts";
import type { ConfigInput } from "./config/schema.ts";
import { FileMemory } from "./memory/files.ts";
import { Catalog } from "./models/catalog.ts";
import type { Model } from "./models/model.ts";
import { providers } from "./models/providers.ts";
import { rehearsals } from "./models/rehearsal.ts";
import { parseAgent } from "./routing/key.ts";
import { Processes } from "./sandbox/processes.ts";
import { inTurn, replaceFile } from "./sandbox/place.ts";
import { folderWithin, within } from "./sandbox/within.ts";
import { LocalStore } from "./store/local/local.ts";
import { pathsIn } from "./store/local/paths.ts";
import type { Store } from "./store/store.ts";
import { readTask } from "./timers/task.ts";
import { execTools } from "./tools/exec.ts";
import { McpServers } from "./tools/mcp/tools.ts";
import type { Tool } from "./tools/tool.ts";
import { workspaceTools } from "./tools/workspace/tools.ts";
import { begin, wire, type Wired, type Wiring } from "./wire.ts";

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
  /** Where answers go, by the name of their channel: a function that delivers, or a Channel. The web chat is always there. */
  readonly channels?: Given;
  /** Told once, when the store cannot go on. The process should say why and stop; a start recovers. */
  readonly died?: (fault: Fault) => void;
}

/** Takes the home, recovers what was going on, and goes on with it. `config` is what config.json5 would say. */
export async function open(input: ConfigInput = {}, parts: Parts = {}): Promise<Sessions> {
  const config = readConfig(input, { homeDir: homedir(), cwd: process.cwd(), env: process.env });
  checkParts(parts);
  return new Sessions(await openWired(config, parts));
}

/** What a gateway adds to the parts of a program. */
export type GatewayParts = Parts & Pick<Wiring, "tokens" | "told" | "configFile">;

/** The same for who makes doors of its own. Closing is the library's: `new Sessions(wired).close()`. */
export async function openWired(config: Config, parts: GatewayParts): Promise<Wired> {
  const world = parts.world ?? new RealWorld();
  const log = parts.log ?? openLog(config.log.level);
  const catalog = checkedNames(config, world, parts.models ?? []);
  await checkWorkspaces(config, log);
  const own = [webChannel, ...webhookChannels(world, config.webhooks.values())];
  const channels = channelsOf(parts.channels ?? {}, own);
  const store =
    parts.store ?? (await LocalStore.open(config.home, { world, log, died: parts.died ?? (() => {}) }));
  try {
    const processes = new Processes({ folder: join(config.home, "processes"), world, log });
    await processes.reapLeft(); // Before anything goes on that may have started them.
    const { ours, exec, ...rest } = outside({ config, world, log }, processes);
    const tools = { ours, exec, given: parts.tools ?? [] };
    const typing = new Typing({
      channels,
      policy: config.session.sendPolicy,
      log,
      session: (key) => wired.system.lanes.worker(key)?.session ?? null,
    });
    const told: Wiring["told"] = (changes, receipt) => {
      typing.told(changes);
      parts.told?.(changes, receipt);
    };
    const { tokens, configFile } = parts;
    const disk = parts.store === undefined ? () => diskOf(config) : undefined;
    const doors = { channels: doorsOf(channels), tokens, told, configFile, disk };
    const wired: Wired = wire({ config, world, log, catalog, store, tools, ...doors, ...rest });
    await begin(wired.system);
    return wired;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The models that can be asked. What the configuration names, models and agents, must be there: bad_input says which is not. */
export function checkedNames(config: Config, world: World, own: readonly Model[]): Catalog {
  const models = [...rehearsals(world), ...own];
  const sources = providers(world, config.models.providers);
  const catalog = placed("models.aliases", () => new Catalog(models, sources, config.models.aliases));
  for (const { id, model, failover, subagents, context, heartbeat } of config.agents.values()) {
    placed(`agents.${id}.model`, () => catalog.find(model));
    for (const each of failover) placed(`agents.${id}.failover`, () => catalog.find(each));
    if (subagents.model !== null)
      placed(`agents.${id}.subagents.model`, () => catalog.find(subagents.model ?? ""));
    if (context.summaryModel !== null)
      placed(`agents.${id}.context.summaryModel`, () => catalog.find(context.summaryModel ?? ""));
    if (heartbeat.model !== null)
      placed(`agents.${id}.heartbeat.model`, () => catalog.find(heartbeat.model ?? ""));
    for (const each of subagents.agents)
      placed(`agents.${id}.subagents.agents`, () => mustBeAgent(config, each));
  }
  for (const { name, agent } of config.webhooks.values())
    if (agent !== null) placed(`webhooks.${name}.agent`, () => mustBeAgent(config, agent));
  return catalog;
}

/** Of the home, if that is where sessions are kept: a store that a program brings along may be anywhere. The journal is in the log of SQLite. */
function diskOf({ home }: Config): Promise<Disk> {
  return lookAtDisk({ folder: home, journal: `${pathsIn(home).state}-wal` });
}

/** What is started besides the store, and the tools that need it. */
function outside({ config, world, log }: Pick<Wiring, "config" | "world" | "log">, processes: Processes) {
  const folderOf = ({ workspace }: Agent, path: string | null) => folderWithin(workspace, path);
  return {
    processes,
    mcp: new McpServers({ world, log, processes, servers: config.mcp }),
    prompts: new Prompts(),
    task: readTask,
    memory: new FileMemory({ world, log, receipts: join(config.home, "memory-receipts") }),
    writeFile,
    exec: execTools({ processes, world, folderOf }),
    ours: workspaceTools(world, processes),
  };
}

/** Into the workspace and nowhere else, as the tools of agents do. */
const writeFile: Wiring["writeFile"] = (workspace, { path, text, cause, signal }) =>
  within({ workspace, path }, { make: true }, (place) =>
    inTurn(place, async () => {
      await replaceFile(place, { bytes: Buffer.from(text), cause, signal, known: null });
    }),
  );

function mustBeAgent({ agents }: Config, id: string): void {
  if (!agents.has(parseAgent(id)))
    throw new Fault(
      "bad_input",
      `there is no agent ${JSON.stringify(id)}; there are: ${[...agents.keys()].join(", ")}`,
    );
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
