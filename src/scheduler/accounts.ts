import type { SessionKey } from "../routing/key.ts";
import { Heap } from "./heap.ts";

/**
 * Roots without anything waiting or running whose account is kept, in each class. Beyond it the one with the smallest
 * time goes: mostly that is at or below the floor, and costs a good estimate of its next step. Else it is forgiven the
 * little it owes more than others, so with so many roots awake in turns the oldest debts are not collected.
 */
const RESTING_ACCOUNTS_MAX = 4_096;

/** The cost of one grant, at least and at most. Who costs nothing would never be charged, and the others would wait for ever. */
const COST_MIN = 1;
const COST_MAX = 1e9;

/** How much of the average the newest cost makes: the last dozen or so count. */
const NEWEST_PART = 1 / 8;

/** What one root owes within one class. */
export interface Account {
  readonly root: SessionKey;
  time: number; //             virtual: what it was charged, divided by weight
  waiting: number; //          asks
  running: number; //          grants not yet settled
  average: number | null; //   of what its grants cost; null: none was measured yet
}

/** How much a session gets of what it shares with others: a step of one is a quarter more or less. */
export function weightOf(nice: number): number {
  return 1.25 ** -nice;
}

/** Averages are of measured costs only; one that nobody knows says nothing about the next. */
export function averaged(average: number | null, cost: number): number {
  return average === null ? cost : average + (cost - average) * NEWEST_PART;
}

/** Null: nobody knows. */
export function bounded(cost: number | null): number | null {
  return cost === null || Number.isNaN(cost) ? null : Math.min(Math.max(cost, COST_MIN), COST_MAX);
}

/**
 * The virtual times of one class's roots. Who has the smallest goes next, so roots that always want something get the
 * same amount per weight.
 *
 * A root that wakes starts at its own time or at the floor, whichever is later: a session between two steps does not
 * forget what it owes, and one that was idle has not saved anything up. The floor is the smallest time of those awake,
 * and it never falls. It also rises by what each awake root would have got of every cost (as the mean of their times
 * does), up to the time of who was charged: else an endless row of new roots, each starting at the same smallest time,
 * would keep an older one waiting for ever.
 */
export class Accounts {
  readonly #all = new Map<SessionKey, Account>();
  readonly #awake = new Heap<Account>(isEarlier); // with something waiting or running
  readonly #resting = new Heap<Account>(isEarlier);
  #floor = 0;

  /** One more ask waits. */
  wait(root: SessionKey): Account {
    const account = this.#all.get(root) ?? this.#open(root);
    if (account.waiting + account.running === 0) this.#wake(account);
    account.waiting += 1;
    return account;
  }

  /** One ask waits no more. */
  leave(account: Account): void {
    account.waiting -= 1;
    this.#restIfIdle(account);
  }

  /** One ask is granted, and charged by estimate: its root's average, or that of all. Returns the estimate. */
  grant(account: Account, weight: number, averageOfAll: number | null): number {
    const estimate = account.average ?? averageOfAll ?? COST_MIN;
    account.waiting -= 1;
    account.running += 1;
    account.time += estimate / weight;
    this.#awake.moved(account);
    return estimate;
  }

  /** One grant is over. `cost` is null when nobody knows: then the estimate stands. */
  settle(
    account: Account,
    weight: number,
    charged: { readonly estimate: number; readonly cost: number | null },
  ): void {
    const { estimate, cost } = charged;
    account.running -= 1;
    if (cost !== null) {
      account.time += (cost - estimate) / weight;
      account.average = averaged(account.average, cost);
      this.#awake.moved(account);
    }
    const share = (cost ?? estimate) / weight / this.#awake.size;
    this.#floor = Math.max(this.#floor, Math.min(this.#floor + share, account.time));
    this.#restIfIdle(account);
  }

  #open(root: SessionKey): Account {
    const account: Account = { root, time: 0, waiting: 0, running: 0, average: null };
    this.#all.set(root, account);
    return account;
  }

  #wake(account: Account): void {
    this.#resting.remove(account);
    this.#floor = Math.max(this.#floor, this.#awake.first()?.time ?? 0);
    account.time = Math.max(account.time, this.#floor);
    this.#awake.add(account);
  }

  #restIfIdle(account: Account): void {
    if (account.waiting + account.running > 0) return;
    this.#awake.remove(account);
    this.#resting.add(account);
    const smallest = this.#resting.first();
    if (this.#resting.size <= RESTING_ACCOUNTS_MAX || smallest === null) return;
    this.#resting.remove(smallest);
    this.#all.delete(smallest.root);
  }
}

function isEarlier(one: Account, other: Account): boolean {
  return one.time < other.time;
}
