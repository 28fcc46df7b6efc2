// `completion`: scripts for shells, made from the commands. What sessions, jobs and archives there are is asked of the daemon while
// somebody types, and not waited for.

import { Fault } from "../base/fault.ts";
import { alarm } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import type { Client } from "./client.ts";
import type { Command, Invocation } from "./command.ts";
import { tail } from "./key.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** How long somebody who has pressed Tab waits for names. */
const KEYS_MS = 700;
const KEYS_MAX = 200;

export const completion: Command = {
  name: "completion",
  summary: "completion of commands, options and sessions for bash, zsh or fish",
  arguments: [{ name: "shell", about: SHELLS.join(", "), required: true, completes: SHELLS }],
  options: [],
  more: `In ~/.bashrc:  source <(sessiond completion bash)
In ~/.zshrc:   source <(sessiond completion zsh)
For fish:      sessiond completion fish > ~/.config/fish/completions/sessiond.fish`,
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, screen } = invocation;
  const [shell = ""] = args;
  if (shell === "keys" || shell === "jobs" || shell === "archives")
    return await names(invocation, { keys, jobs, archives }[shell]); // what the scripts ask
  if (!(SHELLS as readonly string[]).includes(shell))
    throw new Fault("bad_input", `completion: ${JSON.stringify(shell)} is none of ${SHELLS.join(", ")}`);
  const [{ scriptFor }, { GROUPS }, { EVERYWHERE }] = await Promise.all([
    import("./completions.ts"),
    import("./commands.ts"),
    import("./program.ts"),
  ]);
  const commands = GROUPS.flatMap((group) => group.commands);
  screen.out(scriptFor(shell as Shell, commands, EVERYWHERE));
  return 0;
}

/** Nothing, and no error, when no daemon says anything in time: the line that somebody types must stay as it is. */
async function names(
  { client: find, screen, signal }: Invocation,
  of: (client: Client, signal: AbortSignal) => Promise<readonly string[]>,
): Promise<number> {
  const late = new AbortController();
  const callOff = alarm(new RealWorld(), KEYS_MS, () => late.abort());
  try {
    const found = await of(await find(), AbortSignal.any([signal, late.signal]));
    screen.out([...new Set(found)].map((name) => `${name}\n`).join(""));
  } catch (error) {
    if (!late.signal.aborted && !(error instanceof Fault)) throw error;
  } finally {
    callOff();
  }
  return 0;
}

async function keys(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const { sessions } = await client.call("list", { limit: KEYS_MAX }, signal);
  const found = sessions.flatMap(({ sessionKey, kind }) =>
    kind === "thread" ? [tail(sessionKey), sessionKey] : [sessionKey],
  );
  return ["main", ...found];
}

/** A name that a shell would split is left out: the id is there. */
async function jobs(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const page = await client.call("jobs", { limit: KEYS_MAX }, signal);
  return page.jobs.flatMap(({ id, name }) => (/^[\w.:@+-]+$/.test(name) ? [name, id] : [id]));
}

async function archives(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const page = await client.call("archives", { limit: KEYS_MAX }, signal);
  return page.archives.map(({ id }) => id);
}
