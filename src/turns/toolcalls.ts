// Tool calls
//
// Runs the calls of one step and writes down each result as it settles. Whatever a tool does (throws, never returns,
// returns too much, is unknown) ends in a result, so that the model can go on and every call has its pair.
//
//   Owns:      running tools, within bounds.
//   Does not:  know any tool.
//
// Invariants
//   T1. The calls are durable before the first of them runs: the caller has committed them.
//   T2. A result is durable once, with everything its tool did to the store, or with nothing of it.
//   T3. A call that was not started when the turn stopped, or when a person steered, is never started: its result says so.

import { Fault } from "../base/fault.ts";
import type { Span } from "../base/span.ts";
import { alarm, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Agent } from "../config/config.ts";
import { PROGRAM_ENDING_MS, TOOL_OUTPUT_BYTES_MAX, TOOLS_PARALLEL_MAX } from "../limits.ts";
import type { Class } from "../mail/letter.ts";
import type { Slot, Slots } from "../scheduler/slots.ts";
import type { Held } from "../sessions/held.ts";
import type { Usage } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import { checked, type Calling, type Output, type Result, type Tool } from "../tools/tool.ts";
import { jsonOf } from "../transcript/codec.ts";
import { isSpilled, type Block, type Message } from "../transcript/entry.ts";
import { spillMessage, type PutBlob } from "../transcript/spill.ts";
import { Stopped } from "./stop.ts";
import { tracedCall } from "./traced.ts";
import type { ToolCall } from "./where.ts";

export type ResultMessage = Extract<Message, { role: "toolResult" }>;

export interface CallParts {
  readonly world: World;
  readonly held: Held;
  readonly span: Span; // of the turn
  readonly agent: Agent;
  /** Of all who wait for the session now: what its tools start is no more urgent. */
  readonly class: () => Class;
  /** For tools that run programs. */
  readonly processSlots: Pick<Slots, "take">;
  readonly tools: readonly Tool[];
  readonly putBlob: PutBlob;
  /** Takes out the keys that the configuration names: a transcript keeps what happened, but not those. */
  readonly clean: (text: string) => string;
  /** Aborted with a Stopped: running tools are given up, others are not begun. */
  readonly stop: AbortSignal;
  /** Aborted with a Stopped: nothing is begun, what runs is waited for. */
  readonly leaving: AbortSignal;
  /** A person wrote meanwhile, and wants to be heard before more is done. */
  readonly isSteered: () => boolean;
  /** Nobody is told of it: the agent writes down what is to last (context/flush.ts). */
  readonly isSilent: boolean;
  /** What is told to others of a result, in the same commit. */
  readonly told: (result: ResultMessage) => readonly Change[];
}

/** `seq` is the entry that the calls stand in: with it a call has a name that no other has. */
export async function runCalls(parts: CallParts, seq: number, calls: readonly ToolCall[]): Promise<void> {
  const waiting = [...calls];
  let before: Promise<void> = Promise.resolve(); // of those that delegate
  const runOne = async (call: ToolCall): Promise<void> => {
    if (!isLeft(parts)) await settle(parts, call, `${parts.held.row.transcript.id}:${seq}:${call.id}`);
  };
  const runSome = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const call = next;
      if (!delegates(parts, call)) await runOne(call);
      else await (before = before.then(() => runOne(call)));
    }
  };
  const runners = Array.from({ length: Math.min(TOOLS_PARALLEL_MAX, calls.length) }, runSome);
  const failed = (await Promise.allSettled(runners)).find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}

function delegates({ tools }: CallParts, { name }: ToolCall): boolean {
  return tools.find((each) => each.name === name)?.delegates === true;
}

async function settle(parts: CallParts, call: ToolCall, name: string): Promise<void> {
  const tool = parts.tools.find((each) => each.name === call.name);
  const slot = tool?.process === true ? await processSlot(parts) : null;
  if (slot === null && isLeft(parts)) return; // It has not begun: whoever goes on begins it.
  const fromMs = parts.world.nowMs();
  try {
    const skipped = whyNot(parts);
    const run = (): Promise<Result> => tracedCall(call, parts, () => outcomeOf(parts, { call, name, tool }));
    const result = skipped === null ? await run() : refusal(skipped);
    if (tool?.delegates === true && isLeft(parts)) return; // It has changed nothing yet: whoever goes on begins it anew.
    const { cpuMs, peakBytes } = result.used ?? { cpuMs: 0, peakBytes: 0 };
    const charge = { toolCalls: skipped === null ? 1 : 0, toolCpuMs: cpuMs, toolPeakBytes: peakBytes };
    throwIfLeaving(parts.stop); // What became of it is for whoever goes on to find out.
    const again = tool?.delegates === true ? run : null;
    await writeResult(parts, call, { result, charge, again });
  } finally {
    slot?.giveBack(parts.world.nowMs() - fromMs);
  }
}

