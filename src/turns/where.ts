// Where a turn stands, read from its entries: nothing else is needed to go on with it after a crash, a pause or a restart.

import { detailsOf, isRoute } from "../context/compaction.ts";
import type { Frame } from "../context/meter.ts";
import type { Class, Route } from "../mail/letter.ts";
import { CLASSES } from "../mail/urgency.ts";
import { callsIn, type Block, type Body, type Entry } from "../transcript/entry.ts";
import { isNote } from "../transcript/note.ts";
import { addTokens, NO_TOKENS, tokensOf, type TokenUsage } from "../transcript/fold.ts";

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
  /** True: nobody had written into it. It began for a wish, and nobody misses an answer. Absent: somebody had. */
  readonly tidied?: true;
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
  readonly startedAtMs: number | null; // null: nobody knows
  readonly spent: TokenUsage; //        by its answers and its summaries
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
  // What was paid for a summary is nothing that came of it: who dies there again and again is given up all the same.
  const came = since.filter((entry) => !isNote(entry, "paid"));
  const tried = came.slice(came.findLastIndex((entry) => triedIn(entry) === null) + 1).map(triedIn);
  const said = since.filter((entry) => entry.type === "message");
  const letters = said.flatMap(({ mailId }) => (typeof mailId === "string" && mailId !== "" ? [mailId] : []));
  const routes = said.flatMap(({ replyTo }) => (isRoute(replyTo) ? [replyTo] : []));
  return {
    turn: start.turn,
    class: since.some(isPersons) ? "interactive" : start.class, // A person may have steered it.
    steps: start.steps + since.filter(isAnswer).length,
    resumes: tried.filter((each) => each !== "not alone").length,
    diedAlone: tried.at(-1) === "alone",
    letters: [...start.letters, ...letters],
    routes: [...start.routes, ...routes],
    unsettled: unsettledIn(since),
    startedAtMs: start.startedAtMs,
    spent: spentIn(since, start.spent),
  };
}

/** What these say was paid, on top of what was before. */
export function spentIn(entries: readonly Body[], before: TokenUsage): TokenUsage {
  return entries.map(tokensOf).reduce(addTokens, before);
}

type Begun = Omit<OpenTurn, "resumes" | "diedAlone" | "unsettled">;

/** How the turn stood at an entry that says so; null: none was open there. A file may hold anything in place of that. */
function begunAt(entry: Entry | undefined): Begun | null {
  if (entry?.type === "compaction") return detailsOf(entry)?.turn ?? null;
  if (entry?.type !== "custom" || !isNote(entry, "turn-started")) return null;
  const { turn, class: urgency } = (entry.data ?? {}) as Partial<TurnStarted>;
  if (typeof turn !== "string") return null;
  const startedAtMs = Date.parse(entry.timestamp);
  return {
    turn,
    class: CLASSES.find((each) => each === urgency) ?? "background",
    steps: 0,
    letters: [],
    routes: [],
    startedAtMs: Number.isNaN(startedAtMs) ? null : startedAtMs,
    spent: NO_TOKENS,
  };
}

function isPersons(entry: Entry): boolean {
  return entry.type === "message" && entry.provenance?.kind === "external_user";
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
  const { why, alone } = (entry.data ?? {}) as Partial<TurnResumed>;
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
  if (answer === undefined) return null;
  const settled = new Set(
    entries
      .slice(at + 1)
      .flatMap((entry) =>
        entry.type === "message" && entry.message.role === "toolResult" ? [entry.message.toolCallId] : [],
      ),
  );
  const left = callsIn(answer).filter(({ id }) => !settled.has(id));
  return left.length === 0 ? null : { seq: answer.seq, calls: left };
}
