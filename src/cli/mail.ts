// Letters that wait for a session: mail.

import { RealWorld } from "../base/world.ts";
import { SESSION, type Command } from "./command.ts";
import { keyOf } from "./key.ts";
import { ago, cut, json, many, oneLine, table } from "./output.ts";
import { limitIn } from "./ps.ts";

/** Characters of a letter in a line of a table. */
const TEXT_CHARS = 60;

export const mail: Command = {
  name: "mail",
  summary: "letters that wait for a session, whoever sent them",
  arguments: [SESSION],
  options: [{ flags: "-n, --limit <letters>", about: "how many at most, up to 200 (50)" }],
  more: "What it has read is in its log.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const page = await client.call("mail", { sessionKey, limit: limitIn(options, 50) }, signal);
    if (screen.json) {
      json(screen, page);
      return 0;
    }
    const nowMs = new RealWorld().nowMs();
    if (page.letters.length === 0) screen.out(`nothing waits for ${sessionKey}\n`);
    else
      screen.out(
        table(page.letters, [
          { title: "SINCE", of: ({ postedAt }) => ago(Math.max(0, nowMs - Date.parse(postedAt))) },
          { title: "FROM", of: ({ from }) => oneLine(from) },
          { title: "KIND", of: ({ kind }) => kind },
          { title: "MODE", of: ({ mode }) => mode ?? "–" },
          { title: "TEXT", of: ({ text, pictures }) => told(text, pictures) },
        ]),
      );
    if (page.next !== null) screen.out("there are more: --limit\n");
    return 0;
  },
};

function told(text: string, pictures: number): string {
  const words = cut(oneLine(text), TEXT_CHARS);
  if (pictures === 0) return words;
  return `${words === "" ? "" : `${words} `}[${many(pictures, "picture")}]`;
}
