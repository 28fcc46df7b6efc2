import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import { SimulatedWorld } from "../base/world.ts";
import { Catalog } from "./catalog.ts";
import { rehearsals } from "./rehearsal.ts";

const MODELS = rehearsals(new SimulatedWorld(1));

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Fault);
    assert.equal(error.code, "bad_input");
    return error.message;
  }
  return assert.fail("it was not refused");
}

test("a model is found by its id and by its alias", () => {
  const catalog = new Catalog(MODELS, { fast: "rehearsal/small" });
  assert.equal(catalog.find("rehearsal/small"), MODELS[1]);
  assert.equal(catalog.find("fast"), MODELS[1]);
  assert.deepEqual(catalog.ids(), ["rehearsal/default", "rehearsal/small", "rehearsal/large"]);
});

test("an unknown name is refused, with what was asked for and what there is", () => {
  const catalog = new Catalog(MODELS, { fast: "rehearsal/small" });
  assert.equal(
    refusal(() => catalog.find("Fast")),
    'there is no model "Fast"; known are rehearsal/default, rehearsal/small, rehearsal/large, fast',
  );
  for (const name of ["", "small", "rehearsal/", " fast", "constructor", "__proto__", "toString"])
    assert.ok(refusal(() => catalog.find(name)).startsWith(`there is no model ${JSON.stringify(name)};`));
  assert.match(
    refusal(() => new Catalog([], {}).find("a/b")),
    /known are none$/,
  );
});

test("a refusal is short, whatever was asked for and however many models there are", () => {
  const [model] = MODELS;
  assert.ok(model);
  const many = Array.from({ length: 30 }, (_, at) => ({
    ...model,
    id: `many/${at}`,
    ask: () => assert.fail(),
  }));
  const catalog = new Catalog(many, { fast: "many/3" });
  const message = refusal(() => catalog.find(`${"x".repeat(1_000_000)}\n`));
  assert.ok(message.startsWith(`there is no model "${"x".repeat(80)}"; known are many/0, many/1, `));
  assert.ok(message.endsWith("many/19 and 11 more"));
  assert.match(
    refusal(() => catalog.find('"\n\ud800')),
    /^there is no model "\\"\\n\\ud800";/,
  );
});

test("an alias that points to nothing is refused at the start, also when it points to an alias", () => {
  const message = refusal(() => new Catalog(MODELS, { quick: "rehearsal/tiny" }));
  assert.match(
    message,
    /^the alias "quick" points to "rehearsal\/tiny", which is no model; known are rehearsal/,
  );
  assert.match(
    refusal(() => new Catalog(MODELS, { fast: "rehearsal/small", faster: "fast" })),
    /"faster"/,
  );
});

test("a name means one model: a second with the same id is refused, and an alias that is an id", () => {
  assert.equal(
    refusal(() => new Catalog([...MODELS, ...MODELS], {})),
    'two models are called "rehearsal/default"',
  );
  assert.match(
    refusal(() => new Catalog(MODELS, { "rehearsal/small": "rehearsal/large" })),
    /^the alias "rehearsal\/small" is the id of a model/,
  );
});
