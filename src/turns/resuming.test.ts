import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { SimulatedWorld } from "../base/world.ts";
import { Bus } from "../events/bus.ts";
import { RESUMES_MAX, SUSPECT_ALONE_MS } from "../limits.ts";
import { Held } from "../sessions/held.ts";
import { Corner } from "../store/contract/corner.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Change } from "../store/change.ts";
import type { Body } from "../transcript/entry.ts";
import { givenUp, isSuspect, resumedNote, Suspects } from "./resuming.ts";
import { openTurn } from "./where.ts";

const WORTH: Body = { type: "custom", customType: "sessiond/test", data: "something came of it" };

/** Sessions with an open turn each, whose suspects wait for one another. */
class Room {
  readonly world = new SimulatedWorld(1);
  readonly suspects = new Suspects();
  readonly order: string[] = [];
  readonly #at: Corner;

  constructor() {
    const nothing = async (): Promise<void> => {};
    const store = new MemoryStore(this.world);
    this.#at = new Corner({ store, world: this.world, reopen: nothing, sweep: nothing, close: nothing });
  }

  async hold(name: string): Promise<Held> {
    const { store } = this.#at;
    const key = await this.#at.open(name);
    const commit = (changes: readonly Change[]) => store.commit(changes);
    const row = await this.#at.row(key);
    const held = new Held({ store, commit, bus: new Bus(), world: this.world }, { key, fence: 0 }, row);
    const data = { turn: name, class: "delegated" };
    await held.commit({ entries: [{ type: "custom", customType: "sessiond/turn-started", data }] });
    return held;
  }

  /** Tries it; what it does before others may is written down under its name. */
  async enter(name: string, held: Held, signal = new AbortController().signal): Promise<void> {
    const write = (): Promise<void> => held.commit({ entries: [resumedNote(name, "restarted", true)] });
    await this.suspects.tried(this.world, { held, turn: name, write, signal });
    this.order.push(name);
  }
}

/** What the next process would find. */
async function left(held: Held): Promise<readonly [number, boolean]> {
  const open = openTurn(await held.entries());
  return [open?.resumes ?? 0, open?.diedAlone ?? false];
}

describe("suspects", () => {
  test("are tried one at a time, in the order in which they came, each when something came of the one before", async () => {
    const room = new Room();
    const all = await Promise.all(["a", "b", "c"].map((name) => room.hold(name)));
    const entered = ["a", "b", "c"].map((name, at) => room.enter(name, all[at] as Held));
    for (const [at, held] of all.entries()) {
      await entered[at];
      await settle();
      assert.deepEqual(room.order, ["a", "b", "c"].slice(0, at + 1));
      const found = await Promise.all(all.map((each) => left(each)));
      assert.equal(found.filter(([, diedAlone]) => diedAlone).length, 1, "who dies now died alone");
      await held.commit({ entries: [WORTH] });
      await settle();
    }
    assert.deepEqual(
      await Promise.all(all.map(left)),
      Array.from({ length: 3 }, () => [0, false]),
    );
    assert.equal(room.world.step(), false, "nobody waits any more");
  });

  test("that take long go on, and it is written down that they are not alone before the next is tried", async () => {
    const room = new Room();
    const [a, b] = [await room.hold("a"), await room.hold("b")];
    await room.enter("a", a);
    const next = room.enter("b", b);
    await settle();
    assert.deepEqual(room.order, ["a"]);
    const before = room.world.nowMs();
    assert.ok(room.world.step());
    assert.equal(room.world.nowMs(), before + SUSPECT_ALONE_MS);
    await next;
    assert.deepEqual(await left(a), [1, false], "the next death is not its fault alone");
    assert.deepEqual(await left(b), [1, true]);
    const whys = (await a.entries()).flatMap((entry) =>
      entry.type === "custom" && entry.customType === "sessiond/turn-resumed"
        ? [(entry.data as { readonly why: string }).why]
        : [],
    );
    assert.deepEqual(whys, ["restarted", "not alone"]);
  });

  test("that give up waiting, or cannot be written down, do not keep the others", async () => {
    const room = new Room();
    const [a, b, c, d] = await Promise.all(["a", "b", "c", "d"].map((name) => room.hold(name)));
    await room.enter("a", a as Held);
    const off = new AbortController();
    const gone = room.enter("b", b as Held, off.signal);
    const reason = new Error("the gateway stops");
    off.abort(reason);
    await assert.rejects(gone, (error) => error === reason);
    const write = (): Promise<void> => Promise.reject(new Error("the disk is full"));
    const { signal } = new AbortController();
    const refused = room.suspects.tried(room.world, { held: c as Held, turn: "c", write, signal });
    const last = room.enter("d", d as Held);
    refused.catch(() => {});
    await settle();
    assert.deepEqual(room.order, ["a"], "giving up lets nobody in before their turn");
    await (a as Held).commit({ entries: [WORTH] });
    await assert.rejects(refused, /the disk is full/);
    await last;
    assert.deepEqual(room.order, ["a", "d"]);
  });

  test("whose session is lost meanwhile let in the next", async () => {
    const room = new Room();
    const [a, b] = [await room.hold("a"), await room.hold("b")];
    await room.enter("a", a);
    const next = room.enter("b", b);
    a.commit = () => Promise.reject(new Error("somebody else owns it now"));
    room.world.step();
    await next;
    assert.deepEqual(room.order, ["a", "b"]);
  });
});

describe("a turn that was cut off", () => {
  test("is a suspect when it had been gone on with before and nothing came of it", () => {
    assert.equal(isSuspect({ resumes: 0 }), false);
    assert.equal(isSuspect({ resumes: 1 }), true);
  });

  test("is given up when it was alone, or after many times; why and what to do is said", () => {
    const words =
      /^the process died 3 times at this point of the turn.*; to try again, send the message again$/;
    assert.match(givenUp({ resumes: 2, diedAlone: true }) ?? "", words);
    assert.match(
      givenUp({ resumes: 2, diedAlone: true }) ?? "",
      /the last time while no other was being tried/,
    );
    for (let resumes = 0; resumes < RESUMES_MAX; resumes += 1)
      assert.equal(givenUp({ resumes, diedAlone: false }), null);
    const many = givenUp({ resumes: RESUMES_MAX, diedAlone: false });
    assert.match(many ?? "", new RegExp(`died ${RESUMES_MAX + 1} times`));
    assert.doesNotMatch(many ?? "", /no other/);
  });
});
