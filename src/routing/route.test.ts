import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { DmScope } from "../config/config.ts";
import { agentOf, chatOf, DEFAULT_AGENT, describeKey, parseAgent, parseKey } from "./key.ts";
import { Routes, type Envelope } from "./route.ts";

const SCOPES: readonly DmScope[] = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"];
const MANY = { numRuns: 5_000 };

const BLANK: Envelope = {
  channel: "telegram",
  account: null,
  chatType: "direct",
  peer: "12345",
  sender: null,
  thread: null,
  topic: false,
  subject: null,
  agent: DEFAULT_AGENT,
};

const LINKS = { ada: ["telegram:12345", "matrix:@ada:x.org"] };

function routed(dmScope: DmScope, said: Partial<Envelope>, identityLinks: Record<string, string[]> = {}) {
  return new Routes({ dmScope, identityLinks }).of({ ...BLANK, ...said });
}

describe("which session a message belongs to", () => {
  const work = { account: "work" };
  const slack = { channel: "slack", chatType: "channel", peer: "C024" } as const;
  const topic = { chatType: "group", peer: "-100200", thread: "42", topic: true } as const;
  const general = { channel: "", chatType: "channel", peer: "general" } as const;
  const TABLE: readonly (readonly [DmScope, Partial<Envelope>, string])[] = [
    ["main", {}, "agent:main:main"],
    ["main", { agent: parseAgent("coder") }, "agent:coder:main"],
    ["main", { thread: "7" }, "agent:main:main:thread:7"],
    ["per-peer", {}, "agent:main:direct:12345"],
    ["per-peer", work, "agent:main:direct:12345"],
    ["per-peer", { channel: "", peer: "user123" }, "agent:main:direct:user123"],
    ["per-channel-peer", {}, "agent:main:telegram:direct:12345"],
    ["per-channel-peer", work, "agent:main:telegram:direct:12345"],
    ["per-channel-peer", { channel: "" }, "agent:main:direct:12345"],
    ["per-channel-peer", { thread: "7" }, "agent:main:telegram:direct:12345:thread:7"],
    ["per-account-channel-peer", work, "agent:main:telegram:work:direct:12345"],
    ["per-account-channel-peer", {}, "agent:main:telegram:direct:12345"],
    ["per-account-channel-peer", { channel: "" }, "agent:main:direct:12345"],
    ["main", slack, "agent:main:slack:channel:C024"],
    ["per-account-channel-peer", { ...slack, ...work }, "agent:main:slack:channel:C024"],
    ["per-peer", { ...slack, thread: "1712.0001" }, "agent:main:slack:channel:C024:thread:1712.0001"],
    ["per-peer", topic, "agent:main:telegram:group:-100200:topic:42"],
    ["per-peer", { chatType: "room", peer: "!r:x.org" }, "agent:main:telegram:room:!r%3Ax.org"],
    ["per-peer", { ...general, agent: parseAgent("coder") }, "agent:coder:channel:general"],
    ["per-peer", { ...general, thread: "123" }, "agent:main:channel:general:thread:123"],
    ["per-peer", { peer: "main", topic: true }, "agent:main:direct:%6Dain"],
  ];
  for (const [scope, said, key] of TABLE) {
    test(`in the scope ${scope} ${JSON.stringify(said)} goes to ${key}`, () => {
      const { key: found } = routed(scope, said);
      const base = chatOf(found);
      assert.equal(found, key);
      assert.equal(base, said.thread === undefined ? null : key.replace(/:(?:thread|topic):[^:]*$/, ""));
    });
  }

  test("an answer goes back to the chat and its thread, and the sender is who speaks", () => {
    const said = { chatType: "group", peer: "g", sender: "ada", thread: "9", account: "work" } as const;
    const { replyTo, from, origin } = routed("main", { ...said, subject: "Family" });
    assert.deepEqual(replyTo, { channel: "telegram", to: "g", thread: "9" });
    assert.deepEqual(from, { kind: "external_user", channel: "telegram", peer: "ada" });
    assert.deepEqual(origin, { ...said, channel: "telegram", subject: "Family" });
  });

  test("in a chat of one the peer speaks, and a door without channels has none", () => {
    const { from } = routed("main", { channel: "" });
    assert.deepEqual(from, { kind: "external_user", channel: null, peer: "12345" });
  });
});

