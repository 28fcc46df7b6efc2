// The keys that people and documents write, one by one. What holds for all keys is in key.properties.test.ts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fault } from "../base/fault.ts";
import { KEY_BYTES_MAX } from "../limits.ts";
import {
  acpKey,
  agentOf,
  channelKey,
  cronKey,
  cronRunKey,
  DEFAULT_AGENT,
  describeKey,
  directKey,
  groupKey,
  heartbeatKey,
  hookKey,
  isAcp,
  isCronRun,
  isSubagent,
  isThreaded,
  mainKey,
  namedKey,
  parseAgent,
  parseKey,
  roomKey,
  subagentKey,
  threadKey,
  topicKey,
  type KeyParts,
  type SessionKey,
} from "./key.ts";
import { decodePart, encodePart } from "./part.ts";

const BLANK = {
  chatType: null,
  channel: null,
  account: null,
  peer: null,
  thread: null,
  topic: false,
  name: null,
  id: null,
  depth: 0,
  cronJob: null,
  cronRun: null,
  run: false,
} as const;

const CHAT = { agent: DEFAULT_AGENT, channel: "matrix", peer: "@ada:x.org" };

function refusal(text: string): string {
  try {
    parseKey(text);
  } catch (fault) {
    assert.ok(fault instanceof Fault);
    assert.equal(fault.code, "bad_input");
    return fault.message;
  }
  return assert.fail(`${JSON.stringify(text.slice(0, 200))} was taken for a key`);
}

/** Every key that the project's founding documents show, and one of each row that they do not. */
const READ: readonly (readonly [string, Partial<KeyParts> & Pick<KeyParts, "kind">])[] = [
  ["agent:main:main", { kind: "main" }],
  ["agent:larry:main", { kind: "main" }],
  ["agent:main:main:thread:5", { kind: "main", thread: "5" }],
  ["agent:main:heartbeat", { kind: "heartbeat" }],
  ["agent:main:subagent:7f3a", { kind: "subagent", id: "7f3a", depth: 1 }],
  ["agent:main:subagent:a:subagent:b", { kind: "subagent", id: "b", depth: 2 }],
  ["agent:main:subagent:depth-1", { kind: "subagent", id: "depth-1", depth: 1 }],
  ["agent:default:subagent:depth-1:parent-key", { kind: "subagent", id: "parent-key", depth: 1 }],
  ["agent:default:subagent:depth-3:p:subagent:c", { kind: "subagent", id: "c", depth: 4 }],
  ["agent:main:direct:user123", { kind: "direct", chatType: "direct", peer: "user123" }],
  ["agent:coder:direct:user123", { kind: "direct", chatType: "direct", peer: "user123" }],
  [
    "agent:default:telegram:direct:12345",
    { kind: "direct", chatType: "direct", channel: "telegram", peer: "12345" },
  ],
  [
    "agent:main:telegram:bot2:direct:1",
    { kind: "direct", chatType: "direct", channel: "telegram", account: "bot2", peer: "1" },
  ],
  ["agent:main:group:family", { kind: "group", chatType: "group", peer: "family" }],
  [
    "agent:default:discord:group:guild-channel",
    { kind: "group", chatType: "group", channel: "discord", peer: "guild-channel" },
  ],
  [
    "agent:main:telegram:group:-100:topic:42",
    { kind: "group", chatType: "group", channel: "telegram", peer: "-100", thread: "42", topic: true },
  ],
  ["agent:coder:channel:general", { kind: "channel", chatType: "channel", peer: "general" }],
  ["agent:main:channel:general", { kind: "channel", chatType: "channel", peer: "general" }],
  [
    "agent:main:channel:general:thread:123",
    { kind: "channel", chatType: "channel", peer: "general", thread: "123" },
  ],
  ["agent:main:slack:channel:C1", { kind: "channel", chatType: "channel", channel: "slack", peer: "C1" }],
  ["agent:main:matrix:room:lobby", { kind: "channel", chatType: "room", channel: "matrix", peer: "lobby" }],
  ["agent:main:thread:t123", { kind: "thread", name: "t123" }],
  ["agent:main:thread:thread-id-123", { kind: "thread", name: "thread-id-123" }],
  ["agent:larry:thread:budget-planning", { kind: "thread", name: "budget-planning" }],
  ["agent:default:cron:run:job-123", { kind: "cron", cronJob: "job-123", run: true }],
  ["agent:main:cron:nightly", { kind: "cron", cronJob: "nightly" }],
  ["agent:main:cron:nightly:run:9", { kind: "cron", cronJob: "nightly", cronRun: "9", run: true }],
  ["agent:main:hook:github", { kind: "hook", id: "github" }],
  ["agent:main:acp:0193", { kind: "acp", id: "0193" }],
];

