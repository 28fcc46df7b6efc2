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
