import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, hookKey, isMadeUp, madeUpKey, namedKey, parseKey, repeatableKey } from "./key.ts";

test("a name that nobody chose is known as such, and one that somebody did is not", () => {
  const id = "019b7a1e-77a0-7c3e-b6a5-0123456789ab";
  const again = repeatableKey(DEFAULT_AGENT, ["ada", "1"]);
  assert.equal(repeatableKey(DEFAULT_AGENT, ["ada", "1"]), again);
  const others = [["ada", "2"], ["ada1", ""], ["ada1"]].map((words) => repeatableKey(DEFAULT_AGENT, words));
  assert.equal(new Set([again, ...others]).size, 4);
  for (const key of [madeUpKey(DEFAULT_AGENT, "fork", id), again, ...others])
    assert.equal(isMadeUp(parseKey(key)), true, key);
  const chosen = [
    "fork",
    "fork-of-mine",
    `handoff-${"0".repeat(32)}`,
    "openai",
    "openai-research",
    "openai-Migration2026-part-one",
  ];
  for (const name of chosen) assert.equal(isMadeUp(namedKey(DEFAULT_AGENT, name)), false, name);
  assert.equal(isMadeUp(hookKey(DEFAULT_AGENT, "fork-0a1b2c3d")), false);
});
