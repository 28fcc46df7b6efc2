import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { z } from "zod";
import { checked } from "./tool.ts";

const schema = z.strictObject({
  name: z.string().min(1).max(8).optional(),
  kind: z.enum(["one", "two"]).nullable().optional(),
  size: z.int().min(1).max(9).default(1),
  price: z.number().positive().optional(),
  seen: z.boolean().optional(),
  note: z.string().nullable().optional(),
  within: z.strictObject({ tokens: z.int().optional(), names: z.array(z.string().max(3)).max(2) }).optional(),
  short: z.string().min(3, "say a little more").optional(),
});

async function problems(input: unknown, of: Parameters<typeof checked>[0] = schema): Promise<string> {
  const found = await checked(of, input);
  return "problems" in found ? found.problems : "none";
}

const CASES: readonly (readonly [input: unknown, words: string])[] = [
  [{}, "none"],
  [[], "the input: an object, not a list"],
  [{ name: "" }, 'name: a text of 1 to 8 characters, not ""'],
  [{ kind: "three" }, 'kind: one of one, two, or null, not "three"'],
  [{ size: 10 }, "size: a whole number from 1 to 9, not 10"],
  [{ size: 1.5 }, "size: a whole number from 1 to 9, not 1.5"],
  [{ price: 0 }, "price: a number above 0, not 0"],
  [{ seen: "yes" }, 'seen: true or false, not "yes"'],
  [{ note: 1 }, "note: a text, or null, not 1"],
  [{ within: { names: [], tokens: "x" } }, 'within.tokens: a whole number, not "x"'],
  [{ within: {} }, "within.names: a list of at most 2 items; it is missing"],
  [{ within: { names: ["a", "long"] } }, 'within.names.1: a text of at most 3 characters, not "long"'],
  [{ within: { names: ["a", "b", "c"] } }, "within.names: a list of at most 2 items, not a list"],
  [{ within: { names: [], tokns: 1 } }, 'within: "tokns" is not known here; did you mean tokens?'],
  [{ nmae: "x" }, '"nmae" is not known here; did you mean name?'],
  [{ short: "a" }, "short: say a little more"],
];

for (const [input, words] of CASES)
  test(`${JSON.stringify(input)} is told: ${words}`, async () => {
    assert.equal(await problems(input), words);
  });

test("of many problems some are told, and how many there are", async () => {
  const many = z.object(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`field${n}`, z.string()])));
  assert.match(await problems({}, many), /^field0: a text; it is missing; .*; and 3 more$/);
});

test("another library says it in its own words", async () => {
  assert.match(await problems({ size: "x" }, v.object({ size: v.number() })), /^size: .*number/);
});
