// What was seen lately: totals are asked for again and again, and what lies between two of them, divided by the time, is a rate.
//
// Invariants
//   V1. A gateway that was started anew counts from nothing: no rate goes over its start.
//   V2. Where nobody looked for a while there is a gap, and not a line that says how it was.

import type { Overview } from "../../wire/events.ts";

/** So far back is shown. */
export const SPAN_MS = 5 * 60_000;
/** Nobody looked for longer than that: a gap. */
const GAP_MS = 10_000;
/** A figure is about so long: what one commit brings at once does not jump up and down. */
const FIGURE_MS = 10_000;

/** What is counted up; rates are made of it. */
export interface Counted {
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly commits: number;
}

/** At one moment. */
interface Level {
  readonly inUse: number;
  readonly waiting: number;
  readonly loopDelayMs: number | null;
  readonly freeBytes: number | null;
  readonly journalBytes: number | null;
}

export interface Point {
  readonly atMs: number;
  readonly since: string; // when the gateway was started that said so
  readonly counted: Counted;
  readonly level: Level;
  /** Per second since the point before; null: there is none to count from (V1, V2). */
  readonly rates: Counted | null;
}

export function pointOf({ totals, slots, disk, journal }: Overview, atMs: number): Omit<Point, "rates"> {
  const { input, cacheRead, cacheWrite, output, cost, commits } = totals;
  return {
    atMs,
    since: totals.since,
    counted: { input: input + cacheRead + cacheWrite, output, cost, commits },
    level: {
      inUse: sumOf(slots.inUse),
      waiting: sumOf(slots.waiting),
      loopDelayMs: totals.loopDelayMs,
      freeBytes: disk?.freeBytes ?? null,
      journalBytes: journal?.bytes ?? null,
    },
  };
}

/** A new ring: whoever was given the old one may still be drawing it. */
export function added(ring: readonly Point[], point: Omit<Point, "rates">): readonly Point[] {
  const last = ring.at(-1);
  const isNext = last !== undefined && last.since === point.since && point.atMs - last.atMs <= GAP_MS;
  const rates = isNext ? between(last, point) : null;
  return [...ring.filter(({ atMs }) => atMs > point.atMs - SPAN_MS), { ...point, rates }];
}

/** Per second, over the last seconds; null: there is nothing to compare with yet. */
export function rateNow(ring: readonly Point[]): Counted | null {
  const last = ring.at(-1);
  if (last === undefined || last.rates === null) return null;
  let first = last;
  for (const point of ring.toReversed()) {
    if (last.atMs - point.atMs > FIGURE_MS) break;
    first = point;
    if (point.rates === null) break;
  }
  return first === last ? last.rates : between(first, last);
}

/** How late the process came to things at the least, in the newest three looks: once is no reason to worry. */
export function lateness(ring: readonly Point[]): number | null {
  const newest = ring.slice(-3).map(({ level }) => level.loopDelayMs);
  return newest.length < 3 || newest.some((each) => each === null) ? null : Math.min(...newest.map(Number));
}

type Side = Pick<Point, "atMs" | "counted">;

function between(from: Side, to: Side): Counted {
  const seconds = (to.atMs - from.atMs) / 1_000;
  const per = (name: keyof Counted): number =>
    seconds > 0 ? Math.max(0, (to.counted[name] - from.counted[name]) / seconds) : 0;
  return { input: per("input"), output: per("output"), cost: per("cost"), commits: per("commits") };
}

export function sumOf(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((sum, each) => sum + each, 0);
}

/** The values of a line. Before a point that has no rate stands a gap, also for what is known at every moment (V2). */
export function valuesOf(
  ring: readonly Point[],
  of: (point: Point) => number | null,
): readonly (number | null)[] {
  return ring.flatMap((point, at) => (at > 0 && point.rates === null ? [null, of(point)] : [of(point)]));
}

/** Where they stand. */
export function timesOf(ring: readonly Point[]): readonly number[] {
  return ring.flatMap(({ atMs, rates }, at) => (at > 0 && rates === null ? [atMs - 1, atMs] : [atMs]));
}
