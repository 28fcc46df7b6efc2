// What is used in a second, from what was used in all when somebody looked before. After a restart counting begins anew.

import type { Output } from "../../calls/door.ts";

type Totals = Output<"overview">["totals"];

export interface Look {
  readonly atMs: number;
  readonly totals: Totals;
  readonly tokens: ReadonlyMap<string, number>; //  of each session
}

/** Null: it takes two looks to know. */
export interface Rates {
  readonly tokens: number; //                       in a second
  readonly dollars: number; //                      in an hour
  readonly commits: number; //                      in a second
  readonly turns: number;
  readonly bySession: ReadonlyMap<string, number>; // tokens in a second, since the last look
}

/** Rates are those of this time: over less they jump, over more they say what was. */
const WINDOW_MS = 10_000;

export class Looks {
  #looks: Look[] = [];

  next(look: Look): Rates | null {
    const before = this.#looks.at(-1);
    if (before !== undefined && (before.totals.since !== look.totals.since || before.atMs >= look.atMs))
      this.#looks = [];
    // The last one that is older than the window stays, so that there is always something to compare with.
    while ((this.#looks[1]?.atMs ?? Infinity) <= look.atMs - WINDOW_MS) this.#looks.shift();
    const [first, last] = [this.#looks[0], this.#looks.at(-1)];
    this.#looks.push(look);
    if (first === undefined || last === undefined) return null;
    const seconds = (look.atMs - first.atMs) / 1_000;
    const per = (of: (totals: Totals) => number): number => (of(look.totals) - of(first.totals)) / seconds;
    return {
      tokens: per(tokensIn),
      dollars: per(({ cost }) => cost) * 3_600,
      commits: per(({ commits }) => commits),
      turns: per(({ turns }) => turns),
      bySession: burning(last, look),
    };
  }
}

function burning(before: Look, now: Look): ReadonlyMap<string, number> {
  const seconds = (now.atMs - before.atMs) / 1_000;
  return new Map(
    [...now.tokens].map(([key, tokens]) => [
      key,
      Math.max(0, tokens - (before.tokens.get(key) ?? tokens)) / seconds,
    ]),
  );
}

function tokensIn({ input, output, cacheRead, cacheWrite }: Totals): number {
  return input + output + cacheRead + cacheWrite;
}
