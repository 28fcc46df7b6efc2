// What became of a message: waited for, told, and turned into an exit code.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import { passes, type Client } from "./client.ts";
import { textOf, type Invocation, type Option, type Options } from "./command.ts";
import { clean, dim, json, type Screen } from "./output.ts";

export type Answered = Output<"wait">;

/** What a shell gets. As timeout(1) and signals have it, where they have something of the kind. */
const OUTCOMES: Readonly<Record<Answered["outcome"], number>> = {
  done: 0,
  failed: 1,
  overflow: 1,
  interrupted: 1,
  limit: 3,
  unanswered: 75, // no answer within the time: it may come yet
  timeout: 124, //   its deadline
  aborted: 130, //   a person stopped the turn
  killed: 137,
};

export const OUTCOMES_HELP =
  "Exit codes with --wait: 0 done, 1 failed, 3 limit reached, 75 no answer in time (it goes on), 124 its deadline\n" +
  "has passed, 130 stopped by a person, 137 killed.";

export const WAITING: readonly Option[] = [
  { flags: "-w, --wait", about: "wait for the answer, print it, and exit as it went" },
  { flags: "--wait-seconds <seconds>", about: "how long to wait (an hour)" },
];

const WAIT_SECONDS = 3_600;
const WAIT_SECONDS_MAX = 86_400;
/** The pause before a daemon that is gone is asked again. */
const AGAIN_MS = 500;

export function waitMs(options: Options): number {
  return secondsIn(options, "waitSeconds", WAIT_SECONDS) * 1_000;
}

export function secondsIn<Otherwise>(
  options: Options,
  name: string,
  otherwise: Otherwise,
): number | Otherwise {
  const text = textOf(options, name);
  if (text === undefined) return otherwise;
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > WAIT_SECONDS_MAX)
    throw new Fault("bad_input", `${JSON.stringify(text)} is no time: seconds, 1 to ${WAIT_SECONDS_MAX}`);
  return seconds;
}

/** Its time is up while nobody can be asked: it may have been answered, or be yet. */
const UNANSWERED = { outcome: "unanswered", text: "", seq: null } as const;

/** The message, where it went. */
interface Message {
  readonly sessionKey: string;
  readonly id: string;
}

/** A daemon that restarts meanwhile loses nothing: it is asked again when it is back. */
export async function waitFor(
  { client: find, screen, signal }: Pick<Invocation, "client" | "screen" | "signal">,
  message: Message,
  timeoutMs: number,
): Promise<Answered> {
  const client = await find();
  const world = new RealWorld();
  const untilMs = world.nowMs() + timeoutMs;
  for (let isTold = false; ;) {
    const leftMs = Math.max(0, untilMs - world.nowMs());
    try {
      return await client.call("wait", { ...message, timeoutMs: leftMs }, signal);
    } catch (error) {
      if (signal.aborted) screen.err(goesOn(screen, message));
      if (signal.aborted || !passes(error)) throw error;
      if (leftMs === 0) return { ...UNANSWERED, reason: (error as Fault).message };
      if (!isTold)
        screen.err(dim(screen, "(the daemon is away; the message is safe, waiting for it to come back)\n"));
      isTold = true;
      await world.sleep(Math.min(AGAIN_MS, leftMs), signal);
    }
  }
}

function goesOn(screen: Screen, { sessionKey, id }: Message): string {
  return screen.json ? "" : `\nthe message stays. To wait on: sessiond wait ${sessionKey} ${id}\n`;
}

/** Words on standard output, how it ended on standard error if not well. `more` is for machines. */
export function tell(screen: Screen, answered: Answered, more: object = {}): number {
  const { outcome, reason, text } = answered;
  if (screen.json) json(screen, { ...more, ...answered });
  else {
    if (text !== "") screen.out(`${clean(text)}\n`);
    if (outcome !== "done")
      screen.err(`sessiond: ${outcome}${reason === null ? "" : `: ${clean(reason)}`}\n`);
  }
  return OUTCOMES[outcome];
}

/** The whole of it, for a command that has sent something. */
export async function waitAndTell(
  invocation: Pick<Invocation, "client" | "screen" | "signal" | "options">,
  client: Client,
  sent: Message,
): Promise<number> {
  const answered = await waitFor(
    { ...invocation, client: async () => client },
    sent,
    waitMs(invocation.options),
  );
  return tell(invocation.screen, answered, sent);
}
