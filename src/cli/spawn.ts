// `spawn`: gives a task to a child. With --wait it exits as the child ended.

import { Fault } from "../base/fault.ts";
import type { Input } from "../calls/door.ts";
import { OUTCOMES_HELP, secondsIn, waitAndTell, WAITING } from "./answer.ts";
import { textOf, type Command, type Invocation, type Options } from "./command.ts";
import { keyOf } from "./key.ts";
import { json } from "./output.ts";

export const spawn: Command = {
  name: "spawn",
  summary: "give a task to a sub-agent",
  arguments: [
    { name: "task", about: "what to do, with all it needs to know", required: true, variadic: true },
  ],
  options: [
    { flags: "--name <name>", about: "a name: the child stays, and can be given more tasks" },
    { flags: "--resume", about: "go on with the child of that name, if it is there" },
    {
      flags: "--parent <key>",
      about: "whose child it is (main); it is told how it ended",
      completes: "session",
    },
    { flags: "--agent <agent>", about: "another agent" },
    { flags: "--model <model>", about: "another model" },
    { flags: "--label <label>", about: "what it is called in lists" },
    { flags: "--timeout <seconds>", about: "when it stops, and reports what it had" },
    { flags: "--id <id>", about: "your own id of this task: asked again, it is given once" },
    ...WAITING,
  ],
  more: `Examples:
  sessiond spawn "find the price of B and answer with the number alone" --wait
  sessiond spawn --name budget-planning --resume "go on with March"

${OUTCOMES_HELP}`,
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, options, client: find, screen, signal } = invocation;
  if (options["resume"] === true && textOf(options, "name") === undefined)
    throw new Fault("bad_input", "spawn: --resume goes on with a child that has a name: add --name");
  const client = await find();
  const parent = textOf(options, "parent");
  const whose = parent === undefined ? {} : { parent: await keyOf(client, parent, signal) };
  const spawned = await client
    .call("spawn", { task: args.join(" "), ...whose, ...given(options) }, signal)
    .catch(asHere);
  const { sessionKey, id, queued, created } = spawned;
  if (options["wait"] === true) return await waitAndTell(invocation, client, { sessionKey, id });
  if (screen.json) json(screen, spawned);
  else {
    const what = created ? "spawned" : "goes on";
    screen.out(
      `${what}: ${sessionKey}${queued ? " (it has other work first)" : ""}. Its end: sessiond wait ${sessionKey} ${id}\n`,
    );
  }
  return 0;
}

function given(options: Options): Omit<Input<"spawn">, "task" | "parent"> {
  const timeoutSeconds = secondsIn(options, "timeout", undefined);
  const texts = ["name", "agent", "model", "label", "id"].flatMap((name) => {
    const value = textOf(options, name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(texts),
    ...(options["resume"] === true ? { resumeIfExists: true } : {}),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
}

/** What to do, in the words of this door. */
function asHere(error: unknown): never {
  if (!(error instanceof Fault) || error.code !== "exists") throw error;
  const words = error.message.replace(/[.;]\s.*$/s, "");
  throw new Fault("exists", `${words}. Resume it with --resume, or choose another name.`, { cause: error });
}
