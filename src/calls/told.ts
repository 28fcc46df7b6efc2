// What an entry of a transcript says to a person, in a terminal and on a page: so nothing here needs Node. Entries may have been
// written by others, so nothing in them is believed before it is looked at.

import { count, many } from "../base/figures.ts";
import { cut, oneLine } from "../base/harmless.ts";
import { isAlert } from "../mail/beat.ts";
import { isReport, taskOf } from "../mail/task.ts";
import type { Provenance } from "../routing/provenance.ts";
import { textOf, type Block, type Entry } from "../transcript/entry.ts";
import { A_PERSON } from "./words.ts";

export interface ToolCalled {
  readonly id: string;
  readonly name: string;
  readonly about: string; //  its arguments, in short
  readonly given: Readonly<Record<string, unknown>>;
}

/** A child's end, as its parent is told of it. */
export interface Report {
  readonly child: string;
  readonly task: string;
  readonly ended: string; //       "done", "failed: …"
  readonly isGood: boolean;
  readonly seconds: number | null; // null: the report does not say
  readonly tokens: number | null;
}

export type Item = { readonly seq: number; readonly atMs: number } & Told;

type Told =
  | {
      readonly what: "letter";
      readonly from: string;
      readonly isPerson: boolean;
      readonly mailId: string | null;
      readonly text: string;
    }
  | { readonly what: "report"; readonly report: Report; readonly text: string }
  | {
      readonly what: "answer";
      readonly text: string;
      readonly model: string;
      readonly trouble: string | null;
      readonly calls: readonly ToolCalled[];
    }
  | {
      readonly what: "result";
      readonly id: string;
      readonly name: string;
      readonly isError: boolean;
      readonly text: string;
      readonly spawned: Spawned | null;
    }
  | { readonly what: "began"; readonly turn: string }
  | { readonly what: "resumed"; readonly why: string }
  | { readonly what: "ended"; readonly outcome: string; readonly reason: string | null }
  | { readonly what: "note"; readonly text: string } //     something that people should know of
  | { readonly what: "setting"; readonly text: string } //  how it goes on from here
  | { readonly what: "silent" } //                         said to nobody: it wrote to its memory
  | { readonly what: "nothing" }; //                        bookkeeping

/** A task that was given: to whom. */
export interface Spawned {
  readonly key: string;
  readonly task: string;
  readonly isTold: boolean; // false: its end is reported to nobody
}

export function itemOf(entry: Entry): Item {
  const atMs = Date.parse(entry.timestamp);
  return { seq: entry.seq, atMs: Number.isNaN(atMs) ? 0 : atMs, ...toldOf(entry) };
}

function toldOf(entry: Entry): Told {
  switch (entry.type) {
    case "message":
      return entry.silent === true ? { what: "silent" } : messageOf(entry);
    case "custom":
      return noteOf(entry.customType, recordOf(entry.data));
    case "custom_message":
      return entry.display ? { what: "note", text: textOf(entry) } : { what: "nothing" };
    case "compaction":
      return { what: "note", text: compactionWords(entry) };
    case "branch_summary":
      return { what: "note", text: `came back from another branch: ${textOf(entry)}` };
    case "model_change":
      return { what: "setting", text: `model ${entry.provider}/${entry.modelId}` };
    case "thinking_level_change":
      return { what: "setting", text: `thinking ${entry.thinkingLevel}` };
    default:
      return { what: "nothing" };
  }
}

/** Of why there is no summary: a clause of a line. */
const REASON_CELLS = 80;

/** What it says is for the model; `result` shows all of it. */
function compactionWords(entry: Extract<Entry, { type: "compaction" }>): string {
  // It keeps nothing, and says nothing in its place: so begins a beat (turns/askers.ts).
  if (entry.firstKeptEntryId === entry.id && entry.tokensBefore === 0 && entry.details === undefined)
    return "a new beat; what came before is not shown to the model";
  const { tokensAfter, truncated } = recordOf(entry.details);
  const before = count(Number(entry.tokensBefore) || 0);
  const size =
    typeof tokensAfter === "number" ? `${before} → ${count(tokensAfter)} tokens` : `${before} tokens`;
  const how =
    typeof truncated === "string"
      ? `cut off without a summary (${cut(oneLine(truncated), REASON_CELLS)})`
      : "summarised";
  return `earlier conversation ${how}, ${size}; rewind goes back to before it`;
}

function messageOf(entry: Extract<Entry, { type: "message" }>): Told {
  const { message } = entry;
  const text = textOf(entry) + picturesIn(message.content);
  switch (message.role) {
    case "assistant":
      return {
        what: "answer",
        text,
        model: `${message.provider}/${message.model}`,
        trouble: message.stopReason === "error" ? (message.errorMessage ?? "the model failed") : null,
        calls: blocksOf(message.content).flatMap(callOf),
      };
    case "toolResult": {
      const { toolCallId: id, toolName: name, isError } = message;
      return {
        what: "result",
        id,
        name,
        isError,
        text,
        spawned: isError ? null : spawnedIn(name, message.details),
      };
    }
    default: {
      const mailId = entry.mailId ?? null;
      const { provenance } = entry;
      if (mailId !== null && isReport({ id: mailId }) && provenance?.kind === "inter_session")
        return { what: "report", report: reportOf(provenance.source, taskOf({ id: mailId }), text), text };
      const said = mailId !== null && isAlert({ id: mailId }) ? foundIn(text) : text;
      return {
        what: "letter",
        from: writerOf(provenance),
        isPerson: isPersons(provenance),
        mailId,
        text: said,
      };
    }
  }
}

