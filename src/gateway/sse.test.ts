import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import { openLog } from "../base/log.ts";
import { RealWorld } from "../base/world.ts";
import type { Gate } from "./gate.ts";
import { alive } from "./sse.ts";

async function* failing(error: Error): AsyncGenerator<string, void> {
  yield "one";
  throw error;
}

test("what goes wrong in a stream is its last piece, and logged if it is our bug", async () => {
  const heard: string[] = [];
  const log = openLog("error", { write: (line) => void heard.push(line) });
  const gate = { log, system: { world: new RealWorld() } } as unknown as Gate;
  const over = new AbortController();
  for (const [error, logged] of [
    [new Fault("too_slow", "too slow"), 0],
    [new Error("a bug of ours"), 1],
  ] as const) {
    const texts = alive(gate, over.signal, failing(error), (why) => `failed: ${(why as Error).message}`);
    assert.deepEqual(await Array.fromAsync(texts), ["one", `failed: ${error.message}`]);
    assert.equal(heard.length, logged);
  }
  assert.match(heard[0] ?? "", /a bug of ours/);
});
