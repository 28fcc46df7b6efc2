// How often a cron expression was due in a while. Who was away for a year must not be asked for each second of it: days are
// counted, and times of day multiplied. What an expression means is asked of croner, in pieces, and never read here.

import { Cron } from "croner";
import type { Schedule } from "./job.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

type CronSchedule = Extract<Schedule, { readonly kind: "cron" }>;

interface While {
  readonly afterMs: number;
  readonly byMs: number;
  /** The time after another one; null: there is none. */
  readonly next: (afterMs: number) => number | null;
}

/** How many times there are after `afterMs`, up to `byMs`. */
export function countedBetween(schedule: CronSchedule, { afterMs, byMs, next }: While): number {
  const times = timesOf(schedule.expression);
  if (times !== null && times.perDay > 1) return countedByDay(schedule, times, { afterMs, byMs });
  // One a day has its own rule for the days on which clocks change, and years of it are soon counted.
  let count = 0;
  for (let at = next(afterMs); at !== null && at <= byMs; at = next(at)) count += 1;
  return count;
}

interface Times {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly perDay: number;
  readonly days: string; // the last three fields
}

/** Null: it is one of the words for a day, a week and so on, which are due once on their day. */
function timesOf(expression: string): Times | null {
  const written = expression.trim().toLowerCase() === "@hourly" ? "0 * * * *" : expression.trim();
  if (written.startsWith("@")) return null;
  const fields = written.split(/\s+/);
  const [second = "0", minute = "0", hour = "0", ...days] = fields.length === 5 ? ["0", ...fields] : fields;
  const seconds = valuesIn(`${second} 0 0 1 1 *`, 1_000);
  const minutes = valuesIn(`0 ${minute} 0 1 1 *`, 60_000);
  const hours = valuesIn(`0 0 ${hour} 1 1 *`, 60 * 60_000);
  const perDay = seconds.length * minutes.length * hours.length;
  return { seconds, minutes, hours, perDay, days: days.join(" ") };
}

/** The values of one field, read off the first of January: in UTC no time of day is left out or comes twice. */
function valuesIn(expression: string, unitMs: number): number[] {
  const cron = new Cron(expression, { timezone: "UTC" });
  const start = Date.UTC(2024, 0, 1);
  const values: number[] = [];
  for (
    let at = cron.nextRun(new Date(start - 1_000));
    at !== null && at.getTime() < start + DAY_MS;
    at = cron.nextRun(at)
  )
    values.push(Math.round((at.getTime() - start) / unitMs));
  return values;
}

/** Between two changes of its clock a zone is as far from UTC all the time: there, local times are counted as if in UTC. */
function countedByDay({ zone }: CronSchedule, times: Times, { afterMs, byMs }: Omit<While, "next">): number {
  const offsetAt = offsetsOf(zone);
  const days = new Cron(`0 0 0 ${times.days}`, { timezone: "UTC" });
  let count = 0;
  for (let from = afterMs; from < byMs;) {
    const offset = offsetAt(from + 1_000); // of what comes after it
    const to = Math.min(byMs, changeAfter(offsetAt, from + 1_000, byMs) - 1_000);
    count += countedInUtc(days, times, { afterMs: from + offset, byMs: to + offset });
    from = to;
  }
  return count;
}

/** The first second with another offset; if there is none by then, one after it. */
function changeAfter(offsetAt: (ms: number) => number, fromMs: number, byMs: number): number {
  const offset = offsetAt(fromMs);
  let early = fromMs;
  while (early < byMs) {
    const late = Math.min(early + DAY_MS, byMs);
    if (offsetAt(late) === offset) {
      early = late;
      continue;
    }
    let [before, after] = [early, late];
    while (after - before > 1_000) {
      const middle = before + Math.floor((after - before) / 2_000) * 1_000;
      if (offsetAt(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }
  return byMs + 1_000;
}

function countedInUtc(days: Cron, times: Times, { afterMs, byMs }: Omit<While, "next">): number {
  if (byMs <= afterMs) return 0;
  const [first, last] = [dayOf(afterMs), dayOf(byMs)];
  let count = isDay(days, last) ? countedInDay(times, byMs - last) : 0;
  if (isDay(days, first)) count -= countedInDay(times, afterMs - first);
  for (
    let at = days.nextRun(new Date(first - 1_000));
    at !== null && at.getTime() < last;
    at = days.nextRun(at)
  )
    count += times.perDay;
  return count;
}

/** Times of a day from its beginning up to `ms` after it. */
function countedInDay({ seconds, minutes, hours }: Times, ms: number): number {
  const second = Math.floor(ms / 1_000);
  const [h, m, s] = [Math.floor(second / 3_600), Math.floor(second / 60) % 60, second % 60];
  const below = (values: readonly number[], most: number): number =>
    values.filter((each) => each < most).length;
  const inHour = below(minutes, m) * seconds.length + (minutes.includes(m) ? below(seconds, s + 1) : 0);
  return below(hours, h) * minutes.length * seconds.length + (hours.includes(h) ? inHour : 0);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

function isDay(days: Cron, dayMs: number): boolean {
  return days.nextRun(new Date(dayMs - 1_000))?.getTime() === dayMs;
}

/** How far the clock of a zone is from UTC, in milliseconds, at a time. */
function offsetsOf(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone: zone, hourCycle: "h23", era: "short" },
    ...{
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    },
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
    return local - Math.floor(ms / 1_000) * 1_000;
  };
}
