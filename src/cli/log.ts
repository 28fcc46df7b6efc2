// `sessiond log`: what was said and done in a session, and with -f what happens next.

import { Fault } from "../base/fault.ts";
import { ENTRY_LOOKBACK_ENTRIES } from "../limits.ts";
import type { Output } from "../calls/door.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import type { Client } from "./client.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { dim, duration, jsonLine, type Screen } from "./output.ts";

/** Entries that are shown when nobody says how many. */
const SHOWN = 50;

/** Entries of a page; most are short. */
const PAGE_ROWS = 200;

/** Some entries are bookkeeping and not shown to people: for so many that are, this many more are read at most. */
const READ_FOR_ONE = 4;

/** Where it does not end in a terminal, lines about something are still lines. */
const PIPE_COLUMNS = 400;

export const log: Command = {
  name: "log",
  summary: "what was said and done in a session",
  arguments: [SESSION],
  options: [
    { flags: "-f, --follow", about: "goes on with what happens, also over restarts of the daemon" },
    { flags: "-n, --lines <n>", about: `the last so many entries (${SHOWN}); "all" for all of them` },
    { flags: "--from <seq>", about: "from this entry on" },
  ],
  more:
    "Each line has the number of its entry, which rewind, fork --at, pin and result take. A summary has a line: `result` with " +
    "its number shows all of it.\n" +
    "--json writes entries as they are in the transcript, one a line; what cannot be read has the type gap.",
  run,
};

async function run({ args, options, client: find, screen, signal }: Invocation): Promise<number> {
  const client = await find();
  const sessionKey = await keyOf(client, args[0] ?? "main", signal);
  const most = linesOf(textOf(options, "lines"), textOf(options, "from") !== undefined);
  const begin = seqOf(textOf(options, "from"));
  const { settings } = await client.call("status", { sessionKey }, signal);
  const write = await writerFor(screen, new Set(settings.pins));
  const lastSeq = await past(client, { sessionKey, begin, most, out: screen.out, signal }, write);
  if (options["follow"] === true) await future(client, { sessionKey, from: lastSeq, screen, signal }, write);
  return 0;
}

/** Lines of one entry, each with its end; none: it is not for people. */
type Write = (entry: Entry | Gap, missing: number) => string;

async function writerFor(screen: Screen, pins: ReadonlySet<string>): Promise<Write> {
  if (screen.json)
    return (entry, missing) => {
      const gap = missing === 0 ? "" : jsonLine({ type: "gap", entries: missing });
      return gap + jsonLine(entry);
    };
  const { Transcript } = await import("./live/transcript.ts");
  const transcript = new Transcript({
    colour: screen.colour,
    width: (screen.isTty && screen.columns) || PIPE_COLUMNS,
    pins,
  });
  return (entry, missing) => {
    const gap = missing === 0 ? [] : [transcript.missing(missing)];
    return [...gap, ...transcript.lines(entry)].map((line) => `${line}\n`).join("");
  };
}

interface Past {
  readonly sessionKey: string;
  readonly begin: number | null; //   null: so that the last `most` are shown
  readonly most: number;
  readonly out: Screen["out"];
  readonly signal: AbortSignal;
}

/** What there is. Returns the seq of the last of it. */
async function past(
  client: Client,
  { sessionKey, begin, most, out, signal }: Past,
  write: Write,
): Promise<number> {
  const read = most * READ_FOR_ONE + READ_FOR_ONE;
  // Counted by the daemon: on the active path numbers do not follow each other where somebody went back.
  const first = begin === null && read <= ENTRY_LOOKBACK_ENTRIES ? { last: read } : { from: begin ?? 1 };
  let from: number | null = begin ?? 1;
  let isFirst = true;
  let last = begin === null ? 0 : begin - 1;
  const shown: string[] = [];
  while (from !== null) {
    const page: Output<"entries"> = await client.call(
      "entries",
      { sessionKey, ...(isFirst ? first : { from }), limit: PAGE_ROWS },
      signal,
    );
    isFirst = false;
    for (const entry of page.entries as unknown as readonly (Entry | Gap)[]) {
      if (entry.type !== "gap") last = entry.seq;
      const text = write(entry, 0);
      if (text !== "") shown.push(text);
      if (shown.length > most) shown.shift();
    }
    if (most === Infinity) for (const text of shown.splice(0)) out(text);
    last = Math.max(last, page.next === null ? page.lastSeq : last);
    from = page.next;
  }
  for (const text of shown) out(text);
  return last;
}

interface Future {
  readonly sessionKey: string;
  readonly from: number;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** What happens, until somebody ends it. Numbers follow each other: where one is left out, something cannot be read. */
async function future(
  client: Client,
  { sessionKey, from, screen, signal }: Future,
  write: Write,
): Promise<void> {
  let last = from;
  for await (const { event } of client.stream("follow", { sessionKey, from }, { signal, reconnect: true })) {
    if (event.type === "reconnected")
      screen.err(`${dim(screen, `(connected again after ${duration(event.afterMs)}; nothing lost)`)}\n`);
    if (event.type !== "entry" || event.seq <= last) continue;
    screen.out(write(event.entry as unknown as Entry, event.seq - last - 1));
    last = event.seq;
  }
}

function linesOf(text: string | undefined, isFrom: boolean): number {
  if (text === undefined) return isFrom ? Infinity : SHOWN;
  if (text === "all") return Infinity;
  if (!/^\d{1,9}$/.test(text))
    throw new Fault("bad_input", `-n takes a number, or all; not ${JSON.stringify(text)}`);
  return Number(text);
}

/** Null: it was not said. */
function seqOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,15}$/.test(text))
    throw new Fault("bad_input", `--from takes the number of an entry, not ${JSON.stringify(text)}`);
  return Math.max(1, Number(text));
}
