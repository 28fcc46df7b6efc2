// `models` and `config` against a real daemon: what is configured there, and whether its models answer.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../fixtures/port.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

const KEY = "the-heron-walks-at-dawn";

test("a model is tested; and the configuration of the daemon is that of its file, without secrets", async (t) => {
  const baseUrl = `http://127.0.0.1:${await freePort()}/v1`;
  const providers = { ollama: { baseUrl, apiKey: KEY } };
  const daemon = await Daemon.start(t, { config: { models: { providers }, gateway: { port: 0 } } });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, ...words);

  const fine = await run("models", "test", "rehearsal/large");
  assert.deepEqual([fine.exit, fine.err], [0, ""]);
  assert.match(
    fine.out,
    /^rehearsal\/large answers, in \d[^(]* \(\d+ tokens, \$[\d.]+\): Rehearsal .*Reply with the word ok/,
  );
  const unreached = await run("models", "test", "ollama/qwen3");
  assert.deepEqual([unreached.exit, unreached.out], [1, ""]);
  assert.match(
    unreached.err,
    /^sessiond: ollama\/qwen3 gave no answer: .*cannot be reached.*\n {2}try again/,
  );
  const told = JSON.parse((await run("models", "test", "ollama/qwen3", "--json")).out) as Record<
    string,
    object
  >;
  assert.deepEqual([told["ok"], told["model"], told["usage"]], [false, "ollama/qwen3", null]);
  for (const words of [
    ["test"],
    ["test", "ghost/one"],
    ["frobnicate"],
    ["list", "x"],
    ["test", "a/b", "c"],
  ]) {
    const wrong = await run("models", ...words);
    assert.equal(wrong.exit, 64, words.join(" "));
  }
  assert.match((await run("models", "list")).out, /^MODEL +WINDOW/);

  const { file, config } = await daemon.call("config", {});
  assert.equal(file, join(daemon.home, "config.json5"));
  const running = await run("config", "show", "--running", "--json");
  assert.deepEqual(JSON.parse(running.out), config);
  assert.ok(!running.out.includes(KEY) && running.out.includes('"apiKey":"[secret]"'));
  const written = await run("config", "show", "--json");
  assert.deepEqual(JSON.parse(written.out), config, "one form, whoever shows it");
  assert.equal((await run("config", "check", "--running")).exit, 64);
});
