// Schedule
//
// When something is due.
//
//   at      once.
//   every   at its beginning and in steps of a fixed length after it, whatever clocks show.
//   cron    whenever the clock of a zone shows such a time, to the second.
//
// When the clock of a zone is changed, what is said by it means:
//   - An expression with one time of day (one second, one minute, one hour) is due once on each of its days. If that time is
//     left out, it is due at the moment of the change; if it comes twice, the first time.
//   - Every other is due whenever the clock shows one of its times: never in the hour that is left out, and twice in the one
//     that comes twice. So "every hour" and "every five minutes" are due each real hour and each real five minutes.
//
//   Owns:      what is due after what, and how many in between.
//   Does not:  know the time that it is, or who asks.
//
// Invariants
//   W1. nextAfter(s, t) > t, and it is the same for every t from one time until just before the next: so the times of a schedule
//       are one list, wherever one begins to read it.
//   W2. What it costs to count does not grow with how many there are (counting.ts).

import { createHash } from "node:crypto";
import { Cron } from "croner";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { isZone } from "../config/unattended-schema.ts";
import { countedBetween } from "./counting.ts";
import type { Job, Schedule } from "./job.ts";
import { EVERY_MS_MAX, EVERY_MS_MIN, EXPRESSION_CHARS_MAX, EXPRESSIONS_KEPT } from "./limits.ts";

/** The last moment that a Date can say. */
const TIME_MS_MAX = 8.64e15;

/** So many times are counted one by one: that takes some milliseconds, and mostly there are fewer. */
const ONE_BY_ONE_MAX = 100;

/** A time from which an expression that is ever due is due again: leap days come within eight years. */
const SOME_TIME_MS = Date.UTC(2024, 0, 1);

/** bad_input: what is wrong with it, and what would be right. */
export function checkSchedule(schedule: Schedule): void {
  switch (schedule.kind) {
    case "at":
      return mustBeTime("at", schedule.atMs);
    case "every":
      mustBeTime("the beginning of `every`", schedule.fromMs);
      if (
        !Number.isSafeInteger(schedule.everyMs) ||
        schedule.everyMs < EVERY_MS_MIN ||
        schedule.everyMs > EVERY_MS_MAX
      )
        throw new Fault(
          "bad_input",
          `every: whole milliseconds from ${EVERY_MS_MIN} to ${EVERY_MS_MAX}, not ${shown(schedule.everyMs)}`,
        );
      return;
    case "cron":
      return checkCron(schedule);
  }
}

function mustBeTime(what: string, ms: number): void {
  if (!Number.isSafeInteger(ms) || Math.abs(ms) > TIME_MS_MAX)
    throw new Fault("bad_input", `${what}: a time in milliseconds since 1970, not ${shown(ms)}`);
}

/** What may stand in place of the fields. */
const WORDS: ReadonlySet<string> = new Set([
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
]);

type CronSchedule = Extract<Schedule, { readonly kind: "cron" }>;

function checkCron({ expression, zone }: CronSchedule): void {
  if (!isZone(zone))
    throw new Fault(
      "bad_input",
      `zone: an IANA time zone, such as "Europe/Zurich" or "UTC", not ${shown(zone)}`,
    );
  const wants = 'five fields, or six with seconds first, such as "30 2 * * *" or "0 */10 9-17 * * 1-5"';
  if (expression.length > EXPRESSION_CHARS_MAX)
    throw new Fault("bad_input", `cron: ${wants}, at most ${EXPRESSION_CHARS_MAX} characters`);
  // The reader of expressions takes dates too, and more fields: what is due once is said otherwise, and has no zone.
  if (/^\s*\d{4}-\d{2}/.test(expression))
    throw new Fault(
      "bad_input",
      `cron: ${shown(expression)} is a moment, and no expression: use \`at\` for it`,
    );
  const fields = expression.trim().split(/\s+/);
  const isWord = fields.length === 1 && WORDS.has(expression.trim().toLowerCase());
  if (!isWord && fields.length !== 5 && fields.length !== 6)
    throw new Fault("bad_input", `cron: ${wants}, or a word such as @daily, not ${shown(expression)}`);
  let next: Date | null;
  try {
    next = new Cron(expression, { timezone: zone, mode: "5-or-6-parts" }).nextRun(new Date(SOME_TIME_MS));
  } catch (error) {
    throw new Fault(
      "bad_input",
      `cron: ${wrongIn(fields, expression) ?? `${wants}, not ${shown(expression)}`}`,
      {
        cause: error,
      },
    );
  }
  if (next === null)
    throw new Fault("bad_input", `cron: ${shown(expression)} is never due: there is no such day in any year`);
}

/** What each field may be; without seconds they begin with the second of them. */
const FIELDS = [
  "the second, 0 to 59",
  "the minute, 0 to 59",
  "the hour, 0 to 23",
  "the day of the month, 1 to 31 or L for the last",
  "the month, 1 to 12 or JAN to DEC",
  "the day of the week, 0 to 7 (0 and 7 are Sunday) or SUN to SAT",
] as const;

/** The first field that is wrong, each taken for itself; null: none is, but they are not right together. */
function wrongIn(fields: readonly string[], expression: string): string | null {
  const at = fields.findIndex(
    (field, of) => !isRead(fields.map((_, other) => (other === of ? field : "*")).join(" ")),
  );
  const meant = FIELDS[at + FIELDS.length - fields.length];
  if (at < 0 || meant === undefined) return null;
  return `field ${at + 1} of ${shown(expression)} is ${meant}, not ${shown(fields[at])}`;
}

