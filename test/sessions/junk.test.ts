// Transcripts that somebody brought here, with anything in place of what is ours in them. A session that cannot read its own
// entries would never answer again.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { PRUNED } from "../../src/context/prune.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../../src/routing/key.ts";
import type { Body } from "../../src/transcript/entry.ts";
import { AT, Home, opening } from "../fixtures/home.ts";
import * as talk from "../fixtures/talk.ts";
import type { Stage } from "./stage.ts";
import { compactions, prose, Writer, written } from "./writer.ts";

const DETAILS: Readonly<Record<string, object>> = {
  "tasks-number": { tasks: 5 },
  "tasks-null": { tasks: [null, { id: "1", key: "\n## Goal", givenAtMs: 8.64e15, isTold: true }] },
  awaits: { awaits: { length: 1 } },
  sections: { sections: 5, truncated: 5 },
  "turn-empty": { turn: {} },
  "turn-junk": { turn: { ...talk.OPEN, letters: 5, routes: [null, { channel: 5 }], spent: null } },
  "pinned-null": { pinned: [null], asked: [null] },
  "pinned-number": { pinned: 5, asked: 5, sections: "x" },
  figures: { usage: "x", tokensAfter: "no", model: 5, occasion: 7 },
};

/** Notes without what they are to say, and messages that are none. */
const BESIDE = [
  note("turn-started", null),
  note("turn-started", { turn: 5, class: "king" }),
  { ...talk.user("x"), mailId: 5, replyTo: { channel: 5 } },
  result("sessions_spawn", { spawned: null }),
  result("sessions_spawn", { spawned: { task: 5 } }),
  result("sessions_yield", { yielded: 5 }),
  note("tasks-left", null),
  note("tasks-left", { tasks: 5 }),
  note("turn-resumed", null),
  { type: "branch_summary" },
  { type: "message", message: { role: "assistant", content: "words" } },
  { type: "custom", customType: PRUNED },
  { type: "custom", customType: PRUNED, data: { results: "many", bytes: null } },
  note("turn-ended", null),
  note("turn-ended", { frame: { system: "large" } }),
] as unknown[] as readonly Body[];

function note(what: string, data: unknown): unknown {
  return { type: "custom", customType: `sessiond/${what}`, data };
}

function result(toolName: string, details: unknown): unknown {
  const message = { role: "toolResult", toolCallId: "c", toolName, content: [], isError: false, details };
  return { type: "message", message };
}

/** A session that was brought here, with enough in it to be compacted once more. */
async function brought(
  home: Home,
  name: string,
  bodies: readonly Body[],
  contextSeq?: number,
): Promise<SessionKey> {
  const key = namedKey(DEFAULT_AGENT, name);
  const said = Array.from({ length: 8 }, () => [talk.user(prose(1_500)), talk.said(prose(1_500))]).flat();
  await home.store.commit([opening(key, home.world.newId())]);
  const drafts = [...bodies, ...said].map((body) => ({ ...body, timestamp: AT }));
  await home.append(key, drafts, contextSeq === undefined ? {} : { contextSeq });
  return key;
}

async function stageWith(
  t: TestContext,
  bring: (home: Home) => Promise<readonly SessionKey[]>,
): Promise<{ readonly stage: Stage; readonly keys: readonly SessionKey[] }> {
  const model = new Writer("model", { windowTokens: 16_000 });
  const stage = await written(t, [model], { context: { sizeTokens: 6_000 } });
  await stage.close();
  const home = await Home.open(t, stage.home);
  const keys = await bring(home);
  await home.close();
  await stage.reopen();
  return { stage, keys };
}

async function answers(stage: Stage, key: SessionKey): Promise<void> {
  for (const message of ["one", "two"])
    assert.equal(
      (await stage.sessions.ask(key, message, { timeoutMs: 30_000 })).outcome,
      "done",
      `${key} ${message}`,
    );
  assert.equal((await stage.sessions.call("context", { sessionKey: key })).sessionKey, key);
  assert.ok((await compactions(stage, key)).length > 0, `${key} was compacted`);
}

test("a session answers, is compacted and says what fills it, whatever an older compaction keeps", async (t) => {
  const { stage, keys } = await stageWith(t, (home) =>
    Promise.all(
      Object.entries(DETAILS).map(([name, known]) => {
        const body = { ...talk.compaction(0), details: { by: "sessiond", ...known } } as Body;
        return brought(home, name, [talk.user("hi"), talk.said("ho"), body], 3);
      }),
    ),
  );
  await Promise.all(keys.map((key) => answers(stage, key)));
  assert.equal(stage.log, "[]");
});

test("a session answers, is compacted and says what fills it, whatever stands in place of notes and messages", async (t) => {
  const { stage, keys } = await stageWith(t, (home) =>
    Promise.all(BESIDE.map((body, at) => brought(home, `beside-${at}`, [talk.STARTED, body]))),
  );
  await Promise.all(keys.map((key) => answers(stage, key)));
  assert.equal(stage.log, "[]");
});

test("the context of a session counts only what is a number in the notes", async (t) => {
  const { stage, keys } = await stageWith(t, async (home) => [await brought(home, "all", BESIDE)]);
  const { pruned, parts } = await stage.sessions.call("context", { sessionKey: keys[0] });
  assert.deepEqual([pruned, parts.system, parts.tools], [{ times: 2, results: 0, bytes: 0 }, 0, 0]);
});
