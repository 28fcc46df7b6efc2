// A turn as lines on one axis: what came after what, how long each took, what it used. Pure.

import type { Output } from "../../../src/calls/door.ts";

export type Trace = Output<"trace">;

export interface TraceLine {
  readonly key: string;
  readonly is: "step" | "tool" | "now";
  readonly name: string;
  readonly about: string; //          what was said, or asked for
  readonly fromMs: number; //         since the beginning of the axis
  readonly toMs: number;
  readonly isOpen: boolean; //        it has not ended
  readonly isBad: boolean;
  readonly tokens: number | null; //  null: it is no model's
  readonly cost: number | null;
  readonly seq: number | null; //     its entry; null: it is none, or not known
  readonly child: string | null;
}

export interface Waterfall {
  readonly lines: readonly TraceLine[];
  readonly spanMs: number; //         of the axis; at least 1
}

export function waterfallOf(trace: Trace, nowMs: number): Waterfall {
  const starts = [trace.startedAt, ...trace.steps.map((step) => step.startedAt)].flatMap(timeOf);
  const zero = Math.min(...starts, ...(starts.length === 0 ? [nowMs] : []));
  const isOver = trace.outcome !== null;
  const lines = trace.steps.flatMap((step) => linesOf(step, { zero, nowMs: isOver ? 0 : nowMs, isOver }));
  const last = lines.reduce((most, line) => Math.max(most, line.toMs), 0);
  const open = !isOver ? [nowLine(trace, last, Math.max(last, nowMs - zero))] : [];
  const all = [...lines, ...open];
  const end = timeOf(trace.endedAt).map((at) => at - zero);
  return { lines: all, spanMs: Math.max(1, ...end, ...all.map((line) => line.toMs)) };
}

interface Clock {
  readonly zero: number;
  readonly nowMs: number;
  readonly isOver: boolean; //        what has no end will have none
}

function linesOf(step: Trace["steps"][number], clock: Clock): readonly TraceLine[] {
  const { usage } = step;
  const own: TraceLine = {
    key: `step ${step.step}`,
    is: "step",
    name: `${step.step}. ${step.model}`,
    about: step.text,
    ...within(step.startedAt, step.endedAt, clock),
    isBad: step.stopReason === "error",
    tokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite,
    cost: step.cost,
    seq: step.seq,
    child: null,
  };
  return [own, ...step.tools.map((tool, at) => toolLine(tool, `step ${step.step} tool ${at}`, clock))];
}

function toolLine(tool: Trace["steps"][number]["tools"][number], key: string, clock: Clock): TraceLine {
  return {
    key,
    is: "tool",
    name: tool.name,
    about: tool.arguments,
    ...within(tool.startedAt, tool.endedAt, clock),
    isBad: tool.isError === true,
    tokens: null,
    cost: null,
    seq: null,
    child: tool.child,
  };
}

/** What it does now is in no entry yet. */
function nowLine(trace: Trace, fromMs: number, toMs: number): TraceLine {
  const name = trace.now ?? "goes on";
  const rest = { isOpen: true, isBad: false, tokens: null, cost: null, seq: null, child: null };
  return { key: "now", is: "now", name, about: "", fromMs, toMs, ...rest };
}

function within(
  startedAt: string,
  endedAt: string | null,
  { zero, nowMs, isOver }: Clock,
): Pick<TraceLine, "fromMs" | "toMs" | "isOpen"> {
  const fromMs = Math.max(0, (timeOf(startedAt)[0] ?? zero) - zero);
  const toMs = Math.max(fromMs, (timeOf(endedAt)[0] ?? nowMs) - zero); // Clocks may disagree.
  return { fromMs, toMs, isOpen: endedAt === null && !isOver };
}

function timeOf(text: string | null): readonly number[] {
  const ms = text === null ? NaN : Date.parse(text);
  return Number.isNaN(ms) ? [] : [ms];
}

const TICKS_MAX = 2;

/** Where the axis has its marks: round figures, few of them. */
export function ticksOf(spanMs: number): readonly number[] {
  const least = spanMs / TICKS_MAX;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= least) ?? least;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, at) => at * step);
}
