import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { Slots, type Asking, type Slot } from "./slots.ts";

const never = new AbortController().signal;

function asking(name: string): Asking {
  const key = namedKey(DEFAULT_AGENT, name);
  return { key, root: key, class: "interactive", nice: 0 };
}

test("slots are given in the order of asking", async () => {
  const slots = new Slots(1);
  const first = await slots.take(asking("first"), never);
  const got: string[] = [];
  for (const name of ["a", "b", "c"])
    void slots.take(asking(name), never).then((slot) => {
      got.push(name);
      slot.giveBack();
    });
  await settle();
  assert.deepEqual(got, []);
  assert.deepEqual(
    ["first", "a", "b", "c"].map((name) => slots.inFrontOf(asking(name).key)),
    [null, 0, 1, 2],
  );
  first.giveBack();
  await settle();
  assert.deepEqual(got, ["a", "b", "c"]);
  assert.equal(slots.inFrontOf(asking("c").key), null);
});

test("whoever gives up leaves the queue as it was for the others", async () => {
  const slots = new Slots(1);
  const first = await slots.take(asking("first"), never);
  const impatient = new AbortController();
  const [a, b, c] = ["a", "b", "c"].map((name) =>
    slots.take(asking(name), name === "b" ? impatient.signal : never),
  );
  impatient.abort(new Error("enough"));
  await assert.rejects(async () => await b, /enough/);
  assert.equal(slots.inFrontOf(asking("b").key), null);
  assert.equal(slots.inFrontOf(asking("c").key), 1);
  first.giveBack();
  (await a)?.giveBack();
  (await c)?.giveBack();
  await assert.rejects(slots.take(asking("d"), AbortSignal.abort(new Error("before"))), /before/);
  await slots.take(asking("e"), never);
});

test("a slot that was granted is not lost when its taker gives up in the same moment", async () => {
  const slots = new Slots(1);
  const first = await slots.take(asking("first"), never);
  const giving = new AbortController();
  const granted = slots.take(asking("a"), giving.signal);
  const behind = slots.take(asking("b"), never);
  first.giveBack();
  giving.abort(new Error("too late"));
  assert.equal(slots.inFrontOf(asking("b").key), 0, "who waits behind it waits on");
  (await granted).giveBack();
  await behind;
});

test("a slot given back twice counts once", async () => {
  const slots = new Slots(1);
  const slot = await slots.take(asking("a"), never);
  slot.giveBack();
  slot.giveBack();
  await slots.take(asking("b"), never);
  let isThird = false;
  void slots.take(asking("c"), never).then(() => (isThird = true));
  await settle();
  assert.equal(isThird, false);
});

test("there are never more slots out than there are, and never one idle while somebody waits", async () => {
  const deed = fc.oneof(
    fc.constant({ do: "take" as const }),
    fc.record({ do: fc.constantFrom("giveBack" as const, "giveUp" as const), which: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(deed, { maxLength: 60 }),
      async (cap, deeds) => {
        const slots = new Slots(cap);
        const out: { readonly n: number; readonly slot: Slot }[] = [];
        const waiting = new Map<number, AbortController>();
        const expected: number[] = []; // who waits, in the order of asking
        for (const [n, what] of deeds.entries()) {
          if (what.do === "take") {
            const giveUp = new AbortController();
            waiting.set(n, giveUp);
            expected.push(n);
            slots.take(asking(String(n)), giveUp.signal).then(
              (slot) => {
                assert.equal(expected.shift(), n, "first come, first served");
                waiting.delete(n);
                out.push({ n, slot });
              },
              () => waiting.delete(n),
            );
          } else if (what.do === "giveBack") {
            out.splice(what.which % Math.max(1, out.length), 1)[0]?.slot.giveBack();
          } else {
            const [n, giveUp] = [...waiting][what.which % Math.max(1, waiting.size)] ?? [];
            if (n !== undefined) expected.splice(expected.indexOf(n), 1);
            giveUp?.abort(new Error("given up"));
          }
          await settle();
          assert.ok(out.length <= cap);
          assert.ok(waiting.size === 0 || out.length === cap);
        }
      },
    ),
  );
});
