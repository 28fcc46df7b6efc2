// Story: two lives of the workload on one home, and what it had been told at each moment of them.

import { assert } from "../../src/base/assert.ts";
import { Ledger, type Said } from "../crash/ledger.ts";
import type { Lives } from "./lives.ts";
import type { Random } from "./loss.ts";
import { saidBefore, type Operation } from "./operation.ts";

type Phase = Extract<Said, { readonly now: string }>["now"];

/**
 * Moments at which to kill a life, each of which leaves recovery something else to do. In the first checkpoint, when the
 * files are synced and neither their names are nor is the journal emptied. In the last one: there the older lines are in
 * the other twin. When the journal is empty, and a change of the state is written and not synced. And anywhere.
 */
export function deaths(operations: readonly Operation[], random: Random): number[] {
  const checkpoints = checkpointsIn(operations);
  const written = spansOf(operations, "quiet").flatMap((span) =>
    syncsIn(operations, span, "state.sqlite-wal"),
  );
  const quiet = written.slice(Math.floor(random() * written.length)).slice(0, 1);
  const anywhere = Math.floor(random() * (operations.length + 1));
  return [...checkpoints.slice(0, 1), ...checkpoints.slice(1).slice(-1), ...quiet, anywhere];
}

/** Just after the last file was synced, of each checkpoint. It is over when what the log holds was folded back. */
function checkpointsIn(operations: readonly Operation[]): number[] {
  return spansOf(operations, "checkpoint").flatMap((span) => {
    const files = syncsIn(operations, span, ".jsonl");
    const ends = [...syncsIn(operations, span, "state.sqlite"), span.to];
    const last = ends.flatMap(
      (end, at) => files.findLast((file) => file < end && file > (ends[at - 1] ?? 0)) ?? [],
    );
    return last.map((file) => file + 1);
  });
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function syncsIn(operations: readonly Operation[], { from, to }: Span, name: string): number[] {
  return operations
    .slice(from, to)
    .flatMap(({ op, path }, at) => (op === "sync" && path.endsWith(name) ? from + at : []));
}

/** From the word that a phase begins to the next one. */
function spansOf(operations: readonly Operation[], phase: Phase): Span[] {
  const words = operations.flatMap((operation, at) => {
    const now =
      operation.op === "said" ? /"now":"(\w+)"/.exec(Buffer.from(operation.bytes).toString()) : null;
    return now ? [{ at, now: now[1] }] : [];
  });
  return words.flatMap(({ at, now }, index) =>
    now === phase ? [{ from: at, to: words[index + 1]?.at ?? operations.length }] : [],
  );
}

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

  /** So many places for cuts, in their order: the steps of the recovery, if there are not too many, and any others. */
  places(count: number, random: Random): number[] {
    const steps = this.#steps();
    while (steps.length > Math.ceil(0.75 * count)) steps.splice(Math.floor(random() * steps.length), 1);
    const others = Array.from({ length: count - steps.length }, () => this.#somewhere(random));
    return [...steps, ...others].toSorted((a, b) => a - b);
  }

  /** Just after the state was synced: recovery has taken a step, and the next one not yet. The last is to be ready. */
  #steps(): number[] {
    const synced = this.lives.operations.flatMap(({ op, path }, at) =>
      op === "sync" && path.includes("state.sqlite") && this.isRecovery(at + 1) ? at + 1 : [],
    );
    return [...synced, this.#ready + 1];
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
