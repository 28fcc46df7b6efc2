import { BLOB_HELD_MS } from "../../limits.ts";

/**
 * Blobs that were put and that no entry has named yet: when, as often as they were put. Such a blob is not taken
 * along when a session that names the same bytes is erased.
 */
export class HeldBlobs {
  readonly #putAtMs = new Map<string, number[]>();

  put(sha256: string, nowMs: number): void {
    this.#putAtMs.set(sha256, [...(this.#putAtMs.get(sha256) ?? []), nowMs]);
  }

  /** An entry names it now, so one of those who put it needs no holding any more. */
  named(sha256: string): void {
    this.#putAtMs.get(sha256)?.shift();
  }

  isHeld(sha256: string, nowMs: number): boolean {
    return this.#putAtMs.get(sha256)?.some((atMs) => atMs > nowMs - BLOB_HELD_MS) ?? false;
  }

  forgetOld(nowMs: number): void {
    for (const sha256 of this.#putAtMs.keys()) if (!this.isHeld(sha256, nowMs)) this.#putAtMs.delete(sha256);
  }
}
