import type { Change, Receipt } from "../src/store/change.ts";
import type { Store } from "../src/store/store.ts";

/** One commit: what it was, and from when to when. */
export interface TimedCommit {
  readonly what: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A store that remembers how long each of its commits took. Everything else goes straight through. */
export function timedStore(store: Store, commits: TimedCommit[]): Store {
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const fromMs = performance.now();
    const receipt = await store.commit(changes);
    commits.push({ what: wordsOf(changes), fromMs, toMs: performance.now() });
    return receipt;
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "commit") return commit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** Its changes, in their order: `take + append 2 + run running`. */
function wordsOf(changes: readonly Change[]): string {
  return changes
    .map((change) => {
      if (change.do === "append") return `append ${change.entries.length}`;
      return change.do === "run" ? change.state.kind : change.do;
    })
    .join(" + ");
}