describe("linked identities", () => {
  const matrix = { channel: "matrix", peer: "@ada:x.org" };

  test("a linked person has one session over channels and accounts, but in the scope main", () => {
    for (const scope of SCOPES) {
      const expected = scope === "main" ? "agent:main:main" : "agent:main:direct:ada";
      assert.equal(routed(scope, {}, LINKS).key, expected);
      assert.equal(routed(scope, { ...matrix, account: "work" }, LINKS).key, expected);
      assert.equal(chatOf(routed(scope, { ...matrix, thread: "1" }, LINKS).key), expected);
    }
  });

  test("R2: who is called like a linked person does not get that person's session", () => {
    for (const scope of SCOPES.slice(1)) {
      assert.equal(routed(scope, { peer: "ada" }, LINKS).key, "agent:main:telegram:direct:ada");
      assert.throws(() => routed(scope, { peer: "ada", channel: "" }, LINKS), {
        code: "bad_input",
        message: /"ada" is a person of session.identityLinks: name the channel too/,
      });
    }
  });

  test("a link is about a person, not about a group of the same id", () => {
    assert.equal(routed("per-peer", { chatType: "group" }, LINKS).key, "agent:main:telegram:group:12345");
  });

  test("the first colon of an address ends the channel, so a channel with a colon is nobody's", () => {
    const tricky = { channel: "matrix:@ada", peer: "x.org" };
    assert.equal(routed("per-channel-peer", tricky, LINKS).key, "agent:main:matrix%3A@ada:direct:x.org");
  });

  test("names of JavaScript's own are names like others", () => {
    const links = JSON.parse('{"__proto__": ["a:1"], "constructor": ["a:2"]}') as Record<string, string[]>;
    assert.equal(routed("per-peer", { channel: "a", peer: "1" }, links).key, "agent:main:direct:__proto__");
    assert.equal(routed("per-peer", { channel: "a", peer: "2" }, links).key, "agent:main:direct:constructor");
    assert.equal(routed("per-peer", { peer: "toString" }, links).key, "agent:main:direct:toString");
  });
});

describe("envelopes that are refused", () => {
  const long = "x".repeat(257);
  const REFUSED: readonly (readonly [Partial<Envelope>, RegExp])[] = [
    [{ peer: "" }, /^the peer of a message: an id in a key has at least one character$/],
    [{ thread: "" }, /^the thread of a message: .* at least one character$/],
    [{ account: "" }, /^the account of a message: .* at least one character$/],
    [{ sender: "" }, /^the sender of a message: .* at least one character$/],
    [{ peer: long }, /^the peer of a message: "x+…" is too long: encoded, a key has at most 256 bytes$/],
    [{ channel: long }, /^the channel of a message: .* is too long/],
    [{ sender: "\uD800" }, /^the sender of a message: "\\uD800" holds half a character/],
    [{ channel: "session", peer: "agent:main:main" }, /^the channel of a message: "session": /],
    [{ channel: "report", peer: "agent:main:main", thread: "t" }, /^the channel of a message: "report": /],
    [{ channel: "timer", peer: "job:j", thread: "r" }, /^the channel of a message: "timer": /],
  ];
  for (const [said, why] of REFUSED) {
    test(`${JSON.stringify(said).slice(0, 40)} is refused in every scope, and the message says why`, () => {
      for (const scope of SCOPES)
        assert.throws(() => routed(scope, said), { code: "bad_input", message: why });
    });
  }

  test("ids that fit alone and are together too long are refused", () => {
    const half = "x".repeat(130);
    const both = { chatType: "group", peer: half, thread: half } as const;
    assert.throws(() => routed("main", both), { code: "bad_input", message: /more than 256 bytes/ });
  });

  test("an account without a channel is refused where it would be a part of the key", () => {
    const lost = { channel: "", account: "work" };
    assert.throws(() => routed("per-account-channel-peer", lost), { message: /"work" needs its channel/ });
    assert.equal(routed("per-channel-peer", lost).key, "agent:main:direct:12345");
  });
});

// ── What holds for every envelope ───────────────────────────────────────────────────────────────────────────

