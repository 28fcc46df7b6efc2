import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import { SimulatedWorld } from "../base/world.ts";
import { Catalog, type KnownModel, type ModelSource } from "./catalog.ts";
import type { Model } from "./model.ts";
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
  const catalog = new Catalog(MODELS, [], { fast: "rehearsal/small" });
  assert.equal(catalog.find("rehearsal/small"), MODELS[1]);
  assert.equal(catalog.find("fast"), MODELS[1]);
  assert.deepEqual(catalog.ids(), ["rehearsal/default", "rehearsal/small", "rehearsal/large"]);
});

test("an unknown name is refused, with what was asked for and what there is", () => {
  const catalog = new Catalog(MODELS, [], { fast: "rehearsal/small" });
  assert.equal(
    refusal(() => catalog.find("Fast")),
    'there is no model "Fast"; known are rehearsal/default, rehearsal/small, rehearsal/large, fast',
  );
  for (const name of ["", "small", "rehearsal/", " fast", "constructor", "__proto__", "toString"])
    assert.ok(refusal(() => catalog.find(name)).startsWith(`there is no model ${JSON.stringify(name)};`));
  assert.match(
    refusal(() => new Catalog([], [], {}).find("a/b")),
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
  const catalog = new Catalog(many, [], { fast: "many/3" });
  const message = refusal(() => catalog.find(`${"x".repeat(1_000_000)}\n`));
  assert.ok(message.startsWith(`there is no model "${"x".repeat(80)}"; known are many/0, many/1, `));
  assert.ok(message.endsWith("many/19 and 11 more"));
  assert.match(
    refusal(() => catalog.find('"\n\ud800')),
    /^there is no model "\\"\\n\\ud800";/,
  );
});

test("an alias that points to nothing is refused at the start, also when it points to an alias", () => {
  const message = refusal(() => new Catalog(MODELS, [], { quick: "rehearsal/tiny" }));
  assert.match(
    message,
    /^the alias "quick" points to "rehearsal\/tiny", which is no model; known are rehearsal/,
  );
  assert.match(
    refusal(() => new Catalog(MODELS, [], { fast: "rehearsal/small", faster: "fast" })),
    /"faster"/,
  );
});

test("a name means one model: a second with the same id is refused, and an alias that is an id", () => {
  assert.equal(
    refusal(() => new Catalog([...MODELS, ...MODELS], [], {})),
    'two models are called "rehearsal/default"',
  );
  assert.match(
    refusal(() => new Catalog(MODELS, [], { "rehearsal/small": "rehearsal/large" })),
    /^the alias "rehearsal\/small" is the id of a model/,
  );
});

/** Has any model, and counts how many it made. */
class Source implements ModelSource {
  readonly provider: string;
  made = 0;

  constructor(provider: string) {
    this.provider = provider;
  }

  model(name: string): Model {
    this.made += 1;
    const { provider } = this;
    const ask = (): never => assert.fail();
    return { id: `${provider}/${name}`, provider, name, api: "x", windowTokens: 1, ask };
  }

  known(): readonly KnownModel[] {
    return [{ id: `${this.provider}/best`, windowTokens: 1, prices: null }];
  }
}

test("a source has a model of any name, also with slashes, and makes it once", () => {
  const source = new Source("openrouter");
  const catalog = new Catalog(MODELS, [source], { llama: "openrouter/meta/llama:free" });
  assert.equal(catalog.find("openrouter/meta/llama:free").name, "meta/llama:free");
  assert.equal(catalog.find("llama"), catalog.find("openrouter/meta/llama:free"));
  assert.equal(source.made, 1);
  assert.equal(catalog.find("rehearsal/small"), MODELS[1]);
  assert.deepEqual(
    catalog.known().map(({ id }) => id),
    [...MODELS.map(({ id }) => id), "openrouter/best"],
  );
  const prices = catalog.known().map((known) => [known.prices?.input ?? null, known.prices?.output ?? null]);
  assert.deepEqual(
    prices,
    [
      [0, 0],
      [0, 0],
      [3, 15],
      [null, null],
    ],
    "none is known, and is not unknown",
  );
  for (let each = 0; each < 2_000; each += 1) catalog.find(`openrouter/${each}`);
  assert.equal(catalog.find("llama").name, "meta/llama:free", "an alias keeps its model");
  const { made } = source;
  catalog.find("openrouter/1999");
  assert.equal(source.made, made, "one that was asked for lately is kept");
  catalog.find("openrouter/0");
  assert.equal(source.made, made + 1, "one of long ago is made again");
});

test("who forgot or misspelt the provider is told what was meant, or where others are written down", () => {
  const known = () => [{ id: "anthropic/opus", windowTokens: 1, prices: null }];
  const source = { provider: "anthropic", model: () => assert.fail("it is not asked for"), known };
  const catalog = new Catalog([], [source], {});
  assert.match(
    refusal(() => catalog.find("opus")),
    /; did you mean anthropic\/opus\?$/,
  );
  const hint = "other providers are written down under models.providers";
  assert.ok(refusal(() => catalog.find("antropic/opus")).endsWith(`; did you mean anthropic?; ${hint}`));
  assert.ok(refusal(() => catalog.find("ollama/qwen3")).endsWith(`anthropic/…; ${hint}`));
});

test("a name that no provider would take is refused, and the refusal lists the providers", () => {
  const catalog = new Catalog([], [new Source("anthropic"), new Source("openai")], {});
  const names = ["anthropic/", "anthropic", "anthropic/a b", "anthropic/a\n", "anthropic/\u0000", "other/a"];
  for (const name of [...names, `openai/${"x".repeat(250)}`, "openai/\ud800", "/a", "Anthropic/a"])
    assert.match(
      refusal(() => catalog.find(name)),
      /; known are anthropic\/…, openai\/…(?:$|; )/,
    );
  assert.equal(catalog.find(`openai/${"x".repeat(249)}`).provider, "openai");
});

test("two sources of one provider are refused, and an alias that a source would have as an id", () => {
  assert.equal(
    refusal(() => new Catalog([], [new Source("a"), new Source("a")], {})),
    'two providers are called "a"',
  );
  assert.match(
    refusal(() => new Catalog(MODELS, [new Source("a")], { "a/b": "rehearsal/small" })),
    /^the alias "a\/b" is the id of a model/,
  );
});
