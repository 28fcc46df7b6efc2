// Budget
//
// What a session and all its descendants may use together. A step reserves what it will probably use, on the session and on
// everyone above it, before the model is asked; what it did use is charged by the commit of its answer.
//
//   Owns:      what steps that are under way in this process have reserved.
//   Does not:  know what was used: the store adds that up, for the whole tree.
//
// Invariants
//   G1. A step is let in only if every budget above it has room. Looking and reserving are one, so steps that begin together
//       do not all find the same room.
//   G2. A budget is exceeded by no more than the steps that were let in used beyond their estimate.
//   G3. A tree without a budget costs nothing but a look at the rows above a child.

import { unlessAborted } from "../base/waiting.ts";
import type { Agent } from "../config/config.ts";
import { agentOf, type SessionKey } from "../routing/key.ts";
import { nextAbove } from "./below.ts";
import type { Session, Usage } from "./session.ts";

export interface Spent {
  readonly tokens: number;
  readonly cost: number; // in US dollars
}

/** What is known of a step before it. */
export interface Estimate {
  readonly least: number; //          tokens that it uses in any case: what it shows the model
  readonly likely: Spent | null; //   null: nobody knows; then it is taken for one like those before it in the same budget
}

const NOTHING: Spent = { tokens: 0, cost: 0 };

export interface Bound {
  readonly key: SessionKey;
  readonly tokens: number; // Infinity: no bound
  readonly cost: number;
  readonly used: Spent;
  readonly usual: Spent; //   of one step
}

export interface BudgetParts {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly find: (key: SessionKey) => Promise<Session | null>;
}

export class Budgets {
  readonly #parts: BudgetParts;
  readonly #reserved = new Map<SessionKey, Spent>();
  #givenBack = Promise.withResolvers<void>();

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  /**
   * How to give it back, when what was used is charged; or, in words, which budget has no room. While others have reserved what
   * is left, it is waited for: they may use less. Rejects when the signal is aborted.
   */
  async reserve(
    session: Session,
    estimate: () => Estimate,
    signal: AbortSignal,
  ): Promise<(() => void) | string> {
    for (;;) {
      const { promise: givenBack } = this.#givenBack;
      const bounds = await boundsOf(this.#parts, session);
      if (bounds.length === 0) return () => {}; // G3
      if (givenBack !== this.#givenBack.promise) continue; // What was charged meanwhile is not in what was read.
      const step = estimate();
      const full = bounds.map((bound) => whyFull(session.key, bound, step)).find((why) => why !== null);
      if (full !== undefined) return full;
      // G1: nothing is awaited between this look and reserving.
      const isFree = bounds.every((bound) => hasRoom(bound, this.#reserved.get(bound.key) ?? NOTHING));
      if (isFree) return this.#reserve(bounds, step);
      await unlessAborted(givenBack, signal);
    }
  }

  #reserve(bounds: readonly Bound[], { likely, least }: Estimate): () => void {
    const of = ({ usual }: Bound): Spent => {
      const { tokens, cost } = likely ?? usual;
      return { tokens: Math.max(tokens, least), cost };
    };
    for (const bound of bounds) this.#add(bound.key, of(bound), 1);
    return () => {
      for (const bound of bounds) this.#add(bound.key, of(bound), -1);
      this.#givenBack.resolve();
      this.#givenBack = Promise.withResolvers();
    };
  }

  #add(key: SessionKey, { tokens, cost }: Spent, times: 1 | -1): void {
    const before = this.#reserved.get(key) ?? NOTHING;
    const sum = { tokens: before.tokens + times * tokens, cost: before.cost + times * cost };
    if (sum.tokens <= 0) this.#reserved.delete(key);
    else this.#reserved.set(key, sum);
  }
}

/** What bounds a session, nearest first: its own budget, and those of everyone above it who has one. G3. */
export async function boundsOf({ agents, find }: BudgetParts, session: Session): Promise<readonly Bound[]> {
  const bounds: Bound[] = [];
  for (let row: Session | null = session; row !== null;) {
    const limits = budgetOf(row, agents);
    if (limits.tokens < Infinity || limits.cost < Infinity) {
      const now: Session = (row === session ? await find(row.key) : row) ?? row;
      const usage = now.tree ?? now.usage;
      bounds.push({ key: row.key, ...limits, used: spentBy(usage), usual: usualIn(usage) });
    }
    row = await nextAbove(find, row);
  }
  return bounds;
}

/** Its own, or else its agent's. A child's may be larger than its parent's: the parent's holds for it too. */
function budgetOf(
  { key, settings }: Session,
  agents: BudgetParts["agents"],
): { readonly tokens: number; readonly cost: number } {
  const own = settings.limits;
  const agent = agents.get(agentOf(key))?.limits;
  return {
    tokens: own?.tokens ?? agent?.tokens ?? Infinity,
    cost: own?.cost ?? agent?.cost ?? Infinity,
  };
}

/** At least something: else any number of steps would find room. */
function usualIn(usage: Usage): Spent {
  const { tokens, cost } = spentBy(usage);
  const steps = Math.max(1, usage.steps);
  return { tokens: Math.max(1, Math.ceil(tokens / steps)), cost: cost / steps };
}

/** Null: there is room, but for what others have reserved. */
function whyFull(asking: SessionKey, { key, tokens, cost, used }: Bound, { least }: Estimate): string | null {
  const whose = `${key === asking ? "it" : key} and its sub-agents`;
  if (used.tokens >= tokens || used.tokens + least > tokens)
    return `${whose} may use ${tokens} tokens in all, have used ${used.tokens}, and this step takes at least ${least} (limits.tokens)`;
  if (used.cost >= cost)
    return `${whose} may cost $${cost} in all, and have cost $${used.cost.toFixed(4)} (limits.cost)`;
  return null;
}

/** The first is let in whatever it may use: nobody would be, if a guess could keep everybody out. */
function hasRoom({ tokens, cost, used }: Bound, reserved: Spent): boolean {
  if (reserved.tokens === 0) return true;
  return used.tokens + reserved.tokens < tokens && used.cost + reserved.cost < cost;
}

function spentBy({ input, output, cacheRead, cacheWrite, cost }: Usage): Spent {
  return { tokens: input + output + cacheRead + cacheWrite, cost };
}
