// Models by provider, as they are listed: those that can be asked now come first.

import type { Output } from "../../../src/calls/door.ts";

type All = Output<"models">;

export interface Provided {
  readonly provider: string;
  readonly models: All["models"];
  /** It has a key, or needs none. */
  readonly isUsable: boolean;
  readonly words: string;
  readonly todo: string | null;
}

/** `text`: a part of the name of a model, in any case; providers without one are left out. */
export function providedIn({ models, providers }: All, text: string): readonly Provided[] {
  const wanted = text.trim().toLowerCase();
  const found = models.filter(({ id }) => id.toLowerCase().includes(wanted));
  const named = Map.groupBy(found, ({ id }) => id.slice(0, id.indexOf("/")));
  const without = providers.map(({ provider }) => provider).filter((each) => !named.has(each));
  for (const provider of wanted === "" ? without : []) named.set(provider, []);
  return [...named]
    .map(([provider, all]) => ({ provider, models: all, ...keyOf(provider, providers) }))
    .toSorted((a, b) => Number(b.isUsable) - Number(a.isUsable));
}

type Prices = NonNullable<All["models"][number]["prices"]>;

/** Dollars for a million tokens: $3.00, $0.075. */
export function price(dollars: number): string {
  const exact = String(Number(dollars.toFixed(4)));
  return `$${(exact.split(".")[1]?.length ?? 0) > 2 ? exact : dollars.toFixed(2)}`;
}

export function isFree({ input, output, cacheRead, cacheWrite }: Prices): boolean {
  return input + output + cacheRead + cacheWrite === 0;
}

/** All of it in one line, where there is no room for columns. */
export function priceWords(prices: Prices | null): string {
  if (prices === null) return "price not known";
  return isFree(prices) ? "free" : `${price(prices.input)} in, ${price(prices.output)} out`;
}

function keyOf(name: string, providers: All["providers"]): Pick<Provided, "isUsable" | "words" | "todo"> {
  const found = providers.find(({ provider }) => provider === name);
  if (found === undefined) return { isUsable: true, words: "built in, needs no key", todo: null };
  if (found.hasKey) return { isUsable: true, words: "has a key", todo: null };
  const names = found.keyFrom.join(" or ");
  // A server of one's own is often asked without one.
  const isOwn = found.api === "openai-compatible";
  return {
    isUsable: isOwn,
    words: isOwn ? "no key; it may need none" : `no key: set ${names}`,
    todo: `${isOwn ? "If it needs a key: set" : "Set"} ${names} in the daemon's environment, and start it again.`,
  };
}
