// When an agent beats: on a grid of its own, within its hours. Pure; zones are asked of the runtime, which has the tables.
//
// Hours are those of the clock on the wall. So on a day without 02:30 a window from 02:30 begins at 03:00, and on a day that
// has it twice it begins twice.

import { createHash } from "node:crypto";
import { assert } from "../base/assert.ts";
import type { ActiveHours, HeartbeatPolicy } from "../config/config.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** So late after its hours begin an agent beats at most whose beats are further apart than its hours are long. */
const SPREAD_MS_MAX = 5 * MINUTE_MS;

/** A window is looked for this far ahead: a change of the clock may take the one of a day. */
const LOOK_MINUTES_MAX = 4 * DAY_MINUTES;

/** One step of looking. No zone changes its clock twice in an hour. */
const STEP_MINUTES = 60;

/**
 * The next beat after a time. Many agents do not beat at once: the grid of each is moved by a part of the interval that its
 * name decides. Where the grid meets the hours nowhere, as with one beat a day at night, it is soon after they begin.
 */
export function nextBeat(
  agent: string,
  { everyMinutes, hours }: Pick<HeartbeatPolicy, "everyMinutes" | "hours">,
  afterMs: number,
): number {
  const everyMs = everyMinutes * MINUTE_MS;
  assert(everyMs > 0, "an agent that never beats has no next beat");
  const shiftMs = shiftOf(agent);
  const onGrid = (fromMs: number): number =>
    Math.ceil((fromMs - (shiftMs % everyMs)) / everyMs) * everyMs + (shiftMs % everyMs);
  const next = onGrid(afterMs + 1);
  if (hours === null || isWithin(hours, next)) return next;
  const opensMs = opening(hours, next);
  const first = onGrid(opensMs);
  const lengthMs = lengthOf(hours) * MINUTE_MS;
  if (first - opensMs < lengthMs && isWithin(hours, first)) return first;
  return opensMs + (shiftMs % Math.min(SPREAD_MS_MAX, lengthMs));
}

/** From and to the same: all day. */
export function isWithin({ fromMinute, toMinute, zone }: ActiveHours, atMs: number): boolean {
  const { minute } = wallAt(zone, atMs);
  if (fromMinute < toMinute) return minute >= fromMinute && minute < toMinute;
  return fromMinute === toMinute || minute >= fromMinute || minute < toMinute;
}

/** As a person would say it, with the day of the week. */
export function spoken(zone: string, atMs: number): string {
  return formatOf(zone).words.format(atMs);
}

function lengthOf({ fromMinute, toMinute }: ActiveHours): number {
  return (toMinute - fromMinute + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
}

/** When the hours begin next after a time that is outside of them. */
function opening(hours: ActiveHours, afterMs: number): number {
  const fromMs = Math.ceil(afterMs / MINUTE_MS) * MINUTE_MS;
  for (let at = 0; at < LOOK_MINUTES_MAX;) {
    const now = wallAt(hours.zone, fromMs + at * MINUTE_MS);
    if (isWithin(hours, fromMs + at * MINUTE_MS)) return fromMs + at * MINUTE_MS;
    const left = (hours.fromMinute - now.minute + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
    const step = Math.min(left, STEP_MINUTES);
    const isChanged = wallAt(hours.zone, fromMs + (at + step) * MINUTE_MS).offsetMs !== now.offsetMs;
    at += isChanged ? 1 : step; // Where the clock is set, minute by minute: a window may begin at any.
  }
  return afterMs; // Hours that never come are no hours.
}

/** What the clock on the wall shows, and how far it is from UTC. */
function wallAt(zone: string, atMs: number): { readonly minute: number; readonly offsetMs: number } {
  const parts = formatOf(zone).numbers.formatToParts(atMs);
  const of = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value);
  const [hour, minute] = [of("hour"), of("minute")];
  const shownMs = Date.UTC(of("year"), of("month") - 1, of("day"), hour, minute, of("second"));
  return { minute: hour * 60 + minute, offsetMs: shownMs - Math.floor(atMs / 1_000) * 1_000 };
}

interface Formats {
  readonly numbers: Intl.DateTimeFormat;
  readonly words: Intl.DateTimeFormat;
}

/** By zone: as many as the configuration names. To make one takes as long as to use it a hundred times. */
const formats = new Map<string, Formats>();

function formatOf(timeZone: string): Formats {
  const known = formats.get(timeZone);
  if (known) return known;
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const made: Formats = {
    numbers: new Intl.DateTimeFormat("en", {
      ...{ timeZone, calendar: "gregory", numberingSystem: "latn" },
      ...{ year: "numeric", month: "numeric", day: "numeric", second: "2-digit", ...clock },
    }),
    words: new Intl.DateTimeFormat("en-GB", {
      ...{ timeZone, weekday: "long", year: "numeric", month: "long", day: "numeric", ...clock },
    }),
  };
  formats.set(timeZone, made);
  return made;
}

/** The same for a name on every machine and after every start. */
function shiftOf(agent: string): number {
  return createHash("sha256").update(agent).digest().readUIntBE(0, 6);
}
