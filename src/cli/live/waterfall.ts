// A turn as a waterfall: what came after what, how long each took, and what it used. Bars have one scale.

import type { Output } from "../../calls/door.ts";
import {
  column,
  count,
  cut,
  dim,
  duration,
  green,
  many,
  money,
  oneLine,
  red,
  cyan,
  type Screen,
} from "../output.ts";

export type Trace = Output<"trace">;

export interface Paper {
  readonly colour: boolean;
  readonly width: number;
}

interface Row {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly figures: readonly string[]; //     in, out, cached, cost; none: it is no model's
  readonly painter: (screen: Pick<Screen, "colour">, text: string) => string;
  readonly isOpen: boolean; //                it has not ended
}

const TIME_CELLS = 9;
const FIGURES = ["IN", "OUT", "CACHED", "COST"];
const FIGURE_CELLS = 7;
const NAME_CELLS_MIN = 18;
const NAME_CELLS_MAX = 44;
const BAR_CELLS_MIN = 12;

export function waterfall(trace: Trace, nowMs: number, paper: Paper): readonly string[] {
  // A call without a result grows only in a turn that is not over.
  const rows = trace.steps.flatMap((step) => rowsOf(step, trace.outcome === null ? nowMs : 0));
  const fromMs = Math.min(atMs(trace.startedAt, Infinity), ...rows.map((row) => row.fromMs));
  const toMs = Math.max(
    atMs(trace.endedAt, trace.outcome === null ? nowMs : 0),
    ...rows.map((row) => row.toMs),
  );
  const span = { fromMs: Number.isFinite(fromMs) ? fromMs : nowMs, toMs };
  const cells = cellsFor(rows, paper.width);
  const titles = [
    ...["START", "TIME"].map((title) => column(title, TIME_CELLS, "right")),
    ` ${column("", cells.name)}`,
    ...(cells.hasFigures ? FIGURES.map((title) => column(title, FIGURE_CELLS, "right")) : []),
  ].join(" ");
  return [
    cut(headOf(trace), paper.width),
    ...(trace.isCut ? [dim(paper, cut("its beginning was left out: it is very long", paper.width))] : []),
    ...(rows.length === 0 ? [] : [dim(paper, cut(titles, paper.width))]),
    ...rows.map((row) => lineOf(row, span, cells, paper)),
    cut(totalsOf(trace), paper.width),
  ];
}

function rowsOf(step: Trace["steps"][number], nowMs: number): readonly Row[] {
  const { usage, cost, stopReason } = step;
  const isBad = stopReason === "error";
  const own: Row = {
    name: `${step.step} ${isBad ? "✗ " : ""}${step.model}`,
    fromMs: Date.parse(step.startedAt),
    toMs: Date.parse(step.endedAt),
    figures: [count(usage.input), count(usage.output), count(usage.cacheRead), money(cost)],
    painter: isBad ? red : cyan,
    isOpen: false,
  };
  return [own, ...step.tools.map((tool, at) => toolRow(tool, at === step.tools.length - 1, nowMs))];
}

function toolRow(tool: Trace["steps"][number]["tools"][number], isLast: boolean, nowMs: number): Row {
  const mark = tool.isError === null ? "…" : tool.isError ? "✗" : "✓";
  const about = tool.child ?? oneLine(tool.arguments);
  const fromMs = Date.parse(tool.startedAt);
  return {
    name: `  ${isLast ? "└" : "├"} ${mark} ${oneLine(tool.name)} ${about}`,
    fromMs,
    toMs: tool.endedAt === null ? Math.max(fromMs, nowMs) : Date.parse(tool.endedAt),
    figures: [],
    painter: tool.isError === true ? red : green,
    isOpen: tool.endedAt === null,
  };
}

interface Cells {
  readonly name: number;
  readonly hasFigures: boolean;
  readonly bar: number; //        0: there is no room for one
}

/** In a narrow terminal figures go first, then bars. */
function cellsFor(rows: readonly Row[], width: number): Cells {
  const longest = Math.max(NAME_CELLS_MIN, ...rows.map(({ name }) => name.length));
  const times = 2 * (TIME_CELLS + 1) + 1;
  const figures = FIGURES.length * (FIGURE_CELLS + 1);
  const hasFigures = width >= times + NAME_CELLS_MIN + figures + BAR_CELLS_MIN + 2;
  const left = width - times - (hasFigures ? figures : 0);
  const hasBar = left >= NAME_CELLS_MIN + BAR_CELLS_MIN + 2;
  const most = hasBar ? left - BAR_CELLS_MIN - 2 : left;
  const name = Math.max(1, Math.min(longest, NAME_CELLS_MAX, most));
  return { name, hasFigures, bar: hasBar ? left - name - 2 : 0 };
}

function lineOf(
  row: Row,
  span: { readonly fromMs: number; readonly toMs: number },
  cells: Cells,
  paper: Paper,
): string {
  const took = `${duration(Math.max(0, row.toMs - row.fromMs))}${row.isOpen ? "…" : ""}`;
  const figures = FIGURES.map((_, at) => column(row.figures[at] ?? "", FIGURE_CELLS, "right"));
  const parts = [
    column(duration(Math.max(0, row.fromMs - span.fromMs)), TIME_CELLS, "right"),
    column(took, TIME_CELLS, "right"),
    ` ${column(row.name, cells.name)}`,
    ...(cells.hasFigures ? figures : []),
  ];
  const start = cut(parts.join(" "), paper.width);
  return cells.bar === 0 ? start : `${start}  ${row.painter(paper, barOf(row, span, cells.bar))}`.trimEnd();
}

/** What takes no time is a thin stroke: it happened. */
export function barOf(
  { fromMs, toMs }: Pick<Row, "fromMs" | "toMs">,
  span: { readonly fromMs: number; readonly toMs: number },
  cells: number,
): string {
  const whole = Math.max(1, span.toMs - span.fromMs);
  const at = (ms: number): number => Math.min(1, Math.max(0, (ms - span.fromMs) / whole)) * cells;
  const from = Math.min(cells - 1, Math.floor(at(fromMs)));
  const length = Math.min(cells - from, Math.round(at(toMs) - at(fromMs)));
  return " ".repeat(from) + (length === 0 ? "▏" : "█".repeat(length));
}

function headOf({ sessionKey, turn, outcome, reason, now, resumes, totals, class: of }: Trace): string {
  const end =
    outcome === null
      ? oneLine(now ?? "goes on")
      : `${outcome}${reason === null ? "" : `: ${oneLine(reason)}`}`;
  const took = totals.ms === null ? "" : ` in ${duration(totals.ms)}`;
  const again = resumes === 0 ? "" : ` · gone on with ${many(resumes, "time")}`;
  return `${sessionKey} · turn ${turn} · ${of === null ? "" : `${of} · `}${end}${took}${again}`;
}

function totalsOf({ totals }: Trace): string {
  const { usage, steps, tools, failedTools, modelMs, cost } = totals;
  const failed = failedTools === 0 ? "" : ` (${failedTools} failed)`;
  const cached = usage.cacheRead + usage.cacheWrite === 0 ? "" : `, ${count(usage.cacheRead)} cached`;
  return [
    `${many(steps, "step")}, ${duration(modelMs)} in steps`,
    `${many(tools, "tool call")}${failed}`,
    `${count(usage.input + usage.cacheRead + usage.cacheWrite)} tokens in${cached}, ${count(usage.output)} out`,
    money(cost),
  ].join(" · ");
}

function atMs(text: string | null, otherwise: number): number {
  return text === null ? otherwise : Date.parse(text);
}