/** Null: the turn stopped, or the gateway did, while it waited; so it is not begun (T3). */
async function processSlot({ held, stop, leaving, ...parts }: CallParts): Promise<Slot | null> {
  const { key, root, settings } = held.row;
  const asking = { key, root, class: parts.class(), nice: settings.nice, provider: "programs" };
  try {
    return await parts.processSlots.take(asking, AbortSignal.any([stop, leaving]));
  } catch (error) {
    if (!stop.aborted && !leaving.aborted) throw error;
    return null;
  }
}

function throwIfLeaving(stop: AbortSignal): void {
  if (isLeaving(stop)) throw stop.reason;
}

function isLeaving({ reason }: AbortSignal): boolean {
  return reason instanceof Stopped && reason.stop.kind === "leaving";
}

/** The turn stays open, for whoever goes on with it. One that somebody has stopped ends, and then every call has its pair. */
function isLeft({ stop, leaving }: CallParts): boolean {
  return leaving.aborted && (!stop.aborted || isLeaving(stop));
}

/** T3. */
function whyNot({ stop, isSteered }: CallParts): string | null {
  if (stop.aborted)
    return `It was not run: ${stop.reason instanceof Stopped ? stop.reason.message : "the turn stopped"}.`;
  return isSteered() ? "It was not run: a new message came in. Read it first." : null;
}

interface Beginning {
  readonly call: ToolCall;
  readonly name: string;
  readonly tool: Tool | undefined; // undefined: there is none of that name
}

async function outcomeOf(parts: CallParts, { call, name, tool }: Beginning): Promise<Result> {
  if (!tool) {
    const names = parts.tools.map((each) => each.name).join(", ");
    return refusal(
      `There is no tool ${JSON.stringify(call.name.slice(0, 80))}. You have: ${names || "none"}.`,
    );
  }
  const { toolSeconds, turnSeconds } = parts.agent.limits;
  const late = new AbortController();
  const seconds = tool.delegates === true ? turnSeconds : toolSeconds;
  const limitMs = seconds * 1_000 + (tool.process === true ? PROGRAM_ENDING_MS : 0);
  const callOff = alarm(parts.world, limitMs, () =>
    late.abort(new Error(`it took longer than ${seconds} s`)),
  );
  const signals = [parts.stop, late.signal, ...(tool.delegates === true ? [parts.leaving] : [])];
  const signal = AbortSignal.any(signals);
  const { row: session } = parts.held;
  try {
    const found = checked(tool.input, call.arguments);
    const given = found instanceof Promise ? await unlessAborted(found, signal) : found;
    const skipped = found instanceof Promise ? whyNot(parts) : null; // T3: it has not begun yet
    if (skipped !== null) return refusal(skipped);
    if ("problems" in given) {
      const wrong = `The arguments of ${tool.name} are wrong: ${given.problems}.`;
      return refusal(`${wrong} Nothing was done; correct them and call again.`);
    }
    const calling: Calling = {
      session,
      agent: parts.agent,
      class: parts.class(),
      cause: `cause:call:${name}`,
      signal,
    };
    return bounded(
      await unlessAborted(
        Promise.try(() => tool.run(given.value, calling)),
        signal,
      ),
    );
  } catch (error) {
    // Nobody waited for its end, so nobody knows.
    const why = wordsOf(error);
    return refusal(
      signal.aborted ? `${call.name} was given up: ${why}. ${UNKNOWN}` : `${call.name} failed: ${why}`,
    );
  } finally {
    callOff();
  }
}

/** Of a call that began and whose end nobody saw. */
export const UNKNOWN = "It may or may not have taken effect: check before you repeat it.";

interface Writing {
  readonly result: Result;
  readonly charge: Partial<Usage>;
  /** What it saw may be old by now: somebody else has opened what it opens. Then it looks once more. Null: it does not. */
  readonly again: (() => Promise<Result>) | null;
}

/** T2. What the store refuses becomes the result; that the session is not ours any more does not. */
async function writeResult(
  parts: CallParts,
  call: ToolCall,
  { result, charge, again }: Writing,
): Promise<void> {
  const { held } = parts;
  const message = await messageOf(parts, call, result);
  const writing = (of: ResultMessage, changes: readonly Change[]): Promise<void> =>
    held.commit({
      entries: [{ type: "message", message: of, ...(parts.isSilent ? { silent: true } : {}) }],
      charge,
      others: [...changes, ...(parts.isSilent ? [] : parts.told(of))],
    });
  const changes = result.changes ?? [];
  try {
    await writing(message, changes);
  } catch (error) {
    const isTools = error instanceof Fault && changes.length > 0 && REFUSALS.has(error.code);
    if (!isTools) throw error;
    if (again !== null && error.code === "exists")
      return await writeResult(parts, call, { result: await again(), charge, again: null });
    await writing(await messageOf(parts, call, refusal(`${call.name} failed: ${wordsOf(error)}`)), []);
  }
}

