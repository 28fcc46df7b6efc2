import assert from "node:assert/strict";
import { test } from "node:test";
import { fault, Stage } from "./stage.ts";

test("a message can bring a model along, also when it opens its session", async (t) => {
  const stage = await Stage.open(t);
  const key = "agent:main:thread:large";
  await stage.sessions.ask(key, "Hi.", { model: "rehearsal/large" });
  const { settings, settingsVersion, cost } = await stage.sessions.status(key);
  assert.equal(settings.model, "rehearsal/large");
  assert.ok(cost > 0); // the first answer was that model's
  await stage.sessions.ask(key, "Hi.", { model: "rehearsal/large" });
  assert.equal((await stage.sessions.status(key)).settingsVersion, settingsVersion);
  await stage.sessions.ask(key, "Hi.", { model: "rehearsal/default" });
  assert.equal((await stage.sessions.status(key)).model, "rehearsal/default");
});

test("a message that is sent again sets no model again, and revives nobody", async (t) => {
  const stage = await Stage.open(t);
  const key = "agent:main:thread:again";
  const first = { id: "1", model: "rehearsal/large" };
  await stage.sessions.ask(key, "Hi.", first);
  await stage.sessions.set(key, { model: "rehearsal/default" });
  assert.equal((await stage.sessions.send(key, "Hi.", first)).repeated, true);
  assert.equal((await stage.sessions.status(key)).model, "rehearsal/default");
  await stage.sessions.kill(key);
  await stage.until(async () => (await stage.sessions.status(key)).state === "ended");
  assert.equal((await stage.sessions.ask(key, "Hi.", first)).repeated, true);
  assert.equal((await stage.sessions.status(key)).state, "ended");
  await stage.sessions.ask(key, "Hi.", { id: "2" });
  assert.equal((await stage.sessions.status(key)).state, "idle");
});

test("a message with a model that is not there is not sent", async (t) => {
  const stage = await Stage.open(t);
  const key = "agent:main:thread:none";
  await assert.rejects(
    stage.sessions.send(key, "Hi.", { model: "rehearsal/none" }),
    fault("bad_input", /there is no model "rehearsal\/none"/),
  );
  await assert.rejects(stage.sessions.status(key), fault("not_found", /there is no session/));
});

test("an agent brings no model along for another session", async (t) => {
  const stage = await Stage.open(t);
  const given = { sessionKey: "agent:main:main", message: "Hi.", model: "rehearsal/large" };
  const script = `!call sessions_send ${JSON.stringify(given)}\n!then\n!results`;
  const { text } = await stage.sessions.ask("agent:main:thread:one", script);
  assert.match(text, /a session sets its own model, and no other's/);
});
