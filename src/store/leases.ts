import type { SessionKey } from "../routing/key.ts";
import type { Claim } from "./store.ts";

/**
 * Who may make fenced changes, for engines that live in one process. A lease dies with the process, so
 * nothing of it is written down: after a start every session is free, and no old owner is left to fence off.
 */
export class Leases {
  readonly #held = new Map<SessionKey, { owner: string; fence: number; untilMs: number }>();

  /** 0: never claimed. */
  fenceOf(key: SessionKey): number {
    return this.#held.get(key)?.fence ?? 0;
  }

  isFree(key: SessionKey, nowMs: number): boolean {
    const lease = this.#held.get(key);
    return lease === undefined || lease.untilMs <= nowMs;
  }

  claim(owner: string, key: SessionKey, untilMs: number): Claim {
    const fence = this.fenceOf(key) + 1;
    this.#held.set(key, { owner, fence, untilMs });
    return { key, fence };
  }

  /** An owner that slept past its lease keeps it as long as nobody else has claimed the session. */
  renew(owner: string, keys: readonly SessionKey[], untilMs: number): Claim[] {
    return keys.flatMap((key) => {
      const lease = this.#held.get(key);
      if (lease?.owner !== owner) return [];
      lease.untilMs = untilMs;
      return [{ key, fence: lease.fence }];
    });
  }

  release(owner: string, keys: readonly SessionKey[]): void {
    for (const key of keys) {
      const lease = this.#held.get(key);
      if (lease?.owner === owner) lease.untilMs = 0; // The fence stays: the next claim must be above it.
    }
  }

  forget(key: SessionKey): void {
    this.#held.delete(key);
  }
}
