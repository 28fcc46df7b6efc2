// When a job is to run, as people and models write it: spans such as 90s or 1h30m, times with an offset or by the clock of a zone,
// cron expressions.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { wallTime } from "../base/wall.ts";
import { isZone } from "../config/unattended-schema.ts";
import type { Schedule } from "../timers/job.ts";
import { checkSchedule } from "../timers/schedule.ts";
import { JOB_SPAN_MS_MAX } from "./limits.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The largest first. */
const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ["w", 7 * DAY],
  ["d", DAY],
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
];
const SPAN = /^(?:\d{1,9}[wdhms]\s*)+$/;

/** Bounds of a span, both allowed. */
export interface Bounds {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Milliseconds of "90s", "15m", "1h30m", "2d", "1w". Faults: bad_input, which begins with `what`. */
export function spanOf(what: string, text: string, { minMs, maxMs }: Bounds): number {
  const ms = spanIn(text);
  if (ms === null)
    throw new Fault("bad_input", `${what}: a span such as 90s, 15m, 1h30m or 2d, not ${shown(text)}`);
  if (ms < minMs || ms > maxMs)
    throw new Fault(
      "bad_input",
      `${what}: from ${spanText(minMs)} to ${spanText(maxMs)}, not ${shown(text)}`,
    );
  return ms;
}

/** Null: it is no span. A unit that comes twice is most likely a slip. */
function spanIn(text: string): number | null {
  if (text.length > 64 || !SPAN.test(text)) return null;
  const parts = [...text.matchAll(/(\d+)([wdhms])/g)].map(([, amount, unit]) => ({ amount, unit }));
  if (new Set(parts.map(({ unit }) => unit)).size < parts.length) return null;
  return parts.reduce((sum, { amount, unit }) => sum + Number(amount) * msOf(unit ?? ""), 0);
}

function msOf(unit: string): number {
  return UNITS.find(([name]) => name === unit)?.[1] ?? 0;
}

/** As spanOf reads it; what is less than a second is left out. Weeks are told in days. */
export function spanText(ms: number): string {
  let rest = ms;
  const parts = UNITS.slice(1).flatMap(([unit, size]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return amount === 0 ? [] : [`${amount}${unit}`];
  });
  return parts.length === 0 ? "0s" : parts.join("");
}

// ── Schedules ───────────────────────────────────────────────────────────────────────────────────────────────

/** What somebody wrote. */
export interface When {
  readonly at?: string | undefined;
  readonly every?: string | undefined;
  readonly cron?: string | undefined;
  readonly timezone?: string | undefined;
}

/** `zone` is meant where nobody names another. */
export interface Now {
  readonly nowMs: number;
  readonly zone: string;
}

const ONE_OF = "say when by exactly one of at, every and cron";

export function scheduleOf({ at, every, cron, timezone }: When, { nowMs, zone: usual }: Now): Schedule {
  if ([at, every, cron].filter((each) => each !== undefined).length !== 1)
    throw new Fault("bad_input", ONE_OF);
  const zone = timezone === undefined ? usual : zoneNamed(timezone);
  const made = ((): Schedule => {
    if (cron !== undefined) return { kind: "cron", expression: cron.trim().replaceAll(/\s+/g, " "), zone };
    if (at !== undefined) return { kind: "at", atMs: timeOf(at, { nowMs, zone }), zone };
    if (timezone !== undefined)
      throw new Fault("bad_input", "timezone: every so often is the same in all of them; leave it out");
    const everyMs = spanOf("every", every ?? "", { minMs: SECOND, maxMs: JOB_SPAN_MS_MAX });
    return { kind: "every", everyMs, fromMs: nowMs + everyMs }; // Not at once: who wants that runs it.
  })();
  checkSchedule(made);
  return made;
}

/** The same, changed. Null: nothing is said of when. A zone alone is another zone of the same expression. */
export function scheduleAgain(before: Schedule, when: When, now: Now): Schedule | null {
  const isNamed = [when.at, when.every, when.cron].some((each) => each !== undefined);
  const zone = before.kind === "every" ? now.zone : before.zone;
  if (isNamed) return scheduleOf(when, { ...now, zone });
  if (when.timezone === undefined) return null;
  if (before.kind !== "cron")
    throw new Fault(
      "bad_input",
      "timezone: alone it moves only what is written as cron; say at or cron with it",
    );
  return scheduleOf({ cron: before.expression, timezone: when.timezone }, now);
}

function zoneNamed(timezone: string): string {
  if (isZone(timezone)) return timezone;
  throw new Fault(
    "bad_input",
    `timezone: an IANA time zone, such as Europe/Zurich or UTC, not ${shown(timezone)}`,
  );
}

/** For people: "0 9 * * 1-5 (Europe/Zurich)", "every 15m", "at 2026-10-05 09:00 (Europe/Zurich)". */
export function whenText(schedule: Schedule): string {
  switch (schedule.kind) {
    case "at":
      return `at ${wallTime(schedule.atMs, schedule.zone)} (${schedule.zone})`;
    case "every":
      return `every ${spanText(schedule.everyMs)}`;
    case "cron":
      return `${schedule.expression} (${schedule.zone})`;
  }
}

// ── Times ───────────────────────────────────────────────────────────────────────────────────────────────────

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/i;

/** A span from now, or a time: with an offset it is that moment, without one it is by the clock of the zone. */
function timeOf(text: string, { nowMs, zone }: Now): number {
  const atMs = spanIn(text) === null ? momentOf(text.trim(), zone) : nowMs + (spanIn(text) ?? 0);
  if (atMs === null)
    throw new Fault(
      "bad_input",
      `at: a time such as 2026-10-05T09:00 or 2026-10-05T09:00+02:00, or a span from now such as 20m, not ${shown(text)}`,
    );
  if (atMs <= nowMs)
    throw new Fault("bad_input", `at: ${new Date(atMs).toISOString()} is over; it is ${iso(nowMs)} now`);
  if (atMs - nowMs > JOB_SPAN_MS_MAX)
    throw new Fault("bad_input", `at: ${iso(atMs)} is further away than ${spanText(JOB_SPAN_MS_MAX)}`);
  return atMs;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Null: it is no time, or one that no day has. */
function momentOf(text: string, zone: string): number | null {
  const [, day, minutes, seconds = "00", offset] = TIME.exec(text) ?? [];
  if (day === undefined) return null;
  const written = `${day}T${minutes}:${seconds}`;
  const asUtcMs = Date.parse(`${written}Z`);
  // The 30th of February is read as a day of March, or not at all.
  if (Number.isNaN(asUtcMs) || !iso(asUtcMs).startsWith(written)) return null;
  if (offset === undefined) return byClockOf(zone, asUtcMs);
  const moment = Date.parse(`${written}${offset.toUpperCase().replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`);
  return Number.isNaN(moment) ? null : moment;
}

/**
 * The moment at which the clock of a zone shows what a clock of UTC shows at `wallMs`. Of an hour that comes twice it is the
 * first; a time that is left out in spring is as much later as the clock is put forward.
 */
function byClockOf(zone: string, wallMs: number): number {
  const [before, after] = [offsetMs(zone, wallMs - DAY), offsetMs(zone, wallMs + DAY)];
  const fits = [before, after].filter((each) => offsetMs(zone, wallMs - each) === each);
  return wallMs - Math.max(...(fits.length === 0 ? [before] : fits));
}

/** By how much the clock of a zone is ahead of UTC at a moment. */
function offsetMs(zone: string, atMs: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(atMs);
  const of = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value);
  const wallMs = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return wallMs - Math.floor(atMs / SECOND) * SECOND;
}
