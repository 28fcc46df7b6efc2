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

async function fileOf(of: Asked): Promise<readonly unknown[]> {
  const { config, file } = await daemonConfig(of);
  return [config.home, file];
}

test("what was typed counts more than the environment, and that more than the file", async (t) => {
  const home = scratch(t);
  writeFileSync(join(home, "config.json5"), "{ gateway: { port: 1, drainSeconds: 7 } }");
  assert.equal((await daemonConfig(asked(home))).config.gateway.port, 1);
  const env = { SESSIOND_PORT: "2" };
  assert.equal((await daemonConfig(asked(home, { env }))).config.gateway.port, 2);
  const {
    config: { gateway },
  } = await daemonConfig(asked(home, { env, port: 3 }));
  assert.deepEqual([gateway.port, gateway.drainSeconds], [3, 7]);
  assert.equal((await daemonConfig({ ...NOTHING, env: { SESSIOND_HOME: home } })).config.home, home);
});

test("a home needs no file, but one that is named must be there; it says which it was", async (t) => {
  const home = scratch(t);
  assert.deepEqual(await fileOf(asked(home)), [home, null]);
  const usual = join(home, "config.json5");
  writeFileSync(usual, "{}");
  assert.deepEqual(await fileOf(asked(home)), [home, usual]);
  const named = join(home, "named.json5");
  writeFileSync(named, "{}");
  assert.deepEqual(await fileOf(asked(home, { config: named })), [home, named]);
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
    [...(await daemonConfig(asked(home, { env }))).config.agents.values()][0]?.model;
  assert.equal(await modelIn({}), "rehearsal/default");
  const named = (api: Api): readonly string[] => namesOf(api).map((name) => `${api}/${name}`);
  assert.ok(named("openai").includes((await modelIn({ OPENAI_API_KEY: "sk-1" })) ?? ""));
  assert.ok(named("google").includes((await modelIn({ GEMINI_API_KEY: "g-1" })) ?? ""));
  const both = { OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "sk-2" };
  assert.ok(named("anthropic").includes((await modelIn(both)) ?? ""));
  writeFileSync(join(home, "config.json5"), '{ agents: { main: { model: "rehearsal/small" } } }');
  assert.equal(await modelIn({ ANTHROPIC_API_KEY: "sk-2" }), "rehearsal/small");
});
