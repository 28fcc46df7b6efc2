import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../base/world.ts";
import type { Answer, ToolForm } from "./model.ts";
import { rehearsals } from "./rehearsal.ts";

const FORM: ToolForm = {
  name: "read",
  description: "Reads a file.",
  input: { type: "object", properties: { path: { type: "string" } } },
};
const CHARS = FORM.name.length + FORM.description.length + JSON.stringify(FORM.input).length;

function ask(name: string, tools: readonly ToolForm[]): Promise<Answer> {
  const model = rehearsals(new SimulatedWorld(1)).find((each) => each.name === name) ?? assert.fail(name);
  const messages = [{ role: "user", content: "!say 1", timestamp: 1 }] as const;
  const signal = AbortSignal.any([]);
  return model.ask({ system: "", messages, tools, thinking: "off", cacheKey: "", signal }, () => {});
}

test("tools count: their names, descriptions, and what they take as JSON, in every request", async () => {
  for (const count of [0, 1, 2, 2]) {
    const answer = await ask(
      "default",
      Array.from({ length: count }, () => FORM),
    );
    assert.ok(answer.kind === "reply");
    assert.equal(answer.usage.input, Math.ceil(("!say 1".length + count * CHARS) / 4));
  }
});

test("tools that do not fit the window are an overflow", async () => {
  const answer = await ask("small", [{ ...FORM, description: "x".repeat(16_000 * 4) }]);
  assert.ok(answer.kind === "failed" && answer.why === "overflow");
});
