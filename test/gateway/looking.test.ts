// What a token that may only look gets of answers, by the doors that are made for who asks: what `entries` gives, and no secret.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "./daemon.ts";
import { Line, type Told } from "./line.ts";

const MAIN = "agent:main:main";
const SECRET = `sk-${"Ab1".repeat(14)}`;
const SAID = `the key is ${SECRET} and no more`;
const SHOWN = "the key is [redacted: key] and no more";

/** An agent without tools shows a visitor pieces of its answers, too. */
const config = { agents: { main: { tools: { allow: [] } } } };

async function tokens(daemon: Daemon): Promise<{ readonly looks: string; readonly asks: string }> {
  const { token: looks } = await daemon.call("createToken", { name: "wall", scope: "read" });
  const { token: asks } = await daemon.call("createToken", { name: "desk", scope: "operate" });
  return { looks, asks };
}

async function got(daemon: Daemon, path: string, token: string): Promise<string> {
  const response = await daemon.fetch(path, { token });
  assert.equal(response.status, 200);
  return await response.text();
}

test("who may only look gets an answer that is waited for, and one that is kept, without secrets; who may ask, as it was said", async (t) => {
  const daemon = await Daemon.start(t, { config });
  const { looks, asks } = await tokens(daemon);

  const { sessionKey, id } = await daemon.call("ask", { sessionKey: MAIN, message: `!say ${SAID}` });
  const waited = `/v1/sessions/${sessionKey}/messages/${encodeURIComponent(id)}`;
  const body = JSON.stringify({ input: `!say ${SAID}` });
  const response = await daemon.fetch("/v1/responses", { method: "POST", body });
  const kept = `/v1/responses/${((await response.json()) as { readonly id: string }).id}`;

  for (const path of [waited, kept]) {
    const [looked, asked] = [await got(daemon, path, looks), await got(daemon, path, asks)];
    assert.ok(asked.includes(SAID), asked);
    assert.equal(looked, asked.replaceAll(SECRET, "[redacted: key]"), "and nothing else differs");
    assert.ok(looked.includes(SHOWN), looked);
  }
});

test("who may only look is shown a chat without secrets, in messages and in pieces; who may ask, as it was said", async (t) => {
  const daemon = await Daemon.start(t, { config });
  const { looks, asks } = await tokens(daemon);
  await using wall = await Line.open(daemon, looks);
  await using desk = await Line.open(daemon, asks);
  for (const line of [wall, desk]) await line.subscribe("chat", { peer: "ida" });
  const envelope = { channel: "web", chatType: "direct", peer: "ida" } as const;
  await daemon.call("receive", { ...envelope, message: `!say ${SAID}` });

  for (const [line, said] of [
    [wall, SHOWN],
    [desk, SAID],
  ] as const) {
    const told = await line.until((all) => textsOf(all, "message").length === 2);
    assert.deepEqual(textsOf(told, "message"), [`!say ${said}`, said]);
    assert.equal(textsOf(told, "delta").join(""), said);
  }
  assert.ok(!JSON.stringify(wall.told).includes("Ab1"));
  assert.deepEqual(
    wall.told.map(({ params }) => params.resume).filter((resume) => resume !== null),
    desk.told.map(({ params }) => params.resume).filter((resume) => resume !== null),
    "both come back with the same words",
  );
});

function textsOf(told: readonly Told[], type: string): readonly unknown[] {
  return told.flatMap(({ params: { event } }) => (event?.type === type ? [event["text"]] : []));
}
