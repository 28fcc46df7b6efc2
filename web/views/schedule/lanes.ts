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
  readonly bar: Window | null; //      so often, or known no further, that it is one stretch; null: each has its mark
}

/** More marks than that are a bar. */
const MARKS_MAX = 30;
/** `job` tells so many times: when it tells fewer, there are no more. */
const TIMES_TOLD = 5;
/** Marks nearer to each other than this share of the window run into each other. */
const NEAR = 0.02;

export function laneOf({ when, next, times }: Timed, window: Window): Lane {
  if (next === null) return { marks: [], bar: null };
  const everyMs = everyMsOf(when);
  const known = (times.length === 0 ? [next] : times)
    .map((time) => Date.parse(time))
    .filter((ms) => ms <= window.toMs);
  const [first] = known;
  if (first === undefined) return { marks: [], bar: null };
  if (everyMs !== null) return repeated(first, everyMs, window);
  const last = known.at(-1) ?? first;
  const goesOn = known.length >= TIMES_TOLD;
  if (!goesOn) return { marks: known, bar: null };
  const apartMs = (last - first) / (known.length - 1);
  if (isNear(apartMs, window)) return { marks: [], bar: { fromMs: first, toMs: window.toMs } };
  // Further than it was told it goes on somehow: that is all that is known.
  return last + apartMs > window.toMs
    ? { marks: known, bar: null }
    : { marks: known.slice(0, -1), bar: { fromMs: last, toMs: window.toMs } };
}

function repeated(first: number, everyMs: number, window: Window): Lane {
  const count = Math.floor((window.toMs - first) / everyMs) + 1;
  if (count > MARKS_MAX || (count > 1 && isNear(everyMs, window)))
    return { marks: [], bar: { fromMs: first, toMs: window.toMs } };
  return { marks: Array.from({ length: Math.max(1, count) }, (_, at) => first + at * everyMs), bar: null };
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
