// Load
//
// From what people wrote to what the gateway is told.
//
//   Owns:      reading the file, the words of every error, merging, defaults, absolute paths.
//   Does not:  say which keys there are (schema.ts), or look whether a path or a model exists.
//
// Invariants
//   L1. Whatever comes in, readConfig returns a whole Config or throws one Fault that tells every problem.
//   L2. A message is bounded, and so is what it shows of a value: a config may hold what is not for a log.
//   L3. Nothing that was written is dropped in silence.

import { open } from "node:fs/promises";
import { join } from "node:path";
import json5 from "json5";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { instead } from "../base/near.ts";
import { type AgentId, DEFAULT_AGENT, parseAgent } from "../routing/key.ts";
import type {
  Agent,
  Config,
  ContextPolicy,
  GatewayConfig,
  LogConfig,
  SendPolicy,
  SessionConfig,
  SubagentPolicy,
} from "./config.ts";
import * as defaults from "./defaults.ts";
import { absolute, bare, providersOf, serversOf, webhooksOf } from "./outside.ts";
import type { GatewayInput } from "./gateway-schema.ts";
import { heartbeatOf, resetsOf, upkeepOf, zoneOf } from "./unattended.ts";
import { type AgentInput, type ConfigInput, schema } from "./schema.ts";

/** What paths are made absolute with. */
export interface From {
  readonly homeDir: string; // the user's, for "~/"
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>; // keys of providers are looked for here
}

export function readConfig(input: unknown, from: From): Config {
  const given = checked(input === undefined ? {} : input);
  const home = absolute(given.home ?? defaults.HOME_DEFAULT, from);
  const timezone = zoneOf(given.timezone);
  return {
    home,
    agents: agentsOf(given.agents ?? {}, { home, timezone }, from),
    models: {
      aliases: bare(given.models?.aliases ?? {}),
      providers: providersOf(given.models?.providers ?? {}, from.env),
    },
    mcp: serversOf(given.mcpServers ?? {}, from),
    session: sessionOf(given.session ?? {}, timezone),
    scheduler: {
      slots: given.scheduler?.slots ?? defaults.SLOTS_DEFAULT,
      reserve: given.scheduler?.reserve ?? defaults.RESERVE_DEFAULT,
      share: given.scheduler?.share ?? defaults.SHARE_DEFAULT,
      processes: given.scheduler?.processes ?? defaults.PROCESSES_DEFAULT,
    },
    gateway: gatewayOf(given.gateway ?? {}),
    webhooks: webhooksOf(given.webhooks ?? {}, from),
    log: logOf(given.log ?? {}, home, from),
    timezone,
    upkeep: upkeepOf(given.upkeep ?? {}),
  };
}

/** The JSON Schema of a config file, for editors and other programs. */
export function configSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return { $schema, title: "The configuration of sessiond (config.json5)", ...rest };
}

/** What the file says, for open(), which checks it: until then nobody knows whether it is a configuration. */
export async function loadConfig(path: string): Promise<ConfigInput> {
  const text = await textOf(path);
  try {
    return json5.parse<ConfigInput>(text);
  } catch (error) {
    const { lineNumber, columnNumber } = error as { lineNumber?: number; columnNumber?: number };
    if (lineNumber === undefined || columnNumber === undefined) throw error; // not about the text
    const why = error instanceof Error ? error.message.replace(/^JSON5: | at \d+:\d+$/g, "") : "";
    const where = `line ${lineNumber}, column ${columnNumber}`;
    throw new Fault("bad_input", `${path}: ${where}: ${why}`, { cause: error });
  }
}

async function textOf(path: string): Promise<string> {
  const bytes = await bytesOf(path);
  if (bytes.length > defaults.CONFIG_BYTES_MAX) {
    throw new Fault(
      "bad_input",
      `${path} has more than ${defaults.CONFIG_BYTES_MAX} bytes; is it a config file?`,
    );
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Fault("bad_input", `${path} is not UTF-8 text`, { cause: error });
  }
}

/** At most one byte above the limit: what a path leads to may have no end. */
async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const bytes = new Uint8Array(defaults.CONFIG_BYTES_MAX + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error; // not from the system
    if (code === "ENOENT") throw new Fault("not_found", `there is no config file ${path}`, { cause: error });
    throw new Fault("bad_input", `${path} cannot be read: ${message}`, { cause: error });
  }
}

// ── Filling in ──────────────────────────────────────────────────────────────────────────────────────────────

type AgentsInput = NonNullable<ConfigInput["agents"]>;

