// `sessiond result`: what an entry keeps, or a blob, page by page or by a text that is looked for.

import { once } from "node:events";
import { Fault } from "../base/fault.ts";
import type { Input, Output } from "../calls/door.ts";
import { SESSION, textOf, type Command, type Invocation, type Options } from "./command.ts";
import { keyOf } from "./key.ts";
import { bold, clean, dim, jsonLine, many, oneLine, whole, type Screen } from "./output.ts";
import { limitIn } from "./ps.ts";

export const result: Command = {
  name: "result",
  summary: "all of a result that was too long for its entry, or for the context",
  arguments: [
    SESSION,
    {
      name: "ref",
      about: "the number (seq) or the id of an entry, or the digits after `blob`",
      required: true,
    },
  ],
  options: [
    { flags: "--from <byte>", about: "from this byte on" },
    { flags: "--all", about: "all pages, not only the first" },
    { flags: "--grep <text>", about: "the lines that have this text; it is no pattern" },
    { flags: "-i, --ignore-case", about: "with --grep: capitals are as good as small letters" },
    { flags: "-C, --context <lines>", about: "with --grep: lines around each" },
    { flags: "-n, --limit <matches>", about: "with --grep: how many at a time, up to 200 (20)" },
  ],
  more:
    "Secrets of the usual shapes are taken out. Exit codes: 0, and with --grep 1 if nothing is found.\n" +
    "Example: sessiond result main 41 --all > output.txt",
  run,
};

type Page = Output<"result">;

async function run({ args, options, client: find, screen, signal }: Invocation): Promise<number> {
  const client = await find();
  const sessionKey = await keyOf(client, args[0] ?? "", signal);
  const asked = { sessionKey, ref: args[1] ?? "", ...askedIn(options) };
  let from: number | null = numberIn(options, "from") ?? 0;
  let matches = 0;
  while (from !== null) {
    const page: Page = await client.call("result", { ...asked, from }, signal);
    if (!screen.json && page.matches === null && from > 0 && from >= page.total)
      screen.err(
        `${dim(screen, `(byte ${whole(from)} is past the end: there are ${whole(page.total)} bytes)`)}\n`,
      );
    screen.out(screen.json ? jsonLine(page) : shownOf(screen, page, matches > 0));
    if (process.stdout.writableNeedDrain) await once(process.stdout, "drain", { signal });
    matches += page.matches?.length ?? 0;
    from = options["all"] === true ? page.next : null;
    if (from === null && !screen.json) screen.err(restOf(screen, page));
  }
  if (asked.grep === undefined || matches > 0) return 0;
  if (!screen.json) screen.err("nothing found\n");
  return 1;
}

function askedIn(options: Options): Pick<Input<"result">, "grep" | "ignoreCase" | "context" | "limit"> {
  const grep = textOf(options, "grep");
  if (grep === undefined) return {};
  const context = numberIn(options, "context");
  return {
    grep,
    ignoreCase: options["ignoreCase"] === true,
    ...(context === undefined ? {} : { context }),
    limit: limitIn(options, 20),
  };
}

function numberIn(options: Options, name: string): number | undefined {
  const text = textOf(options, name);
  if (text !== undefined && !/^\d{1,15}$/.test(text))
    throw new Fault("bad_input", `--${name} takes a number, not ${JSON.stringify(text)}`);
  return text === undefined ? undefined : Number(text);
}

/** A file gets what was kept, byte for byte; a terminal nothing that it would obey. */
function shownOf(screen: Screen, { text, matches }: Page, isMore: boolean): string {
  if (matches === null) return screen.isTty ? clean(text ?? "") : (text ?? "");
  const hasContext = matches.some(({ before, after }) => before.length + after.length > 0);
  const blocks = matches.map(({ line, before, text: found, after }) =>
    [
      ...before.map((each, at) => `${dim(screen, `${line - before.length + at}-`)} ${oneLine(each)}\n`),
      `${bold(screen, `${line}:`)} ${oneLine(found)}\n`,
      ...after.map((each, at) => `${dim(screen, `${line + at + 1}-`)} ${oneLine(each)}\n`),
    ].join(""),
  );
  const between = hasContext ? "--\n" : "";
  return `${isMore ? between : ""}${blocks.join(between)}`;
}

/** What there is besides, for who looks at a terminal or wonders why a file is short. */
function restOf(screen: Screen, { next, from, bytes, total, matches }: Page): string {
  if (next === null) return "";
  const seen = matches === null ? `bytes ${whole(from)} to ${whole(from + bytes)} of ${whole(total)}` : "";
  const what = seen === "" ? `${many(matches?.length ?? 0, "match", "matches")} shown` : seen;
  return `${dim(screen, `(${what}; go on with --from ${next}, or say --all)`)}\n`;
}
