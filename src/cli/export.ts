// `export`: a session as a file: its transcript (JSONL), or a page to read (markdown). Secrets are taken out by the daemon.

import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { once } from "node:events";
import { Fault } from "../base/fault.ts";
import type { Output } from "../calls/door.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { clean, fenced, json, jsonLine, many, oneLine, whole } from "./output.ts";

const FORMATS = ["jsonl", "markdown"] as const;
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

type Page = Output<"entries">;
type Given = Page["entries"][number];

async function run(invocation: Invocation): Promise<number> {
  const { args, options, client: find, screen, signal } = invocation;
  const client = await find();
  const sessionKey = await keyOf(client, args[0] ?? "", signal);
  const format = textOf(options, "format") ?? "jsonl";
  const path = textOf(options, "output");
  const sink = path !== undefined ? await file(path) : sinkOf(invocation, format);
  let entries = 0;
  let from: number | null = 1;
  try {
    while (from !== null) {
      const page: Page = await client.call("entries", { sessionKey, from, limit: PAGE_ENTRIES }, signal);
      if (from === 1) await sink.write(format === "jsonl" ? header(page) : title(page));
      for (const entry of page.entries)
        await sink.write(format === "jsonl" ? jsonLine(entry) : clean(asMarkdown(entry)));
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

/** The first line of a transcript, as docs/formats/transcript.md has it. */
function header({ transcript, bornAt, sessionKey, agent, copied }: Page): string {
  const more = copied === 0 ? {} : { copied };
  return `${JSON.stringify({ type: "session", version: 3, id: transcript, timestamp: bornAt, cwd: "", key: sessionKey, agent, ...more })}\n`;
}

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────────────────

function title({ sessionKey, bornAt, lastSeq }: Page): string {
  return `# ${sessionKey}\n\nBegun ${bornAt}, ${many(lastSeq, "entry", "entries")}.\n`;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly model?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
}

/** What is not part of the conversation is left out, but for what a reader would miss. */
function asMarkdown(entry: Given): string {
  if (entry.type === "gap") return `\n> [something here cannot be read]\n`;
  if (entry.type === "compaction")
    return `\n> [summary of what was before]\n\n${quoted(String(entry["summary"] ?? ""))}\n`;
  if (entry.type !== "message" || entry["silent"] === true) return "";
  const message = entry["message"] as Message;
  const at = String(entry["timestamp"] ?? "");
  const words = blocksOf(message.content)
    .map((block) => blockOf(block, message))
    .filter((text) => text !== "");
  return words.length === 0 ? "" : `\n## ${headline(message)} · ${at}\n\n${words.join("\n\n")}\n`;
}

function headline({ role, model, toolName, isError }: Message): string {
  if (role === "assistant") return oneLine(model ?? "assistant");
  if (role !== "toolResult") return "person";
  return `result of ${oneLine(toolName ?? "a tool")}${isError ? " (error)" : ""}`;
}

type Block = Readonly<Record<string, unknown>>;

function blocksOf(content: unknown): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as readonly Block[]) : [];
}

function blockOf(block: Block, { role }: Message): string {
  switch (block["type"]) {
    case "text":
      return role === "toolResult" ? fenced(String(block["text"] ?? "")) : String(block["text"] ?? "");
    case "toolCall":
      return `→ **${oneLine(String(block["name"] ?? ""))}**\n\n${fenced(JSON.stringify(block["arguments"], null, 2) ?? "")}`;
    case "image":
      return "[a picture]";
    default:
      return ""; // thinking is the model's own
  }
}

function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}
