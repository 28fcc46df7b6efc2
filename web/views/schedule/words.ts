// When, in words; and what a dot says of how something went.

import { wallTime } from "../../../src/base/wall.ts";
import { until } from "../../../src/calls/cron-words.ts";

const DAYS = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"] as const;
const UNIT_MS: Readonly<Record<string, number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
};

/** The usual expressions as people say them; null: it is none of these, and speaks for itself. */
export function cronWords(expression: string): string | null {
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...more] = expression.split(" ");
  if (more.length > 0 || month !== "*") return NAMED[expression] ?? null;
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (step !== undefined && [hour, day, weekday].every((each) => each === "*") && 60 % Number(step) === 0)
    return step === "1" ? "every minute" : `every ${step} minutes`;
  if (!/^\d{1,2}$/.test(minute)) return null;
  const hours = /^\*\/(\d+)$/.exec(hour)?.[1];
  if (hours !== undefined && minute === "0" && day === "*" && weekday === "*" && 24 % Number(hours) === 0)
    return hours === "1" ? "hourly at :00" : `every ${hours} hours`;
  if ([hour, day, weekday].every((each) => each === "*")) return `hourly at :${minute.padStart(2, "0")}`;
  if (!/^\d{1,2}$/.test(hour)) return null;
  const at = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (/^\d{1,2}$/.test(day) && weekday === "*") return `monthly on day ${day}, ${at}`;
  if (day !== "*") return null;
  const which = weekdayWords(weekday);
  return which === null ? null : `${which} ${at}`;
}

const NAMED: Readonly<Record<string, string>> = {
  "@hourly": "hourly",
  "@daily": "daily at 00:00",
  "@weekly": "Sundays at 00:00",
  "@monthly": "monthly on day 1, at 00:00",
};

function weekdayWords(weekday: string): string | null {
  if (weekday === "*") return "daily";
  if (weekday === "1-5") return "weekdays";
  if (!/^[0-7](?:,[0-7])*$/.test(weekday)) return null;
  return weekday
    .split(",")
    .map((each) => DAYS[Number(each) % 7])
    .join(", ");
}

/** As `jobs` tells when ("0 9 * * 1-5 (Europe/Zurich)"), in words where there are some. */
export function whenWords(when: string): string {
  const everyMs = everyMsOf(when);
  if (everyMs !== null) return everyWords(everyMs) ?? when;
  if (when.startsWith("at ")) return `once, ${when}`;
  const [, expression = "", zone = ""] = /^(.*) \(([^()]+)\)$/.exec(when) ?? [];
  const words = cronWords(expression);
  return words === null ? when : `${words} (${zone})`;
}

/** "every 15 minutes", "every hour"; null: it has more than one unit. */
function everyWords(ms: number): string | null {
  const unit = (["d", "h", "m", "s"] as const).find((each) => ms % (UNIT_MS[each] ?? 1) === 0);
  if (unit === undefined) return null;
  const amount = ms / (UNIT_MS[unit] ?? 1);
  if (amount === 1) return `every ${UNIT_NAMES[unit]}`;
  return unit === "d" || amount < { h: 24, m: 60, s: 60 }[unit]
    ? `every ${amount} ${UNIT_NAMES[unit]}s`
    : null;
}

const UNIT_NAMES = { d: "day", h: "hour", m: "minute", s: "second" } as const;

/** Of "every 1h30m"; null: it is said otherwise. */
export function everyMsOf(when: string): number | null {
  const span = /^every ((?:\d+[wdhms])+)$/.exec(when)?.[1];
  if (span === undefined) return null;
  return [...span.matchAll(/(\d+)([wdhms])/g)].reduce(
    (sum, [, amount, unit = ""]) => sum + Number(amount) * (UNIT_MS[unit] ?? 0),
    0,
  );
}

/** Minutes, as spans are written: 90 is 1h30m. */
export function minutesText(minutes: number): string {
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return `${hours === 0 ? "" : `${hours}h`}${rest === 0 ? "" : `${rest}m`}`;
}

const GOOD: ReadonlySet<string> = new Set(["done", "ok", "nothing"]);
const CALM: ReadonlySet<string> = new Set(["skipped", "killed", "repeated"]);

/** Of a run or a beat. Null: it goes on. */
export function dotOf(outcome: string | null): string {
  if (outcome === null || outcome === "began") return "running";
  if (GOOD.has(outcome)) return "good";
  if (outcome === "alert") return "warn";
  return CALM.has(outcome) ? "idle" : "bad";
}

/** What came of a beat. */
export function beatWords(outcome: string): string {
  return { nothing: "nothing to do", repeated: "alert, told before" }[outcome] ?? outcome;
}

/** "in 3h", "now", "never". */
export function inWords(next: string | null, nowMs: number): string {
  return next === null ? "never" : until(next, nowMs);
}

/** Times are shown by the clock of who looks: said where that of the job shows others. */
export function byYourClock(
  zone: string | null,
  times: readonly string[],
  own: string = new Intl.DateTimeFormat().resolvedOptions().timeZone,
): string {
  const shows = (whose: string): string => times.map((time) => wallTime(Date.parse(time), whose)).join(" ");
  return zone !== null && shows(zone) !== shows(own) ? ", by your clock" : "";
}