function agentsOf(
  given: AgentsInput,
  { home, timezone }: Pick<Config, "home" | "timezone">,
  from: From,
): ReadonlyMap<AgentId, Agent> {
  const { defaults: beneath = {}, ...named } = given;
  const ids = new Set([DEFAULT_AGENT, ...Object.keys(named).map(parseAgent)]);
  return new Map(
    [...ids].map((id) => {
      const own = Object.hasOwn(named, id) ? (named[id] ?? {}) : {};
      const agent = agentOf(id, own, beneath);
      const heartbeat = heartbeatOf({ ...beneath.heartbeat, ...own.heartbeat }, timezone);
      const workspace = own.workspace ?? beneath.workspace ?? join(home, "agents", id, "workspace");
      return [id, { ...agent, heartbeat, workspace: absolute(workspace, from) }];
    }),
  );
}

/** Key by key, so that one written limit does not take away the others; a list replaces the list beneath. */
function agentOf(id: AgentId, own: AgentInput, beneath: AgentInput): Omit<Agent, "workspace" | "heartbeat"> {
  const [tools, toolsBeneath] = [own.tools ?? {}, beneath.tools ?? {}];
  const [limits, limitsBeneath] = [own.limits ?? {}, beneath.limits ?? {}];
  return {
    id,
    model: own.model ?? beneath.model ?? defaults.MODEL_DEFAULT,
    failover: own.failover ?? beneath.failover ?? [],
    thinking: own.thinking ?? beneath.thinking ?? defaults.THINKING_DEFAULT,
    verbose: own.verbose ?? beneath.verbose ?? defaults.VERBOSE_DEFAULT,
    queueMode: own.queueMode ?? beneath.queueMode ?? null,
    tools: {
      allow: tools.allow ?? toolsBeneath.allow ?? null,
      deny: tools.deny ?? toolsBeneath.deny ?? [],
      exec: tools.exec ?? toolsBeneath.exec ?? false,
      visibility: tools.visibility ?? toolsBeneath.visibility ?? defaults.VISIBILITY_DEFAULT,
      within: [],
    },
    limits: {
      stepsPerTurn: limits.stepsPerTurn ?? limitsBeneath.stepsPerTurn ?? defaults.STEPS_PER_TURN_DEFAULT,
      turnSeconds: limits.turnSeconds ?? limitsBeneath.turnSeconds ?? defaults.TURN_SECONDS_DEFAULT,
      toolSeconds: limits.toolSeconds ?? limitsBeneath.toolSeconds ?? defaults.TOOL_SECONDS_DEFAULT,
      tokens: limits.tokens ?? limitsBeneath.tokens ?? null,
      cost: limits.cost ?? limitsBeneath.cost ?? null,
    },
    subagents: subagentsOf(own.subagents ?? {}, beneath.subagents ?? {}),
    context: contextOf({ ...beneath.context, ...own.context }),
  };
}

function contextOf(given: NonNullable<AgentInput["context"]>): ContextPolicy {
  const { sizeTokens = null, reserveTokens = null, summaryModel = null, flush = true } = given;
  return { sizeTokens, reserveTokens, summaryModel, flush };
}

type SubagentsInput = NonNullable<AgentInput["subagents"]>;

function subagentsOf(own: SubagentsInput, beneath: SubagentsInput): SubagentPolicy {
  return {
    depth: own.depth ?? beneath.depth ?? defaults.SPAWN_DEPTH_DEFAULT,
    children: own.children ?? beneath.children ?? defaults.CHILDREN_DEFAULT,
    agents: own.agents ?? beneath.agents ?? [],
    model: own.model ?? beneath.model ?? null,
    thinking: own.thinking ?? beneath.thinking ?? null,
  };
}

function gatewayOf(given: GatewayInput): GatewayConfig {
  return {
    host: given.host ?? defaults.HOST_DEFAULT,
    port: given.port ?? defaults.PORT_DEFAULT,
    remote: given.remote ?? false,
    hosts: given.hosts ?? [],
    origins: given.origins ?? [],
    requestsPerSecond: given.requestsPerSecond ?? defaults.REQUESTS_PER_SECOND_DEFAULT,
    drainSeconds: given.drainSeconds ?? defaults.DRAIN_SECONDS_DEFAULT,
  };
}

function logOf(given: NonNullable<ConfigInput["log"]>, home: string, from: From): LogConfig {
  const { level, file = join(home, "logs", "sessiond.jsonl"), fileBytes, files } = given;
  return {
    level: level ?? defaults.LOG_LEVEL_DEFAULT,
    file: file === "-" ? null : absolute(file, from),
    fileBytes: fileBytes ?? defaults.LOG_BYTES_DEFAULT,
    files: files ?? defaults.LOG_FILES_DEFAULT,
  };
}

