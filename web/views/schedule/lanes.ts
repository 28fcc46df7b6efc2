// What is due in a while, as a timeline shows it. Pure.

import { everyMsOf } from "./words.ts";

/** Something that is due at times. */
export interface Timed {
  readonly when: string; // as `jobs` tells it
  readonly next: string | null;
  readonly times: readonly string[]; // the next ones, as far as they are known
}

export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Lane {
  readonly marks: readonly number[]; // moments, in milliseconds
  readonly bars: readonly Window[]; //  times so near to each other that they are one stretch, or of which no more is known
}

/** So many times are asked for. Nearer to each other than this share of the window, they run into each other: so that is enough. */
export const TIMES_ASKED = 50;
const NEAR = 0.025;

export function laneOf({ when, next, times }: Timed, window: Window): Lane {
  if (next === null) return { marks: [], bars: [] };
  const everyMs = everyMsOf(when);
  if (everyMs !== null) return repeated(Date.parse(next), everyMs, window);
  const told = (times.length === 0 ? [next] : times).map((time) => Date.parse(time));
  const seen = told.filter((ms) => ms <= window.toMs);
  const goesOn = told.length >= TIMES_ASKED && seen.length === told.length;
  const groups = grouped(seen, window);
  const marks = groups.flatMap((group) => (group.length === 1 ? group : []));
  const bars = groups.flatMap((group) => (group.length === 1 ? [] : [spanOf(group)]));
  const last = groups.at(-1)?.[0];
  if (!goesOn || last === undefined) return { marks, bars };
  // Further than it was told it goes on somehow: that is all that is known.
  const open = { fromMs: last, toMs: window.toMs };
  return {
    marks: marks.filter((ms) => ms !== last),
    bars: [...bars.filter(({ fromMs }) => fromMs !== last), open],
  };
}

function repeated(first: number, everyMs: number, window: Window): Lane {
  const count = Math.floor((window.toMs - first) / everyMs) + 1;
  if (count < 1) return { marks: [], bars: [] };
  if (count > 1 && isNear(everyMs, window))
    return { marks: [], bars: [{ fromMs: first, toMs: window.toMs }] };
  return { marks: Array.from({ length: count }, (_, at) => first + at * everyMs), bars: [] };
}

/** Each with those that are near the one before. */
function grouped(times: readonly number[], window: Window): readonly (readonly number[])[] {
  const groups: number[][] = [];
  for (const ms of times) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group !== undefined && before !== undefined && isNear(ms - before, window)) group.push(ms);
    else groups.push([ms]);
  }
  return groups;
}

function spanOf(group: readonly number[]): Window {
  return { fromMs: group[0] ?? 0, toMs: group.at(-1) ?? 0 };
}

function isNear(apartMs: number, { fromMs, toMs }: Window): boolean {
  return apartMs < (toMs - fromMs) * NEAR;
}

/** Where a moment is in the window: from 0 to 1. What is past, such as what is due now and has not begun, is at its beginning. */
export function shareOf(ms: number, { fromMs, toMs }: Window): number {
  return Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)));
}

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/** The moments that stand above it: whole ones, by the clock of who looks, `offsetMs` ahead of UTC. */
export function ticksOf({ fromMs, toMs }: Window, offsetMs: number): readonly number[] {
  const spanMs = toMs - fromMs;
  const step = spanMs <= 2 * HOUR ? 10 * MINUTE : spanMs <= 2 * DAY ? 3 * HOUR : DAY;
  const first = Math.ceil((fromMs + offsetMs) / step) * step - offsetMs;
  return Array.from({ length: Math.floor((toMs - first) / step) + 1 }, (_, at) => first + at * step);
}
