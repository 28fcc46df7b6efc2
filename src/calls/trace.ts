// Where the time and the tokens of a turn went: a fold over its entries. Nothing is kept for it beside the transcript, so a
// turn of last year can be traced as well as one that still runs, and a restart changes nothing.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { HISTORY_CALL_CHARS_MAX, TRACE_BYTES_MAX, TRACE_ENTRIES_MAX } from "./limits.ts";
import type { Session } from "../sessions/session.ts";
import { textOf, type Block, type Entry, type Gap, type MessageUsage } from "../transcript/entry.ts";
import { childDetailsOf } from "../turns/tasks.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded, TurnStarted } from "../turns/where.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { keyFor, reached } from "./reach.ts";
import type * as shape from "./trace-shapes.ts";
import { brief, whyOf } from "./views.ts";

type Trace = z.input<typeof shape.trace>;
type Step = Trace["steps"][number];
type Traced = Step["tools"][number];

/** What a trace needs of one entry: much less than the entry, of which there may be thousands. */
type Piece =
  | { readonly is: "start"; readonly at: string; readonly data: TurnStarted }
  | { readonly is: "end"; readonly at: string; readonly data: TurnEnded }
  | {
      readonly is: "answer";
      readonly at: string;
      readonly step: Omit<Step, "step" | "startedAt" | "ms">;
      readonly ids: readonly string[];
    }
  | {
      readonly is: "result";
      readonly at: string;
      readonly call: string;
      readonly isError: boolean;
      readonly child: string | null;
    }
  | { readonly is: "resumed"; readonly at: string }
  | { readonly is: "rewound"; readonly at: string; readonly to: number | null } // null: nobody knows
  | { readonly is: "letter"; readonly at: string }; // or another thing that the model was shown

/** The pieces of one turn, oldest first. */
interface Found {
  readonly pieces: readonly Piece[];
  readonly isCut: boolean;
  readonly isLast: boolean; // no other turn began after it
}

/** How a turn is over; null: it is not. */
type Over = Pick<Trace, "reason"> & { readonly outcome: string };

export async function trace(
  system: System,
  caller: Caller,
  { sessionKey, turn }: z.output<typeof shape.traceInput>,
): Promise<Done<Trace>> {
  const session = await reached(system, caller, keyFor(caller, sessionKey));
  const found = await piecesOf(system, session, turn ?? null);
  if (found === null && turn === undefined)
    throw new Fault("not_found", `no turn has begun in ${session.key} yet; a message to it begins one`);
  if (found === null)
    throw new Fault(
      "not_found",
      `${session.key} has no turn ${shown(turn)}, or it is too long ago; without \`turn\` the last is shown`,
    );
  return just(traceOf(system, session, found, await overOf(system, session, found)));
}

/**
 * Who goes back to the middle of a turn leaves its end behind, and nobody goes on with it. An end that is not there although
 * nothing runs cannot be read; but it may only have been written since the row was.
 */
async function overOf(
  { store }: System,
  { key, state, transcript }: Session,
  found: Found,
): Promise<Over | null> {
  const { pieces, isLast } = found;
  const last = pieces.at(-1);
  if (last?.is === "end") return { outcome: last.data.outcome, reason: last.data.reason };
  const rewound = pieces.findLast((piece) => piece.is === "rewound");
  if (rewound !== undefined) {
    const where = rewound.to === null ? "into it" : `to entry ${rewound.to}`;
    return { outcome: "rewound", reason: `the session went back ${where}: what followed was left behind` };
  }
  const lost = { outcome: "lost", reason: "how it ended cannot be read" };
  if (!isLast) return lost;
  if (state.kind !== "idle" && state.kind !== "ended") return null;
  const now = await store.session(key);
  return now?.state.kind === state.kind && now.transcript.lastSeq === transcript.lastSeq ? lost : null;
}

/**
 * Read from the end, as far as the turn's beginning. Null: there is no such turn. What a fork copied is another session's.
 * `turn` null: the last.
 */
