import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { SendPolicy, SendRule } from "../config/config.ts";
import { parseKey } from "./key.ts";
import { maySend } from "./policy.ts";

const ANY: SendRule = { action: "deny", channel: null, chatType: null, keyPrefix: null };
const GROUP = parseKey("agent:main:telegram:group:-100200:topic:42");
const MAIN = parseKey("agent:main:main");

function policy(fallback: "allow" | "deny", ...rules: readonly Partial<SendRule>[]): SendPolicy {
  return { default: fallback, rules: rules.map((rule) => ({ ...ANY, ...rule })) };
}

/** Why an answer may not leave; null: it may. */
function refusal(rules: SendPolicy, said: Partial<Parameters<typeof maySend>[1]> = {}): string | null {
  const found = maySend(rules, { key: GROUP, channel: "telegram", override: null, ...said });
  return found.allowed ? null : found.why;
}

describe("whether an answer may leave", () => {
  test("without rules the default decides", () => {
    assert.equal(refusal(policy("allow")), null);
    assert.equal(refusal(policy("deny")), "the default of session.sendPolicy denies it");
  });

  test("the session's own setting decides before any rule", () => {
    assert.equal(refusal(policy("deny", {}), { override: "allow" }), null);
    const own = "the session's own send setting denies it";
    assert.equal(refusal(policy("allow", { action: "allow" }), { override: "deny" }), own);
  });

  test("the first rule that matches decides, and is named by its number", () => {
    const rules = policy("allow", { channel: "slack" }, { chatType: "group" }, { action: "allow" });
    assert.equal(refusal(rules), "rule 2 of session.sendPolicy (chat type group) denies it");
    assert.equal(refusal(policy("deny", { action: "allow" }, {})), null);
  });

  test("a rule matches only when everything it asks for is so", () => {
    const both = { channel: "telegram", chatType: "group", keyPrefix: "agent:main" } as const;
    const asks = '(channel "telegram", chat type group, keys from "agent:main")';
    assert.equal(refusal(policy("allow", both)), `rule 1 of session.sendPolicy ${asks} denies it`);
    assert.equal(refusal(policy("allow", { ...both, channel: "Telegram" })), null);
    assert.equal(refusal(policy("allow", { ...both, chatType: "channel" })), null);
    assert.equal(refusal(policy("allow", { ...both, keyPrefix: "agent:coder" })), null);
  });

  test("a rule that asks for nothing matches everything", () => {
    assert.equal(refusal(policy("allow", {})), "rule 1 of session.sendPolicy (everything) denies it");
  });

  test("the main session has no chat type", () => {
    for (const chatType of ["direct", "group", "channel", "room"] as const)
      assert.equal(refusal(policy("allow", { chatType }), { key: MAIN }), null);
  });
});

test("a key's beginning matches where a part ends, and nowhere else", () => {
  const parts = GROUP.split(":");
  for (let length = 1; length <= GROUP.length; length += 1) {
    const keyPrefix = GROUP.slice(0, length);
    const whole = parts.some((_, count) => parts.slice(0, count + 1).join(":") === keyPrefix);
    assert.equal(refusal(policy("allow", { keyPrefix })) !== null, whole, keyPrefix);
  }
  assert.equal(refusal(policy("allow", { keyPrefix: `${GROUP}:x` })), null);
});

test("what is decided is the action of the first matching rule, whatever follows it", () => {
  const rule = fc.record({
    action: fc.constantFrom("allow" as const, "deny" as const),
    channel: fc.constantFrom(null, "telegram", "slack"),
    chatType: fc.constantFrom(null, "group" as const, "direct" as const),
    keyPrefix: fc.constantFrom(null, "agent:main", "agent:mai"),
  });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 5 }), fc.constantFrom("allow", "deny"), (rules, fallback) => {
      const first = rules.findIndex((each) => refusal(policy("allow", { ...each, action: "deny" })) !== null);
      const why = refusal({ default: fallback, rules });
      assert.equal(why === null, (rules[first]?.action ?? fallback) === "allow");
      if (why !== null)
        assert.equal(why.startsWith(first === -1 ? "the default" : `rule ${first + 1} `), true);
    }),
    { numRuns: 2_000 },
  );
});
