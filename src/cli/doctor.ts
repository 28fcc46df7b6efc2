// `doctor`: what may keep sessiond from working, looked at one after the other. It needs no daemon and changes nothing.

import { access, constants, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../base/fault.ts";
import { alarm } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import type { Command, Invocation } from "./command.ts";
import { configPath, inputIn, read } from "./config.ts";
import { bytes, clean, green, json, red, yellow, type Screen } from "./output.ts";

/** What the engines of Node that run this must be. */
const NODE_MAJOR = 24;
/** Room below which a disk is soon full: a day's work of many sessions is some hundreds of megabytes. */
const ROOM_BYTES = 1_000_000_000;
/** How long a daemon may take to say that it is there. */
const ANSWER_MS = 2_000;

export const doctor: Command = {
  name: "doctor",
  summary: "look for what may be wrong; needs no daemon",
  arguments: [],
  options: [],
  more: "Exit codes: 0 nothing is wrong, 1 something is.",
  run,
};

interface Finding {
  readonly about: string;
  readonly grade: "ok" | "note" | "wrong";
  readonly words: string;
  readonly todo: string; // "": nothing
}

type Look = (invocation: Invocation) => Promise<Finding>;

const LOOKS: Readonly<Record<string, Look>> = { node, home, room, config, token, model, daemon };

async function run(invocation: Invocation): Promise<number> {
  const { screen } = invocation;
  const findings: Finding[] = [];
  for (const [about, look] of Object.entries(LOOKS)) {
    const finding = await look(invocation).catch((error: unknown) => failed(about, error));
    findings.push(finding);
    if (!screen.json) screen.out(line(screen, finding));
  }
  const isWell = findings.every(({ grade }) => grade !== "wrong");
  if (screen.json) json(screen, { ok: isWell, findings });
  return isWell ? 0 : 1;
}

function line(screen: Screen, { about, grade, words, todo }: Finding): string {
  const paint = { ok: green, note: yellow, wrong: red }[grade];
  const more = todo === "" ? "" : `\n${" ".repeat(16)}${clean(todo)}`;
  return `${paint(screen, grade.padEnd(6))} ${about.padEnd(8)} ${clean(words)}${more}\n`;
}

function failed(about: string, error: unknown): Finding {
  const words = error instanceof Error ? error.message : String(error);
  return { about, grade: "wrong", words, todo: error instanceof Fault ? error.todo : "" };
}

function fine(about: string, words: string): Finding {
  return { about, grade: "ok", words, todo: "" };
}

async function node(): Promise<Finding> {
  const isNew = Number(process.versions.node.split(".")[0]) >= NODE_MAJOR;
  const words = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;
  return isNew
    ? fine("node", words)
    : { about: "node", grade: "wrong", words, todo: `use Node ${NODE_MAJOR} or newer` };
}

async function home({ home: path }: Invocation): Promise<Finding> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    return {
      about: "home",
      grade: "note",
      words: `${path} is not there yet`,
      todo: "`sessiond serve` makes it",
    };
  if (!found.isDirectory())
    return {
      about: "home",
      grade: "wrong",
      words: `${path} is no directory`,
      todo: "say another: --home or SESSIOND_HOME",
    };
  const mayUse = await access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!mayUse)
    return {
      about: "home",
      grade: "wrong",
      words: `${path} may not be read and written by this user`,
      todo: `chown or chmod it: ${path}`,
    };
  return othersMay("home", path, found.mode, 0o700) ?? fine("home", path);
}

/** Null: nobody but its owner may. */
function othersMay(about: string, path: string, mode: number, wanted: number): Finding | null {
  if ((mode & 0o077) === 0) return null;
  const words = `${path} may be reached by other users (mode ${(mode & 0o777).toString(8)})`;
  return { about, grade: "wrong", words, todo: `chmod ${wanted.toString(8)} ${path}` };
}

async function room({ home: path }: Invocation): Promise<Finding> {
  const disk = await statfs(path).catch(() => null);
  if (disk === null) return { about: "room", grade: "note", words: "there is no home to look at", todo: "" };
  const free = disk.bavail * disk.bsize;
  const words = `${bytes(free)} free`;
  return free >= ROOM_BYTES
    ? fine("room", words)
    : {
        about: "room",
        grade: "wrong",
        words,
        todo: "free space: a full disk loses nothing, but nothing new is taken",
      };
}

async function config(invocation: Invocation): Promise<Finding> {
  const path = configPath(invocation);
  const { input, text } = await inputIn(path);
  await read(invocation, input);
  return fine("config", text === null ? `none (${path}): all is as by default` : path);
}

async function token({ home: path, env }: Invocation): Promise<Finding> {
  if (env["SESSIOND_TOKEN"] !== undefined) return fine("token", "from SESSIOND_TOKEN");
  const file = join(path, "token");
  const found = await stat(file).catch(() => null);
  if (found === null)
    return {
      about: "token",
      grade: "note",
      words: `${file} is not there yet`,
      todo: "the daemon makes it when it starts",
    };
  return othersMay("token", file, found.mode, 0o600) ?? fine("token", file);
}

async function model(invocation: Invocation): Promise<Finding> {
  const { agents, models } = await read(invocation, (await inputIn(configPath(invocation))).input);
  const keys = [...models.providers.values()].filter(({ apiKey }) => apiKey !== null).map(({ id }) => id);
  const have = keys.length === 0 ? "no provider has a key" : `keys for ${keys.join(", ")}`;
  const [main] = agents.values();
  const words = `${main?.model ?? "none"}; ${have}`;
  const provider = models.providers.get(main?.model.split("/")[0] ?? "");
  if (provider !== undefined && provider.apiKey === null && provider.baseUrl === null)
    return {
      about: "model",
      grade: "wrong",
      words,
      todo: `set ${provider.keyNames.join(" or ")}, or choose another model`,
    };
  if (!main?.model.startsWith("rehearsal/")) return fine("model", words);
  return {
    about: "model",
    grade: "note",
    words,
    todo: "the rehearsal is scripted: `sessiond config set agents.main.model …` for a real one",
  };
}

async function daemon({ client: find, signal }: Invocation): Promise<Finding> {
  const late = new AbortController();
  const callOff = alarm(new RealWorld(), ANSWER_MS, () => late.abort());
  let origin = "the daemon";
  try {
    const client = await find();
    ({ origin } = client.where.url);
    const { slots } = await client.call("overview", {}, AbortSignal.any([signal, late.signal]));
    return fine("daemon", `answers at ${origin}, ${slots.total} slots`);
  } catch (error) {
    const about = "daemon";
    if (late.signal.aborted)
      return {
        about,
        grade: "wrong",
        words: `${origin} does not answer`,
        todo: "look at its log",
      };
    if (!(error instanceof Fault)) throw error;
    // That none runs is no fault of the machine.
    if (error.code === "unreachable") return { about, grade: "note", words: error.message, todo: "" };
    return failed(about, error);
  } finally {
    callOff();
  }
}
