// When a model cannot be asked: who is asked instead, who has to wait, and what is to be seen of it.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Answer, Model } from "../../src/index.ts";
import { notesIn, saying, Stage } from "./stage.ts";

type Failed = Extract<Answer, { kind: "failed" }>;

function failing(why: Failed["why"], more: Partial<Failed> = {}): Answer {
  return { kind: "failed", why, message: `no (${why})`, retryAfterMs: 0, throttled: false, ...more };
}

/** Answers as it is told to, one after the other, and then always as the last. */
class Actor implements Model {
  readonly id: string;
  readonly name = "one";
  readonly api = "actor";
  readonly windowTokens = 1_000;
  asked = 0;
  gate: Promise<void> | null = null; // null: it answers at once
  readonly provider: string;
  readonly #answers: readonly Answer[];

  constructor(provider: string, ...answers: readonly Answer[]) {
    this.provider = provider;
    this.id = `${provider}/one`;
    this.#answers = answers;
  }

  async ask(): Promise<Answer> {
    const answer = this.#answers[Math.min(this.asked, this.#answers.length - 1)];
    this.asked += 1;
    await this.gate;
    assert.ok(answer);
    return answer;
  }
}

function open(t: TestContext, ...models: readonly Actor[]): Promise<Stage> {
  const [first, ...others] = models.map(({ id }) => id);
  return Stage.open(t, { agents: { main: { model: first, failover: others } } }, { models });
}

describe("a fallback", () => {
  test("is asked when the key of the first is refused, for this step only, and everybody can see it", async (t) => {
    const first = new Actor("first", failing("auth"), saying("First again."));
    const second = new Actor("second", saying("Second."));
    const stage = await open(t, first, second);
    assert.equal((await stage.sessions.ask("main", "hello")).text, "Second.");
    const passedOver = [{ model: "first/one", why: "no (auth)" }];
    const { fallback, model } = await stage.sessions.status("main");
    assert.deepEqual(fallback, { spoke: "second/one", passedOver });
    assert.equal(model, "first/one"); // it is still the one in force
    assert.deepEqual(notesIn(await stage.entries("main"), "failover"), [{ passedOver, spoke: "second/one" }]);

    assert.equal((await stage.sessions.ask("main", "and now?")).text, "First again.");
    assert.equal((await stage.sessions.status("main")).fallback, null);
    assert.deepEqual([first.asked, second.asked], [2, 1]);
    const speakers = (await stage.messages("main")).flatMap((message) =>
      message.role === "assistant" ? [message.provider] : [],
    );
    assert.deepEqual(speakers, ["second", "first"]);
  });

  test("is asked after the first could not be reached twice", async (t) => {
    const first = new Actor("first", failing("retry"));
    const second = new Actor("second", saying("Second."));
    const stage = await open(t, first, second);
    assert.equal((await stage.sessions.ask("main", "hello")).text, "Second.");
    assert.equal(first.asked, 2);
  });

  test("is asked at once while the first has its pause, by every session", async (t) => {
    const first = new Actor("first", failing("retry", { throttled: true, retryAfterMs: 3_600_000 }));
    const second = new Actor("second", saying("Second."));
    const stage = await open(t, first, second);
    const keys = ["main", "agent:main:direct:ann", "agent:main:direct:bob"];
    for (const key of keys) assert.equal((await stage.sessions.ask(key, "hello")).text, "Second.");
    assert.equal(first.asked, 1);
    const { fallback } = await stage.sessions.status("agent:main:direct:bob");
    assert.match(fallback?.passedOver[0]?.why ?? "", /^first asked for a pause, of which \d+ s are left$/);
    const { providers } = await stage.sessions.call("overview", {});
    assert.ok((providers.find(({ provider }) => provider === "first")?.coolsForMs ?? 0) > 0);
  });

  test("is asked by those who waited for the first already when it got its pause", async (t) => {
    const gate = Promise.withResolvers<void>();
    const first = new Actor("first", failing("retry", { throttled: true, retryAfterMs: 3_600_000 }));
    first.gate = gate.promise;
    const stage = await Stage.open(
      t,
      { agents: { main: { model: "first/one", failover: ["second/one"] } }, scheduler: { slots: 1 } },
      { models: [first, new Actor("second", saying("Second."))] },
    );
    const asked = ["agent:main:direct:ann", "agent:main:direct:bob", "agent:main:direct:cid"].map((key) =>
      stage.sessions.ask(key, "hello"),
    );
    await stage.until(async () => {
      const { slots } = await stage.sessions.call("overview", {});
      return slots.inUse.interactive === 1 && slots.waiting.interactive === 2;
    });
    gate.resolve();
    for (const { text } of await Promise.all(asked)) assert.equal(text, "Second.");
    assert.equal(first.asked, 1);
  });

  test("is not waited for when the first is back sooner", async (t) => {
    const paused = (retryAfterMs: number): Answer => failing("retry", { throttled: true, retryAfterMs });
    const first = new Actor("first", paused(6_000), saying("First."));
    const second = new Actor("second", paused(3_600_000));
    const stage = await open(t, first, second);
    const hello = stage.sessions.ask("agent:main:direct:ann", "hello"); // first fails, then second: both have their pause
    await stage.until(async () => second.asked === 1);
    await stage.sessions.abort("agent:main:direct:ann");
    await hello;
    assert.equal((await stage.sessions.ask("main", "hello")).text, "First.");
    assert.deepEqual([first.asked, second.asked], [2, 1]);
  });

  test("is asked at once when the first names a long time without having too much to do", async (t) => {
    const first = new Actor("first", failing("retry", { retryAfterMs: 3_600_000 }));
    const stage = await open(t, first, new Actor("second", saying("Second.")));
    assert.equal((await stage.sessions.ask("main", "hello")).text, "Second.");
    assert.equal(first.asked, 1);
  });

  test("is not asked what it could not do better: too much context, or a request that is wrong", async (t) => {
    for (const why of ["overflow", "local"] as const) {
      const first = new Actor("first", failing(why));
      const second = new Actor("second", saying("Second."));
      const stage = await open(t, first, second);
      const { outcome, reason } = await stage.sessions.ask("main", "hello");
      assert.deepEqual([outcome, reason], [why === "overflow" ? "overflow" : "failed", `no (${why})`]);
      assert.equal(second.asked, 0);
    }
  });

  test("that fails too: the turn fails, and tells the whole story", async (t) => {
    const stage = await open(t, new Actor("first", failing("auth")), new Actor("second", failing("auth")));
    const { outcome, reason } = await stage.sessions.ask("main", "hello");
    assert.equal(outcome, "failed");
    assert.equal(reason, "no (auth) (before it, first/one: no (auth))");
    const { entries } = await stage.sessions.history("main");
    assert.deepEqual([entries.at(-1)?.isError, entries.at(-1)?.text], [true, reason]);
    const { lastTurn, why } = await stage.sessions.status("main");
    assert.deepEqual([lastTurn?.outcome, lastTurn?.reason, why], ["failed", reason, "nothing to do"]);
  });

  test("that is not known is refused at the start", async (t) => {
    const config = { agents: { main: { failover: ["nobody/one"] } } };
    await assert.rejects(Stage.open(t, config), /agents\.main\.failover: there is no model "nobody\/one"/);
  });
});