/** Who said something that was found, by what `search` tells of it. Empty: nobody knows. */
export function sayerOf({
  kind,
  from,
}: {
  readonly kind: string | null;
  readonly from: string | null;
}): string {
  switch (kind) {
    case null:
      return "";
    case "user":
      return from === null || from === A_PERSON ? "you" : from;
    case "assistant":
      return "the model";
    case "toolResult":
      return from === null ? "a tool" : `result of ${from}`;
    case "compaction":
    case "branch_summary":
      return "a summary";
    default:
      return "sessiond";
  }
}

/** Of an alert: what is to be done about it stands before the first blank line, and is for the model (timers/alert.ts). */
function foundIn(text: string): string {
  const at = text.indexOf("\n\n");
  return at < 0 ? text : text.slice(at + 2);
}

/** Somebody at a terminal or a page: there is one who talks here, and no name is known. */
function isPersons(from: Provenance | undefined): boolean {
  return from === undefined || (from.kind === "external_user" && from.channel === null && from.peer === null);
}

function writerOf(from: Provenance | undefined): string {
  switch (from?.kind) {
    case "inter_session":
      return from.source;
    case "internal_system":
      return `sessiond, ${from.cause}`;
    case "external_user":
      return [from.channel, from.peer].filter((part) => part !== null).join(":") || "you";
    default:
      return "you";
  }
}

function picturesIn(content: unknown): string {
  const pictures = blocksOf(content).filter(({ type }) => type === "image").length;
  return pictures === 0 ? "" : ` [${many(pictures, "picture")}]`;
}

function blocksOf(content: unknown): readonly Block[] {
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is Block => typeof block === "object" && block !== null);
}

function callOf(block: Block): ToolCalled[] {
  if (block.type !== "toolCall") return [];
  const given = recordOf(block.arguments);
  return [{ id: String(block.id), name: String(block.name), about: aboutOf(given), given }];
}

/** One argument says most by itself; several are named. */
export function aboutOf(given: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(given);
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return valueOf(only[1]);
  return parts.map(([name, value]) => `${name}=${valueOf(value)}`).join(" ");
}

/** Characters of one argument: beside its name and others it has to fit a line. */
const ARGUMENT_CHARS_MAX = 200;

function valueOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, ARGUMENT_CHARS_MAX).replaceAll(/\s+/g, " ").trim();
}

const SPAWNS: ReadonlySet<string> = new Set(["sessions_spawn", "subagents"]);

/** What the result of a spawn keeps for sessiond itself (turns/tasks.ts). */
function spawnedIn(tool: string, details: unknown): Spawned | null {
  const { spawned } = recordOf(details);
  const { key, task, isTold } = recordOf(spawned);
  if (!SPAWNS.has(tool) || typeof key !== "string" || typeof task !== "string") return null;
  return { key, task, isTold: isTold !== false };
}

/** The first two lines are sessiond's own (turns/reports.ts). */
function reportOf(child: string, task: string, text: string): Report {
  const [head = "", figures = ""] = text.split("\n");
  const ended =
    /^Report of .*?(?::|\):) (done|failed|was stopped|was killed|ran out of time|came to a limit|was given up after restarts)(.*)$/.exec(
      head,
    );
  const counted = /^([\d.]+) s · (\d+) tokens in, (\d+) out/.exec(figures);
  return {
    child,
    task,
    ended: ended ? `${ended[1]}${ended[2]}` : "has ended",
    isGood: ended?.[1] === "done",
    seconds: counted ? Number(counted[1]) : null,
    tokens: counted ? Number(counted[2]) + Number(counted[3]) : null,
  };
}

/** With it a conversation begins: what was said before is in the archive, and its numbers are not missing. */
export function beginsAnew(entry: Entry): boolean {
  if (entry.type !== "custom" || entry.customType !== "sessiond/generation") return false;
  return recordOf(entry.data)["title"] === "";
}

function noteOf(type: string, data: Readonly<Record<string, unknown>>): Told {
  const word = (name: string): string | null => {
    const value = data[name];
    return typeof value === "string" ? value : null;
  };
  switch (type) {
    case "sessiond/turn-started":
      return { what: "began", turn: word("turn") ?? "" };
    case "sessiond/turn-resumed":
      return { what: "resumed", why: word("why") ?? "" };
    case "sessiond/turn-ended":
      return { what: "ended", outcome: word("outcome") ?? "", reason: word("reason") };
    case "sessiond/failover":
      return { what: "note", text: `${word("spoke") ?? "another model"} answered in place of the usual one` };
    case "sessiond/rewound":
      // The branch that was left can be gone back to by its last number.
      return {
        what: "note",
        text: `${data["isReturn"] === true ? "returned" : "went back"} to ${numberIn(data, "to")}, from ${numberIn(data, "from")}`,
      };
    case "sessiond/handoff":
      return { what: "note", text: `handed over to ${word("key") ?? "another"}, file ${word("path") ?? ""}` };
    case "sessiond/pruned":
      return { what: "note", text: `${many(Number(data["results"]) || 0, "tool result")} left the prompt` };
    case "sessiond/generation":
      return word("title") === "" ? { what: "note", text: "a new conversation" } : { what: "nothing" };
    case "sessiond/damage":
      return { what: "note", text: "damage was found here; `sessiond fsck` says more" };
    default:
      return { what: "nothing" };
  }
}

function numberIn(data: Readonly<Record<string, unknown>>, name: string): string {
  return `#${Number(data[name]) || "?"}`;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