type SessionInput = NonNullable<ConfigInput["session"]>;

function sessionOf(given: SessionInput, timezone: string): SessionConfig {
  return {
    dmScope: given.dmScope ?? defaults.DM_SCOPE_DEFAULT,
    identityLinks: bare(given.identityLinks ?? {}),
    threads: given.threads ?? defaults.THREADS_DEFAULT,
    sendPolicy: sendPolicyOf(given.sendPolicy ?? {}),
    reset: resetsOf(given, timezone),
    collectMs: given.collectMs ?? defaults.COLLECT_MS_DEFAULT,
  };
}

function sendPolicyOf(given: NonNullable<SessionInput["sendPolicy"]>): SendPolicy {
  return {
    default: given.default ?? defaults.SEND_POLICY_DEFAULT,
    rules: (given.rules ?? []).map(({ action, match }) => ({
      action,
      channel: match.channel ?? null,
      chatType: match.chatType ?? null,
      keyPrefix: match.keyPrefix ?? null,
    })),
  };
}

// ── Problems ────────────────────────────────────────────────────────────────────────────────────────────────

/** One thing that is wrong. The words are made only for those that are told: there may be a million. */
interface Problem {
  readonly path: readonly PropertyKey[];
  readonly words: (path: string) => string;
}

function checked(input: unknown): ConfigInput {
  const result = schema.safeParse(input, { reportInput: true });
  const found = [...unspeakable(input), ...(result.error?.issues ?? []).flatMap(problemsOf)];
  if (found.length === 0 && result.success) return result.data;
  const lines = found
    .slice(0, defaults.PROBLEMS_SHOWN_MAX)
    .map(({ path, words }) => `config: ${words(pathText(path))}`);
  const more = found.length - lines.length;
  throw new Fault("bad_input", [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n"));
}

/** Zod passes over this one name where people choose the names (L3), and as a name it would only do harm. */
function unspeakable(input: unknown): Problem[] {
  const paths = [
    ["agents"],
    ["models", "aliases"],
    ["models", "providers"],
    ["mcpServers"],
    ["webhooks"],
    ["session", "identityLinks"],
    ["session", "resetByChannel"],
  ];
  return paths
    .filter((path) => Object.hasOwn(Object(path.reduce(part, input)) as object, "__proto__"))
    .map((path) => ({ path, words: (where) => `${where} may not have the name "__proto__"` }));
}

function part(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function problemsOf(issue: z.core.$ZodIssue, at: number, all: readonly z.core.$ZodIssue[]): Problem[] {
  const { path, message } = issue;
  // A text may be too long and of the wrong form. Both checks say the same (S1), one after the other.
  const before = all[at - 1];
  if (before?.message === message && pathText(before.path) === pathText(path)) return [];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: [...path, key],
        words: (where) => `${where} is not a key here; ${instead(key, message.split(", "))}`,
      }));
    case "invalid_key": {
      const wants = issue.issues[0]?.message ?? message;
      return [
        { path: path.slice(0, -1), words: (where) => `${where}: ${shown(path.at(-1))} is not ${wants}` },
      ];
    }
    case "custom":
      return [{ path, words: (where) => `${where} ${message}` }];
    default:
      return [{ path, words: (where) => (isSecret(path) ? unsaid(where, issue) : misfit(where, issue)) }];
  }
}

/** What stands in these places is not for a log, not even when it is wrong (L2). */
function isSecret(path: readonly PropertyKey[]): boolean {
  const [first, second] = path;
  const isWhole =
    (first === "models" && second === "providers" && path.length === 3) ||
    ((first === "mcpServers" || first === "webhooks") && path.length === 2);
  return isWhole || path.some((key) => SECRET_KEYS.has(String(key)));
}

const SECRET_KEYS: ReadonlySet<string> = new Set([
  "apiKey",
  "headers",
  "env",
  "secret",
  "args",
  "baseUrl",
  "url",
]);

function unsaid(where: string, { message }: z.core.$ZodIssue): string {
  return `${where} is not ${message}`;
}

function misfit(where: string, { code, message, input }: z.core.$ZodIssue): string {
  if (input === undefined) return `${where} is missing; it is ${message}`;
  const isLong = code === "too_big" && (typeof input === "string" || Array.isArray(input));
  return `${where} is ${message}, not ${isLong ? `one of ${input.length}` : shown(input)}`;
}

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "it";
  return path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return typeof key === "string" && /^[\w-]{1,64}$/.test(key) ? `.${key}` : `[${shown(key)}]`;
    })
    .join("")
    .replace(/^\./, "");
}
