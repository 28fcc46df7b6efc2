// Where a turn stands, read from its entries: nothing else is needed to go on with it after a crash, a pause or a restart.

import { detailsOf } from "../context/compaction.ts";
import type { Frame } from "../context/meter.ts";
import type { Class, Route } from "../mail/letter.ts";
import type { Block, Body, Entry } from "../transcript/entry.ts";

export type ToolCall = Extract<Block, { type: "toolCall" }>;

/** What the entry says that begins a turn, and the one that ends it. */
export interface TurnStarted {
  readonly turn: string;
  readonly class: Class;
}

export interface TurnEnded {
  readonly turn: string;
  readonly outcome: TurnOutcome;
  readonly reason: string | null;
  readonly steps: number;
  /** What stood around the conversation in its requests; null: it asked no model. Absent: an older version wrote it. */
  readonly frame?: Frame | null;
}

export type TurnOutcome =
  | "done"
  | "failed" //      the model or its configuration; the reason says which
  | "overflow" //    the context is larger than the model's window
  | "aborted" //     by a person, or by a letter that interrupts
  | "killed"
  | "timeout"
  | "limit" //       of steps
  | "interrupted"; // by a process that died, again and again at the same place

/** A turn that began and has not ended. */
export interface OpenTurn {
  readonly turn: string;
  readonly class: Class;
  readonly steps: number; //            model calls that were answered
  readonly resumes: number; //          times in a row that it was gone on with after a crash and nothing came of it
  readonly diedAlone: boolean; //       the last of these times no other suspect was being tried (resuming.ts)
  readonly letters: readonly string[]; // ids of those it has taken
  readonly routes: readonly Route[]; // where the answer goes
  readonly unsettled: Unsettled | null; // null: every call of the last step has a result
}

/** Calls that have no result, and the entry they stand in. */
export interface Unsettled {
  readonly seq: number;
  readonly calls: readonly ToolCall[];
}

/** Null: no turn is open. Where a compaction has cut off its beginning, that says how it stood. */
export function openTurn(entries: readonly Entry[]): OpenTurn | null {
  const at = entries.findLastIndex(
    (entry) => isNote(entry, "turn-started") || isNote(entry, "turn-ended") || detailsOf(entry) !== null,
  );
  const start = begunAt(entries[at]);
  if (start === null) return null;
  const since = entries.slice(at + 1);
  const tried = since.slice(since.findLastIndex((entry) => triedIn(entry) === null) + 1).map(triedIn);
  const letters = since.flatMap((entry) => (entry.type === "message" && entry.mailId ? [entry.mailId] : []));
  const routes = since.flatMap((entry) => (entry.type === "message" && entry.replyTo ? [entry.replyTo] : []));
  return {
    turn: start.turn,
    class: since.some(isPersons) ? "interactive" : start.class, // A person may have steered it.
    steps: start.steps + since.filter(isAnswer).length,
    resumes: tried.filter((each) => each !== "not alone").length,
    diedAlone: tried.at(-1) === "alone",
    letters: [...start.letters, ...letters],
    routes: [...start.routes, ...routes],
    unsettled: unsettledIn(since),
  };
}

/** How the turn stood at an entry that says so; null: none was open there. */
function begunAt(
  entry: Entry | undefined,
): Pick<OpenTurn, "turn" | "class" | "steps" | "letters" | "routes"> | null {
  if (entry?.type === "compaction") return detailsOf(entry)?.turn ?? null;
  if (entry?.type !== "custom" || !isNote(entry, "turn-started")) return null;
  return { ...(entry.data as TurnStarted), steps: 0, letters: [], routes: [] };
}

function isPersons(entry: Entry): boolean {
  return entry.type === "message" && entry.provenance?.kind === "external_user";
}

export function isNote(entry: Body, what: string): boolean {
  return entry.type === "custom" && entry.customType === `sessiond/${what}`;
}

/** What the entry says that is written whenever a turn is gone on with. */
export interface TurnResumed {
  readonly turn: string;
  readonly why: "restarted" | "continued" | "not alone"; // the last: others are tried beside it from now on
  readonly alone: boolean;
}

/** Null: it is something else, or was written after a pause. A gateway that stopped in order left a note before it. */
function triedIn(entry: Entry): "alone" | "with others" | "not alone" | null {
  if (entry.type !== "custom" || !isNote(entry, "turn-resumed")) return null;
  const { why, alone } = entry.data as Partial<TurnResumed>;
  if (why === "not alone") return why;
  if (why !== "restarted") return null;
  return alone === true ? "alone" : "with others";
}

function isAnswer(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role === "assistant";
}

function unsettledIn(entries: readonly Entry[]): Unsettled | null {
  const at = entries.findLastIndex(isAnswer);
  const answer = entries[at];
  if (answer?.type !== "message" || answer.message.role !== "assistant") return null;
  const settled = new Set(
    entries
      .slice(at + 1)
      .flatMap((entry) =>
        entry.type === "message" && entry.message.role === "toolResult" ? [entry.message.toolCallId] : [],
      ),
  );
  const calls = answer.message.content.filter((block) => block.type === "toolCall");
  const left = calls.filter(({ id }) => !settled.has(id));
  return left.length === 0 ? null : { seq: answer.seq, calls: left };
}
