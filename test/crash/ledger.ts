// Ledger: what the workload said it tried, and what it was told was done. The store must agree with it.

import type { SessionKey } from "../../src/routing/key.ts";

/** Something that one commit leaves behind and that can be looked for afterwards. */
export type Mark =
  | { readonly opened: SessionKey }
  | { readonly gone: SessionKey }
  | { readonly entry: string; readonly in: SessionKey }
  | { readonly copied: number; readonly of: SessionKey; readonly in: SessionKey }
  | { readonly turn: string; readonly in: SessionKey }
  | { readonly blob: string; readonly in: SessionKey }
  | { readonly letter: string }
  | { readonly taken: string };

export interface Attempt {
  readonly name: string;
  readonly marks: readonly Mark[];
}

/** One line of the workload's standard output. */
export type Said =
  | { readonly ready: true }
  | { readonly attempt: Attempt }
  | { readonly done: string }
  | { readonly refused: string; readonly why: string }
  | { readonly closed: true }
  | { readonly died: string };

export class Ledger {
  /** In the order of the attempts. */
  readonly attempts = new Map<string, Attempt>();
  readonly acknowledged = new Set<string>();
  /** Nobody but the workload touches the home, so nothing of what it tries may be refused. */
  readonly refusals: string[] = [];

  hear(said: Said): void {
    if ("attempt" in said) this.attempts.set(said.attempt.name, said.attempt);
    if ("done" in said) this.acknowledged.add(said.done);
    if ("refused" in said) this.refusals.push(`${said.refused} was refused: ${said.why}`);
  }

  /** Whole lines only: the last one may have been cut off with the process. */
  hearOutput(output: string): void {
    for (const line of output.split("\n").slice(0, -1)) this.hear(JSON.parse(line) as Said);
  }
}
