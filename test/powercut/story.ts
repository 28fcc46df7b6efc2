// Story: two lives of the workload on one home, and what it had been told at each moment of them.

import { assert } from "../../src/base/assert.ts";
import { Ledger } from "../crash/ledger.ts";
import type { Lives } from "./lives.ts";
import type { Random } from "./loss.ts";
import { saidBefore } from "./operation.ts";

export class Story {
  readonly lives: Lives;
  readonly #ready: number;

  constructor(lives: Lives) {
    this.lives = lives;
    this.#ready = lives.operations.findIndex(
      (operation, at) =>
        at >= lives.second &&
        operation.op === "said" &&
        Buffer.from(operation.bytes).includes('{"ready":true}'),
    );
    assert(this.#ready >= 0, "the second life was ready at some time");
  }

  isRecovery(at: number): boolean {
    return at > this.lives.second && at <= this.#ready;
  }

  /** So many places for cuts, in their order: the steps of the recovery, if they are not too many, and any others. */
  places(count: number, random: Random): number[] {
    const steps = this.#steps();
    while (steps.length > Math.max(1, count - 1)) steps.splice(Math.floor(random() * steps.length), 1);
    const others = Array.from({ length: count - steps.length }, () => this.#somewhere(random));
    return [...steps, ...others].toSorted((a, b) => a - b);
  }

  /** Just after the state was synced: recovery has taken a step, and the next one not yet. */
  #steps(): number[] {
    const synced = this.lives.operations.flatMap(({ op, path }, at) =>
      op === "sync" && path.includes("state.sqlite") && this.isRecovery(at + 1) ? at + 1 : [],
    );
    // From here on all that anybody can see must stay. One place, and much that may be lost there: so there are three.
    const served = this.#ready + 1;
    return [...synced, served, served, served];
  }

  /** In the first life, in the recovery after it, or later, each as often as the others. */
  #somewhere(random: Random): number {
    const parts = [0, this.lives.second, this.#ready, this.lives.operations.length];
    const part = Math.floor(random() * 3);
    const [from = 0, to = 0] = parts.slice(part, part + 2);
    return from + Math.ceil(random() * (to - from));
  }

  /** What the first life had said when it was killed. */
  get testament(): Ledger {
    return this.#heard(new Ledger(), 0, this.lives.second);
  }

  /**
   * What had been said when the power went. `shown` is the testament, compared with what was left: once the second
   * life serves people, they have seen that, and then it must stay.
   */
  told(at: number, shown: Ledger): Ledger {
    const { second } = this.lives;
    if (at > this.#ready) return this.#heard(new Ledger(shown), second, at);
    return this.#heard(new Ledger(), 0, Math.min(at, second));
  }

  #heard(ledger: Ledger, from: number, to: number): Ledger {
    ledger.hearOutput(saidBefore(this.lives.operations.slice(from), to - from));
    return ledger;
  }

  describe(at: number): string {
    const life = at <= this.lives.second ? "the first life" : "the second life";
    return `operation ${at} of ${this}, in ${this.isRecovery(at) ? "recovery" : life}`;
  }

  toString(): string {
    const { operations, second } = this.lives;
    return `${operations.length} operations, killed after ${second} and ready again after ${this.#ready}`;
  }
}
