// `sessiond trace`: where the time of a turn went.

import { RealWorld } from "../base/world.ts";
import { SESSION, type Command } from "./command.ts";
import { keyOf } from "./key.ts";
import { json } from "./output.ts";

/** Bars are of use where somebody looks; in a file they are as wide as on a large terminal. */
const PIPE_COLUMNS = 120;

export const trace: Command = {
  name: "trace",
  summary: "the steps of a turn: times, tokens, tools",
  arguments: [
    SESSION,
    { name: "turn", about: "the id of a turn (the last, if it is not said)", required: false },
  ],
  options: [],
  run: async ({ args: [text = "main", turn], client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, text, signal);
    const found = await client.call("trace", { sessionKey, ...(turn === undefined ? {} : { turn }) }, signal);
    if (screen.json) {
      json(screen, found);
      return 0;
    }
    const { waterfall } = await import("./live/waterfall.ts");
    const paper = { colour: screen.colour, width: (screen.isTty && screen.columns) || PIPE_COLUMNS };
    for (const line of waterfall(found, new RealWorld().nowMs(), paper)) screen.out(`${line}\n`);
    return 0;
  },
};
