// `export`: a session as a file: its transcript (JSONL), or a page to read (markdown). Secrets are taken out by the daemon.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { once } from "node:events";
import { Fault } from "../base/fault.ts";
import { exportedLine, exportHead, type ExportFormat, type ExportPage } from "../calls/exported.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { json, many, whole } from "./output.ts";

const FORMATS = ["jsonl", "markdown"] as const satisfies ExportFormat[];
const PAGE_ENTRIES = 200;

export const exportCommand: Command = {
  name: "export",
  summary: "a session as a file: JSONL or markdown",
  arguments: [SESSION],
  options: [
    { flags: "--format <format>", about: "jsonl (its transcript) or markdown (jsonl)", completes: FORMATS },
    { flags: "-o, --output <file>", about: "where to (standard output)", completes: "file" },
  ],
  more: "Secrets of the usual shapes are taken out. Example: sessiond export main --format markdown -o main.md",
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, options, client: find, screen, signal } = invocation;
  const client = await find();
  const sessionKey = await keyOf(client, args[0] ?? "", signal);
  const format: ExportFormat = (textOf(options, "format") ?? "jsonl") === "jsonl" ? "jsonl" : "markdown";
  const path = textOf(options, "output");
  const sink = path !== undefined ? await file(path) : sinkOf(invocation, format);
  let entries = 0;
  let from: number | null = 1;
  try {
    while (from !== null) {
      const page: ExportPage = await client.call(
        "entries",
        { sessionKey, from, limit: PAGE_ENTRIES },
        signal,
      );
      if (from === 1) await sink.write(exportHead(page, format));
      for (const entry of page.entries) await sink.write(exportedLine(entry, format));
      entries += page.entries.length;
      from = page.next;
      if (from !== null && process.stderr.isTTY)
        screen.err(`\r${whole(entries)} of ${whole(page.lastSeq)} entries`);
    }
    await sink.close();
  } catch (error) {
    await sink.discard();
    throw error;
  }
  if (process.stderr.isTTY && entries > PAGE_ENTRIES) screen.err("\r\u001b[K");
  if (path !== undefined)
    screen.out(
      screen.json
        ? `${JSON.stringify({ sessionKey, entries, file: path })}\n`
        : `${many(entries, "entry", "entries")} of ${sessionKey} in ${path}\n`,
    );
  return 0;
}

interface Sink {
  readonly write: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
  /** Half an export is none. */
  readonly discard: () => Promise<void>;
}

/** A page for machines is one document. */
function sinkOf(invocation: Invocation, format: string): Sink {
  const { screen } = invocation;
  if (!screen.json || format !== "markdown") return standard(invocation);
  const pieces: string[] = [];
  return {
    write: async (text) => void pieces.push(text),
    close: async () => json(screen, { markdown: pieces.join("") }),
    discard: async () => {},
  };
}

function standard({ screen }: Invocation): Sink {
  const write = async (text: string): Promise<void> => {
    screen.out(text);
    if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
  };
  return { write, close: async () => {}, discard: async () => {} };
}

/** A file that is there is not written over. */
async function file(path: string): Promise<Sink> {
  const stream = createWriteStream(path, { flags: "wx", mode: 0o600 });
  const broken = (error: NodeJS.ErrnoException): Fault =>
    error.code === "EEXIST"
      ? new Fault("exists", `${path} exists; choose another file`, { cause: error })
      : error.code === "ENOENT"
        ? new Fault("not_found", `the folder of ${path} is not there; make it first`, { cause: error })
        : new Fault("disk_failed", `${path} cannot be written: ${error.message}`, { cause: error });
  let trouble: Fault | null = null;
  stream.on("error", (error) => (trouble = broken(error)));
  await once(stream, "open").catch((error: NodeJS.ErrnoException) => {
    throw broken(error);
  });
  const write = async (text: string): Promise<void> => {
    if (trouble !== null) throw trouble;
    if (!stream.write(text)) await once(stream, "drain");
  };
  const close = async (): Promise<void> => {
    stream.end();
    if (trouble === null) await once(stream, "close");
    if (trouble !== null) throw trouble;
  };
  const discard = async (): Promise<void> => {
    stream.destroy();
    await rm(path, { force: true });
  };
  return { write, close, discard };
}
