import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { SimulatedWorld } from "../base/world.ts";
import type { Class } from "../mail/letter.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { CLASSES } from "../mail/urgency.ts";
import { ofEachClass, type Ask } from "./asking.ts";
import { Fair, type Grant, type SlotSettings } from "./fair.ts";

const PROVIDERS = ["one", "two", "free"] as const;

type Deed =
  | {
      readonly do: "ask";
      readonly class: Class;
      readonly root: number;
      readonly nice: number;
      readonly provider: string;
    }
  | {
      readonly do: "settle";
      readonly which: number;
      readonly spent: number | null;
      readonly isRefused: boolean;
    }
  | { readonly do: "withdraw"; readonly which: number }
  | { readonly do: "raise"; readonly which: number; readonly to: Class }
  | { readonly do: "refuse"; readonly provider: string; readonly retryAfterMs: number | null }
  | { readonly do: "pass"; readonly ms: number };

const aClass = fc.constantFrom(...CLASSES);
const aProvider = fc.constantFrom(...PROVIDERS);
const ask = fc.record({
  do: fc.constant("ask" as const),
  class: aClass,
  root: fc.nat(5),
  nice: fc.constantFrom(0, 0, -20, 5, 19),
  provider: aProvider,
});
const settle = fc.record({
  do: fc.constant("settle" as const),
  which: fc.nat(20),
  spent: fc.constantFrom(null, 0, 1, 700, 1e5),
  isRefused: fc.constantFrom(false, false, false, true),
});
const withdraw = fc.record({ do: fc.constant("withdraw" as const), which: fc.nat(20) });
const raise = fc.record({ do: fc.constant("raise" as const), which: fc.nat(20), to: aClass });
const refuse = fc.record({
  do: fc.constant("refuse" as const),
  provider: aProvider,
  retryAfterMs: fc.constantFrom(null, 0, 300, 9e9),
});
const pass = fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 200, 5_000, 90_000) });

const someSettings: fc.Arbitrary<SlotSettings> = fc.record({
  slots: fc.integer({ min: 1, max: 6 }),
  reserve: fc.nat(3),
  share: fc.integer({ min: 8, max: 12 }),
  providers: fc
    .record({ one: fc.integer({ min: 1, max: 3 }), two: fc.integer({ min: 1, max: 3 }) })
    .map((limits) => new Map(Object.entries(limits))),
});

/** A fair scheduler, everything that happens to it, and a plain count beside it of what it must not do. */
class Watched {
  readonly fair: Fair;
  readonly settings: SlotSettings;
  readonly waiting: Ask[] = [];
  readonly held: Grant[] = [];
  readonly #inARow = new Map<string, number>();
  readonly #passedAt = new Map<string, Record<Class, number>>();
  nowMs = 1_000_000;
  grants = 0;
  longest = 0; // that somebody was passed over in a row

