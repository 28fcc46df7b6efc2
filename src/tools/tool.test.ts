import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import { z } from "zod";
import type { ToolPolicy } from "../config/config.ts";
import { allowed, checked, formOf, tool, type Tool } from "./tool.ts";

function named(name: string, input: StandardSchemaV1 = z.object({})): Tool {
  return { name, description: `about ${name}`, input, replay: "safe", run: async () => "" };
}

function policy(given: Partial<ToolPolicy>): ToolPolicy {
  return { allow: null, deny: [], exec: false, visibility: "tree", within: [], ...given };
}

describe("what a model is shown", () => {
  test("zod tells its own JSON Schema, without the name of its dialect", () => {
    const input = z.strictObject({ city: z.string().describe("Where."), days: z.int().optional() });
    const { input: shape } = formOf(named("weather", input));
    assert.deepEqual(shape, {
      type: "object",
      properties: {
        city: { type: "string", description: "Where." },
        days: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  test("a schema that cannot tell needs `form`, and says so", () => {
    const input = v.strictObject({ city: v.string() });
    const form = { type: "object", properties: { city: { type: "string" } } };
    assert.throws(() => formOf(named("weather", input)), /give it as `form`/);
    assert.equal(formOf({ ...named("weather", input), form }).input, form);
  });
});

describe("what came in", () => {
  test("is what its schema makes of it, whoever wrote the schema", async () => {
    const doubled = z.object({ a: z.number().transform((value) => value * 2) });
    assert.deepEqual(await checked(doubled, { a: 2 }), { value: { a: 4 } });
    const trimmed = v.object({ a: v.pipe(v.string(), v.trim()) });
    assert.deepEqual(await checked(trimmed, { a: " x " }), { value: { a: "x" } });
    const late: StandardSchemaV1 = {
      "~standard": { version: 1, vendor: "ours", validate: async (value) => ({ value: [value] }) },
    };
    assert.deepEqual(await checked(late, 1), { value: [1] });
  });

  test("is told by field, and what was meant", async () => {
    const strict = await checked(z.strictObject({ path: z.string() }), { pth: "x" });
    assert.ok("problems" in strict);
    assert.match(strict.problems, /path: .*; "pth" is not known here; did you mean path\?/);
    const nested = await checked(v.object({ deep: v.object({ list: v.array(v.number()) }) }), {
      deep: { list: ["a"] },
    });
    assert.ok("problems" in nested);
    assert.match(nested.problems, /^deep\.list\.0: /);
    const many = await checked(z.array(z.number()), Array(9).fill("x"));
    assert.ok("problems" in many);
    assert.match(many.problems, /and 4 more$/);
  });

  test("tool() gives run what the schema makes", async () => {
    const add = tool({
      ...named("add"),
      input: v.object({ a: v.pipe(v.string(), v.transform(Number)) }),
      run: async ({ a }) => String(a + 1),
    });
    assert.equal(await add.run({ a: 41 }, {} as never), "42");
  });
});

describe("the policy of an agent", () => {
  const tools = ["read", "write", "files__read", "files__write"].map((name) => named(name));
  const names = (given: Partial<ToolPolicy>): string[] =>
    allowed(tools, policy(given)).map(({ name }) => name);

  test("all, some, and deny wins", () => {
    assert.deepEqual(names({}), ["read", "write", "files__read", "files__write"]);
    assert.deepEqual(names({ allow: ["read"] }), ["read"]);
    assert.deepEqual(names({ allow: ["read", "write"], deny: ["read"] }), ["write"]);
    assert.deepEqual(names({ allow: [] }), []);
  });

  test("a star at the end means all that begin so", () => {
    assert.deepEqual(names({ deny: ["files__*"] }), ["read", "write"]);
    assert.deepEqual(names({ allow: ["files__*"], deny: ["files__write"] }), ["files__read"]);
    assert.deepEqual(names({ deny: ["*"] }), []);
    assert.deepEqual(names({ allow: ["re*d"] }), []); // Only at the end.
  });
});
