// Whose step is next, for real: a thousand turns of the background wait, and a person writes. The model is the rehearsal;
// each of its calls is held until the test lets it go, so that nothing here depends on how fast anything is.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  cronKey,
  DEFAULT_AGENT,
  LocalStore,
  openLog,
  RealWorld,
  type Change,
  type Class,
  type ConfigInput,
  type Model,
} from "../../src/index.ts";
import { rehearsals } from "../../src/models/rehearsal.ts";
import { scratch } from "../fixtures/home.ts";
import { Stage } from "./stage.ts";

const PERSON = "agent:main:direct:ann";
const MANY = 1_000;
const world = new RealWorld();

/** The rehearsal, whose calls wait for a word. */
class HeldBack implements Model {
  readonly id = "held/one";
  readonly provider = "held";
  readonly name = "one";
  readonly api = "rehearsal";
  readonly windowTokens = 1_000_000;
  readonly started: string[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #rehearsal = rehearsals(world)[0];
  isOpen = false;

  async ask(...[request, show]: Parameters<Model["ask"]>): ReturnType<Model["ask"]> {
    this.started.push(JSON.stringify(request.messages.at(-1)?.content));
    if (!this.isOpen) await new Promise<void>((go) => this.#waiting.push(go));
    assert.ok(this.#rehearsal);
    return await this.#rehearsal.ask(request, show);
  }

  /** The call that began first goes on. */
  release(): void {
    this.#waiting.shift()?.();
  }

  open(): void {
    this.isOpen = true;
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** A thousand sessions, each with a letter of the background: what timers will post, and nobody waits for. */
function background(): Change[] {
  return Array.from({ length: MANY }, (_, at) => cronKey(DEFAULT_AGENT, `job-${at}`)).flatMap((key, at) => [
    {
      do: "open",
      key,
      transcript: world.newId(),
      cwd: "",
      parent: null,
      settings: {},
      copy: null,
      ifExists: "keep",
    },
    {
      do: "post",
      to: [key],
      letter: {
        id: `cause:job:${at}`,
        from: { kind: "internal_system", cause: "test" },
        class: "background",
        mode: "followup",
        content: [{ type: "text", text: `background work ${at}.` }],
        replyTo: null,
        origin: null,
      },
    },
  ]);
}

/** All of them have asked for a slot, and as many as may have one. */
async function crowded(
  test: TestContext,
  scheduler: ConfigInput["scheduler"],
  running: number,
): Promise<{ readonly stage: Stage; readonly model: HeldBack }> {
  const log = openLog("silent");
  const store = await LocalStore.open(join(scratch(test), "store"), { world, log, died: () => {} });
  await store.commit(background());
  const model = new HeldBack();
  const config: ConfigInput = { agents: { main: { model: model.id } }, scheduler };
  const stage = await Stage.open(test, config, { store, models: [model] });
  await stage.until(async () => {
    const { slots } = await stage.sessions.call("overview", {});
    return sum(slots.inUse) === running && slots.waiting.background === MANY - running;
  });
  return { stage, model };
}

function sum(byClass: Readonly<Record<Class, number>>): number {
  return Object.values(byClass).reduce((all, each) => all + each, 0);
}

async function drained(stage: Stage, model: HeldBack, calls: number): Promise<void> {
  model.open();
  await stage.until(async () => {
    const { slots } = await stage.sessions.call("overview", {});
    return sum(slots.inUse) + sum(slots.waiting) === 0 && model.started.length === calls;
  });
}

test("a person's message is the next that is asked, when the one that runs is done", async (t) => {
  const { stage, model } = await crowded(t, { slots: 1, reserve: 0 }, 1);
  await stage.sessions.send(PERSON, "a person waits");
  await stage.until(async () => (await stage.sessions.status(PERSON)).state === "queued");
  const { why } = await stage.sessions.status(PERSON);
  assert.match(why, /^waits for the slot, which is in use/);
  assert.match(
    (await stage.sessions.status("agent:main:cron:job-999")).why,
    /waits for the slot.*in front of it/,
  );
  assert.equal(model.started.length, 1);
  model.release();
  await stage.until(async () => model.started.length > 1);
  assert.match(model.started[1] ?? "", /a person waits/);
  await drained(stage, model, MANY + 1); // and nobody was forgotten
});

test("with a slot that is kept for people, it need not wait at all", async (t) => {
  const { stage, model } = await crowded(t, { slots: 4, reserve: 1 }, 3);
  await stage.sessions.send(PERSON, "a person waits");
  await stage.until(async () => model.started.length > 3); // while all three others are still held
  assert.match(model.started[3] ?? "", /a person waits/);
  await drained(stage, model, MANY + 1);
});

test("who is waited for by a person is as urgent", async (t) => {
  const { stage, model } = await crowded(t, { slots: 1, reserve: 0 }, 1);
  const first = model.started[0]?.match(/work (\d+)\./)?.[1];
  const other = first === "500" ? "501" : "500";
  await stage.sessions.send(`agent:main:cron:job-${other}`, "hurry up", { mode: "followup" });
  await stage.until(async () => (await stage.sessions.call("overview", {})).slots.waiting.interactive === 1);
  model.release();
  await stage.until(async () => model.started.length > 1);
  assert.match(model.started[1] ?? "", new RegExp(`work ${other}\\.`));
  await drained(stage, model, MANY + 1);
});
