// One picture of `top`: how the gateway stands, and sessions by what they burn. Pure: from what was asked to lines, none of
// which is wider than the terminal.

import type { Output } from "../../calls/door.ts";
import {
  age,
  ago,
  bold,
  count,
  cut,
  dim,
  column,
  many,
  modelName,
  money,
  oneLine,
  percent,
  stateColour,
  whole,
  widthOf,
} from "../output.ts";
import type { Row } from "../ps.ts";
import { doingWords } from "./family.ts";
import type { Rates } from "./rates.ts";

export interface Picture {
  readonly overview: Output<"overview">;
  readonly rows: readonly Row[];
  readonly isMore: boolean; //             there are more sessions than these
  readonly rates: Rates | null;
  readonly nowMs: number;
}

export interface Paper {
  readonly colour: boolean;
  readonly width: number;
  readonly height: number; //              Infinity: all of them
}

/** What burns, then what runs, then what was active last. */
export function burningFirst(rows: readonly Row[], rates: Rates | null): readonly Row[] {
  const burns = ({ sessionKey }: Row): number => rates?.bySession.get(sessionKey) ?? 0;
  return [...rows].sort(
    (one, other) =>
      burns(other) - burns(one) ||
      rankOf(one.state) - rankOf(other.state) ||
      other.updatedAt.localeCompare(one.updatedAt) ||
      one.sessionKey.localeCompare(other.sessionKey),
  );
}

const RANKS = ["running", "queued", "waiting", "paused", "idle", "ended"];

function rankOf(state: string): number {
  return RANKS.indexOf(state);
}

interface Field {
  readonly title: string;
  readonly cells: number;
  readonly at: "left" | "right";
  readonly keep: number; //                the smallest goes first where there is no room
  readonly of: (row: Row, picture: Picture) => string;
}

const FIELDS: readonly Field[] = [
  { title: "STATE", cells: 8, at: "left", keep: 9, of: ({ state }) => state },
  { title: "CLASS", cells: 11, at: "left", keep: 2, of: (row) => row.class ?? "–" },
  { title: "MODEL", cells: 18, at: "left", keep: 3, of: ({ model }) => modelName(model) },
  { title: "CTX", cells: 4, at: "right", keep: 5, of: contextOf },
  { title: "TOK/S", cells: 6, at: "right", keep: 8, of: (row, { rates }) => rateOf(row, rates) },
  { title: "TOKENS", cells: 7, at: "right", keep: 7, of: ({ tokens }) => count(tokens) },
  { title: "COST", cells: 8, at: "right", keep: 6, of: ({ cost }) => money(cost) },
  {
    title: "AGE",
    cells: 4,
    at: "right",
    keep: 1,
    of: ({ bornAt }, { nowMs }) => age(nowMs - Date.parse(bornAt)),
  },
  {
    title: "LAST",
    cells: 8,
    at: "right",
    keep: 4,
    of: ({ updatedAt }, { nowMs }) => ago(nowMs - Date.parse(updatedAt)),
  },
];

const KEY_CELLS_MIN = 30;
const KEY_CELLS_MAX = 48;
const WHAT_CELLS_MIN = 12;

/** `chosen`: the key of the row that keys are about; null: none is. Without colours its mark stands before the key. */
export function topFrame(picture: Picture, chosen: string | null, page: Paper): readonly string[] {
  const marks = page.colour || chosen === null ? 0 : Math.min(MARK.length, page.width - 1);
  const paper = { ...page, width: page.width - marks };
  const { width } = paper;
  const fields = fieldsFor(width);
  const used = fields.reduce((sum, { cells }) => sum + cells + 2, 0);
  const longest = Math.max(KEY_CELLS_MIN, ...picture.rows.map((row) => widthOf(nameOf(row))));
  const keyCells = Math.max(1, Math.min(longest, KEY_CELLS_MAX, width - used));
  const left = width - used - keyCells - 2;
  const whatCells = left >= WHAT_CELLS_MIN ? left : 0;
  const head = headLines(picture).map((line) => cut(line, page.width));
  const titles = [
    column("KEY", keyCells),
    ...fields.map(({ title, cells, at }) => column(title, cells, at)),
    ...(whatCells === 0 ? [] : ["WHAT"]),
  ].join("  ");
  const room = Math.max(1, paper.height - head.length - 1);
  const shown = windowOf(picture.rows, chosen, room);
  const rows = shown.map((row) => {
    const cells = [
      column(nameOf(row), keyCells),
      ...fields.map(({ cells: wide, at, of }) => column(oneLine(of(row, picture)), wide, at)),
      ...(whatCells === 0 ? [] : [cut(whatOf(row), whatCells)]),
    ];
    const isChosen = row.sessionKey === chosen;
    return (isChosen ? MARK : " ".repeat(MARK.length)).slice(0, marks) + rowOf(row, cells, isChosen, paper);
  });
  return [...head, " ".repeat(marks) + bold(paper, cut(titles, width)), ...rows];
}