describe("keys people write", () => {
  const WRITTEN: readonly (readonly [SessionKey, string])[] = [
    [mainKey(DEFAULT_AGENT), "agent:main:main"],
    [heartbeatKey(parseAgent("coder")), "agent:coder:heartbeat"],
    [directKey({ ...CHAT, channel: null, account: null }), "agent:main:direct:@ada%3Ax.org"],
    [directKey({ ...CHAT, account: null }), "agent:main:matrix:direct:@ada%3Ax.org"],
    [directKey({ ...CHAT, account: "work" }), "agent:main:matrix:work:direct:@ada%3Ax.org"],
    [groupKey({ ...CHAT, channel: null }), "agent:main:group:@ada%3Ax.org"],
    [channelKey(CHAT), "agent:main:matrix:channel:@ada%3Ax.org"],
    [roomKey(CHAT), "agent:main:matrix:room:@ada%3Ax.org"],
    [threadKey(mainKey(DEFAULT_AGENT), "a b"), "agent:main:main:thread:a%20b"],
    [topicKey(groupKey(CHAT), "1"), "agent:main:matrix:group:@ada%3Ax.org:topic:1"],
    [namedKey(DEFAULT_AGENT, "budget-planning"), "agent:main:thread:budget-planning"],
    [subagentKey(groupKey(CHAT), "1"), "agent:main:subagent:1"],
    [subagentKey(parseKey("agent:main:subagent:1"), "2"), "agent:main:subagent:1:subagent:2"],
    [cronKey(DEFAULT_AGENT, "run"), "agent:main:cron:%72un"],
    [cronRunKey({ agent: DEFAULT_AGENT, job: "nightly", run: "9" }), "agent:main:cron:nightly:run:9"],
    [hookKey(DEFAULT_AGENT, "github"), "agent:main:hook:github"],
    [acpKey(DEFAULT_AGENT, "0193"), "agent:main:acp:0193"],
  ];
  for (const [made, text] of WRITTEN) {
    test(`a maker makes ${text}, and the parser takes it`, () => {
      assert.equal(made, text);
      assert.equal(parseKey(text), text);
    });
  }

  for (const [text, said] of READ) {
    test(`${text} is a key of kind ${said.kind}`, () => {
      const key = parseKey(text);
      assert.equal(key, text);
      assert.deepEqual(describeKey(key), { ...BLANK, ...said, agent: text.split(":")[1] });
      assert.equal(isSubagent(key), said.kind === "subagent");
      assert.equal(isAcp(key), said.kind === "acp");
      assert.equal(isCronRun(key), said.run ?? false);
      assert.equal(isThreaded(key), (said.thread ?? null) !== null);
    });
  }

  const SHORT: readonly (readonly [string, string])[] = [
    ["main", "agent:main:main"],
    ["cron:nightly", "agent:main:cron:nightly"],
    ["cron:%6Dain", "agent:main:cron:%6Dain"],
    ["group:family", "agent:main:group:family"],
    ["agent:main:dm:user123", "agent:main:direct:user123"],
    ["agent:dm:dm:user123", "agent:dm:direct:user123"],
    ["agent:coder:slack:dm:U1", "agent:coder:slack:direct:U1"],
    ["agent:coder:slack:work:dm:U1:thread:9", "agent:coder:slack:work:direct:U1:thread:9"],
  ];
  for (const [text, key] of SHORT) {
    test(`${text} is short for ${key}`, () => {
      assert.equal(parseKey(text), key);
    });
  }

  test("K1: a short form that is too long when written out is refused", () => {
    assert.match(refusal(`group:${"a".repeat(KEY_BYTES_MAX - 6)}`), /written out it has more than 256 bytes/);
    assert.match(
      refusal(`agent:main:dm:${"a".repeat(KEY_BYTES_MAX - 14)}`),
      /written out it has more than 256 bytes/,
    );
  });

  const REFUSED: readonly (readonly [string, RegExp])[] = [
    ["", /does not begin with "agent:"/],
    ["session:main:direct:user123", /does not begin with "agent:"/],
    ["thread:budget-planning", /only main, cron:<id> and group:<id> need not/],
    ["cron:nightly:run:9", /does not begin with "agent:"/],
    ["group:family:thread:1", /does not begin with "agent:"/],
    ["dm:user123", /does not begin with "agent:"/],
    ["heartbeat", /does not begin with "agent:"/],
    ["cron:", /is empty/],
    ["cron:run", /can only begin cron:<job>, /],
    [" main", /does not begin/],
    ["main\n", /"main\\u000A" is not a session key/],
    ["agent", /"" is not an agent id/],
    ["agent:", /"" is not an agent id/],
    ["agent:main", /after the agent comes what it is for/],
    ["agent:main:", /is empty/],
    ["agent:main:main:", /is empty/],
    ["agent::main", /"" is not an agent id/],
    ["agent:main::direct:x", /is empty/],
    [":agent:main:main", /does not begin/],
    ["agent:-a:main", /is not an agent id/],
    ["agent:..:main", /is not an agent id/],
    [`agent:${"a".repeat(65)}:main`, /is not an agent id/],
    ["agent:main:main:main", /"main" can only begin main;/],
    ["agent:main:heartbeat:thread:1", /only main, direct, group, channel and room keys have threads/],
    ["agent:main:thread:a:thread:b", /only main, direct, group, channel and room keys have threads/],
    ["agent:main:cron:a:topic:b", /only main, direct, group, channel and room keys have threads/],
    ["agent:main:subagent:a:thread:b", /only main, direct, group, channel and room keys have threads/],
    ["agent:main:group:a:thread:b:thread:c", /"group" can only begin group:<peer>/],
    ["agent:main:main:subagent:a", /whatever its parent's key/],
    ["agent:main:subagent:a:b", /can only begin subagent:<id>, subagent:depth-<n>:<id>/],
    ["agent:main:subagent:depth-0:p", /can only begin subagent:<id>/],
    ["agent:main:subagent:depth-01:p", /can only begin subagent:<id>/],
    ["agent:main:subagent:depth-100:p", /can only begin subagent:<id>/],
    ["agent:main:subagent:a:subagent:depth-2:p", /can only begin subagent:<id>/],
    ["agent:main:run:x", /"run" cannot follow the agent/],
    ["agent:main:topic:x", /"topic" cannot follow the agent/],
    ["agent:main:telegram", /can only begin <channel>:direct:<peer>, /],
    ["agent:main:telegram:12345", /can only begin <channel>:direct:<peer>, /],
    ["agent:main:telegram:bot2:group:1", /can only begin <channel>:direct:<peer>, /],
    ["agent:main:matrix:direct:@ada:matrix.org", /inside an id ":" is written %3A/],
    ["agent:main:direct:main", /an id that is a word, such as main, %6Dain/],
    ["agent:main:direct:a b", /as an id it is written "a%20b"/],
    ["agent:main:direct: a", /as an id it is written "%20a"/],
    ["agent:main:direct:a/b", /as an id it is written "a%2Fb"/],
    ["agent:main:direct:a\\b", /as an id it is written "a%5Cb"/],
    ["agent:main:direct:a*", /as an id it is written "a%2A"/],
    ["agent:main:direct:..", /as an id it is written "%2E\."/],
    ["agent:main:..:direct:x", /as an id it is written "%2E\."/],
    ["agent:main:direct:.", /as an id it is written "%2E"/],
    ["agent:main:direct:%2e", /as an id it is written "%2E"/],
    ["agent:main:direct:%2E%2E", /as an id it is written "%2E\."/],
    ["agent:main:direct:%2fa", /as an id it is written "%2Fa"/],
    ["agent:main:direct:%41", /as an id it is written "A"/],
    ["agent:main:direct:%4D%41IN", /as an id it is written "MAIN"/],
    ["agent:main:direct:m%61in", /as an id it is written "%6Dain"/],
    ["agent:main:direct:é", /"\\u00E9" is not in canonical form; as an id it is written "%C3%A9"/],
    ["agent:main:direct:аdmin", /"\\u0430dmin" is not in canonical form/],
    ["аgent:main:main", /"\\u0430gent:main:main" is not a session key/],
    ["agent:main：main", /is not an agent id/],
    ["agent:main:\u202Eniam", /"\\u202Eniam"/],
    ["agent:main:direct:\0", /"\\u0000" is not in canonical form/],
    ["agent:main:direct:a\nb\u007F\u009B", /"a\\u000Ab\\u007F\\u009B"/],
    ["agent:main:direct:\uD800", /lone surrogate/],
    ["agent:main:direct:%", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%4", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%G0", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%C0%AF", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%E0%80%AF", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%FF", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%C3", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%ED%A0%80", /begins no escape of valid UTF-8/],
    ["agent:main:direct:%F4%90%80%80", /begins no escape of valid UTF-8/],
    [`agent:main:direct:${"a".repeat(239)}`, /it has more than 256 bytes/],
  ];
  for (const [text, why] of REFUSED) {
    test(`K4: ${JSON.stringify(text).slice(0, 60)} is refused, and the message says why`, () => {
      assert.match(refusal(text), why);
    });
  }

  test("the same hostile text is a fine foreign id: it is encoded, and decodes back", () => {
    for (const [text] of REFUSED) {
      if (text === "" || !text.isWellFormed() || encodeURIComponent(text).length > 200) continue;
      const key = directKey({ agent: DEFAULT_AGENT, channel: null, account: null, peer: text });
      assert.equal(parseKey(key), key);
      assert.equal(describeKey(key).peer, text);
    }
  });

  const MEANT: readonly (readonly [string, string])[] = [
    ["agent:Main:main", "agent:main:main"],
    ["AGENT:MAIN:MAIN", "agent:main:main"],
    ["MAIN", "agent:main:main"],
    ["Cron:Nightly", "agent:main:cron:Nightly"],
    ["agent:Main:direct:MAIN", "agent:main:direct:MAIN"],
    ["agent:main:Telegram:Direct:U1", "agent:main:Telegram:direct:U1"],
    ["agent:main:DM:U1", "agent:main:direct:U1"],
  ];
  for (const [text, key] of MEANT) {
    test(`who writes ${text} is asked about ${key}, and nothing is lower-cased for them`, () => {
      assert.ok(refusal(text).endsWith(`Did you mean "${key}"?`), refusal(text));
    });
  }

  test("nothing is proposed when letter case is not all that is wrong", () => {
    for (const text of ["agent:Main", "agent:Main:direct:a b", "Agent", "agent:ma in:main"]) {
      assert.doesNotMatch(refusal(text), /Did you mean/);
    }
  });
});

describe("bounds", () => {
  test("K1: a key has at most 256 bytes, whoever makes it", () => {
    const peer = "a".repeat(KEY_BYTES_MAX - "agent:main:direct:".length);
    const direct = { agent: DEFAULT_AGENT, channel: null, account: null };
    const longest = directKey({ ...direct, peer });
    assert.equal(longest.length, KEY_BYTES_MAX);
    assert.equal(parseKey(longest), longest);
    assert.throws(() => directKey({ ...direct, peer: `${peer}a` }), {
      code: "bad_input",
      message: /256 bytes/,
    });
    assert.throws(() => threadKey(longest, "1"), { code: "bad_input", message: /256 bytes/ });
  });

  const BLOCKS = ["a", "\0", ":", "%", "é", "agent:main:", "%41", "\uD800", "agent:main:subagent:x:"];

  test("K6: ten megabytes are refused with a message of one short line", () => {
    for (const block of BLOCKS) {
      const message = refusal(block.repeat(10_000_000 / block.length));
      assert.ok(message.length < 120, message);
      assert.match(message, /^[ -~…]+$/);
    }
  });

  test("K6: of ten megabytes no more is looked at than of three hundred bytes, and that is little", () => {
    for (const block of BLOCKS) {
      for (const refuse of [parseKey, parseAgent, encodePart, decodePart]) {
        const [few = 0, many] = [300, 10_000_000].map((length) => {
          const text = new Looked(block, length);
          assert.throws(() => refuse(text.asString()), { code: "bad_input" });
          return text.looks;
        });
        assert.equal(many, few, `${refuse.name} of ${JSON.stringify(block)}`);
        assert.ok(few < 100, `${refuse.name} looked ${few} times`);
      }
    }
  });
});

/** A text that counts how often somebody looks at one of its characters, and fails when it is looked at as a whole. */
class Looked {
  looks = 0;
  readonly #block: string;
  readonly #length: number;

  constructor(block: string, length: number) {
    this.#block = block;
    this.#length = length;
  }

  asString(): string {
    const look = (at: number): string => {
      this.looks += 1;
      return this.#block.charAt(at % this.#block.length);
    };
    const known: Record<PropertyKey, unknown> = {
      length: this.#length,
      charAt: look,
      charCodeAt: (at: number) => look(at).charCodeAt(0),
    };
    const get = (_: object, name: PropertyKey): unknown =>
      known[name] ?? assert.fail(`${String(name)} looks at the whole text`);
    return new Proxy({}, { get }) as unknown as string;
  }
}

describe("rules between arguments", () => {
  test("an account without its channel is refused", () => {
    const direct = { agent: DEFAULT_AGENT, channel: null, account: "bot2", peer: "x" };
    assert.throws(() => directKey(direct), { code: "bad_input", message: /needs its channel/ });
  });

  test("a thread of a thread, and a thread where nobody talks, are refused", () => {
    for (const text of [
      "group:g:thread:1",
      "main:topic:1",
      "heartbeat",
      "thread:t",
      "subagent:s",
      "cron:c",
      "hook:h",
      "acp:a",
    ]) {
      const base = parseKey(`agent:main:${text}`);
      assert.throws(() => threadKey(base, "2"), { code: "bad_input" }, base);
      assert.throws(() => topicKey(base, "2"), { code: "bad_input" }, base);
    }
  });

  test("a sub-agent's key repeats its parent's only when the parent is a sub-agent", () => {
    for (const [text, said] of READ) {
      const parent = parseKey(text);
      const expected =
        said.kind === "subagent" ? `${text}:subagent:z` : `agent:${agentOf(parent)}:subagent:z`;
      assert.equal(subagentKey(parent, "z"), expected);
      assert.equal(parseKey(expected), expected);
    }
  });

  test("an agent id may be a word of the grammar, because its place is fixed", () => {
    for (const word of ["main", "dm", "cron", "agent"])
      assert.equal(agentOf(mainKey(parseAgent(word))), word);
  });
});
