// Plan: fifty agents, their jobs, and how often the gateway dies in some months. It is data, made of a seed before anything happens.

import { SimulatedWorld } from "../../src/base/world.ts";
import type { Delivery, JobSpec, Missed, Schedule } from "../../src/timers/job.ts";
import { parseAgent, mainKey, namedKey } from "../../src/routing/key.ts";
import type { Almanac, Months, Pattern } from "./almanac.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface PlannedJob {
  readonly id: string;
  readonly agent: string;
  readonly spec: JobSpec;
  readonly times: (almanac: Almanac) => readonly number[];
  /** Of one whose runs all fail. */
  readonly isFailing: boolean;
}

/** A life ends at its so many-th commit, before it is durable, or after it and before anybody is told. */
export interface Death {
  readonly commit: number;
  readonly when: "before" | "after";
  readonly gapMs: number; // until the next life
}

export interface Plan {
  readonly seed: number;
  readonly months: Months;
  readonly agents: readonly string[];
  readonly jobs: readonly PlannedJob[];
  /** For as many lives as there may be: one that does not come to it ends with the months. */
  readonly deaths: readonly Death[];
}

/** A life that begins so late does not die: what was due is seen to before the months are over. */
export const LAST_MS = 6 * HOUR_MS;

/** Both changes of clocks are in each of them, in the north or in the south. */
export const AUTUMN: Months = { fromMs: Date.UTC(2026, 8, 1), toMs: Date.UTC(2026, 11, 1) };
export const SPRING: Months = { fromMs: Date.UTC(2027, 1, 15), toMs: Date.UTC(2027, 4, 15) };

/** With a time that a change of the clock leaves out, or lets come twice. */
const ZONES: readonly (readonly [zone: string, hour: number, minute: number])[] = [
  ["Europe/Berlin", 2, 30],
  ["America/New_York", 1, 30],
  ["Australia/Lord_Howe", 2, 15],
  ["America/New_York", 2, 30],
  ["America/Santiago", 0, 0],
  ["Asia/Kathmandu", 23, 45],
  ["Australia/Lord_Howe", 1, 45],
];

const POLICIES: readonly Missed[] = ["run", "skip", "coalesce"];

const NIGHTS: Pattern = { expression: "30 1-3 * * *", hours: [1, 2, 3], minutes: [30], weekdays: null };
const MONDAYS: Pattern = { expression: "0 9 * * 1", hours: [9], minutes: [0], weekdays: [1] };
const SUNDAYS: Pattern = {
  expression: "0 */10 2 * * SUN",
  hours: [2],
  minutes: [0, 10, 20, 30, 40, 50],
  weekdays: [0],
};
const HOURLY: Pattern = {
  expression: "@hourly",
  hours: Array.from({ length: 24 }, (_, hour) => hour),
  minutes: [0],
  weekdays: null,
};

export function planOf(seed: number, months: Months, agents = 50): Plan {
  const dice = new SimulatedWorld(seed);
  const names = Array.from({ length: agents }, (_, n) => `a${n}`);
  const jobs = names.flatMap((agent, n) => jobsOf(dice, { agent, n, months }));
  const deaths = Array.from({ length: 500 }, () => deathOf(dice));
  return { seed, months, agents: names, jobs, deaths };
}

function deathOf(dice: SimulatedWorld): Death {
  const long = pick(dice, [MINUTE_MS, MINUTE_MS, HOUR_MS, HOUR_MS, 12 * HOUR_MS, 3 * DAY_MS]);
  return {
    commit: 1 + Math.floor(dice.random() ** 2 * 4_000),
    when: dice.random() < 0.5 ? "before" : "after",
    gapMs: Math.ceil(dice.random() * long),
  };
}

interface Of {
  readonly agent: string;
  readonly n: number;
  readonly months: Months;
}

function jobsOf(dice: SimulatedWorld, of: Of): PlannedJob[] {
  const { n, months } = of;
  const [zone, hour, minute] = ZONES[n % ZONES.length] ?? ["UTC", 0, 0];
  const daily = { expression: `${minute} ${hour} * * *`, hours: [hour], minutes: [minute], weekdays: null };
  const everyMs = 17 * HOUR_MS + 13 * MINUTE_MS + n;
  const atMs = months.fromMs + 1 + Math.floor(dice.random() * (months.toMs - months.fromMs));
  const cron = (name: string, pattern: Pattern): Named => ({
    name,
    schedule: { kind: "cron", expression: pattern.expression, zone },
    times: (almanac) => almanac.cron(pattern, zone),
  });
  const some: Named[] = [
    cron("daily", daily),
    cron("mondays", MONDAYS),
    cron("sundays", SUNDAYS),
    {
      name: "every",
      schedule: { kind: "every", everyMs, fromMs: months.fromMs + HOUR_MS },
      times: (almanac) => almanac.every(everyMs, months.fromMs + HOUR_MS),
    },
    { name: "at", schedule: { kind: "at", atMs, zone: "UTC" }, times: () => [atMs] },
    ...(n % 5 === 0 ? [cron("nights", NIGHTS)] : []),
    ...(n < POLICIES.length ? [cron("hourly", HOURLY)] : []),
    ...(n % 10 === 5 ? [{ ...cron("failing", NIGHTS), isFailing: true }] : []),
  ];
  return some.map((each, at) => jobOf(dice, of, each, POLICIES[(n + at) % POLICIES.length] ?? "run"));
}

interface Named {
  readonly name: string;
  readonly schedule: Schedule;
  readonly times: PlannedJob["times"];
  readonly isFailing?: boolean;
}

function jobOf(dice: SimulatedWorld, { agent }: Of, named: Named, missed: Missed): PlannedJob {
  const { name, schedule, times, isFailing = false } = named;
  const spec: JobSpec = {
    name,
    schedule,
    staggerMs: pick(dice, [0, 0, MINUTE_MS, 20 * MINUTE_MS]),
    target:
      dice.random() < 0.25 ? { kind: "fresh" } : { kind: "session", key: namedKey(parseAgent(agent), name) },
    message: "look after it",
    model: null,
    thinking: null,
    limits: null,
    timeoutMs: pick(dice, [5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS]),
    delivery: deliveryOf(dice, agent),
    missed,
    graceMs: pick(dice, [0, MINUTE_MS, 30 * MINUTE_MS]),
    keepMs: 0,
    failuresMax: isFailing ? 3 : 0,
  };
  return { id: `${agent}-${name}`, agent, spec, times, isFailing };
}

function deliveryOf(dice: SimulatedWorld, agent: string): Delivery {
  const rolled = dice.random();
  if (rolled < 0.6) return { kind: "none" };
  if (rolled < 0.8) return { kind: "session", key: mainKey(parseAgent(agent)) };
  return { kind: "webhook", channel: "door", to: "somebody" };
}

export function pick<Of>(dice: SimulatedWorld, from: readonly Of[]): Of {
  return from[Math.floor(dice.random() * from.length)] as Of;
}
