// The configuration of a daemon: the file, and what was asked for where it was started, which counts more.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Fault } from "../base/fault.ts";
import type { Config } from "./config.ts";
import { loadConfig, readConfig } from "./load.ts";
import type { ConfigInput } from "./schema.ts";

export interface Asked {
  /** Undefined: as the environment or the config says. */
  readonly home: string | undefined;
  readonly config: string | undefined;
  readonly port: number | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** What main asks when nobody has named a model and there is a key: the provider's usual one. The first that has a key. */
const USUAL_MODELS = [
  ["anthropic", "anthropic/claude-sonnet-5-5"],
  ["openai", "openai/gpt-6.1-sol"],
  ["google", "google/gemini-3.8-flash"],
] as const;

export interface DaemonConfig {
  readonly config: Config;
  /** Where it was read from; null: there is no file, and all is as by default. */
  readonly file: string | null;
}

/** Faults: bad_input, and not_found for a file that was named. */
export async function daemonConfig({ home, config: path, port, env }: Asked): Promise<DaemonConfig> {
  const from = { homeDir: homedir(), cwd: process.cwd(), env };
  const place = home ?? (env["SESSIOND_HOME"] || undefined);
  const named = path ?? (env["SESSIOND_CONFIG"] || undefined);
  const usual = join(readConfig(place === undefined ? {} : { home: place }, from).home, "config.json5");
  const found = named === undefined ? await loadConfig(usual).catch(unlessMissing) : await loadConfig(named);
  const input: ConfigInput = found ?? {};
  const asked = port ?? portIn(env["SESSIOND_PORT"]);
  const config = readConfig(
    {
      ...input,
      ...(place === undefined ? {} : { home: place }),
      ...(asked === undefined ? {} : { gateway: { ...input.gateway, port: asked } }),
    },
    from,
  );
  return { config: withUsualModel(config, input), file: found === null ? null : resolve(named ?? usual) };
}

function unlessMissing(error: unknown): null {
  if (error instanceof Fault && error.code === "not_found") return null;
  throw error;
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new Fault("bad_input", `SESSIOND_PORT is a port, not ${JSON.stringify(text)}`);
}

/** Whoever has a key and starts a daemon wants to talk to a model. What is written down is never changed. */
function withUsualModel(config: Config, { agents = {} }: ConfigInput): Config {
  const { providers } = config.models;
  const [, model] = USUAL_MODELS.find(([id]) => (providers.get(id)?.apiKey ?? null) !== null) ?? [];
  if (model === undefined || agents["defaults"]?.model !== undefined) return config;
  const all = [...config.agents.values()].map((agent) =>
    agents[agent.id]?.model === undefined ? { ...agent, model } : agent,
  );
  return { ...config, agents: new Map(all.map((agent) => [agent.id, agent])) };
}
