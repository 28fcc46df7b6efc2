// Fits
//
// Whether a value that came from outside is what its type says. The types of TypeScript are gone when a program runs:
// plain JavaScript, a parsed file or a cast can hand in anything.
//
// Looking makes nothing new. A library that hands back a checked copy of everything was tried on commits: its garbage
// doubled the delays of the main thread under load.

import { Fault } from "./fault.ts";

/** Null: it fits. Else where it does not, and what belongs there. */
export type Check = (value: unknown) => Misfit | null;

interface Misfit {
  readonly where: string; // "": the value itself
  readonly wants: string;
  readonly found: unknown;
}

type Fields = Readonly<Record<string, Check>>;

/** In place of what was found, when there is nothing to be shown. */
const NOTHING = Symbol("nothing");

export const anything: Check = () => null;
export const text = is("a text", (value) => typeof value === "string");
export const name = is("a text that is not empty", (value) => typeof value === "string" && value !== "");
export const yesOrNo = is("true or false", (value) => typeof value === "boolean");
export const number = is("a number", (value) => Number.isFinite(value));
export const whole = is("a whole number", (value) => Number.isSafeInteger(value));
export const count = wholeFrom(0);

/** bad_input when it does not fit; `what` begins the message. */
export function mustFit(what: string, check: Check, value: unknown): void {
  const misfit = check(value);
  if (misfit === null) return;
  const found = misfit.found === NOTHING ? "" : `, not ${shown(misfit.found)}`;
  const where = misfit.where === "" ? "it" : misfit.where;
  throw new Fault("bad_input", `${what}: ${where} is ${misfit.wants}${found}`);
}

export function is(wants: string, fits: (value: unknown) => boolean): Check {
  return (value) => (fits(value) ? null : { where: "", wants, found: value });
}

export function wholeFrom(least: number): Check {
  return is(
    `a whole number from ${least} on`,
    (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= least,
  );
}

export function oneOf(...words: readonly string[]): Check {
  return is(`one of ${words.join(", ")}`, (value) => words.includes(value as string));
}

export function orNull(check: Check): Check {
  return (value) => {
    const misfit = value === null ? null : check(value);
    return misfit?.where === "" ? { ...misfit, wants: `${misfit.wants}, or null` } : misfit;
  };
}

export function ifGiven(check: Check): Check {
  return (value) => (value === undefined ? null : check(value));
}

export function listOf(check: Check, least = 0): Check {
  return (value) => {
    if (!Array.isArray(value)) return { where: "", wants: "a list", found: value };
    if (value.length < least) return { where: "", wants: "a list that is not empty", found: NOTHING };
    for (let at = 0; at < value.length; at += 1) {
      const misfit = check(value[at]);
      if (misfit !== null) return below(`[${at}]`, misfit);
    }
    return null;
  };
}

/** All of `fields`, any of `others`, and nothing else: what is unknown is most likely misspelt. */
export function record(fields: Fields, others: Fields = {}): Check {
  const known: Fields = { ...fields, ...others };
  const names = Object.keys(fields);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { where: "", wants: "an object", found: value };
    for (const each in value) {
      const check = Object.hasOwn(known, each) ? known[each] : undefined;
      if (check === undefined) return unknownField(each, known);
      const part = (value as Readonly<Record<string, unknown>>)[each];
      const misfit = check(part);
      if (misfit !== null) return below(each, misfit);
    }
    for (const each of names) {
      const missing = Object.hasOwn(value, each) ? null : (fields[each]?.(undefined) ?? null);
      if (missing !== null) return below(each, missing);
    }
    return null;
  };
}

/** A record whose other fields go by its `kind`. */
export function variant(kinds: Readonly<Record<string, Fields>>): Check {
  const kind = oneOf(...Object.keys(kinds));
  const records = new Map(Object.entries(kinds).map(([each, fields]) => [each, record({ kind, ...fields })]));
  const none = record({ kind });
  return (value) => {
    const found = (value as { readonly kind?: unknown } | null | undefined)?.kind;
    return (records.get(found as string) ?? none)(value);
  };
}

function unknownField(each: string, known: Fields): Misfit {
  return { where: each, wants: `no field; there are ${Object.keys(known).join(", ")}`, found: NOTHING };
}

function below(part: string, misfit: Misfit): Misfit {
  const joint = misfit.where === "" || misfit.where.startsWith("[") ? "" : ".";
  return { ...misfit, where: `${part}${joint}${misfit.where}` };
}

/** A little of it. What an object says of itself is not asked: it may say anything, or throw. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  if (Array.isArray(value)) return "a list";
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? `${typeof value === "function" ? "a" : "an"} ${typeof value}`
    : String(value);
}
