import assert from "node:assert/strict";
import { test } from "node:test";
import {
  count,
  ifGiven,
  listOf,
  mustFit,
  name,
  oneOf,
  orNull,
  record,
  text,
  variant,
  type Check,
} from "./fits.ts";

function words(check: Check, value: unknown): string {
  try {
    mustFit("it", check, value);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

const pet = variant({ cat: { lives: count }, dog: { tricks: listOf(name), owner: orNull(text) } });

test("what fits is left alone", () => {
  for (const value of [
    { kind: "cat", lives: 9 },
    { kind: "dog", tricks: ["sit"], owner: null },
    { kind: "dog", tricks: [], owner: "Ada" },
  ])
    assert.equal(words(pet, value), "");
  assert.equal(words(record({ a: ifGiven(text) }, { b: text }), {}), "");
});

test("what does not fit is named by its place, with what belongs there", () => {
  for (const [value, expected] of [
    [null, "it: it is an object, not null"],
    [[], "it: it is an object, not a list"],
    [{}, "it: kind is one of cat, dog, not undefined"],
    [{ kind: "cow" }, 'it: kind is one of cat, dog, not "cow"'],
    [{ kind: "cat" }, "it: lives is a whole number from 0 on, not undefined"],
    [{ kind: "cat", lives: 9, name: "Tom" }, "it: name is no field; there are kind, lives"],
    [{ kind: "dog", tricks: ["sit", ""], owner: null }, 'it: tricks[1] is a text that is not empty, not ""'],
    [{ kind: "dog", tricks: [], owner: 5 }, "it: owner is a text, or null, not 5"],
  ] as const)
    assert.equal(words(pet, value), expected);
  assert.equal(words(record({}, { b: text }), { b: undefined }), "it: b is a text, not undefined");
  assert.equal(words(listOf(text, 1), []), "it: it is a list that is not empty");
});

test("what an object says of itself is not asked, and little of a long text is shown", () => {
  const hostile = { toString: () => assert.fail("it was asked"), toJSON: () => assert.fail("it was asked") };
  for (const value of [hostile, Object.create(null), () => 1, Symbol("x"), 1n])
    assert.notEqual(words(text, value), "");
  assert.ok(words(oneOf("a"), "x".repeat(10_000_000)).length < 200);
  const inherited = Object.create({ lives: 9, kind: "cat" }) as unknown;
  assert.notEqual(words(pet, inherited), ""); // it would not cross to a thread
});
