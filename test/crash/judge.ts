// Judge: compares what the ledger says with what the home shows. Everything acknowledged is there once and in order;
// of the commits that were under way each happened whole or not at all. So there are a few worlds that may be, and
// what is seen must be one of them, in every session and to the last letter.

import { isDeepStrictEqual } from "node:util";
import type { SessionKey } from "../../src/routing/key.ts";
import type { Ledger } from "./ledger.ts";
import type { Seen } from "./look.ts";
import { afterCommit, type Account, type Accounts, type Written } from "./model.ts";

export interface Verdict {
  readonly problems: readonly string[];
  /** Commits that were found whole. */
  readonly kept: number;
}

interface Possible {
  readonly accounts: Accounts;
  readonly happened: number;
}

export function judge(ledger: Ledger, seen: Seen): Verdict {
  const problems = [...ledger.problems, ...seen.problems];
  const nearest = possibleWorlds(ledger, problems)
    .map((world) => ({ ...world, wrong: wrongKeys(world.accounts, seen.accounts) }))
    .reduce((best, world) => (world.wrong.length < best.wrong.length ? world : best));
  for (const key of nearest.wrong)
    problems.push(
      ...differences(nearest.accounts.get(key), seen.accounts.get(key)).map((what) => `${key}: ${what}`),
    );
  if (nearest.wrong.length > 0) problems.push(`under way were: ${underway(ledger).join("; ") || "none"}`);
  ledger.settle(nearest.accounts, nearest.happened);
  return { problems, kept: ledger.settled };
}

/** A commit that nobody was told of makes two worlds of each. There are never more of those than lanes. */
function possibleWorlds(ledger: Ledger, problems: string[]): readonly Possible[] {
  let worlds: readonly Possible[] = [{ accounts: ledger.accounts, happened: 0 }];
  for (const { name, changes } of ledger.attempts.values()) {
    const told = ledger.acknowledged.has(name);
    const next = worlds.flatMap(({ accounts, happened }) => {
      const made = afterCommit(accounts, changes);
      return made === null ? [] : [{ accounts: made, happened: happened + 1 }];
    });
    if (told && next.length === 0) problems.push(`${name} was acknowledged, and cannot have happened`);
    else worlds = told ? next : [...worlds, ...next];
  }
  return worlds;
}

function wrongKeys(expected: Accounts, seen: Accounts): SessionKey[] {
  const keys = new Set([...expected.keys(), ...seen.keys()]);
  return [...keys].filter((key) => !isSame(expected.get(key), seen.get(key)));
}

/** Worlds share most of their accounts, so each is compared once. */
const compared = new WeakMap<Account, WeakMap<Account, boolean>>();

function isSame(expected: Account | undefined, seen: Account | undefined): boolean {
  if (expected === undefined || seen === undefined) return expected === seen;
  const known = compared.get(seen) ?? new WeakMap<Account, boolean>();
  const same = known.get(expected) ?? isDeepStrictEqual(expected, seen);
  compared.set(seen, known.set(expected, same));
  return same;
}

function differences(expected: Account | undefined, seen: Account | undefined): string[] {
  if (seen === undefined) return ["it is gone"];
  if (expected === undefined) return ["nobody opened it, or it was deleted"];
  const fields = Object.keys(expected) as (keyof Account)[];
  return fields
    .filter((field) => !isDeepStrictEqual(expected[field], seen[field]))
    .map((field) => {
      if (field === "entries") return ofEntries(expected.entries, seen.entries);
      return `${field} should be ${brief(expected[field])} and is ${brief(seen[field])}`;
    });
}

function ofEntries(expected: readonly Written[], seen: readonly Written[]): string {
  const at = seen.findIndex((entry, index) => !isDeepStrictEqual(entry, expected[index]));
  const from = at < 0 ? seen.length : at;
  const some = (entries: readonly Written[]): string => brief(entries.slice(from, from + 3));
  return `of ${seen.length} entries ${from} are right; then ${some(expected)} should come and ${some(seen)} does`;
}

function underway({ attempts, acknowledged }: Ledger): string[] {
  return [...attempts.values()]
    .filter(({ name }) => !acknowledged.has(name))
    .map(({ name, changes }) => `${name} ${brief(changes.map((change) => change.do))}`);
}

function brief(value: unknown): string {
  return JSON.stringify(value).slice(0, 400);
}