const MARK = "> ";

/** A chosen row is marked by inverse colours, where there are colours. */
function rowOf(row: Row, cells: readonly string[], isChosen: boolean, paper: Paper): string {
  if (isChosen) {
    const line = cut(cells.join("  ").trimEnd(), paper.width);
    return paper.colour ? `\x1b[7m${column(line, paper.width)}\x1b[27m` : line;
  }
  if (row.state === "idle" || row.state === "ended")
    return dim(paper, cut(cells.join("  ").trimEnd(), paper.width));
  const [key = "", state = "", ...rest] = cells;
  const after = cut([`${key}  ${state}`, ...rest].join("  ").trimEnd(), paper.width);
  const at = `${key}  `.length;
  return (
    after.slice(0, at) +
    stateColour(row.state)(paper, after.slice(at, at + state.length)) +
    after.slice(at + state.length)
  );
}

/** The chosen one is always among those that are shown. */
function windowOf(rows: readonly Row[], chosen: string | null, room: number): readonly Row[] {
  const at = rows.findIndex(({ sessionKey }) => sessionKey === chosen);
  const from = Math.max(0, at - room + 1);
  return rows.slice(from, from + room);
}

function headLines({ overview, rates, rows, isMore, nowMs }: Picture): readonly string[] {
  const { slots, processes, programs, totals, providers, servers } = overview;
  const per = (value: number | undefined, digits: number): string =>
    value === undefined ? "–" : value >= 100 ? whole(Math.round(value)) : value.toFixed(digits);
  const loop = totals.loopDelayMs === null ? "" : ` · event loop ${totals.loopDelayMs.toFixed(1)} ms`;
  const busy = providers
    .filter(({ coolsForMs }) => coolsForMs > 0)
    .map(({ provider, coolsForMs }) => `${provider} pauses for ${age(coolsForMs)}`);
  const down = servers.filter(({ state }) => state === "down").map(({ name }) => `${name} is down`);
  const trouble = [...busy, ...down].map(oneLine).join(" · ");
  const isQueue = sumOf(slots.waiting) > 0;
  return [
    `sessiond · up ${age(nowMs - Date.parse(totals.since))} · ${per(rates?.tokens, 1)} tokens/s · $${per(rates?.dollars, 2)}/h · ` +
      `${per(rates?.turns, 1)} turns/s · ${per(rates?.commits, 1)} commits/s${loop}`,
    `slots ${sumOf(slots.inUse)} of ${slots.total} (${slots.reserved} for people)${byClass(slots.inUse)} · queue ${sumOf(slots.waiting)}${isQueue ? byClass(slots.waiting) : ""}`,
    `programs ${sumOf(processes.inUse)} of ${processes.total}, ${many(programs.length, "process", "processes")} · ` +
      `${many(rows.length, "session")}${isMore ? ", the newest" : ""}${trouble === "" ? "" : ` · ${trouble}`}`,
    "",
  ];
}

type ByClass = Picture["overview"]["slots"]["inUse"];

function sumOf(classes: ByClass): number {
  return Object.values(classes).reduce((sum, each) => sum + each, 0);
}

function byClass(classes: ByClass): string {
  const some = Object.entries(classes).filter(([, each]) => each > 0);
  return some.length === 0 ? "" : `: ${some.map(([name, each]) => `${name} ${each}`).join(", ")}`;
}

function fieldsFor(width: number): readonly Field[] {
  let fields = FIELDS;
  const used = (): number => fields.reduce((sum, { cells }) => sum + cells + 2, KEY_CELLS_MIN);
  while (fields.length > 1 && used() > width) {
    const least = Math.min(...fields.map(({ keep }) => keep));
    fields = fields.filter(({ keep }) => keep !== least);
  }
  return fields;
}

/** Who it is, and what it was called, if it was. */
function nameOf({ sessionKey, title }: Row): string {
  const name = oneLine(title);
  return name === "" ? sessionKey : `${shortKey(sessionKey)} "${name}"`;
}

/** Of a sub-agent its id says nothing beyond its beginning. */
function shortKey(key: string): string {
  return key.replace(/(:subagent:[^:]{8})[^:]*$/, "$1");
}

function whatOf({ why, step }: Row): string {
  const doing = doingWords(why ?? "");
  return step === null ? doing : `step ${step}: ${doing}`;
}

function contextOf({ contextTokens, windowTokens }: Row): string {
  return contextTokens === null ? "–" : percent(contextTokens, windowTokens);
}

function rateOf({ sessionKey }: Row, rates: Rates | null): string {
  const rate = rates?.bySession.get(sessionKey);
  return rate === undefined ? "–" : rate === 0 ? "0" : rate < 10 ? rate.toFixed(1) : count(rate);
}
