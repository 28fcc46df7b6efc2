// What is gone for good is asked about first.

import { Fault } from "../base/fault.ts";
import { unlessAborted } from "../base/waiting.ts";
import type { Invocation } from "./command.ts";

/** As Ctrl-C ends any command. */
const STOPPED_EXIT = 130;

interface Question {
  readonly command: string; // as somebody has typed it
  readonly verb: "remove" | "erase";
  readonly what: string;
}

/** Null: yes. Otherwise how the command ends. Nobody is asked who cannot answer. Ctrl-D is no; Ctrl-C stops the command. */
export async function unlessAgreed(
  { screen, signal }: Invocation,
  { command, verb, what }: Question,
): Promise<number | null> {
  if (screen.json || !screen.isTty || !process.stdin.isTTY)
    throw new Fault("bad_input", `${command} ${verb}s for good: say --yes (${what})`);
  const { createInterface } = await import("node:readline/promises");
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const { promise: left, resolve: leave } = Promise.withResolvers<number>();
  asking.once("SIGINT", () => leave(STOPPED_EXIT)).once("close", () => leave(1));
  const asked = asking.question(`${verb} ${what}\nfor good? [y/N] `);
  const answered = asked.then((text) => (/^y(?:es)?$/i.test(text.trim()) ? null : 1));
  answered.catch(() => {}); // It fails when it is left: that is told by who leaves.
  try {
    return await unlessAborted(Promise.race([left, answered]), signal);
  } finally {
    asking.close();
  }
}