function isRead(expression: string): boolean {
  try {
    void new Cron(expression, { mode: "5-or-6-parts" });
    return true;
  } catch {
    return false; // That is what was asked.
  }
}

/** W1. Null: never again. */
export function nextAfter(schedule: Schedule, afterMs: number): number | null {
  switch (schedule.kind) {
    case "at":
      return schedule.atMs > afterMs ? schedule.atMs : null;
    case "every": {
      const { everyMs, fromMs } = schedule;
      if (fromMs > afterMs) return fromMs;
      const next = fromMs + (Math.floor((afterMs - fromMs) / everyMs) + 1) * everyMs;
      return next <= TIME_MS_MAX ? next : null;
    }
    case "cron": {
      const whole = Math.floor(afterMs / 1_000) * 1_000; // It is due at whole seconds.
      return compiled(schedule).nextRun(new Date(whole))?.getTime() ?? null;
    }
  }
}

/** How many times there are from `fromMs`, which is one itself, up to `byMs`; and the newest of them (W2). */
export function timesUpTo(
  schedule: Schedule,
  fromMs: number,
  byMs: number,
): { readonly count: number; readonly newestMs: number } {
  if (byMs < fromMs) return { count: 0, newestMs: fromMs };
  if (schedule.kind === "at") return { count: 1, newestMs: fromMs };
  if (schedule.kind === "every") {
    const steps = Math.floor((byMs - fromMs) / schedule.everyMs);
    return { count: steps + 1, newestMs: fromMs + steps * schedule.everyMs };
  }
  let [count, newestMs] = [1, fromMs];
  const next = (afterMs: number): number | null => nextAfter(schedule, afterMs);
  for (let at = next(fromMs); at !== null && at <= byMs; at = next(at)) {
    count += 1;
    newestMs = at;
    if (count < ONE_BY_ONE_MAX) continue;
    count += countedBetween(schedule, { afterMs: at, byMs, next });
    return { count, newestMs: newestBy(schedule, at, byMs) };
  }
  return { count, newestMs };
}

/** The oldest of the newest `most` times from `fromMs`, which is one itself, up to `byMs`. */
export function newestFew(schedule: Schedule, fromMs: number, byMs: number, most: number): number {
  if (schedule.kind === "at") return fromMs;
  if (schedule.kind === "every") {
    const { newestMs } = timesUpTo(schedule, fromMs, byMs);
    return Math.max(fromMs, newestMs - (most - 1) * schedule.everyMs);
  }
  let oldest = newestBy(schedule, fromMs, byMs);
  for (let count = 1; count < most && oldest > fromMs; count += 1)
    oldest = newestBy(schedule, fromMs, oldest - 1);
  return oldest;
}

/**
 * The newest time by `byMs`, of those from `fromMs` on, which is one itself. What comes after x is by then, for every x that is
 * early enough: so the latest such x is searched for, in steps that grow.
 */
function newestBy(schedule: CronSchedule, fromMs: number, byMs: number): number {
  let newest = fromMs;
  let late = byMs;
  for (let step = 1_000; ; step *= 2) {
    const early = Math.max(fromMs, byMs - step);
    const next = nextAfter(schedule, early);
    if (next !== null && next <= byMs) {
      newest = next;
      break;
    }
    if (early === fromMs) return fromMs;
    late = early;
  }
  while (late - newest > 999) {
    const middle = newest + Math.floor((late - newest) / 2_000) * 1_000;
    const next = nextAfter(schedule, middle);
    if (next !== null && next <= byMs) newest = next;
    else if (middle === newest) return newest;
    else late = middle;
  }
  return newest;
}

// ── Alarms ──────────────────────────────────────────────────────────────────────────────────────────────────

/** How much later than its schedule says a job fires: each time the same, and for many jobs spread evenly. */
export function staggerOf(id: string, staggerMs: number): number {
  if (staggerMs <= 0) return 0;
  const chance = createHash("sha256").update(id).digest().readUIntBE(0, 6) / 2 ** 48;
  return Math.floor(chance * (staggerMs + 1));
}

/**
 * When something is to be done about a job; null: never, by itself. It is a function of the record: so whoever changes the record
 * knows which alarm is set, and which is to be. While a run goes on, what is due next waits for its end, which sets the alarm
 * anew; where it would not wait but be skipped, that is written down at its time.
 */
export function alarmAtMs(job: Job): number | null {
  const { id, nextAtMs, staggerMs, missed, current } = job;
  const next = nextAtMs === null ? null : nextAtMs + staggerOf(id, staggerMs);
  if (current === null) return next;
  return missed === "skip" && next !== null ? Math.min(next, current.lostAtMs) : current.lostAtMs;
}

// ── Expressions ─────────────────────────────────────────────────────────────────────────────────────────────

/** The one that was used longest ago goes first. */
const kept = new Map<string, Cron>();

function compiled({ expression, zone }: CronSchedule): Cron {
  const name = `${zone} ${expression}`;
  const cron = kept.get(name) ?? new Cron(expression, { timezone: zone, mode: "5-or-6-parts" });
  kept.delete(name);
  kept.set(name, cron);
  const [oldest] = kept.keys();
  if (kept.size > EXPRESSIONS_KEPT && oldest !== undefined) kept.delete(oldest);
  return cron;
}