/**
 * Codes that may be about what a tool wanted, and not about whose session this is or whether the store goes on. If they
 * are not, writing down the refusal meets them too.
 */
const REFUSALS = new Set([
  "stale_writer", // also of a setting or a timer that somebody else has changed
  "bad_input",
  "not_found",
  "exists",
  "conflict",
  "ended",
  "mailbox_full",
  "forbidden",
]);

async function messageOf(parts: CallParts, call: ToolCall, result: Result): Promise<ResultMessage> {
  const blocks = typeof result.content === "string" ? [textBlock(result.content)] : result.content;
  const content = blocks.map((block) =>
    block.type === "text" ? { ...block, text: parts.clean(block.text) } : block,
  );
  const message: ResultMessage = {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content,
    isError: result.isError === true,
    ...(result.details === undefined ? {} : { details: cleaned(result.details, parts.clean) }),
    timestamp: parts.world.nowMs(),
  };
  return (await spillMessage(message, parts.putBlob)) as ResultMessage;
}

/** In whatever shape it has: a key that is looked for in JSON is found, and leaves JSON behind. */
function cleaned(details: unknown, clean: CallParts["clean"]): unknown {
  const json = jsonOf(details);
  const without = clean(json);
  return without === json ? details : JSON.parse(without);
}

function refusal(text: string): Result {
  return { content: text, isError: true };
}

/** What a tool returned, as far as it can be kept. JavaScript returns anything: what is no result is the tool's error. */
function bounded(output: Output): Result {
  const result: Partial<Result> | null | undefined =
    typeof output === "string" ? { content: output } : output;
  const { content, isError, details, changes, used }: { readonly [Field in keyof Result]?: unknown } =
    result ?? {};
  if (typeof content !== "string" && !Array.isArray(content))
    throw new Error("it returned neither a text nor blocks of content");
  if (changes !== undefined && !Array.isArray(changes)) throw new Error("its changes are no list");
  return {
    content: typeof content === "string" ? cut(content) : boundedBlocks(content),
    isError: isError === true,
    ...(changes === undefined ? {} : { changes: changes as Change[] }),
    used: boundedUse(used),
    ...boundedDetails(details),
  };
}

/** A tool of a program may say anything; what is charged is a number. */
function boundedUse(used: unknown): NonNullable<Result["used"]> {
  const { cpuMs, peakBytes } = (used ?? {}) as Readonly<Record<string, unknown>>;
  const amount = (of: unknown): number =>
    typeof of === "number" && Number.isFinite(of) && of > 0 ? Math.round(of) : 0;
  return { cpuMs: amount(cpuMs), peakBytes: amount(peakBytes) };
}

function boundedBlocks(content: readonly unknown[]): Block[] {
  let room = TOOL_OUTPUT_BYTES_MAX;
  return content.map((block): Block => {
    if (!isBlock(block)) throw new Error("a block of what it returned is neither a text nor a picture");
    room -= jsonOf(block).length;
    if (room < 0) return textBlock("[left out: the result is longer than is kept]");
    // What an entry names may be read by who reads the entry, and the blob may be another session's.
    const { blob: _named, ...kept } = block;
    return kept.type === "text" ? { ...kept, text: kept.text.toWellFormed() } : kept;
  });
}

/** What can be in a result: later readers of the transcript take it for what it says it is. */
function isBlock(block: unknown): block is Extract<Block, { type: "text" | "image" }> {
  const { type, text, data, mimeType } = (block ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "text") return typeof text === "string";
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}

/** Throws what JSON cannot say. What it says nothing of, such as a function, is left out; so is the name of a blob. */
function boundedDetails(details: unknown): { readonly details?: unknown } {
  const json = jsonOf(details) as string | undefined;
  if (json === undefined) return {};
  if (isSpilled(details)) return boundedDetails({ spilled: details.spilled });
  return { details: json.length <= TOOL_OUTPUT_BYTES_MAX ? details : "left out: longer than is kept" };
}

function cut(text: string): string {
  if (text.length <= TOOL_OUTPUT_BYTES_MAX) return text;
  const left = text.length - TOOL_OUTPUT_BYTES_MAX;
  return `${text.slice(0, TOOL_OUTPUT_BYTES_MAX)}\n[cut: ${left} more characters are not kept]`;
}

function textBlock(text: string): Block {
  return { type: "text", text: text.toWellFormed() };
}

/** Of anything that was thrown, shortly. */
function wordsOf(error: unknown): string {
  if (error instanceof Fault)
    return error.code === "bad_input" ? error.message : `${error.message} (${error.code})`;
  const text = textOf(error);
  return text.length > 2_000 ? `${text.slice(0, 2_000)} …` : text || "without a reason";
}

function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "it threw something that has no words"; // such as an object without a prototype
  }
}
