// What a session is set to when it begins anew is what its new file says, for whoever has only that.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RealWorld } from "../../src/base/world.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { MAIN } from "./family.ts";
import { Stage } from "./stage.ts";

test("the model of a reset, and that it has no pins, are found again by a rebuild", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  await sessions.ask(MAIN, "!say first");
  await sessions.set(MAIN, { label: "Mine" });
  await sessions.call("pin", { sessionKey: MAIN, seq: 2, pinned: true });
  assert.equal((await sessions.status(MAIN)).settings.pins.length, 1);
  await sessions.call("reset", { sessionKey: MAIN, model: "rehearsal/small" });
  await stage.rest(MAIN);
  const { settings } = await sessions.status(MAIN);
  assert.deepEqual([settings.model, settings.pins, settings.label], ["rehearsal/small", [], "Mine"]);
  await stage.close();
  rebuild(stage.home, new RealWorld().nowMs(), () => {});
  await stage.reopen();
  assert.deepEqual((await stage.sessions.status(MAIN)).settings, settings);
});