  constructor(settings: SlotSettings) {
    this.settings = settings;
    this.fair = new Fair(settings);
    for (const each of PROVIDERS)
      this.#passedAt.set(
        each,
        ofEachClass(() => 0),
      );
  }

  do(deed: Deed): void {
    if (deed.do === "ask") {
      const root = namedKey(DEFAULT_AGENT, `root${deed.root}`);
      this.waiting.push(this.fair.ask({ ...deed, key: root, root }));
    } else if (deed.do === "settle") this.#settle(deed);
    else if (deed.do === "withdraw") {
      const ask = this.waiting.splice(deed.which % Math.max(1, this.waiting.length), 1)[0];
      if (ask) this.fair.withdraw(ask);
    } else if (deed.do === "raise") {
      const key = this.waiting[deed.which % Math.max(1, this.waiting.length)]?.asking.key;
      if (key) this.fair.raise(key, deed.to);
    } else if (deed.do === "refuse") {
      this.fair.provider(deed.provider).refused(deed.retryAfterMs, this.nowMs, 0.5);
    } else this.nowMs += deed.ms;
    this.#forgetWhoLeft();
    this.#grantAll();
  }

  /** Everything that runs ends, and pauses pass; whoever still waits then would wait for ever. */
  drain(): void {
    for (let round = 0; this.waiting.length + this.held.length > 0; round += 1) {
      assert.ok(round < 1_000, `a deadlock: ${JSON.stringify(this.fair.waiting())} wait`);
      const opensAtMs = this.fair.opensAtMs(this.nowMs);
      if (this.held.length > 0) this.do({ do: "settle", which: 0, spent: 10, isRefused: false });
      else if (opensAtMs !== null) this.do({ do: "pass", ms: opensAtMs - this.nowMs });
      else assert.fail("nobody runs, no provider has a pause, and yet somebody waits");
    }
  }

  #settle({ which, spent, isRefused }: Deed & { do: "settle" }): void {
    const grant = this.held.splice(which % Math.max(1, this.held.length), 1)[0];
    if (!grant) return;
    if (isRefused) this.fair.provider(grant.ask.asking.provider).refused(null, this.nowMs, 0.5);
    this.fair.settle(grant, spent);
  }

  #grantAll(): void {
    for (;;) {
      const ready = this.#ready();
      const held = this.fair.held();
      const grant = this.fair.next(this.nowMs);
      assert.equal(grant === null, ready.size === 0, "a slot is granted if and only if somebody is ready");
      if (grant === null) return;
      this.#check(grant, { ready, isBelowReserve: held.interactive < this.fair.reserved });
      this.waiting.splice(this.waiting.indexOf(grant.ask), 1);
      this.held.push(grant);
      this.grants += 1;
      this.#forgetWhoLeft();
      this.#checkBounds();
    }
  }

  #check(
    grant: Grant,
    before: { readonly ready: ReadonlyMap<Class, Ask>; readonly isBelowReserve: boolean },
  ): void {
    const { ready, isBelowReserve } = before;
    assert.equal(ready.get(grant.class), grant.ask, `the first of ${grant.class} goes`);
    const { provider } = grant.ask.asking;
    const isReserved = isBelowReserve && grant.class === "interactive";
    if (isBelowReserve && ready.has("interactive")) assert.equal(grant.class, "interactive");
    const mayGo = this.#mayGo(provider);
    for (const each of mayGo) this.#at(provider)[each] += 1;
    this.#at(provider)[grant.class] = 0;
    this.#noteWait(`${provider} `, mayGo, grant.class);
    if (!isReserved) this.#noteWait("", [...ready.keys()], grant.class);
  }

  /** Others go at most N - 1 times in a row before somebody who could have gone each time. */
  #noteWait(where: string, mayGo: readonly Class[], chosen: Class): void {
    for (const each of CLASSES) {
      const inARow = mayGo.includes(each) && each !== chosen ? (this.#inARow.get(where + each) ?? 0) + 1 : 0;
      this.#inARow.set(where + each, inARow);
      assert.ok(inARow < this.settings.share, `${where}${each} was not among ${this.settings.share} grants`);
      this.longest = Math.max(this.longest, inARow);
    }
  }

  #checkBounds(): void {
    const { slots, providers } = this.settings;
    const held = this.fair.held();
    const sum = CLASSES.reduce((sum, each) => sum + held[each], 0);
    assert.equal(sum, this.held.length);
    assert.ok(sum <= slots);
    assert.ok(sum - held.interactive <= slots - this.fair.reserved, "the reserve is for people");
    for (const { name, inFlight } of this.fair.providers()) {
      assert.equal(inFlight, this.held.filter(({ ask }) => ask.asking.provider === name).length);
      assert.ok(inFlight <= (providers.get(name) ?? slots));
    }
  }

  /** What fair.ts says that ready means, and who is first in each class, by looking at everybody. */
  #ready(): Map<Class, Ask> {
    const could: { readonly ask: Ask; readonly isOwed: boolean }[] = [];
    if (this.held.length >= this.settings.slots) return new Map();
    for (const provider of PROVIDERS) {
      if (!this.fair.provider(provider).isOpen(this.nowMs)) continue;
      const mayGo = this.#mayGo(provider);
      const most = Math.max(0, ...mayGo.map((each) => this.#at(provider)[each]));
      const owed = mayGo.find((each) => this.#at(provider)[each] === most);
      const isOwed = most >= this.settings.share - CLASSES.length;
      for (const ask of this.waiting)
        if (ask.asking.provider === provider && mayGo.includes(ask.class) && (!isOwed || ask.class === owed))
          could.push({ ask, isOwed });
    }
    could.sort(
      (one, other) =>
        Number(other.isOwed) - Number(one.isOwed) ||
        one.ask.account.time - other.ask.account.time ||
        one.ask.age - other.ask.age,
    );
    return new Map(could.reverse().map(({ ask }) => [ask.class, ask]));
  }

  #mayGo(provider: string): Class[] {
    const others = this.held.filter((grant) => grant.class !== "interactive").length;
    const isPermitted = others < this.settings.slots - this.fair.reserved;
    return CLASSES.filter((each) => (each === "interactive" || isPermitted) && this.#waits(each, provider));
  }

  /** Who comes to an empty line has not waited yet. */
  #forgetWhoLeft(): void {
    for (const each of CLASSES) {
      if (!this.waiting.some((ask) => ask.class === each)) this.#inARow.delete(each);
      for (const provider of PROVIDERS) {
        if (this.#waits(each, provider)) continue;
        this.#at(provider)[each] = 0;
        this.#inARow.delete(`${provider} ${each}`);
      }
    }
  }

  #waits(each: Class, provider: string): boolean {
    return this.waiting.some((ask) => ask.class === each && ask.asking.provider === provider);
  }

  #at(provider: string): Record<Class, number> {
    const at = this.#passedAt.get(provider);
    assert.ok(at);
    return at;
  }
}

