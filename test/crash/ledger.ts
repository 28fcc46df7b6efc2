// Ledger: what the workload said it tried, and what it was told was done. The store must agree with it.

import type { Change } from "../../src/store/change.ts";
import type { Accounts } from "./model.ts";

/** One commit. */
export interface Attempt {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Refused: it expects what is not so, and nothing of it may ever happen. */
  readonly fate: "accepted" | "refused";
}

/** One line of the workload's standard output. */
export type Said =
  | { readonly starting: true }
  | { readonly ready: true }
  | { readonly attempt: Attempt }
  | { readonly done: string }
  | { readonly refused: string; readonly why: string }
  | { readonly wrong: string } // it was told something that cannot be
  | { readonly now: "checkpoint" | "quiet" | "usual" } // what it is about, for whoever wants to kill it then
  | { readonly closed: true }
  | { readonly died: string };

export class Ledger {
  /** What stood at the last comparison. Everything in it must stay, whoever was told. */
  accounts: Accounts;
  /** Commits that led there. */
  settled: number;
  /** Since then, in their order. */
  readonly attempts = new Map<string, Attempt>();
  readonly acknowledged = new Set<string>();
  /** Nobody but the workload touches the home: what it tries is refused only where it meant to be. */
  readonly problems: string[] = [];
  readonly #doomed = new Set<string>(); // attempts that must be refused

  constructor(
    from: { readonly accounts: Accounts; readonly settled: number } = { accounts: new Map(), settled: 0 },
  ) {
    this.accounts = from.accounts;
    this.settled = from.settled;
  }

  get undecided(): number {
    return this.attempts.size - this.acknowledged.size;
  }

  /** What one process said, in whole lines: the last one may have been cut off with it. */
  hearOutput(output: string): void {
    for (const line of output.split("\n").slice(0, -1)) this.hear(JSON.parse(line) as Said);
  }

  hear(said: Said): void {
    if ("attempt" in said && said.attempt.fate === "refused") this.#doomed.add(said.attempt.name);
    else if ("attempt" in said) this.attempts.set(said.attempt.name, said.attempt);
    if ("done" in said && this.#doomed.has(said.done)) this.problems.push(`${said.done} was not refused`);
    else if ("done" in said) this.acknowledged.add(said.done);
    if ("refused" in said && !this.#doomed.has(said.refused)) {
      this.attempts.delete(said.refused); // nothing of it happened, or so they say
      this.problems.push(`${said.refused} was refused: ${said.why}`);
    }
    if ("wrong" in said) this.problems.push(said.wrong);
  }

  /** The comparison is made: what happened stays, of the rest nothing will. */
  settle(accounts: Accounts, happened: number): void {
    this.accounts = accounts;
    this.settled += happened;
    this.attempts.clear();
    this.acknowledged.clear();
  }
}
