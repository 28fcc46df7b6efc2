import type { Budgets, Estimate, Spent } from "../sessions/budget.ts";
import type { Held } from "../sessions/held.ts";
import { textOf, type Entry } from "../transcript/entry.ts";
import { Stopped } from "./stop.ts";

/** A step is about to ask a model. Returns how to give back what was reserved; however often that is called, it happens once. */
export async function reserved(budgets: Budgets, held: Held, signal: AbortSignal): Promise<() => void> {
  const entries = await held.entries();
  const estimate = (): Estimate => ({ least: tokensShown(entries), likely: spentLast(entries) });
  const giveBack = await budgets.reserve(held.row, estimate, signal);
  if (typeof giveBack === "string") throw new Stopped({ kind: "limit", why: giveBack });
  let isHeld = true;
  return () => {
    if (isHeld) giveBack();
    isHeld = false;
  };
}

/** About: every tokenizer counts otherwise. */
const CHARS_PER_TOKEN = 4;

/** Of the conversation alone; the system prompt and the tools come on top. */
function tokensShown(entries: readonly Entry[]): number {
  let chars = 0;
  for (const entry of entries) if (entry.type === "message") chars += textOf(entry).length;
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** A conversation grows slowly: the next step will cost about what the last one did. Null: there was none. */
function spentLast(entries: readonly Entry[]): Spent | null {
  const last = entries.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
  if (last?.type !== "message" || last.message.role !== "assistant") return null;
  const { input, output, cacheRead, cacheWrite, cost } = last.message.usage;
  return { tokens: 1 + input + output + cacheRead + cacheWrite, cost: cost?.total ?? 0 };
}
