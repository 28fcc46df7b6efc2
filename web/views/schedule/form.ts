// The form of a job: what stands in it, and what of it is said to the daemon. Pure: what is refused, the daemon refuses in its words.

import { Fault } from "../../../src/base/fault.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import type { Input } from "../../../src/calls/door.ts";
import type { Job } from "../../wire/jobs.ts";
import { givenBy, saidBy, typedIn, typedOf, type Said } from "./when.ts";

/** What was typed, by the names of the inputs. */
export type Given = Readonly<Record<string, string>>;

/** What a job is asked to be. A text is empty where nothing was said. */
interface Wanted {
  readonly name: string;
  readonly message: string;
  readonly when: Said;
  readonly timezone: string;
  readonly target: string;
  readonly delivery: string;
  readonly model: string;
  readonly timeout: string;
  readonly missed: Job["missed"];
}

type Wish = keyof Wanted;

export const MISSED: readonly (readonly [is: Job["missed"], words: string])[] = [
  ["coalesce", "one run stands for all of them"],
  ["run", "each is made up for"],
  ["skip", "they are skipped"],
];

/** As it is now; of a new one empty. */
export function valuesOf(job: Job | null): Given {
  const when = givenBy(typedOf(job));
  if (job === null) return { ...when, target: "fresh", missed: "coalesce" };
  const { name, message, timezone, target, delivery, model, timeout, missed, agent } = job;
  const short = (key: string): string => (key === `agent:${agent}:main` ? "main" : key);
  return {
    ...{ ...when, name, message, timezone: timezone ?? "", timeout, missed, model: model ?? "" },
    ...{ target: short(target), delivery: short(delivery) },
  };
}

/** A choice that ends with a colon has the rest of it beside it; that of a key is all of it. */
function chosenIn(given: Given, name: string): string {
  const chosen = given[name] ?? "";
  if (!chosen.endsWith(":")) return chosen;
  const other = (given[`${name}.other`] ?? "").trim();
  return chosen === BY_KEY ? other : `${chosen}${other}`;
}

export const BY_KEY = "key:";

/** Fault bad_input: nothing says when. */
function wantedIn(given: Given): Wanted {
  const when = saidBy(typedIn(given));
  if (when === null) throw new Fault("bad_input", "when: say a time");
  const text = (name: string): string => (given[name] ?? "").trim();
  return {
    ...{ name: text("name"), message: given["message"] ?? "", when },
    timezone: when.every === undefined ? text("timezone") : "", // It is the same in all of them.
    ...{ target: chosenIn(given, "target"), delivery: chosenIn(given, "delivery") },
    ...{ model: text("model"), timeout: text("timeout") },
    missed: MISSED.find(([each]) => each === given["missed"])?.[0] ?? "coalesce",
  };
}

/** `id` names the request: sent again, the job is there once. */
export function addInput(given: Given, id: string): Input<"addJob"> {
  const { when, message, missed, ...texts } = wantedIn(given);
  const agent = (given["agent"] ?? "").trim();
  const said = Object.entries({ ...texts, agent }).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(said), ...when, message, missed, id };
}

/** Only what is other than it was: so nobody takes back what somebody else changed meanwhile. Null: nothing is. */
export function editInput(job: Job, given: Given): Input<"editJob"> | null {
  const changed = changedIn(job, given);
  if (changed.length === 0) return null;
  const { when, model, ...texts } = wantedIn(given);
  const has = (wish: string): boolean => (changed as readonly string[]).includes(wish);
  const said = Object.entries(texts).filter(([wish]) => has(wish));
  return {
    job: job.id,
    ...Object.fromEntries(said),
    ...(has("when") || (has("timezone") && when.at !== undefined) ? when : {}), // A moment is moved with its clock.
    ...(has("model") ? { model: model === "" ? null : model } : {}),
  };
}

/** A job has a zone, or needs none: who says nothing of it leaves it. */
function changedIn(job: Job, given: Given): readonly Wish[] {
  const wanted = wantedIn(given);
  const changed = differing(wantedIn(valuesOf(job)), wanted);
  return changed.filter((wish) => wish !== "timezone" || wanted.timezone !== "");
}

function differing(one: Wanted, other: Wanted): readonly Wish[] {
  const text = (of: Wanted, wish: Wish): string => JSON.stringify(of[wish]);
  return (Object.keys(one) as Wish[]).filter((wish) => text(one, wish) !== text(other, wish));
}

// ── Two who edit ────────────────────────────────────────────────────────────────────────────────────────────

/** `began`: as it was when the form was opened. `seen`: as its reader knows it. `now`: as it is. */
export interface Versions {
  readonly began: Job;
  readonly seen: Job;
  readonly now: Job;
}

/**
 * What both have changed, each otherwise, and what it is now. A job changes by itself, too, with every run: only what somebody set
 * counts, and whoever changed something else is not in the way.
 */
export function clashesIn({ began, seen, now }: Versions, given: Given): ReadonlyMap<Wish, string> {
  const [mine, theirs] = [wantedIn(given), wantedIn(valuesOf(now))];
  const changed = changedIn(began, given);
  const others = differing(wantedIn(valuesOf(seen)), theirs);
  const isOther = differing(mine, theirs);
  const both = changed.filter((wish) => others.includes(wish) && isOther.includes(wish));
  return new Map(both.map((wish) => [wish, wish === "when" ? now.when : String(theirs[wish])]));
}

/** In the words that a form shows at its fields. */
export function clashText(clashes: ReadonlyMap<string, string>): string {
  return [...clashes]
    .map(([wish, value]) => `${wish}: somebody else has changed it meanwhile, to ${shortened(value)}`)
    .join("; ");
}

/** In one line, without what would begin another field. */
function shortened(value: string): string {
  const line = oneLine(value).replaceAll(";", ",");
  if (line === "") return "nothing";
  return `“${line.length > VALUE_CHARS ? `${line.slice(0, VALUE_CHARS).toWellFormed()}…` : line}”`;
}

const VALUE_CHARS = 80;
