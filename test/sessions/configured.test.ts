// What is configured, as people are told it; and whether a model of it answers, which is asked of real connections.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { parseKey, SimulatedWorld, type ConfigInput, type Parts } from "../../src/index.ts";
import { Door } from "../../src/calls/door.ts";
import { afterwards } from "../fixtures/home.ts";
import { openedWired, person } from "../fixtures/wired.ts";
import { APIS, NAMES } from "../providers/asking.ts";
import { hangBefore, reply, Standin, status, type Play } from "../providers/standin.ts";
import { fault, Glass, saying, Stage } from "./stage.ts";

const MAIN = "agent:main:main";
const KEY = "the-heron-walks-at-dawn";
const HEADER = "among the reeds";

/** A stage with every protocol, and what its provider does next. */
async function house(
  t: TestContext,
  more: Parts & { readonly config?: ConfigInput } = {},
): Promise<{ readonly stage: Stage; readonly standin: Standin; readonly play: (...of: Play[]) => void }> {
  const { config, ...parts } = more;
  const standin = await Standin.open();
  afterwards(t, () => standin.close());
  const providers = APIS.map((api) => [
    api,
    { api, baseUrl: standin.baseUrl(api), apiKey: KEY, headers: { "x-team": HEADER } },
  ]);
  const models = { providers: Object.fromEntries(providers) as never, aliases: { quick: "openai/gpt-5" } };
  const stage = await Stage.open(t, { models, ...config }, parts);
  return { stage, standin, play: (...plays) => standin.play(...plays) };
}

/** What comes when simulated time passes. */
async function inTime<Value>(world: SimulatedWorld, what: Promise<Value>): Promise<Value> {
  let isThere = false;
  const there = what.finally(() => (isThere = true));
  while (!isThere) {
    await new Promise((wake) => setImmediate(wake));
    if (!isThere) world.step();
  }
  return await there;
}

test("the configuration in force is told to who may rule, without secrets", async (t) => {
  const secret = "a-webhook-signs-with-this-text-here";
  const { system, bus, sessions } = await openedWired(
    t,
    {
      models: { providers: { ollama: { baseUrl: "http://127.0.0.1:1/v1", apiKey: KEY } } },
      webhooks: { ci: { secret } },
      agents: { main: { limits: { cost: 5 } } },
    },
    { configFile: "/etc/sessiond.json5" },
  );
  const { file, config } = await sessions.call("config", {});
  assert.equal(file, "/etc/sessiond.json5");
  const text = JSON.stringify(config);
  for (const each of [KEY, secret]) assert.ok(!text.includes(each));
  const { agents, scheduler } = config as Record<string, Record<string, { limits?: { cost: number } }>>;
  assert.equal(agents?.["main"]?.limits?.cost, 5);
  assert.ok(scheduler?.["slots"], "defaults are among it");
  const door = new Door({ system, bus, commit: system.commit });
  const asked = door.call("config", person("operate"), {}, new AbortController().signal);
  await assert.rejects(asked, fault("forbidden", /needs the scope admin/));
});

