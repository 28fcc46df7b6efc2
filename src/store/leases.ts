import type { SessionKey } from "../routing/key.ts";
import type { Claim } from "./store.ts";

interface Lease {
  readonly owner: string | null; // null: released, and free for all
  readonly fence: number;
  readonly untilMs: number;
}

/**
 * Who may make fenced changes, for engines that live in one process. A lease dies with the process, so
 * nothing of it is written down: after a start every session is free, and no old owner is left to fence off.
 *
 * Fences are counted over all sessions: so a session that is deleted can be forgotten, and whoever owned it
 * finds its fence stale should another session be opened under the same key.
 */
export class Leases {
  readonly #held = new Map<SessionKey, Lease>();
  #lastFence = 0;

  /** 0: never claimed. */
  fenceOf(key: SessionKey): number {
    return this.#held.get(key)?.fence ?? 0;
  }

  isFree(key: SessionKey, nowMs: number): boolean {
    const lease = this.#held.get(key);
    return lease === undefined || lease.untilMs <= nowMs;
  }

  claim(owner: string, key: SessionKey, untilMs: number): Claim {
    this.#lastFence += 1;
    this.#held.set(key, { owner, fence: this.#lastFence, untilMs });
    return { key, fence: this.#lastFence };
  }

  /** An owner that slept past its lease keeps it as long as nobody has claimed the session since, itself included. */
  renew(claims: readonly Claim[], untilMs: number): Claim[] {
    return claims.filter((claim) => {
      const lease = this.#heldBy(claim);
      if (lease) this.#held.set(claim.key, { ...lease, untilMs });
      return lease !== null;
    });
  }

  release(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const lease = this.#heldBy(claim);
      // The fence stays, so that what the owner still has under way is not refused before somebody else claims.
      if (lease) this.#held.set(claim.key, { ...lease, owner: null, untilMs: 0 });
    }
  }

  #heldBy({ key, fence }: Claim): Lease | null {
    const lease = this.#held.get(key);
    return lease?.fence === fence && lease.owner !== null ? lease : null;
  }

  /** The session is gone. Returns how to take that back, should its commit be refused. */
  forget(key: SessionKey): () => void {
    const lease = this.#held.get(key);
    this.#held.delete(key);
    return () => {
      if (lease) this.#held.set(key, lease);
    };
  }
}
