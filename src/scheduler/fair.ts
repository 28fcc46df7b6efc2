// Fair
//
// Whose step is next. A slot is the right to one model call (or one process of a tool); it is taken for one step.
//
//   Owns:      who waits, who holds a slot, what each root was charged, how often a class was passed over.
//   Does not:  have a clock, a timer or a promise (slots.ts), or decide what class an ask is of.
//
// A class is *ready* when one of its asks could be granted now: a slot is free, the reserve permits, the ask's provider
// takes calls and is not owed to another class (F4).
//
// Invariants
//   F1. At most `slots` are held, at most a provider's own number of its calls, none of one that has a pause.
//   F2. `reserved` = min(reserve, slots - 1) slots are for people: all other classes together hold at most the rest. A grant
//       to interactive while it holds fewer than that is a *reserved* grant, and goes before all others.
//   F3. A class that stays ready is granted within N = `share` unreserved grants; otherwise the highest ready class goes.
//       Proof: after N - 4 grants to others its count is N - 4, and from then on only a class with at least its count goes
//       before it. Each of the three others does so at most once, as it then starts at zero and stays behind: N - 1 at most.
//   F4. The same bound holds at each provider, over all grants of its calls: a class with an ask that is passed over there N - 4
//       times is *owed* the next call, so nobody else gets it while that class may go. Without this, a class whose grants
//       all went to other providers could wait for ever at one that people keep busy. The proof is that of F3.
//   F5. Within a class the root with the smallest virtual time goes next, within a root the oldest ask; asks whose provider
//       takes no calls are stepped over. Nothing here is ever moved past its class.
//   F6. One grant costs O(providers + log waiting).

import { assert } from "../base/assert.ts";
import type { Class } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import { Accounts, averaged, bounded, weightOf, type Account } from "./accounts.ts";
import { CLASSES } from "../mail/urgency.ts";
import { ofEachClass, type Ask, type Asking } from "./asking.ts";
import { Desk, goesBefore } from "./desk.ts";
import { Provider } from "./provider.ts";

export interface SlotSettings {
  readonly slots: number;
  readonly reserve: number;
  readonly share: number; //                           the N of F3
  readonly providers: ReadonlyMap<string, number>; //  calls in flight, for each provider that has a limit of its own
}

/** One who holds a slot. */
export interface Grant {
  readonly ask: Ask;
  readonly class: Class;
  readonly weight: number;
  readonly estimate: number;
  readonly round: number;
}

/** What stands between an ask and a slot, for the words of why.ts. */
export interface Standing {
  readonly class: Class;
  readonly provider: Provider;
  readonly free: number; //                            slots
  readonly isReserveInTheWay: boolean;
  readonly waiting: Readonly<Record<Class, number>>;
}

/** One class as a whole. */
interface Tier {
  readonly accounts: Accounts;
  waiting: number;
  held: number;
  passed: number; // unreserved grants that others got while this class was ready; F3
}

/** The one who would go if its class does. */
interface Ready {
  readonly desk: Desk;
  readonly ask: Ask;
  readonly isOwed: boolean;
}

