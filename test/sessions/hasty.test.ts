// Who does not wait for what they wished is told that it is still to come, and never that it is done.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { MemoryStore, RealWorld, type CallName, type Input, type Output } from "../../src/index.ts";
import { Client } from "../../src/cli/client.ts";
import { compact, handoff, rewind } from "../../src/cli/context.ts";
import { MAIN } from "./family.ts";
import { compactionsIn, prose } from "./mind.ts";
import { Gate, notesIn, Stage } from "./stage.ts";

const NEXT = "agent:main:thread:next";

/** Waits for nothing. */
class Hasty extends Client {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    super({ url: "http://127.0.0.1:0", token: "" } as never);
    this.#stage = stage;
  }

  override call<Name extends CallName>(name: Name, input: Input<Name>): Promise<Output<Name>> {
    const isWish = name === "compact" || name === "handoff" || name === "rewind";
    return this.#stage.sessions.call(name, isWish ? { ...input, timeoutMs: 0 } : input);
  }
}

/** Main, and a store that keeps nothing with these words until the gate is open. */
async function held(t: TestContext, words: string): Promise<{ readonly stage: Stage; readonly gate: Gate }> {
  const store = new MemoryStore(new RealWorld());
  const gate = new Gate("store");
  const commit = store.commit.bind(store);
  store.commit = async (changes) => {
    if (JSON.stringify(changes).includes(words)) await gate.pass();
    return await commit(changes);
  };
  const stage = await Stage.open(t, { agents: { defaults: { tools: { allow: [] } } } }, { store });
  for (const at of [1, 2, 3]) await stage.sessions.ask(MAIN, `Message ${at}. ${prose(1_500)}`);
  return { stage, gate };
}

const COMMANDS = { compact, handoff, rewind };

/** What the command prints, and how it ends. */
async function printed(stage: Stage, name: keyof typeof COMMANDS, args: readonly string[]) {
  let out = "";
  const screen = { out: (text: string) => void (out += text), json: false, colour: false };
  const client = async (): Promise<Client> => new Hasty(stage);
  const options = name === "handoff" ? { name: "next" } : {};
  const code = await COMMANDS[name].run({
    ...({ screen, signal: new AbortController().signal } as never as Parameters<typeof compact.run>[0]),
    args: [MAIN, ...args],
    options,
    client,
  });
  return { out, code };
}

const LATER = "yet: no answer within 0 ms; it is done when the session comes to it";

test("a compaction that is not waited for", async (t) => {
  const { stage, gate } = await held(t, '"type":"compaction"');
  const told = await stage.sessions.call("compact", { sessionKey: MAIN, timeoutMs: 0 });
  assert.deepEqual([told.outcome, told.tokensBefore, told.tokensAfter], ["unanswered", null, null]);
  assert.deepEqual(await printed(stage, "compact", []), {
    out: `${MAIN}: not compacted ${LATER}\n`,
    code: 1,
  });
  gate.open();
  await stage.until(async () => compactionsIn(await stage.entries(MAIN)).length > 0);
});

test("a handoff that is not waited for says whose key it will be", async (t) => {
  const { stage, gate } = await held(t, '"sessiond/handoff"');
  const told = await stage.sessions.call("handoff", { sessionKey: MAIN, name: "next", timeoutMs: 0 });
  assert.deepEqual([told.outcome, told.sessionKey, told.file], ["unanswered", NEXT, null]);
  const words = `${MAIN} is not handed over ${LATER}, and ${NEXT} goes on from there`;
  assert.deepEqual(await printed(stage, "handoff", []), { out: `${words}\n`, code: 1 });
  gate.open();
  await stage.until(async () => notesIn(await stage.entries(MAIN), "handoff").length > 0);
  assert.equal((await stage.sessions.status(NEXT)).sessionKey, NEXT);
});

test("a rewind that is not waited for", async (t) => {
  const { stage, gate } = await held(t, '"sessiond/rewound"');
  assert.deepEqual(await printed(stage, "rewind", ["4"]), {
    out: `${MAIN} has not gone back ${LATER}\n`,
    code: 1,
  });
  gate.open();
  await stage.until(async () => notesIn(await stage.entries(MAIN), "rewound").length > 0);
});
