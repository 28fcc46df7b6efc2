// Daemon
//
// The process: sessions and a gateway on one home, until it is told to stop.
//
//   Owns:      the order of starting and stopping, signals, and what a person at the terminal is told.
//   Does not:  promise anything by stopping well: a kill at any moment loses nothing that was acknowledged.
//
// Stopping: the first SIGTERM or SIGINT drains (nothing new is taken, turns that run may end), then closes. The second closes
// at once: turns stop at their next safe point, and are gone on with after the start.

import { chmod, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { makeDirectory } from "./base/directory.ts";
import { Fault } from "./base/fault.ts";
import { openLog, type Log } from "./base/log.ts";
import { RotatingFile } from "./base/rotating.ts";
import { alarm } from "./base/waiting.ts";
import { RealWorld, type World } from "./base/world.ts";
import { Sessions } from "./calls/library.ts";
import type { Config } from "./config/config.ts";
import { daemonConfig, type Asked, type DaemonConfig } from "./config/daemon.ts";
import { Gateway } from "./gateway/gateway.ts";
import { isLoopback } from "./gateway/guard.ts";
import { loopDelay } from "./gateway/loop.ts";
import { Metrics } from "./gateway/metrics.ts";
import { mustBeFree } from "./gateway/port.ts";
import { Tokens } from "./gateway/tokens.ts";
import { openWired } from "./main.ts";
import type { Wired } from "./wire.ts";

export interface Serving extends Asked {
  readonly version: string;
  /** What people read: where it is, and how to talk to it. */
  readonly say: (text: string) => void;
  /** True: a person reads it. A file, or the log of a machine, is told no token. */
  readonly isTold: boolean;
}

/** How often it is looked whether turns have ended, while it drains. */
const DRAIN_LOOK_MS = 25;

/** A terminal and npm both pass on one Ctrl-C: what comes so soon after the first is the first. */
const SAME_SIGNAL_MS = 300;

/** Who was told twice to stop, and cannot, is ended: that is a crash, and costs what one costs. */
const HURRY_MS = 3_000;
const HURRIED_EXIT = 75;

/** Resolves with the exit code when it has stopped. */
export async function serve(serving: Serving): Promise<number> {
  const world = new RealWorld();
  const fromMs = world.nowMs();
  const read = await daemonConfig(serving);
  const { config } = read;
  const isNew = (await stat(config.home).catch(() => null)) === null;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Fault | null>();
  const daemon = await begin(serving, read, world, stop).catch(async (failure: unknown) => {
    throw await withOwner(failure, config);
  });
  const { sessions, gateway, wired, log, hurry } = daemon;
  try {
    serving.say(await welcome(serving, { config, gateway, wired, isNew, tookMs: world.nowMs() - fromMs }));
    const fault = await stopped;
    if (fault !== null) throw fault;
    await drained(daemon, world, config, serving.say);
    return 0;
  } finally {
    const callOff = rushed(hurry, world);
    await gateway.close();
    await rm(addressFile(config), { force: true });
    await sessions.close();
    callOff();
    log.info({}, "stopped");
    serving.say("stopped\n");
  }
}

/** Returns how to call it off. */
function rushed(hurry: AbortSignal, world: World): () => void {
  let callOff = (): void => {};
  const rush = (): void => {
    callOff = alarm(world, HURRY_MS, () => process.exit(HURRIED_EXIT));
  };
  if (hurry.aborted) rush();
  else hurry.addEventListener("abort", rush, { once: true });
  return () => callOff();
}

interface Daemon {
  readonly sessions: Sessions;
  readonly gateway: Gateway;
  readonly wired: Wired;
  readonly log: Log;
  /** Aborted by the second signal. */
  readonly hurry: AbortSignal;
}

async function begin(
  { env, version }: Serving,
  { config, file: configFile }: DaemonConfig,
  world: World,
  stop: (fault: Fault | null) => void,
): Promise<Daemon> {
  const { host, remote } = config.gateway;
  if (!isLoopback(host) && !remote)
    throw new Fault(
      "bad_input",
      `config: gateway.host is ${host}, which other machines reach. If they should, set gateway.remote to true as well`,
    );
  await mustBeFree(host, config.gateway.port);
  await makePrivate(config.home);
  const given = env["SESSIOND_TOKEN"] || undefined;
  const tokens = await Tokens.open({ home: config.home, world, given, mayMake: isLoopback(host) });
  const log = logOf(config);
  const metrics = new Metrics();
  const told: Metrics["told"] = (changes, receipt) => metrics.told(changes, receipt);
  const wired = await openWired(config, { world, log, died: stop, tokens, told, configFile });
  wired.system.totals.watchLoop(loopDelay());
  const sessions = new Sessions(wired);
  const closing = [() => sessions.close()];
  try {
    const gateway = await Gateway.listen({ ...wired, log, tokens, metrics, version });
    const { system } = wired;
    const subscribers = (): number => gateway.subscribers;
    metrics.look({ system, version, subscribers, isDraining: () => gateway.isDraining });
    closing.push(() => gateway.close());
    const about = {
      url: gateway.url,
      pid: process.pid,
      startedAt: new Date(world.nowMs()).toISOString(),
      version,
    };
    await tellAddress(addressFile(config), about);
    log.info(about, "started");
    return { sessions, gateway, wired, log, hurry: signals(world, () => stop(null)) };
  } catch (error) {
    for (const close of closing.toReversed()) await close();
    throw error;
  }
}

/** Transcripts, mail and tokens are in it: nobody else may look, whoever made the folder. */
async function makePrivate(home: string): Promise<void> {
  try {
    makeDirectory(home);
    await chmod(home, 0o700);
  } catch (error) {
    throw new Fault("unreadable_home", `${home} cannot be the home: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Whole or not at all: a client may look at any moment. */
async function tellAddress(path: string, about: object): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(about)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Where a client on this machine finds it. What a killed daemon left is found out by asking. */
function addressFile({ home }: Config): string {
  return join(home, "gateway.json");
}

function logOf({ log }: Config): Log {
  if (log.file === null) return openLog(log.level);
  return openLog(log.level, new RotatingFile({ ...log, file: log.file }));
}

/** The first asks, the second insists. */
function signals(world: World, stop: () => void): AbortSignal {
  const hurry = new AbortController();
  let firstMs: number | null = null;
  for (const name of ["SIGTERM", "SIGINT"] as const)
    process.on(name, () => {
      if (firstMs !== null && world.nowMs() - firstMs >= SAME_SIGNAL_MS) hurry.abort();
      firstMs ??= world.nowMs();
      stop();
    });
  return hurry.signal;
}

/** What runs may end; for as long as is configured, or until somebody is in a hurry. */
async function drained(
  { gateway, wired, log, hurry }: Daemon,
  world: World,
  config: Config,
  say: Serving["say"],
): Promise<void> {
  gateway.drain();
  const { lanes } = wired.system;
  const untilMs = world.nowMs() + config.gateway.drainSeconds * 1_000;
  log.info({ running: lanes.running }, "draining");
  if (lanes.running > 0)
    say(
      `stopping: ${lanes.running} ${lanes.running === 1 ? "turn runs" : "turns run"}, and may take ` +
        `${config.gateway.drainSeconds} s to end. Again: at once; nothing is lost either way\n`,
    );
  while (lanes.running > 0 && world.nowMs() < untilMs && !hurry.aborted)
    await world.sleep(DRAIN_LOOK_MS, hurry).catch(() => {}); // in a hurry
}

/** Whose home it is: the one who has it wrote down where it listens. A port may be taken because it is that one's. */
async function withOwner(failure: unknown, config: Config): Promise<unknown> {
  if (!(failure instanceof Fault) || (failure.code !== "in_use" && failure.code !== "port_taken"))
    return failure;
  const text = await readFile(addressFile(config), "utf8").catch(() => "");
  const [, url = "", pid = ""] = /"url":"(http[^"]+)","pid":(\d+)/.exec(text) ?? [];
  const isIt = failure.code === "in_use" || (url.endsWith(`:${config.gateway.port}`) && isAlive(Number(pid)));
  return isIt && url !== ""
    ? new Fault("in_use", `${config.home} is in use by sessiond pid ${pid}, at ${url}`)
    : failure;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // It is gone, or somebody else's.
  }
}

interface Start {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly wired: Wired;
  readonly isNew: boolean;
  readonly tookMs: number;
}

async function welcome(
  { version, env, isTold }: Serving,
  { config, gateway, wired, isNew, tookMs }: Start,
): Promise<string> {
  const home = config.home.replace(homedir(), "~");
  const model = config.agents.get("main" as never)?.model ?? "";
  const hasKey = [...config.models.providers.values()].some(({ apiKey }) => apiKey !== null);
  const scripted = hasKey
    ? " (built in, scripted, as the configuration says)"
    : " (built in, scripted: no key was found). For a real one: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, " +
      "GEMINI_API_KEY) and start again, or `npx sessiond config set agents.main.model …`";
  const provider = config.models.providers.get(model.split("/")[0] ?? "");
  const isLocked = provider !== undefined && provider.apiKey === null && provider.baseUrl === null;
  const locked = isLocked
    ? ` (no key for it was found: export ${provider.keyNames[0]}=… and start again)`
    : "";
  const token = env["SESSIOND_TOKEN"] ? "$SESSIOND_TOKEN" : `$(cat ${join(home, "token")})`;
  const page = await pageLink(config, { isTold, isGiven: Boolean(env["SESSIOND_TOKEN"]) });
  const { rows, next } = await wired.system.store.sessions({ limit: 200 });
  const count = `${rows.length}${next === null ? "" : "+"} session${rows.length === 1 ? "" : "s"}`;
  return [
    `sessiond ${version} · home ${home}${isNew ? " (new)" : ""} · ${gateway.url}`,
    `  page    ${page === null ? "npx sessiond page" : `${gateway.url}/${page}   (the token leaves the address bar at once)`}`,
    "  chat    npx sessiond chat",
    "  look    npx sessiond ps · npx sessiond top",
    `  call    curl -H "Authorization: Bearer ${token}" ${gateway.url}/v1/sessions`,
    `  model   ${model}${model.startsWith("rehearsal/") ? scripted : locked}`,
    `ready in ${(tookMs / 1_000).toFixed(1)} s · ${count} · Ctrl-C drains and stops`,
    "",
  ].join("\n");
}

/**
 * What is behind the address of the page, with the owner's token, for the person at this terminal. Null: nobody reads this, or the token
 * is one that they brought along and know: what is said here may be kept, and a command tells the link to who asks for it.
 */
async function pageLink(
  { home }: Config,
  { isTold, isGiven }: { readonly isTold: boolean; readonly isGiven: boolean },
): Promise<string | null> {
  if (!isTold || isGiven) return null;
  return `#t=${(await readFile(join(home, "token"), "utf8")).trim()}`;
}