export class Fair {
  readonly settings: SlotSettings;
  readonly reserved: number;
  readonly #overdueAt: number;
  readonly #tiers = ofEachClass<Tier>(() => ({
    accounts: new Accounts(),
    waiting: 0,
    held: 0,
    passed: 0,
  }));
  readonly #desks = new Map<string, Desk>();
  readonly #asks = new Map<SessionKey, Set<Ask>>();
  #age = 0;
  #average: number | null = null; // of all measured costs

  constructor(settings: SlotSettings) {
    const { slots, reserve, share } = settings;
    assert(slots >= 1 && reserve >= 0, "there is a slot");
    assert(share >= 2 * CLASSES.length, "a class is not overdue before all others had a turn");
    this.settings = settings;
    this.reserved = Math.min(reserve, slots - 1);
    this.#overdueAt = share - CLASSES.length;
  }

  ask(asking: Asking): Ask {
    this.#age += 1;
    const account = this.#tiers[asking.class].accounts.wait(asking.root);
    const ask: Ask = { asking, age: this.#age, class: asking.class, account };
    this.#enter(ask);
    const ofKey = this.#asks.get(asking.key);
    if (ofKey) ofKey.add(ask);
    else this.#asks.set(asking.key, new Set([ask]));
    return ask;
  }

  /** It waits no more. Others may be ready now: what was owed to it is not. */
  withdraw(ask: Ask): void {
    this.#exit(ask);
    this.#tiers[ask.class].accounts.leave(ask.account);
    this.#forget(ask);
  }

  /** Somebody more urgent waits for this session: its asks move up to that class, never down, and keep their age. */
  raise(key: SessionKey, to: Class): void {
    for (const ask of this.#asks.get(key) ?? []) {
      if (CLASSES.indexOf(to) >= CLASSES.indexOf(ask.class)) continue;
      this.#exit(ask);
      this.#tiers[ask.class].accounts.leave(ask.account);
      ask.class = to;
      ask.account = this.#tiers[to].accounts.wait(ask.asking.root);
      this.#enter(ask);
    }
  }

  /** Grants one slot. Null: nobody is ready. Called until it says so, after everything that happens here. */
  next(nowMs: number): Grant | null {
    if (this.inUse >= this.settings.slots) return null;
    const ready = this.#ready(nowMs);
    const isReserved = ready.has("interactive") && this.#tiers.interactive.held < this.reserved;
    const chosen = isReserved ? "interactive" : this.#choose([...ready.keys()]);
    const going = chosen && ready.get(chosen);
    if (!going) return null;
    if (!isReserved) for (const each of ready.keys()) this.#tiers[each].passed += 1;
    this.#tiers[chosen].passed = 0;
    going.desk.count(this.#mayGo(going.desk), chosen);
    return this.#grant(going);
  }

  /** The step is over. `spent` is what it cost; null: nobody knows. Once for each grant. */
  settle(grant: Grant, spent: number | null): void {
    const { ask, weight, estimate } = grant;
    const cost = bounded(spent);
    if (cost !== null) this.#average = averaged(this.#average, cost);
    const tier = this.#tiers[grant.class];
    tier.held -= 1;
    tier.accounts.settle(ask.account, weight, { estimate, cost });
    this.#desk(ask.asking.provider).provider.back(grant.round);
    this.#reorder(ask.account, grant.class);
  }

  /** The provider answers this one. */
  works({ ask, round }: Grant): void {
    this.provider(ask.asking.provider).works(round);
  }

  provider(name: string): Provider {
    return this.#desk(name).provider;
  }

  providers(): Provider[] {
    return [...this.#desks.values()].map(({ provider }) => provider);
  }

  /** When the first provider ends its pause that somebody waits for and could get a slot for. Null: no pause is in the way. */
  opensAtMs(nowMs: number): number | null {
    if (this.inUse >= this.settings.slots) return null;
    const ends = [...this.#desks.values()]
      .filter((desk) => this.#mayGo(desk).length > 0)
      .map(({ provider }) => provider.coolsForMs(nowMs))
      .filter((leftMs) => leftMs > 0);
    return ends.length === 0 ? null : nowMs + Math.min(...ends);
  }

  get inUse(): number {
    return CLASSES.reduce((sum, each) => sum + this.#tiers[each].held, 0);
  }

  /** By class. */
  waiting(): Record<Class, number> {
    return ofEachClass((each) => this.#tiers[each].waiting);
  }

  /** By class. */
  held(): Record<Class, number> {
    return ofEachClass((each) => this.#tiers[each].held);
  }

  /** Of a session's oldest ask; null: it does not wait. */
  standing(key: SessionKey): Standing | null {
    const [ask] = this.#asks.get(key) ?? [];
    if (!ask) return null;
    return {
      class: ask.class,
      provider: this.provider(ask.asking.provider),
      free: this.settings.slots - this.inUse,
      isReserveInTheWay: !this.#isPermitted(ask.class),
      waiting: this.waiting(),
    };
  }

  /** The ready classes, in their order, and who would go for each: what it is owed, else who has the smallest time (F5). */
  #ready(nowMs: number): Map<Class, Ready> {
    const found = new Map<Class, Ready>();
    for (const desk of this.#desks.values()) {
      if (!desk.provider.isOpen(nowMs)) continue;
      const mayGo = this.#mayGo(desk);
      const owed = this.#overdue(mayGo, (each) => desk.passed(each));
      for (const each of owed === null ? mayGo : [owed]) {
        const ask = desk.first(each);
        const best = found.get(each);
        const here = ask && { desk, ask, isOwed: owed !== null };
        if (here && (!best || isSooner(here, best))) found.set(each, here);
      }
    }
    return new Map(CLASSES.flatMap((each) => entry(each, found.get(each))));
  }

  /** Classes with an ask for this provider that the reserve permits. */
  #mayGo(desk: Desk): Class[] {
    return CLASSES.filter((each) => desk.first(each) !== null && this.#isPermitted(each));
  }

  #isPermitted(asked: Class): boolean {
    if (asked === "interactive") return true;
    return this.inUse - this.#tiers.interactive.held < this.settings.slots - this.reserved;
  }

  #choose(ready: readonly Class[]): Class | null {
    return this.#overdue(ready, (each) => this.#tiers[each].passed) ?? ready[0] ?? null;
  }

  /** The class that was passed over most, if that is too often; of two the higher. Null: none was. */
  #overdue(classes: readonly Class[], passedOf: (each: Class) => number): Class | null {
    let most: Class | null = null;
    for (const each of classes) {
      if (passedOf(each) < this.#overdueAt) continue;
      if (most === null || passedOf(each) > passedOf(most)) most = each;
    }
    return most;
  }

  #grant({ ask, desk }: Ready): Grant {
    this.#exit(ask);
    this.#forget(ask);
    const tier = this.#tiers[ask.class];
    const weight = weightOf(ask.asking.nice);
    const estimate = tier.accounts.grant(ask.account, weight, this.#average);
    tier.held += 1;
    this.#reorder(ask.account, ask.class);
    return { ask, class: ask.class, weight, estimate, round: desk.provider.out() };
  }

  #enter(ask: Ask): void {
    this.#desk(ask.asking.provider).enter(ask);
    this.#tiers[ask.class].waiting += 1;
  }

  /** When nobody of its class is left, what the class was owed is forgotten: who comes later has not waited. */
  #exit(ask: Ask): void {
    this.#desk(ask.asking.provider).exit(ask);
    const tier = this.#tiers[ask.class];
    tier.waiting -= 1;
    if (tier.waiting === 0) tier.passed = 0;
  }

  /** Its time has changed, and with it its place wherever it waits. */
  #reorder(account: Account, of: Class): void {
    if (account.waiting === 0) return;
    for (const desk of this.#desks.values()) desk.reorder(account, of);
  }

  #forget(ask: Ask): void {
    const ofKey = this.#asks.get(ask.asking.key);
    ofKey?.delete(ask);
    if (ofKey?.size === 0) this.#asks.delete(ask.asking.key);
  }

  /** There are as many as the configuration names, so none is ever removed. */
  #desk(name: string): Desk {
    const known = this.#desks.get(name);
    if (known) return known;
    const desk = new Desk(new Provider(name, this.settings.providers.get(name) ?? null));
    this.#desks.set(name, desk);
    return desk;
  }
}

function entry(each: Class, ready: Ready | undefined): [Class, Ready][] {
  return ready ? [[each, ready]] : [];
}

function isSooner(one: Ready, other: Ready): boolean {
  return one.isOwed === other.isOwed ? goesBefore(one.ask, other.ask) : one.isOwed;
}