async function piecesOf({ store }: System, session: Session, turn: string | null): Promise<Found | null> {
  const { transcript, state } = session;
  if (transcript.leafId === null) return null;
  const gathered = new Gathered();
  const isWanted = (of: string): boolean => turn === null || of === turn;
  let [looked, isLast] = [0, true];
  for await (const entry of store.entries(transcript.id, { before: null })) {
    looked += 1;
    if (looked > TRACE_ENTRIES_MAX || (entry.type !== "gap" && entry.seq <= transcript.copied)) break;
    const piece = pieceOf(entry);
    if (piece === null) continue;
    if (piece.is === "end") gathered.clear(); // What came after it is another turn's, or nobody's.
    if (piece.is !== "end" || isWanted(piece.data.turn)) gathered.add(piece);
    if (piece.is !== "start") continue;
    if (isWanted(piece.data.turn)) return { ...gathered.found(gathered.isFull), isLast };
    gathered.clear();
    isLast = false;
  }
  // Its beginning is too far away, or cannot be read.
  const isRunning = state.kind === "running" && isWanted(state.turn);
  return gathered.hasEnd || isRunning ? { ...gathered.found(true), isLast } : null;
}

/** Pieces, newest first, as many as are told. */
class Gathered {
  #pieces: Piece[] = [];
  #room = TRACE_BYTES_MAX;

  get isFull(): boolean {
    return this.#room < 0;
  }

  get hasEnd(): boolean {
    return this.#pieces[0]?.is === "end";
  }

  /** Of the first that has no room only the time is kept: the step after it began then. The turn's start is always kept. */
  add(piece: Piece): void {
    const wasFull = this.isFull;
    this.#room -= Buffer.byteLength(JSON.stringify(piece));
    if (!this.isFull || piece.is === "start") this.#pieces.push(piece);
    else if (!wasFull) this.#pieces.push({ is: "letter", at: piece.at });
  }

  clear(): void {
    this.#pieces = [];
    this.#room = TRACE_BYTES_MAX;
  }

