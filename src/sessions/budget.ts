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

import type { Agent } from "../config/config.ts";
import { agentOf, type SessionKey } from "../routing/key.ts";
import type { Session, Usage } from "./session.ts";

export interface Spent {
  readonly tokens: number;
  readonly cost: number; // in US dollars
}

const NOTHING: Spent = { tokens: 0, cost: 0 };

interface Bound {
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

  constructor(parts: BudgetParts) {
    this.#parts = parts;
  }

  /**
   * How to give it back, when what was used is charged; or, in words, which budget has no room. `estimate` null: nobody knows
   * what the step will use, so it is taken for one like those before it in the same budget.
   */
  async reserve(session: Session, estimate: Spent | null): Promise<(() => void) | string> {
    const bounds = await this.#boundsOf(session);
    for (const { key, tokens, cost, used } of bounds) {
      const reserved = this.#reserved.get(key) ?? NOTHING;
      const whose = key === session.key ? "it and its sub-agents" : `${key} and its sub-agents`;
      if (used.tokens + reserved.tokens >= tokens)
        return `${whose} may use ${tokens} tokens in all, and have`;
      if (used.cost + reserved.cost >= cost) return `${whose} may cost $${cost} in all, and have`;
    }
    for (const { key, usual } of bounds) this.#add(key, estimate ?? usual, 1); // G1: nothing was awaited since the look
    return () => {
      for (const { key, usual } of bounds) this.#add(key, estimate ?? usual, -1);
    };
  }

  #add(key: SessionKey, { tokens, cost }: Spent, times: 1 | -1): void {
    const before = this.#reserved.get(key) ?? NOTHING;
    const sum = { tokens: before.tokens + times * tokens, cost: before.cost + times * cost };
    if (sum.tokens <= 0) this.#reserved.delete(key);
    else this.#reserved.set(key, sum);
  }

  /** Nearest first. G3. */
  async #boundsOf(session: Session): Promise<readonly Bound[]> {
    const bounds: Bound[] = [];
    for (let row: Session | null = session; row !== null;) {
      const limits = this.#limitsOf(row);
      if (limits.tokens < Infinity || limits.cost < Infinity) {
        const now: Session = (row === session ? await this.#parts.find(row.key) : row) ?? row;
        const usage = now.tree ?? now.usage;
        bounds.push({ key: row.key, ...limits, used: spentBy(usage), usual: usualIn(usage) });
      }
      row = await this.#above(row);
    }
    return bounds;
  }

  /** Where a parent was deleted, its root is the next that is known: as the store charges. */
  async #above({ parent, root }: Session): Promise<Session | null> {
    if (parent === null) return null;
    return (await this.#parts.find(parent)) ?? (parent === root ? null : await this.#parts.find(root));
  }

  #limitsOf({ key, settings }: Session): { readonly tokens: number; readonly cost: number } {
    const own = settings.limits;
    const agents = this.#parts.agents.get(agentOf(key))?.limits;
    return {
      tokens: Math.min(own?.tokens ?? Infinity, agents?.tokens ?? Infinity),
      cost: Math.min(own?.cost ?? Infinity, agents?.cost ?? Infinity),
    };
  }
}

/** At least something: else any number of steps would find room. */
function usualIn(usage: Usage): Spent {
  const { tokens, cost } = spentBy(usage);
  const steps = Math.max(1, usage.steps);
  return { tokens: Math.max(1, Math.ceil(tokens / steps)), cost: cost / steps };
}

function spentBy({ input, output, cacheRead, cacheWrite, cost }: Usage): Spent {
  return { tokens: input + output + cacheRead + cacheWrite, cost };
}
