// When a job runs, as somebody chooses it, and as the daemon is told. Pure.

import { wallTime } from "../../../src/base/wall.ts";
import type { Job } from "../../wire/jobs.ts";

/** What can be chosen; behind each stand inputs of its own. */
export const HOWS = [
  ["daily", "Every day, at"],
  ["weekdays", "Monday to Friday, at"],
  ["weekly", "Every week, on"],
  ["every", "Every"],
  ["in", "Once, in"],
  ["at", "Once, at"],
  ["cron", "By a cron expression"],
] as const;
export type How = (typeof HOWS)[number][0];

export const UNITS = [
  ["s", "seconds"],
  ["m", "minutes"],
  ["h", "hours"],
  ["d", "days"],
] as const;

export const DAYS = [
  ["1", "Monday"],
  ["2", "Tuesday"],
  ["3", "Wednesday"],
  ["4", "Thursday"],
  ["5", "Friday"],
  ["6", "Saturday"],
  ["0", "Sunday"],
] as const;

/** What stands in the inputs, each as the browser tells it. */
export interface Typed {
  readonly how: How;
  readonly amount: string;
  readonly unit: string;
  readonly time: string; // 09:00
  readonly day: string; //  as cron counts them
  readonly at: string; //   2026-10-05T09:00, by the clock of the job
  readonly cron: string;
}

/** As the daemon takes it: exactly one. */
export interface Said {
  readonly at?: string;
  readonly every?: string;
  readonly cron?: string;
}

const UNTYPED: Typed = { how: "daily", amount: "15", unit: "m", time: "09:00", day: "1", at: "", cron: "" };

/** Null: something is missing yet. */
export function saidBy({ how, amount, unit, time, day, at, cron }: Typed): Said | null {
  const span = /^\d+$/.test(amount) ? `${Number(amount)}${unit}` : null;
  const [, hour, minute] = /^(\d\d):(\d\d)/.exec(time) ?? [];
  const daily = hour === undefined ? null : `${Number(minute)} ${Number(hour)} * *`;
  switch (how) {
    case "every":
      return span === null ? null : { every: span };
    case "in":
      return span === null ? null : { at: span };
    case "at":
      return at === "" ? null : { at };
    case "cron":
      return cron.trim() === "" ? null : { cron: cron.trim() };
    case "daily":
      return daily === null ? null : { cron: `${daily} *` };
    case "weekdays":
      return daily === null ? null : { cron: `${daily} 1-5` };
    case "weekly":
      return daily === null ? null : { cron: `${daily} ${day}` };
  }
}

/** As a job has it; what can be chosen is chosen, and everything else is an expression. */
export function typedOf(job: Pick<Job, "at" | "every" | "cron" | "timezone"> | null): Typed {
  if (job === null) return UNTYPED;
  const { at, every, cron, timezone } = job;
  if (every !== null) return { ...UNTYPED, how: "every", ...spanOf(every) };
  if (at !== null)
    return { ...UNTYPED, how: "at", at: wallTime(Date.parse(at), timezone ?? "UTC").replace(" ", "T") };
  return chosenFor(cron ?? "");
}

/** The largest unit that it is a whole number of. */
function spanOf(every: string): Pick<Typed, "amount" | "unit"> {
  const seconds = [...every.matchAll(/(\d+)([dhms])/g)].reduce(
    (sum, [, amount, unit = ""]) => sum + Number(amount) * (SECONDS[unit] ?? 0),
    0,
  );
  const unit = ["d", "h", "m"].find((each) => seconds % (SECONDS[each] ?? 1) === 0) ?? "s";
  return { amount: String(seconds / (SECONDS[unit] ?? 1)), unit };
}

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };

/** An expression that a choice would not make again, to the letter, stays as somebody wrote it. */
export function chosenFor(cron: string): Typed {
  const [, minute = "", hour = "", day = ""] =
    /^([0-5]?\d) ([01]?\d|2[0-3]) \* \* (\*|1-5|[0-6])$/.exec(cron) ?? [];
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  const how = day === "*" ? "daily" : day === "1-5" ? "weekdays" : "weekly";
  const chosen: Typed = { ...UNTYPED, how, time, ...(how === "weekly" ? { day } : {}), cron };
  return saidBy(chosen)?.cron === cron ? chosen : { ...UNTYPED, how: "cron", cron };
}

// ── In a form ───────────────────────────────────────────────────────────────────────────────────────────────

type Given = Readonly<Record<string, string>>;

/** The names of its inputs. What is not shown is not given. */
export function typedIn(given: Given): Typed {
  const of = (name: keyof Typed): string => given[`when.${name}`] ?? UNTYPED[name];
  const how = HOWS.find(([each]) => each === of("how"))?.[0] ?? UNTYPED.how;
  return {
    ...{ how, amount: of("amount"), unit: of("unit"), time: of("time") },
    ...{ day: of("day"), at: of("at"), cron: of("cron") },
  };
}

export function givenBy(typed: Typed): Given {
  return Object.fromEntries(Object.entries(typed).map(([name, value]) => [`when.${name}`, value]));
}