  found(isCut: boolean): Omit<Found, "isLast"> {
    return { pieces: this.#pieces.toReversed(), isCut };
  }
}

/** What the entry says that goes back to another. */
interface Rewound {
  readonly to: number;
}

/** Null: a trace has nothing to say of it. */
function pieceOf(entry: Entry | Gap): Piece | null {
  if (entry.type === "gap") return null;
  const at = entry.timestamp;
  if (entry.type === "custom_message") return { is: "letter", at };
  if (entry.type === "custom") {
    const { data } = entry as { readonly data?: Partial<TurnStarted & TurnEnded & Rewound> | null };
    if (isNote(entry, "rewound"))
      return { is: "rewound", at, to: typeof data?.to === "number" ? data.to : null };
    if (typeof data?.turn !== "string") return null; // Also a note that was brought here from elsewhere has to be one.
    if (isNote(entry, "turn-started")) return { is: "start", at, data: data as TurnStarted };
    if (isNote(entry, "turn-ended")) return { is: "end", at, data: data as TurnEnded };
    return isNote(entry, "turn-resumed") ? { is: "resumed", at } : null;
  }
  if (entry.type !== "message") return null;
  const { message } = entry;
  if (message.role === "user") return { is: "letter", at };
  if (message.role === "assistant") return answerIn(entry, message);
  const details = childDetailsOf(entry);
  const child = details && "spawned" in details ? details.spawned.key : null;
  return { is: "result", at, call: message.toolCallId, isError: message.isError, child };
}

type Answer = Extract<Extract<Entry, { type: "message" }>["message"], { role: "assistant" }>;

function answerIn(entry: Entry, message: Answer): Piece {
  const { provider, model, usage, stopReason, errorMessage = "", content } = message;
  const calls = content.filter((block) => block.type === "toolCall");
  const step = {
    seq: entry.seq,
    model: `${provider}/${model}`,
    endedAt: entry.timestamp,
    usage: tokensOf(usage),
    cost: usage.cost?.total ?? 0,
    stopReason,
    text: brief(textOf(entry) || errorMessage, TEXT_CHARS_MAX),
    tools: calls.map((call) => toolOf(call, entry.timestamp)),
  };
  return { is: "answer", at: entry.timestamp, step, ids: calls.map(({ id }) => id) };
}

/** Characters of what a model said in a step, and of the name of a tool: a model may ask for any. */
const TEXT_CHARS_MAX = 400;
const NAME_CHARS_MAX = 200;

function toolOf(call: Extract<Block, { type: "toolCall" }>, startedAt: string): Traced {
  const given = brief(JSON.stringify(call.arguments), HISTORY_CALL_CHARS_MAX);
  return {
    name: brief(call.name, NAME_CHARS_MAX),
    arguments: given,
    startedAt,
    endedAt: null,
    ms: null,
    isError: null,
    child: null,
  };
}

function tokensOf({ input, output, cacheRead, cacheWrite }: MessageUsage): Step["usage"] {
  return { input, output, cacheRead, cacheWrite };
}

function traceOf(system: System, session: Session, { pieces, isCut }: Found, over: Over | null): Trace {
  const start = pieces[0]?.is === "start" ? pieces[0] : null;
  const last = pieces.at(-1);
  const end = last?.is === "end" ? last : null;
  const { key, state } = session;
  const running = state.kind === "running" ? state.turn : "";
  const steps = stepsIn(pieces);
  // Of one whose beginning was left out only the end knows how many there were.
  const before = isCut ? Math.max(0, (end?.data.steps ?? steps.length) - steps.length) : 0;
  const reason = over?.reason ?? null;
  const isIdle = state.kind === "idle" || state.kind === "ended";
  return {
    sessionKey: key,
    turn: start?.data.turn ?? end?.data.turn ?? running,
    class: start?.data.class ?? null,
    startedAt: start?.at ?? null,
    endedAt: end?.at ?? null,
    outcome: over?.outcome ?? null,
    reason: reason === null ? null : brief(reason),
    now: over !== null || isIdle ? null : whyOf(system, session, 0),
    resumes: pieces.filter((piece) => piece.is === "resumed").length,
    isCut,
    steps: steps.map((step, at) => ({ ...step, step: before + at + 1 })),
    totals: totalsOf(steps, start && end ? msBetween(start.at, end.at) : null),
  };
}

/** A step begins when the last of what it answers was written: a letter, a result, or that the turn was gone on with. */
function stepsIn(pieces: readonly Piece[]): Omit<Step, "step">[] {
  const steps: (Omit<Step, "step" | "tools"> & { readonly tools: Traced[] })[] = [];
  let since = pieces[0]?.at ?? "";
  let open = new Map<string, number>(); // by the id of a call: which tool of the last step it is
  for (const piece of pieces) {
    if (piece.is === "answer") {
      const { step, at, ids } = piece;
      steps.push({ ...step, startedAt: since, ms: msBetween(since, at), tools: [...step.tools] });
      open = new Map(ids.map((id, index) => [id, index]));
    } else if (piece.is === "result") {
      const index = open.get(piece.call);
      const tools = steps.at(-1)?.tools;
      const tool = index === undefined ? undefined : tools?.[index];
      if (tools && tool && index !== undefined) {
        const { at: endedAt, isError, child } = piece;
        tools[index] = { ...tool, endedAt, ms: msBetween(tool.startedAt, endedAt), isError, child };
      }
    }
    since = piece.at;
  }
  return steps;
}

function totalsOf(steps: readonly Omit<Step, "step">[], ms: number | null): Trace["totals"] {
  const sum = (of: (step: Omit<Step, "step">) => number): number =>
    steps.reduce((total, step) => total + of(step), 0);
  return {
    steps: steps.length,
    tools: sum(({ tools }) => tools.length),
    failedTools: sum(({ tools }) => tools.filter(({ isError }) => isError === true).length),
    ms,
    modelMs: sum((step) => step.ms),
    usage: {
      input: sum(({ usage }) => usage.input),
      output: sum(({ usage }) => usage.output),
      cacheRead: sum(({ usage }) => usage.cacheRead),
      cacheWrite: sum(({ usage }) => usage.cacheWrite),
    },
    cost: sum(({ cost }) => cost),
  };
}

/** A clock that was set back makes no time negative. */
function msBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
