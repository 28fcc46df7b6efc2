import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../../test/fixtures/home.ts";
import { fault } from "../../test/sessions/stage.ts";
import { namesOf } from "../models/known.ts";
import type { Api } from "./config.ts";
import { daemonConfig, type Asked } from "./daemon.ts";

const NOTHING = { home: undefined, config: undefined, port: undefined } as const;

function asked(home: string, more: Partial<Asked> = {}): Asked {
  return { ...NOTHING, env: {}, home, ...more };
}

test("what was typed counts more than the environment, and that more than the file", async (t) => {
  const home = scratch(t);
  writeFileSync(join(home, "config.json5"), "{ gateway: { port: 1, drainSeconds: 7 } }");
  assert.equal((await daemonConfig(asked(home))).gateway.port, 1);
  const env = { SESSIOND_PORT: "2" };
  assert.equal((await daemonConfig(asked(home, { env }))).gateway.port, 2);
  const { gateway } = await daemonConfig(asked(home, { env, port: 3 }));
  assert.deepEqual([gateway.port, gateway.drainSeconds], [3, 7]);
  assert.equal((await daemonConfig({ ...NOTHING, env: { SESSIOND_HOME: home } })).home, home);
});

test("a home needs no file, but one that is named must be there", async (t) => {
  const home = scratch(t);
  assert.equal((await daemonConfig(asked(home))).home, home);
  const missing = join(home, "none.json5");
  await assert.rejects(daemonConfig(asked(home, { config: missing })), fault("not_found", /none\.json5/));
  await assert.rejects(
    daemonConfig(asked(home, { env: { SESSIOND_PORT: "x" } })),
    fault("bad_input", /SESSIOND_PORT/),
  );
});

test("without a key it rehearses; with one it asks that provider, unless a model is written down", async (t) => {
  const home = scratch(t);
  const modelIn = async (env: NodeJS.ProcessEnv): Promise<string | undefined> =>
    [...(await daemonConfig(asked(home, { env }))).agents.values()][0]?.model;
  assert.equal(await modelIn({}), "rehearsal/default");
  const named = (api: Api): readonly string[] => namesOf(api).map((name) => `${api}/${name}`);
  assert.ok(named("openai").includes((await modelIn({ OPENAI_API_KEY: "sk-1" })) ?? ""));
  assert.ok(named("google").includes((await modelIn({ GEMINI_API_KEY: "g-1" })) ?? ""));
  const both = { OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "sk-2" };
  assert.ok(named("anthropic").includes((await modelIn(both)) ?? ""));
  writeFileSync(join(home, "config.json5"), '{ agents: { main: { model: "rehearsal/small" } } }');
  assert.equal(await modelIn({ ANTHROPIC_API_KEY: "sk-2" }), "rehearsal/small");
});
