// `config`: shows, checks and changes the configuration. It works on the file; a daemon that runs reads it when it starts.

import { chmod, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { makeDirectory } from "../base/directory.ts";
import { Fault } from "../base/fault.ts";
import type { ConfigInput } from "../config/schema.ts";
import { textOf, type Command, type Invocation } from "./command.ts";
import { json, jsonLine } from "./output.ts";

const ACTIONS = ["show", "path", "check", "set", "unset"] as const;
/** Only its owner may read it: it may name secrets. */
const MODE = 0o600;

export const config: Command = {
  name: "config",
  summary: "the configuration: show, path, check, set, unset; needs no daemon",
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    { name: "name", about: "set, unset: such as agents.main.model", required: false },
    { name: "value", about: "set: JSON5, or else a text", required: false },
  ],
  options: [
    { flags: "--running", about: "show: what the daemon that runs has, and not what the file says" },
    {
      flags: "--config <file>",
      about: "the file ($SESSIOND_CONFIG, or config.json5 in the home)",
      completes: "file",
    },
  ],
  more: `show: all that is in force, with defaults; secrets are not shown. With --running it is asked of the daemon.
Examples:
  sessiond config set agents.main.model anthropic/claude-sonnet-4-5
  sessiond config set agents.main.limits.cost 5`,
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, screen } = invocation;
  const [action = "show", name, value, ...more] = args;
  const path = configPath(invocation);
  if (invocation.options["running"] === true && action !== "show")
    throw new Fault("bad_input", "config: --running is of show alone");
  const needs = { show: 1, path: 1, check: 1, set: 3, unset: 2 }[action];
  if (needs === undefined)
    throw new Fault("bad_input", `config: say ${ACTIONS.join(", ")}, not ${JSON.stringify(action)}`);
  if (more.length > 0 || Math.max(1, args.length) !== needs)
    throw new Fault(
      "bad_input",
      `config ${action}${needs > 1 ? " <name>" : ""}${needs > 2 ? " <value>" : ""} is what it takes`,
    );
  switch (action) {
    case "path":
      if (screen.json) json(screen, { path });
      else screen.out(`${path}\n`);
      return 0;
    case "set":
      return await change(invocation, path, { name: name ?? "", value: await valueOf(value ?? "") });
    case "unset":
      return await change(invocation, path, { name: name ?? "", value: undefined });
    case "show":
      return await show(invocation, path);
    default: {
      const { input, text } = await inputIn(path);
      await read(invocation, input);
      if (screen.json) json(screen, { ok: true, path, exists: text !== null });
      else screen.out(text === null ? `${path} is not there: all is as by default\n` : `${path} is fine\n`);
      return 0;
    }
  }
}

export function configPath({ options, env, home }: Pick<Invocation, "options" | "env" | "home">): string {
  return resolve(textOf(options, "config") ?? (env["SESSIOND_CONFIG"] || join(home, "config.json5")));
}

interface Written {
  readonly input: ConfigInput;
  readonly text: string | null; // null: there is no file
}

export async function inputIn(path: string): Promise<Written> {
  const { loadConfig } = await import("../config/load.ts");
  try {
    return { input: await loadConfig(path), text: await readFile(path, "utf8") };
  } catch (error) {
    if (error instanceof Fault && error.code === "not_found") return { input: {}, text: null };
    throw error;
  }
}

/** As the daemon would. Faults: bad_input that tells every problem. */
export async function read({ env, home }: Pick<Invocation, "env" | "home">, input: ConfigInput) {
  const [{ readConfig }, { checkedNames }, { RealWorld }] = await Promise.all([
    import("../config/load.ts"),
    import("../main.ts"),
    import("../base/world.ts"),
  ]);
  const config = readConfig({ ...input, home }, { homeDir: homedir(), cwd: process.cwd(), env });
  checkedNames(config, new RealWorld(), []);
  return config;
}

async function show(invocation: Invocation, path: string): Promise<number> {
  const { options, screen } = invocation;
  const shown = options["running"] === true ? await ofDaemon(invocation) : await ofFile(invocation, path);
  screen.out(jsonLine(shown, screen.json ? 0 : 2));
  return 0;
}

async function ofFile(invocation: Invocation, path: string): Promise<object> {
  const { input } = await inputIn(path);
  const [inForce, { shownConfig }] = await Promise.all([
    read(invocation, input),
    import("../config/shown.ts"),
  ]);
  return shownConfig(inForce);
}

async function ofDaemon({ client: find, signal }: Invocation): Promise<object> {
  return (await (await find()).call("config", {}, signal)).config;
}

async function valueOf(text: string): Promise<unknown> {
  const { default: json5 } = await import("json5");
  try {
    return json5.parse(text);
  } catch {
    return text; // A text need not be quoted: anthropic/claude-sonnet-4-5
  }
}

interface Change {
  readonly name: string;
  readonly value: unknown; // undefined: it is taken out
}

/** Checked before it is written: a configuration that the daemon would refuse never replaces one that it took. */
async function change(invocation: Invocation, path: string, { name, value }: Change): Promise<number> {
  const { screen } = invocation;
  const names = name.split(".");
  if (names.some((each) => each === "" || each === "__proto__"))
    throw new Fault("bad_input", `${JSON.stringify(name)} is no name: write it like agents.main.model`);
  const { input, text } = await inputIn(path);
  const wanted = withValue(input, names, value);
  await read(invocation, wanted as ConfigInput);
  const [{ default: json5 }, { edited }] = await Promise.all([import("json5"), import("./edit.ts")]);
  const next = edited(text ?? "{}\n", names, value);
  if (next === null || !isDeepStrictEqual(json5.parse(next), wanted))
    throw new Fault(
      "bad_input",
      `${path} is written in a way that this command cannot change safely: edit it by hand`,
    );
  await keep(path, next);
  if (screen.json) json(screen, { path, name, value: value ?? null });
  else
    screen.out(
      `${name} ${value === undefined ? "is as by default" : `= ${JSON.stringify(value)}`} in ${path}. A daemon that runs takes it at its next start.\n`,
    );
  return 0;
}

function withValue(input: unknown, [name = "", ...rest]: readonly string[], value: unknown): unknown {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  if (input !== undefined && !isObject)
    throw new Fault("bad_input", `config: ${name} is below something that is no object`);
  const own = { ...(input as Readonly<Record<string, unknown>> | undefined) };
  if (rest.length > 0) {
    if (value === undefined && own[name] === undefined) return own;
    return { ...own, [name]: withValue(own[name], rest, value) };
  }
  const { [name]: _old, ...others } = own;
  return value === undefined ? others : { ...own, [name]: value };
}

/** Whole or not at all; with the rights that the old one had. */
async function keep(path: string, text: string): Promise<void> {
  const old = await stat(path).catch(() => null);
  makeDirectory(dirname(path));
  const beside = `${path}.new`;
  await writeFile(beside, text, { mode: MODE });
  await chmod(beside, old === null ? MODE : old.mode & 0o777);
  await rename(beside, path);
}
