import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, hookKey, isMadeUp, madeUpKey, namedKey, parseKey, repeatableKey } from "./key.ts";

test("a name that nobody chose is known as such, and one that somebody did is not", () => {
  const id = "019b7a1e-77a0-7c3e-b6a5-0123456789ab";
  const again = repeatableKey(DEFAULT_AGENT, ["ada", "1"]);
  assert.equal(repeatableKey(DEFAULT_AGENT, ["ada", "1"]), again);
  const others = [["ada", "2"], ["ada1", ""], ["ada1"]].map((words) => repeatableKey(DEFAULT_AGENT, words));
  assert.equal(new Set([again, ...others]).size, 4);
  const once = namedKey(DEFAULT_AGENT, "openai-k3JYx_0-vQm2PzA7hTgR1e"); // as it was once called
  for (const key of [madeUpKey(DEFAULT_AGENT, "fork", id), again, ...others, once])
    assert.equal(isMadeUp(parseKey(key)), true, key);
  const chosen = [
    "fork",
    "fork-of-mine",
    `handoff-${"0".repeat(32)}`,
    "openai",
    "openai-research",
    "openai-migration-plan-of-2026",
    "openai-MIGRATION-PLAN-OF-2026",
    "openai-Migration-plan-of-Ada-",
    "openai-k3JYx_0-vQm2PzA7hTgR1ef",
  ];
  for (const name of chosen) assert.equal(isMadeUp(namedKey(DEFAULT_AGENT, name)), false, name);
  assert.equal(isMadeUp(hookKey(DEFAULT_AGENT, "fork-0a1b2c3d")), false);
});
