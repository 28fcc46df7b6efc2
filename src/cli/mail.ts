// Letters that wait for a session: mail.

import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import type { Client } from "./client.ts";
import { SESSION, type Command } from "./command.ts";
import { keyOf } from "./key.ts";
import { ago, cut, json, many, oneLine, table } from "./output.ts";
import { limitIn } from "./ps.ts";

/** Letters of one page. */
const PAGE_LETTERS = 200;

/** Characters of a letter in a line of a table. */
const TEXT_CHARS = 60;

export const mail: Command = {
  name: "mail",
  summary: "letters that wait for a session, whoever sent them",
  arguments: [SESSION],
  options: [{ flags: "-n, --limit <letters>", about: "how many at most (50); the oldest come first" }],
  more: "What it has read is in its log.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const page = await oldest(client, { sessionKey, most: limitIn(options, 50) }, signal);
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
    if (page.next !== null) screen.out("there are later ones: -n\n");
    return 0;
  },
};

/** Page by page until there are so many: a page may have fewer than it was asked for. `next` is null when those were all. */
async function oldest(
  client: Client,
  { sessionKey, most }: { readonly sessionKey: string; readonly most: number },
  signal: AbortSignal,
): Promise<Output<"mail">> {
  const letters: Output<"mail">["letters"] = [];
  for (let cursor: string | null = null; ;) {
    const limit = Math.min(PAGE_LETTERS, most - letters.length);
    const at: { cursor?: string } = cursor === null ? {} : { cursor };
    const page = await client.call("mail", { sessionKey, ...at, limit }, signal);
    letters.push(...page.letters);
    cursor = page.next;
    if (cursor === null || letters.length >= most) return { ...page, letters };
  }
}

function told(text: string, pictures: number): string {
  const words = cut(oneLine(text), TEXT_CHARS);
  if (pictures === 0) return words;
  return `${words === "" ? "" : `${words} `}[${many(pictures, "picture")}]`;
}
