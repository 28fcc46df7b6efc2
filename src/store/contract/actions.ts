// What may happen to a store, at random. Numbers are small, so that things meet; most expectations are right, so
// that things happen. They are relative to what is there: agree.ts makes changes of them.

import * as fc from "fast-check";

const who = fc.nat(3);
const few = fc.nat(3);
const off = fc.oneof(
  { weight: 19, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(-2, -1, 1, 2) },
);

function rarely<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}

const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      who,
      parent: rarely(who),
      copy: rarely(fc.record({ of: who, from: few, through: few })),
      label: fc.constantFrom("Red", "red", "blue", null),
      keep: fc.constantFrom(true, true, true, false),
      reuse: rarely(fc.constant(true)),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      who,
      off,
      fenceOff: off,
      texts: fc.array(fc.constantFrom("hello", "Wörter", "", "🎉"), { minLength: 1, maxLength: 3 }),
      answer: rarely(fc.nat(9)), // of so many tokens
      back: rarely(few),
      idOff: off,
      contextBack: rarely(few),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("rotate" as const),
      who,
      off,
      fenceOff: off,
      keep: fc.constantFrom("context", "context", "nothing"),
      reuse: rarely(fc.constant(true)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("take" as const),
      who,
      from: rarely(who),
      fenceOff: off,
      count: few,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      who,
      fenceOff: off,
      state: fc.constantFrom("idle", "queued", "running", "waiting", "paused", "ended"),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("post" as const),
      to: fc.array(who, { minLength: 1, maxLength: 3 }),
      id: fc.nat(30),
      cause: fc.boolean(),
      other: rarely(fc.constant(true)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("signal" as const),
      who,
      signal: fc.constantFrom("none", "pause", "kill"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("revive" as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("set" as const),
      who,
      off,
      any: fc.boolean(),
      label: fc.constantFrom("Red", "green", null),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("charge" as const), who, amount: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("setTimer" as const),
      who,
      id: few,
      due: fc.nat(5),
      off,
      blind: rarely(fc.constant(true)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clearTimer" as const), id: few, off }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("send" as const), who, id: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      id: few,
      refused: fc.constantFrom(null, "no"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reroute" as const), who, fenceOff: off }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("archive" as const), who, off }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("restore" as const),
      which: few,
      off,
      blind: rarely(fc.constant(true)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("purge" as const), which: few }) },
);
export type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

/** What happens between two looks at the stores: time passes, somebody claims, an archive is packed or unpacked, and one commit is made. */
export const step = fc.record({
  passMs: fc.constantFrom(0, 0, 1, 600, 5_000),
  claim: rarely(fc.constantFrom("one", "two")),
  move: rarely(fc.record({ way: fc.constantFrom("pack" as const, "unpack" as const), which: few })),
  actions: fc.array(action, { minLength: 1, maxLength: 4 }),
});
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
