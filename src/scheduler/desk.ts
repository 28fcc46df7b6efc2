import { assert } from "../base/assert.ts";
import type { Class } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Account } from "./accounts.ts";
import { ofEachClass, type Ask } from "./asking.ts";
import { Heap } from "./heap.ts";
import type { Provider } from "./provider.ts";

/** The asks of one root, in one class, for one provider. There is at least one. */
interface Queue {
  readonly account: Account;
  readonly asks: Heap<Ask>;
}

/** Those of one class who wait for one provider. */
interface Line {
  readonly queues: Map<SessionKey, Queue>;
  readonly order: Heap<Queue>;
  passed: number; // calls of this provider that others got while this line could have gone
}

/** A provider and those who wait for it: by class, then by the virtual time of their root, then by age. */
export class Desk {
  readonly provider: Provider;
  readonly #lines = ofEachClass<Line>(() => ({ queues: new Map(), order: new Heap(isFirst), passed: 0 }));

  constructor(provider: Provider) {
    this.provider = provider;
  }

  enter(ask: Ask): void {
    const { queues, order } = this.#lines[ask.class];
    const { account } = ask;
    const known = queues.get(account.root);
    const queue = known ?? { account, asks: new Heap<Ask>(isOlder) };
    queue.asks.add(ask);
    if (known) return order.moved(known); // one that was raised may be older than all of them
    queues.set(account.root, queue);
    order.add(queue);
  }

  /** When nobody of its class is left, what the class was owed here is forgotten: who comes later has not waited. */
  exit(ask: Ask): void {
    const line = this.#lines[ask.class];
    const queue = line.queues.get(ask.account.root);
    assert(queue !== undefined, "who leaves has waited");
    queue.asks.remove(ask);
    if (queue.asks.size > 0) return line.order.moved(queue);
    line.order.remove(queue);
    line.queues.delete(ask.account.root);
    if (line.order.size === 0) line.passed = 0;
  }

  /** The account's time has changed, and so has its place. */
  reorder(account: Account, of: Class): void {
    const queue = this.#lines[of].queues.get(account.root);
    if (queue) this.#lines[of].order.moved(queue);
  }

  /** Null: nobody of this class waits here. */
  first(of: Class): Ask | null {
    return this.#lines[of].order.first()?.asks.first() ?? null;
  }

  passed(of: Class): number {
    return this.#lines[of].passed;
  }

  /** One call goes to one of the classes that could have had it. */
  count(mayGo: readonly Class[], chosen: Class): void {
    for (const each of mayGo) this.#lines[each].passed += 1;
    this.#lines[chosen].passed = 0;
  }
}

/** Between asks of any roots in one class. */
export function goesBefore(one: Ask, other: Ask): boolean {
  if (one.account.time !== other.account.time) return one.account.time < other.account.time;
  return isOlder(one, other);
}

function isFirst(one: Queue, other: Queue): boolean {
  const [mine, theirs] = [one.asks.first(), other.asks.first()];
  return mine !== null && theirs !== null && goesBefore(mine, theirs);
}

function isOlder(one: Ask, other: Ask): boolean {
  return one.age < other.age;
}