test("whatever happens, nobody waits for ever, no bound is exceeded, and in the end all is as in the beginning", () => {
  const deed: fc.Arbitrary<Deed> = fc.oneof(
    { arbitrary: ask, weight: 8 },
    { arbitrary: settle, weight: 6 },
    { arbitrary: withdraw, weight: 1 },
    { arbitrary: raise, weight: 1 },
    { arbitrary: refuse, weight: 1 },
    { arbitrary: pass, weight: 2 },
  );
  let grants = 0;
  fc.assert(
    fc.property(someSettings, fc.array(deed, { maxLength: 50, size: "max" }), (settings, deeds) => {
      const watched = new Watched(settings);
      for (const each of deeds) watched.do(each);
      watched.drain();
      grants += watched.grants;
      const none = ofEachClass(() => 0);
      assert.deepEqual([watched.fair.waiting(), watched.fair.held(), watched.fair.inUse], [none, none, 0]);
      assert.ok(watched.fair.providers().every(({ inFlight }) => inFlight === 0));
      for (let root = 0; root <= 5; root += 1)
        assert.equal(watched.fair.standing(namedKey(DEFAULT_AGENT, `root${root}`)), null);
    }),
    { numRuns: 10_000 },
  );
  assert.ok(grants > 10_000, "something was granted");
});

test("under a load that never ends every ready class is granted within N, at every provider", () => {
  let longest = 0;
  fc.assert(
    fc.property(someSettings, fc.nat(), fc.array(aClass, { minLength: 1 }), (settings, seed, classes) => {
      const dice = new SimulatedWorld(seed);
      const roll = (below: number): number => Math.floor(dice.random() * below);
      const watched = new Watched(settings);
      for (let step = 0; step < 300; step += 1) {
        const provider = PROVIDERS[roll(PROVIDERS.length)] ?? "free";
        const asked = classes[roll(classes.length)] ?? "background";
        if (watched.waiting.length < 30)
          watched.do({ do: "ask", class: asked, root: roll(6), nice: 0, provider });
        else watched.do({ do: "settle", which: roll(20), spent: roll(1_000), isRefused: false });
      }
      longest = Math.max(longest, watched.longest);
      watched.drain();
    }),
    { numRuns: 150 },
  );
  assert.ok(longest >= 8 - CLASSES.length, "some class was passed over until it was its turn");
});

/** Runs roots that always have work, one step after the other, and says what part of all that was spent each got. */
function shares(slots: number, nices: readonly number[], costs: () => number): number[] {
  const fair = new Fair({ slots, reserve: 0, share: 8, providers: new Map() });
  const spent = nices.map(() => 0);
  const keys = nices.map((_, root) => namedKey(DEFAULT_AGENT, `root${root}`));
  const askAgain = (root: number): void => {
    const key = keys[root];
    if (key) fair.ask({ key, root: key, class: "delegated", nice: nices[root] ?? 0, provider: "any" });
  };
  for (let ahead = 0; ahead < slots; ahead += 1) nices.forEach((_, root) => askAgain(root));
  const held: Grant[] = [];
  for (let steps = 0; steps < 2_000; steps += 1) {
    for (let grant = fair.next(0); grant !== null; grant = fair.next(0)) {
      held.push(grant);
      askAgain(keys.indexOf(grant.ask.asking.root));
    }
    const over = held.shift();
    assert.ok(over);
    const cost = costs();
    const root = keys.indexOf(over.ask.asking.root);
    spent[root] = (spent[root] ?? 0) + cost;
    fair.settle(over, cost);
  }
  const all = spent.reduce((sum, each) => sum + each, 0);
  return spent.map((each) => each / all);
}

function isNear(actual: number | undefined, expected: number): void {
  assert.ok(actual !== undefined && Math.abs(actual / expected - 1) < 0.1, `${actual}, expected ${expected}`);
}

test("roots that always have work get what their nice says, however their steps differ in cost", () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(1, 2, 5), fc.nat(10), (seed, slots, nice) => {
      const dice = new SimulatedWorld(seed);
      const costs = (): number => 1 + Math.floor(dice.random() ** 3 * 20_000);
      for (const each of shares(slots, [nice, nice], costs)) isNear(each, 1 / 2);
      const [meek, plain] = shares(slots, [5, 0], costs);
      isNear(meek, 0.247);
      isNear(plain, 0.753);
      for (const each of shares(slots, [0, 0, 0, 0], costs)) isNear(each, 1 / 4);
    }),
    { numRuns: 40 },
  );
});
