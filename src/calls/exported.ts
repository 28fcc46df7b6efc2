// A session as a file: its transcript, or a page to read. The command line and the control page write the same, so nothing here
// needs Node. Entries may have been written by others: nothing in them is believed before it is looked at.

import { many } from "../base/figures.ts";
import { clean, fenced, jsonLine, oneLine } from "../base/harmless.ts";
import type { Output } from "./door.ts";

export type ExportFormat = "jsonl" | "markdown";
export type ExportPage = Output<"entries">;
type Given = ExportPage["entries"][number];

/** What stands before the first entry. */
export function exportHead(page: ExportPage, format: ExportFormat): string {
  return format === "jsonl" ? header(page) : title(page);
}

/** One entry; empty: in this format it is left out. */
export function exportedLine(entry: Given, format: ExportFormat): string {
  return format === "jsonl" ? jsonLine(entry) : clean(asMarkdown(entry));
}

/** The first line of a transcript, as docs/formats/transcript.md has it. */
function header({ transcript, bornAt, sessionKey, agent, copied }: ExportPage): string {
  const more = copied === 0 ? {} : { copied };
  return `${JSON.stringify({ type: "session", version: 3, id: transcript, timestamp: bornAt, cwd: "", key: sessionKey, agent, ...more })}\n`;
}

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────────────────

function title({ sessionKey, bornAt, lastSeq }: ExportPage): string {
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
