import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import json5 from "json5";
import { edited } from "./edit.ts";

const FILE = `// ours
{
  agents: {
    main: { model: "a/b", /* why */ thinking: 'off', }, // the first
    "second": {},
  },
  list: [1, { x: "}" }, [2]], // a } in a comment
}
`;

test("one value changes, and everything else stays as it was written", () => {
  assert.equal(edited(FILE, ["agents", "main", "model"], "c/d"), FILE.replace('"a/b"', '"c/d"'));
  assert.equal(edited(FILE, ["list"], true), FILE.replace('[1, { x: "}" }, [2]]', "true"));
});

test("what is not there yet is put in, with all above it", () => {
  const text = edited(FILE, ["agents", "second", "limits", "cost"], 5) ?? "";
  assert.deepEqual(json5.parse(text).agents.second, { limits: { cost: 5 } });
  assert.ok(text.includes("// the first") && text.includes("// a } in a comment"));
  assert.deepEqual(json5.parse(edited("{}", ["a", "b-c"], [1]) ?? ""), { a: { "b-c": [1] } });
});

test("what is taken out is gone, with its comma", () => {
  const text = edited(FILE, ["agents", "main", "thinking"], undefined) ?? "";
  assert.deepEqual(json5.parse(text).agents.main, { model: "a/b" });
  assert.equal(edited(FILE, ["agents", "third"], undefined), FILE);
  assert.deepEqual(json5.parse(edited("{a: 1, b: 2}", ["a"], undefined) ?? ""), { b: 2 });
});

test("what is not understood is not changed", () => {
  for (const text of ["[1]", "{a: ", '{"\\u0061": 1}', "", "{a 1}"])
    assert.equal(edited(text, ["a", "b"], 1), null, text);
});

test("whatever is written, a change says what it should", () => {
  const name = fc.constantFrom("a", "b", "c-d", "e f");
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("any"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(name, tie("any"), { maxKeys: 4 }),
  })).object as fc.Arbitrary<Record<string, unknown>>;
  fc.assert(
    fc.property(value, name, fc.jsonValue(), fc.constantFrom(0, 2), (object, key, set, space) => {
      for (const text of [JSON.stringify(object, null, space), json5.stringify(object, null, space)]) {
        const next = edited(text, [key], set);
        if (next === null) return; // an escape in a name
        assert.deepEqual(json5.parse(next), JSON.parse(JSON.stringify({ ...object, [key]: set })));
        const { [key]: _old, ...rest } = object;
        assert.deepEqual(json5.parse(edited(text, [key], undefined) ?? ""), JSON.parse(JSON.stringify(rest)));
      }
    }),
  );
});