const ids = fc.oneof(
  fc.constantFrom(
    "a",
    "A",
    "main",
    "direct",
    "group",
    "thread",
    "topic",
    "a:b",
    "ada",
    "..",
    "%41",
    "é",
    "\0",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
);
const envelopes: fc.Arbitrary<Envelope> = fc.record({
  channel: fc.oneof(fc.constantFrom("", "telegram", "matrix", "matrix:@ada"), ids),
  account: fc.constantFrom(null, "work", "a"),
  chatType: fc.constantFrom("direct", "group", "channel", "room"),
  peer: fc.oneof(fc.constantFrom("12345", "@ada:x.org", "x.org"), ids),
  sender: fc.option(ids),
  thread: fc.option(ids),
  topic: fc.boolean(),
  subject: fc.option(fc.string()),
  agent: fc.constantFrom(DEFAULT_AGENT, parseAgent("coder")),
});
const scopes = fc.constantFrom(...SCOPES);

/** An account that belongs to no channel is refused in one scope; every other envelope made here has a session. */
function sensible(envelope: Envelope): boolean {
  return envelope.channel !== "" || (envelope.account === null && envelope.peer !== "ada");
}

/** What has to differ for two messages to be of different sessions, written without any key. */
function conversation(scope: DmScope, { channel, account, chatType, peer, thread, topic, agent }: Envelope) {
  const within = thread === null ? null : [thread, topic];
  if (chatType !== "direct") return JSON.stringify([agent, chatType, channel, peer, within]);
  if (scope === "main") return JSON.stringify([agent, "main", within]);
  const linked =
    (channel === "telegram" && peer === "12345") || (channel === "matrix" && peer === "@ada:x.org");
  if (linked) return JSON.stringify([agent, "person", within]);
  const apart = scope !== "per-peer" || peer === "ada";
  const through = scope === "per-account-channel-peer" ? account : null;
  return JSON.stringify([agent, "direct", apart ? channel : null, through, peer, within]);
}

test("R1: the same envelope gives the same session, whatever came between", () => {
  fc.assert(
    fc.property(scopes, envelopes, envelopes, (dmScope, one, other) => {
      fc.pre(sensible(one) && sensible(other));
      const routes = new Routes({ dmScope, identityLinks: LINKS });
      const before = routes.of(one);
      routes.of(other);
      assert.deepEqual(routes.of({ ...one }), before);
      assert.deepEqual(new Routes({ dmScope, identityLinks: LINKS }).of(one), before);
    }),
    MANY,
  );
});

test("R2: two messages share a session exactly when they are of the same conversation", () => {
  // The second is often the first with one property of another's: that is where a mix-up would be.
  const pairs = fc
    .tuple(envelopes, envelopes, fc.subarray(["channel", "account", "chatType", "peer", "thread", "topic"]))
    .map(([one, other, same]): [Envelope, Envelope] => {
      const kept = same.map((name) => [name, one[name as keyof Envelope]]);
      return [one, { ...other, ...Object.fromEntries(kept) }];
    });
  fc.assert(
    fc.property(scopes, pairs, (dmScope, [one, other]) => {
      fc.pre(sensible(one) && sensible(other));
      const routes = new Routes({ dmScope, identityLinks: LINKS });
      const together = conversation(dmScope, one) === conversation(dmScope, other);
      assert.equal(routes.of(one).key === routes.of(other).key, together);
    }),
    { numRuns: 20_000 },
  );
});

test("a key that a message gets is canonical, its agent's, and says the chat it is of", () => {
  fc.assert(
    fc.property(scopes, envelopes, (dmScope, envelope) => {
      fc.pre(sensible(envelope));
      const { key } = new Routes({ dmScope, identityLinks: {} }).of(envelope);
      const base = chatOf(key);
      assert.equal(parseKey(key), key);
      assert.equal(agentOf(key), envelope.agent);
      const said = describeKey(key);
      assert.equal(said.thread, envelope.thread);
      assert.equal(said.topic, envelope.thread !== null && envelope.topic);
      assert.equal(base === null, envelope.thread === null);
      if (dmScope !== "main" || envelope.chatType !== "direct") {
        assert.equal(said.chatType, envelope.chatType);
        assert.equal(said.peer, envelope.peer);
      }
      if (base !== null) assert.deepEqual(describeKey(base), { ...said, thread: null, topic: false });
    }),
    MANY,
  );
});
