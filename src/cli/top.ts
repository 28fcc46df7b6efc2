// `sessiond top`: what burns, as it burns.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { textOf, type Command, type Invocation } from "./command.ts";
import { json } from "./output.ts";

const EVERY_SECONDS = 1;

/** Lines are cut to this where it does not end in a terminal. */
const PIPE_COLUMNS = 160;

export const top: Command = {
  name: "top",
  summary: "sessions by what they burn, live",
  arguments: [],
  options: [
    { flags: "-d, --delay <seconds>", about: `between two pictures (${EVERY_SECONDS})` },
    { flags: "-n, --iterations <n>", about: "so many pictures, and then it ends" },
  ],
  signals: "self",
  more: "Keys: ↑↓ choose, enter opens a chat, s steers, n sets nice, k kills (it asks), q quits.",
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { options, client: find, screen } = invocation;
  const everyMs = numberOf(textOf(options, "delay"), EVERY_SECONDS, "-d") * 1_000;
  const most = Math.floor(numberOf(textOf(options, "iterations"), Infinity, "-n"));
  const client = await find();
  const world = new RealWorld();
  if (!screen.isTty || process.stdin.isTTY !== true || screen.json)
    return await pictures(invocation, { everyMs, most });
  const { TopTerminal } = await import("./live/top-terminal.ts");
  const { chat } = await import("./chat.ts");
  const open = async (sessionKey: string): Promise<void> => {
    await chat.run({ ...invocation, args: [sessionKey] });
  };
  await new TopTerminal({ client, world, screen, everyMs, most, chat: open }).run();
  return 0;
}

/** One below the other, without a word to the terminal. */
async function pictures(
  { client: find, screen }: Invocation,
  { everyMs, most }: { readonly everyMs: number; readonly most: number },
): Promise<number> {
  const { Looking } = await import("./live/looking.ts");
  const { topFrame } = await import("./live/frame.ts");
  const world = new RealWorld();
  const looking = new Looking(await find(), world);
  const over = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => over.abort());
  for (let shown = 0; shown < most; shown += 1) {
    if (shown > 0) await world.sleep(everyMs, over.signal).catch(() => {}); // it ends with the signal
    if (over.signal.aborted) break;
    const picture = await looking.next(over.signal);
    if (screen.json) {
      const { bySession, ...rates } = picture.rates ?? { bySession: new Map<string, number>() };
      const sessions = picture.rows.map((row) => ({
        ...row,
        tokensPerSecond: bySession.get(row.sessionKey) ?? null,
      }));
      json(screen, {
        at: new Date(picture.nowMs).toISOString(),
        overview: picture.overview,
        rates,
        sessions,
      });
      continue;
    }
    const width = (screen.isTty && screen.columns) || PIPE_COLUMNS;
    const lines = topFrame(picture, null, { colour: screen.colour, width, height: Infinity });
    screen.out(`${shown > 0 ? "\n" : ""}${lines.join("\n")}\n`);
  }
  return 0;
}

function numberOf(text: string | undefined, otherwise: number, flag: string): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text) || value <= 0)
    throw new Fault("bad_input", `${flag} takes a number above 0, not ${JSON.stringify(text)}`);
  return value;
}
