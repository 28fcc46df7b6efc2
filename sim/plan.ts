// Plan: what happens in the simulated days of one seed, before any of it does. It is data, so that a shrunk plan can be
// run again: the same deeds and deaths, some of them left out.

import { SimulatedWorld } from "../src/base/world.ts";
import type { Input } from "../src/calls/door.ts";
import type { Class } from "../src/mail/letter.ts";
import type { Message } from "../test/turns/reports.ts";
import { KEYS, pick, settingOf, upTo } from "../test/turns/scenes.ts";
import { longTextOf, messageOf, personsSpawn, QUIET_KEYS, textOf } from "./scenes.ts";

/** What somebody does. Whoever was not told that it happened does it again. */
export type Deed = { readonly n: number; readonly atMs: number } & (
  | { readonly do: "message"; readonly message: Message; readonly waits: boolean }
  /** A letter of the system itself, as timers post them. */
  | { readonly do: "letter"; readonly to: string; readonly class: Class; readonly text: string }
  | { readonly do: "spawn"; readonly input: Input<"spawn"> }
  /** Of the children that are there then, one. */
  | { readonly do: "child"; readonly what: "kill" | "stop" | "cont" | "abort"; readonly at: number }
  | { readonly do: "set"; readonly input: Input<"set"> }
  | { readonly do: "stop" | "cont" | "abort" | "status"; readonly key: string }
  | { readonly do: "compact" | "handoff"; readonly key: string }
);

/** How a life ends: at its so many-th commit. */
export interface Death {
  readonly n: number;
  readonly commit: number;
  /** after: it is durable, and nobody was told. close: in order. */
  readonly when: "before" | "after" | "close";
  /** Of one that closes: so long before, somebody stops every turn that runs; null: nobody does. */
  readonly abortedMs: number | null;
  /** Until the next life begins. Longer than a lease: the sessions are found without anybody giving them back. */
  readonly gapMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly deeds: readonly Deed[];
  readonly deaths: readonly Death[];
  /** How many of each kind of thing there may be, and how often commits are refused. */
  readonly scheduler: { readonly slots: number; readonly reserve: number; readonly share: number };
  readonly refusals: number;
  /** Whether those who were paused are gone on with before the end. */
  readonly contAtEnd: boolean;
}

/** The days in which people do something; what they start may take longer. */
const SPAN_MS = 8_000;

const RUSH_MS = 300;

/** How often so many people write at once that others have to wait for a slot, and may be overlooked. */
const CROWDS = 0.15;

const MEDDLING = [
  ...(["stop", "stop", "cont", "cont", "abort", "status"] as const),
  ...(["compact", "compact", "compact", "handoff"] as const),
];

export function planOf(seed: number): Plan {
  const dice = new SimulatedWorld(seed);
  if (dice.random() < CROWDS) return crowdOf(seed, dice);
  const spanMs = dice.random() < 0.4 ? RUSH_MS : SPAN_MS;
  const count = 2 + upTo(dice, 16);
  const deeds = Array.from({ length: count }, (_, n) => deedOf(dice, n, Math.floor(dice.random() * spanMs)));
  return {
    seed,
    deeds,
    deaths: deathsOf(dice),
    scheduler: { slots: 1 + upTo(dice, 3), reserve: upTo(dice, 2), share: 8 },
    refusals: pick(dice, [0, 0, 0.01, 0.05]),
    contAtEnd: dice.random() < 0.6,
  };
}

/** One slot, people who keep it busy, and a few letters that nobody waits for, to sessions that no person writes to. */
function crowdOf(seed: number, dice: SimulatedWorld): Plan {
  const people = Array.from({ length: 10 + upTo(dice, 10) }, (_, n): Deed => {
    const atMs = upTo(dice, RUSH_MS);
    const input = { sessionKey: pick(dice, KEYS), message: longTextOf(dice, `m${n}`), id: `m${n}` };
    return { n, atMs, do: "message", message: { name: `m${n}`, by: "send", input }, waits: false };
  });
  const others = QUIET_KEYS.map((to, at): Deed => {
    const of = pick<Class>(dice, ["scheduled", "background", "delegated"]);
    const n = people.length + at;
    return { n, atMs: upTo(dice, RUSH_MS), do: "letter", to, class: of, text: longTextOf(dice, `t${n}`) };
  });
  return {
    seed,
    deeds: [...people, ...others],
    deaths: deathsOf(dice).slice(0, 2),
    scheduler: { slots: 1 + upTo(dice, 1), reserve: upTo(dice, 1), share: 8 },
    refusals: 0,
    contAtEnd: true,
  };
}

function deedOf(dice: SimulatedWorld, n: number, atMs: number): Deed {
  const rolled = dice.random();
  const key = pick(dice, KEYS);
  if (rolled < 0.06) return { n, atMs, do: "spawn", input: personsSpawn(dice, `s${n}`) };
  if (rolled < 0.12) {
    const what = pick(dice, ["kill", "kill", "stop", "stop", "cont", "abort"] as const);
    return { n, atMs, do: "child", what, at: upTo(dice, 20) };
  }
  if (rolled < 0.66) {
    const waits = dice.random() < 0.4;
    return { n, atMs, do: "message", message: messageOf(dice, `m${n}`), waits };
  }
  if (rolled < 0.8) {
    const of = pick<Class>(dice, ["scheduled", "background", "delegated"]);
    return { n, atMs, do: "letter", to: pick(dice, KEYS), class: of, text: textOf(dice, `t${n}`) };
  }
  if (rolled < 0.86) return { n, atMs, do: "set", input: settingOf(dice) };
  return { n, atMs, do: pick(dice, MEDDLING), key };
}

/** Sometimes none, sometimes so many in a row that a turn is given up. */
function deathsOf(dice: SimulatedWorld): Death[] {
  const isVolley = dice.random() < 0.08;
  const count = isVolley ? 11 : upTo(dice, 5);
  return Array.from({ length: count }, (_, n) => ({
    n,
    commit: 1 + upTo(dice, isVolley ? 3 : 30),
    when: pick(dice, ["before", "after", "before", "after", "close"] as const),
    abortedMs: dice.random() < 0.5 ? dice.random() * 6 : null,
    gapMs: dice.random() < 0.3 ? 61_000 : upTo(dice, 500),
  }));
}

/** What is left of a plan when only these stay. */
export function kept(plan: Plan, deeds: ReadonlySet<number>, deaths: ReadonlySet<number>): Plan {
  return {
    ...plan,
    deeds: plan.deeds.filter(({ n }) => deeds.has(n)),
    deaths: plan.deaths.filter(({ n }) => deaths.has(n)),
  };
}
