// Commits on their way to the writer: handed in, and not answered yet.
//
// Invariants
//   U1. They reach the writer in the order they were handed in, and each is answered once.
//   U2. They have a bound in bytes: past it a caller gets `overloaded`, and nothing was taken.

import { Fault, faultFrom, type FaultWords } from "../../base/fault.ts";
import { COMMIT_BYTES_MAX, WAITING_BYTES_MAX } from "../../limits.ts";
import type { Receipt } from "../change.ts";
import { isFaultWords } from "./thread.ts";
import { bytesOf, tooLarge, type Results, type WireChange, type WireCommit } from "./wire.ts";

interface Pending {
  readonly bytes: number;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (fault: Fault) => void;
}

export class UnderWay {
  readonly #handOver: (commits: readonly WireCommit[]) => void;
  readonly #pending = new Map<number, Pending>();
  #batch: WireCommit[] = [];
  #lastId = 0;
  #bytes = 0;

  constructor(handOver: (commits: readonly WireCommit[]) => void) {
    this.#handOver = handOver;
  }

  add(changes: readonly WireChange[], atMs: number): Promise<Receipt> {
    const bytes = changes.reduce((sum, change) => sum + bytesOf(change), 0);
    if (bytes > COMMIT_BYTES_MAX) return Promise.reject(tooLarge(bytes));
    if (this.#bytes + bytes > WAITING_BYTES_MAX) {
      return Promise.reject(
        new Fault("overloaded", `${this.#bytes} bytes of commits wait for the disk already`),
      );
    }
    this.#lastId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>();
    this.#pending.set(this.#lastId, { bytes, resolve, reject });
    this.#bytes += bytes;
    // What is committed in one go of the event loop crosses in one message.
    if (this.#batch.length === 0) queueMicrotask(() => this.flush());
    this.#batch.push({ id: this.#lastId, atMs, changes });
    return promise;
  }

  /** Whatever is asked next comes after what was handed in before. */
  flush(): void {
    const commits = this.#batch;
    this.#batch = [];
    if (commits.length > 0) this.#handOver(commits);
  }

  settle(results: Results): void {
    for (const [id, result] of results) this.#settleOne(id, result);
  }

  fail(fault: Fault): void {
    for (const pending of this.#pending.values()) pending.reject(fault);
    this.#pending.clear();
  }

  #settleOne(id: number, result: Receipt | FaultWords): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    this.#bytes -= pending.bytes;
    if (isFaultWords(result)) pending.reject(faultFrom(result));
    else pending.resolve(result);
  }
}