describe("a model that is tested", () => {
  for (const api of APIS)
    test(`answers, and says what it cost (${api})`, async (t) => {
      const { stage, standin, play } = await house(t);
      play(reply({ text: "ok" }));
      const model = `${api}/${NAMES[api]}`;
      const tested = await stage.sessions.call("testModel", { model });
      const { ms, usage, cost, ...rest } = tested;
      assert.deepEqual(rest, { model, ok: true, text: "ok", failure: null });
      assert.ok(ms >= 0 && usage !== null && usage.input + usage.output > 0);
      assert.equal(cost === null, api === "openai-compatible", "a price that nobody knows is none");
      assert.deepEqual(
        standin.requests.map(({ refused }) => refused),
        [null],
      );
      const { totals, today } = await stage.sessions.call("overview", {});
      assert.deepEqual([totals.input, totals.cost, today.cost], [usage.input, cost ?? 0, cost ?? 0]);
      const { sessions } = await stage.sessions.list();
      assert.deepEqual(
        sessions.map(({ sessionKey }) => sessionKey),
        [MAIN],
        "it is no session",
      );
    });

  test("may be named by an alias; one that is not there is refused as anywhere", async (t) => {
    const { stage, play } = await house(t);
    play(reply({ text: `ok ${"x".repeat(500)}` }));
    const { model, text } = await stage.sessions.call("testModel", { model: "quick" });
    assert.deepEqual([model, text.length], ["openai/gpt-5", 200]);
    const rehearsed = await stage.sessions.call("testModel", { model: "rehearsal/default" });
    assert.match(rehearsed.text, /^Rehearsal/);
    const nobody = stage.sessions.call("testModel", { model: "ghost/one" });
    await assert.rejects(nobody, fault("bad_input", /there is no model "ghost\/one"/));
  });

  test("is asked once, and nobody in its place; what it says of itself holds no secret", async (t) => {
    const agents = { defaults: { failover: ["openai/gpt-5"] } };
    const { stage, standin, play } = await house(t, { config: { agents } });
    const model = `anthropic/${NAMES.anthropic}`;
    for (const [played, kind, words] of [
      [status(401, { error: { message: `wrong key ${KEY} for ${HEADER}` } }), "auth", /does not let us in/],
      [status(404), "local", /answered 404/],
      [status(500, { error: { message: `echo ${KEY}` } }), "retry", /answered 500/],
    ] as const) {
      play(played);
      const before = standin.requests.length;
      const { ok, text, usage, cost, failure } = await stage.sessions.call("testModel", { model });
      assert.deepEqual([ok, text, usage, cost, failure?.kind], [false, "", null, null, kind]);
      assert.match(failure?.message ?? "", words);
      assert.ok((failure?.todo ?? "").length > 0);
      assert.doesNotMatch(JSON.stringify(failure), new RegExp(`${KEY}|${HEADER}`));
      assert.equal(standin.requests.length, before + 1);
    }
    assert.equal((await stage.sessions.call("overview", {})).totals.cost, 0);
  });

  test("may say so much of its failure that it is cut in a secret: nothing of that is told", async (t) => {
    const apiKey = "heron ".repeat(30);
    const failing = { kind: "failed", why: "local", retryAfterMs: null, throttled: false } as const;
    const message = apiKey.repeat(20);
    const model = new Glass((_request, times) =>
      times % 2 === 1 ? Promise.resolve({ ...failing, message }) : Promise.reject(new Error(message)),
    );
    const providers = { openai: { apiKey } };
    const config = { models: { providers }, agents: { main: { model: "glass/one" } } };
    const stage = await Stage.open(t, config, { models: [model] });
    for (let times = 0; times < 2; times += 1) {
      const { failure } = await stage.sessions.call("testModel", { model: "glass/one" });
      assert.match(failure?.message ?? "", /\[secret\]/);
      assert.doesNotMatch(failure?.message ?? "", /heron/);
    }
    for (let times = 0; times < 2; times += 1) await stage.sessions.ask(MAIN, "hello");
    assert.doesNotMatch(JSON.stringify(await stage.entries(MAIN)), /heron/);
  });

  test("whose provider has a pause is not asked, and says so", async (t) => {
    const { stage, standin, play } = await house(t);
    play(status(429, null, { "retry-after": "60" }));
    const model = `openai/${NAMES.openai}`;
    const first = await stage.sessions.call("testModel", { model });
    assert.equal(first.failure?.kind, "retry");
    const { providers } = await stage.sessions.call("overview", {});
    assert.ok(
      (providers.find(({ provider }) => provider === "openai")?.coolsForMs ?? 0) > 0,
      "all wait for it",
    );
    const second = await stage.sessions.call("testModel", { model });
    assert.equal(second.failure?.kind, "busy");
    assert.match(second.failure?.message ?? "", /asked for a pause, of which \d+ s are left/);
    assert.equal(standin.requests.length, 1);
  });

  test("that says nothing is given up after a while, or when nobody waits any more; its slot is given back", async (t) => {
    const world = new SimulatedWorld(1);
    const isAsked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const model = new Glass((request, times) => {
      isAsked[times - 1]?.resolve();
      return new Promise((_answer, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason as Error)),
      );
    });
    const { sessions, system, bus } = await openedWired(t, {}, { world, models: [model] });
    const late = sessions.call("testModel", { model: "glass/one" });
    await isAsked[0]?.promise;
    assert.equal(system.slots.load().inUse.interactive, 1);
    const { ok, failure, ms } = await inTime(world, late);
    assert.deepEqual([ok, failure?.kind, ms], [false, "timeout", 30_000]);

    const leaving = new AbortController();
    const door = new Door({ system, bus, commit: system.commit });
    const left = door.call("testModel", person("operate"), { model: "glass/one" }, leaving.signal);
    await isAsked[1]?.promise;
    leaving.abort(new Error("gone"));
    await assert.rejects(left, /gone/);
    assert.equal(
      model.requests.every(({ signal }) => signal.aborted),
      true,
    );
    assert.equal(system.slots.load().inUse.interactive, 0);
  });

  test("waits for a slot like anybody, and says when there was none", async (t) => {
    const world = new SimulatedWorld(1);
    const model = new Glass(() => Promise.resolve(saying("ok")));
    const scheduler = { slots: 1, reserve: 0 };
    const { sessions, system } = await openedWired(t, { scheduler }, { world, models: [model] });
    const key = parseKey(MAIN);
    const asking = { key, root: key, class: "interactive", nice: 0, provider: "glass" } as const;
    const slot = await system.slots.take(asking, new AbortController().signal);
    const waiting = sessions.call("testModel", { model: "glass/one" });
    while (system.slots.load().waiting.interactive === 0) await new Promise((wake) => setImmediate(wake));
    const mine = ["agent:main:thread:model-test", "agent:main:subagent:model-test", MAIN].map(parseKey);
    for (const each of mine) assert.equal(system.slots.why(each), null, "it waits under nobody's name");
    const { failure } = await inTime(world, waiting);
    assert.deepEqual([failure?.kind, model.requests.length], ["busy", 0]);
    const again = sessions.call("testModel", { model: "glass/one" });
    slot.giveBack(null);
    assert.equal((await again).ok, true);
  });

  test("that hangs does not keep sessions from closing", async (t) => {
    const { stage, standin, play } = await house(t);
    play(hangBefore());
    const left = stage.sessions.call("testModel", { model: "openai/gpt-5" }).catch((error: unknown) => error);
    await stage.until(async () => standin.requests.length === 1);
    await stage.close();
    assert.match(String(await left), /closed/);
  });
});