test("what was said by a try that broke is nobody's answer, also when the turn is stopped then", async (t) => {
  const broken: Model = Object.assign(new Actor("first", failing("retry", { retryAfterMs: 3_600_000 })), {
    ask: async (_request: unknown, show: Parameters<Model["ask"]>[1]) => {
      show({ kind: "text", text: "half of a" });
      return failing("retry", { retryAfterMs: 3_600_000 });
    },
  });
  const stage = await Stage.open(t, { agents: { main: { model: broken.id } } }, { models: [broken] });
  const { id } = await stage.sessions.send("main", "hello");
  await stage.until(async () => {
    const { slots } = await stage.sessions.call("overview", {});
    const { state } = await stage.sessions.status("main");
    return state === "running" && slots.inUse.interactive === 0 && slots.waiting.interactive === 0;
  });
  assert.match(
    (await stage.sessions.status("main")).why,
    /^step 1 of a turn since .*: first\/one failed: no \(retry\)$/,
  );
  await stage.sessions.abort("main");
  assert.equal((await stage.sessions.wait("main", id)).outcome, "aborted");
  const { lastTurn } = await stage.sessions.status("main");
  assert.deepEqual([lastTurn?.outcome, lastTurn?.reason], ["aborted", "a person stopped it"]);
  assert.ok(!(await stage.bytes("main")).includes("half of a"));
});

describe("a provider that has too much to do", () => {
  test("is asked again when its pause is over, and the turn is answered", async (t) => {
    const busy = failing("retry", { throttled: true, retryAfterMs: 30 });
    const first = new Actor("first", busy, busy, saying("There you are."));
    const stage = await open(t, first);
    assert.equal((await stage.sessions.ask("main", "hello")).text, "There you are.");
    assert.equal(first.asked, 3);
  });

  test("says in words why a session waits; an abort is heard meanwhile", async (t) => {
    const first = new Actor("first", failing("retry", { throttled: true, retryAfterMs: 3_600_000 }));
    const stage = await open(t, first);
    const { id } = await stage.sessions.send("main", "hello");
    const why = await stage.until(async () => {
      const status = await stage.sessions.status("main");
      return status.state === "queued" && status.why;
    });
    assert.match(why, /waits for first, which asked for a pause/);
    await stage.sessions.abort("main");
    assert.equal((await stage.sessions.wait("main", id)).outcome, "aborted");
  });

  test("a failure of ours makes nobody wait", async (t) => {
    const first = new Actor("first", failing("local", { retryAfterMs: 3_600_000 }), saying("Fine."));
    const stage = await open(t, first);
    assert.equal((await stage.sessions.ask("main", "hello")).outcome, "failed");
    const { providers } = await stage.sessions.call("overview", {});
    assert.deepEqual(providers, [{ provider: "first", inUse: 0, limit: null, coolsForMs: 0 }]);
    assert.equal((await stage.sessions.ask("agent:main:direct:ann", "hello")).text, "Fine.");
  });
});
