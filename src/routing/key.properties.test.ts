// What holds for every key, whatever foreign ids it is made of. Single keys are in key.test.ts.

import assert from "node:assert/strict";
import { isAbsolute, join, sep } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
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
  mainKey,
  namedKey,
  parseAgent,
  parseKey,
  roomKey,
  subagentKey,
  threadKey,
  topicKey,
  type AgentId,
  type KeyParts,
  type SessionKey,
} from "./key.ts";
import { encodePart } from "./part.ts";

const MANY = { numRuns: 10_000 };

// The words once more, on purpose not imported: a word lost from the code must be missed here.
const ALL_WORDS = "main heartbeat direct dm group channel room thread topic subagent cron run hook acp";
const WORDS = ALL_WORDS.split(" ");
/** `dm` is read as `direct`, so a text that holds it is not its own key. */
const CANONICAL_WORDS = WORDS.filter((word) => word !== "dm");

/** Ids that a careless encoding would mix up with grammar, with a path, with an escape, or with one another. */
const TRICKY = [
  ...WORDS,
  ...". .. ... ../../etc/passwd a/b a\\b ~ - C: % %41 %2F %2f %3A %C0%AF %FF".split(" "),
  ...": a:b :: a A b depth-1 depth-7 agent *".split(" "),
  ..."é e\u0301 ﬁ fi аdmin admin ＡＢ \u202Eabc \u200B \uFEFF \uFEFFa \uFFFD 😀 \0 nul\0 \n".split(" "),
  " ",
  " a",
  "a ",
];

const ids = fc.oneof(
  { arbitrary: fc.constantFrom(...TRICKY), weight: 2 },
  { arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 3 }), weight: 1 },
  {
    arbitrary: fc.string({ unit: fc.constantFrom("a", ":", "%", "3", "A", "."), minLength: 1, maxLength: 3 }),
    weight: 1,
  },
);
const agents = fc.constantFrom("main", "coder", "0", "a_b-c", "dm", "cron").map(parseAgent);
const suffixes = fc.option(fc.record({ topic: fc.boolean(), id: ids }));

type Field = "channel" | "account" | "peer" | "name" | "id" | "cronJob" | "cronRun" | "ancestor";
type Said = Partial<KeyParts> & Pick<KeyParts, "kind">;
type Make = (agent: AgentId, values: readonly string[]) => SessionKey;

/** One row of the table. */
interface Row {
  readonly said: Said; //               what its keys are described as, apart from values
  readonly fields: readonly Field[]; // where its values come back; an ancestor's id does not
  readonly make: Make;
  readonly threads: boolean;
}

function row(said: Said, fields: readonly Field[], make: Make): Row {
  const threads = ["main", "direct", "group", "channel"].includes(said.kind);
  return { said, fields, make, threads };
}

function chat(said: Said, make: typeof groupKey): readonly [Row, Row] {
  return [
    row(said, ["peer"], (agent, [peer = ""]) => make({ agent, channel: null, peer })),
    row(said, ["channel", "peer"], (agent, [channel = "", peer = ""]) => make({ agent, channel, peer })),
  ];
}

const subagent: Make = (agent, values) => {
  return values.reduce<SessionKey>((parent, id) => subagentKey(parent, id), mainKey(agent));
};

/** The form that is read and never made. */
const counted: Make = (agent, [id = "", ...below]) => {
  const key = parseKey(`agent:${agent}:subagent:depth-7:${encodePart(id)}`);
  return below.reduce<SessionKey>((parent, child) => subagentKey(parent, child), key);
};

const DIRECT: Said = { kind: "direct", chatType: "direct" };

const ROWS: readonly Row[] = [
  row({ kind: "main" }, [], (agent) => mainKey(agent)),
  row({ kind: "heartbeat" }, [], (agent) => heartbeatKey(agent)),
  ...chat(DIRECT, (direct) => directKey({ ...direct, account: null })),
  row(DIRECT, ["channel", "account", "peer"], (agent, [channel = "", account = "", peer = ""]) =>
    directKey({ agent, channel, account, peer }),
  ),
  ...chat({ kind: "group", chatType: "group" }, groupKey),
  ...chat({ kind: "channel", chatType: "channel" }, channelKey),
  ...chat({ kind: "channel", chatType: "room" }, roomKey),
  row({ kind: "thread" }, ["name"], (agent, [name = ""]) => namedKey(agent, name)),
  row({ kind: "subagent", depth: 1 }, ["id"], subagent),
  row({ kind: "subagent", depth: 2 }, ["ancestor", "id"], subagent),
  row({ kind: "subagent", depth: 3 }, ["ancestor", "ancestor", "id"], subagent),
  row({ kind: "subagent", depth: 7 }, ["id"], counted),
  row({ kind: "subagent", depth: 8 }, ["ancestor", "id"], counted),
  row({ kind: "cron" }, ["cronJob"], (agent, [job = ""]) => cronKey(agent, job)),
  row({ kind: "cron", run: true }, ["cronJob", "cronRun"], (agent, [job = "", run = ""]) =>
    cronRunKey({ agent, job, run }),
  ),
  row({ kind: "cron", run: true }, ["cronJob"], (agent, [job = ""]) =>
    parseKey(`agent:${agent}:cron:run:${encodePart(job)}`),
  ),
  row({ kind: "hook" }, ["id"], (agent, [id = ""]) => hookKey(agent, id)),
  row({ kind: "acp" }, ["id"], (agent, [id = ""]) => acpKey(agent, id)),
];

/** A key as somebody means it, apart from how it is written. */
interface Address {
  readonly row: Row;
  readonly agent: AgentId;
  readonly values: readonly string[];
  readonly suffix: { readonly topic: boolean; readonly id: string } | null;
}

function addressesOf(one: Row): fc.Arbitrary<Address> {
  return fc.record({
    row: fc.constant(one),
    agent: agents,
    values: fc.array(ids, { minLength: one.fields.length, maxLength: one.fields.length }),
    suffix: one.threads ? suffixes : fc.constant(null),
  });
}

const addresses = fc.constantFrom(...ROWS).chain(addressesOf);

function keyOf(address: Address): SessionKey {
  const base = address.row.make(address.agent, address.values);
  if (address.suffix === null) return base;
  return address.suffix.topic ? topicKey(base, address.suffix.id) : threadKey(base, address.suffix.id);
}

function partsOf({ row: { said, fields }, agent, values, suffix }: Address): KeyParts {
  const back = fields.map((field, index) => [field, values[index]]).filter(([field]) => field !== "ancestor");
  const nowhere = { chatType: null, channel: null, account: null, peer: null };
  const nothing = { name: null, id: null, depth: 0, cronJob: null, cronRun: null, run: false };
  return {
    ...nowhere,
    ...nothing,
    ...said,
    ...Object.fromEntries(back),
    agent,
    thread: suffix?.id ?? null,
    topic: suffix?.topic ?? false,
  };
}

/** The table of docs/formats/keys.md as a second, independent grammar: one pattern a row. */
const VALUE = `(?!(?:${WORDS.join("|")}|\\.|\\.\\.)(?::|$))(?:[A-Za-z0-9._~!'()@+-]|%[0-9A-F]{2})+`;
const SUFFIX = "(?::(?:thread|topic):V)?";
const PATTERNS = [
  `main${SUFFIX}`,
  "heartbeat",
  ...["direct", "group", "channel", "room"].flatMap((word) => [`${word}:V${SUFFIX}`, `V:${word}:V${SUFFIX}`]),
  `V:V:direct:V${SUFFIX}`,
  "thread:V",
  "subagent:V(?::subagent:V)*",
  "subagent:depth-[1-9][0-9]?:V(?::subagent:V)*",
  "cron:V",
  "cron:V:run:V",
  "cron:run:V",
  "hook:V",
  "acp:V",
].map((shape) => new RegExp(`^agent:[a-z0-9][a-z0-9_-]{0,63}:${shape.replaceAll("V", VALUE)}$`));

function rowsThatFit(text: string): number {
  return PATTERNS.filter((pattern) => pattern.test(text)).length;
}

/** The key of a text, or the message of the Fault that refused it. */
function taken(text: string): { readonly key: SessionKey } | { readonly refusal: string } {
  try {
    return { key: parseKey(text) };
  } catch (fault) {
    assert.ok(fault instanceof Fault && fault.code === "bad_input");
    return { refusal: fault.message };
  }
}

/** 1 for a text that is its own key, else 0: to be compared with the number of rows that it fits. */
function keysIn(text: string): number {
  const answer = taken(text);
  return "key" in answer && answer.key === text ? 1 : 0;
}

for (const each of ROWS) {
  const shape = each.make(DEFAULT_AGENT, each.fields);
  test(`a key such as ${shape} is parsed as itself and described as what it was made of`, () => {
    fc.assert(
      fc.property(addressesOf(each), (address) => {
        const key = keyOf(address);
        assert.equal(parseKey(key), key);
        assert.deepEqual(describeKey(key), partsOf(address));
        assert.equal(agentOf(key), address.agent);
      }),
      { numRuns: 1_000 },
    );
  });
}

test("K1: every key is printable ASCII within the bound, whatever the ids are", () => {
  fc.assert(
    fc.property(addresses, (address) => {
      const key = keyOf(address);
      assert.match(key, /^[!-~]+$/);
      assert.ok(key.length <= KEY_BYTES_MAX);
    }),
    MANY,
  );
});

test("K2: two addresses that differ in a row, an agent, an id or a position have different keys", () => {
  fc.assert(
    fc.property(addresses, addresses, (one, other) => {
      const same = one.row === other.row && JSON.stringify(one) === JSON.stringify(other);
      assert.equal(keyOf(one) === keyOf(other), same);
    }),
    MANY,
  );
});

test("K2: the same ids on every row and in every order give keys that are all different", () => {
  fc.assert(
    fc.property(fc.uniqueArray(ids, { minLength: 3, maxLength: 3 }), ids, (some, thread) => {
      const keys: SessionKey[] = [];
      for (const values of [some, some.toReversed(), [...some.slice(1), ...some.slice(0, 1)]]) {
        for (const each of ROWS) {
          const base = each.make(DEFAULT_AGENT, values.slice(0, each.fields.length));
          keys.push(base, ...(each.threads ? [threadKey(base, thread), topicKey(base, thread)] : []));
        }
      }
      const alike = 2 * 4; // main, its thread, its topic and heartbeat hold no id, and came up three times
      assert.equal(new Set(keys).size, keys.length - alike);
    }),
    { numRuns: 1_000 },
  );
});

test("K3: a canonical key has exactly one reading", () => {
  fc.assert(
    fc.property(addresses, (address) => {
      assert.equal(rowsThatFit(keyOf(address)), 1);
    }),
    MANY,
  );
});

test("K3: of all lists of up to three parts, those that fit a row of the table are keys, and no others", () => {
  const tokens = [...CANONICAL_WORDS, "x", "depth-1", "%6Dain"];
  let lists: readonly string[] = ["agent:main"];
  for (let length = 1; length <= 3; length += 1) {
    lists = lists.flatMap((list) => tokens.map((token) => `${list}:${token}`));
    for (const text of lists) assert.equal(keysIn(text), rowsThatFit(text), text);
  }
});

test("K3: a key with one part added, lost or exchanged is a key exactly if it fits a row of the table", () => {
  const token = fc.constantFrom(...CANONICAL_WORDS, "x", "depth-1", "depth-0", "%6Dain");
  const change = fc.record({
    position: fc.nat(),
    lost: fc.nat({ max: 1 }),
    added: fc.array(token, { maxLength: 1 }),
  });
  fc.assert(
    fc.property(addresses, change, (address, { position, lost, added }) => {
      const parts = keyOf(address).split(":");
      parts.splice(2 + (position % (parts.length - 1)), lost, ...added);
      const text = parts.join(":");
      assert.equal(keysIn(text), rowsThatFit(text), text);
    }),
    MANY,
  );
});

test("K4: whatever text comes, the answer is a key that reads as itself, or bad_input", () => {
  const piece = fc.oneof(ids, ids.map(encodePart), fc.constantFrom(...WORDS, "agent", "", "Main"));
  const joined = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(":"));
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    joined,
    joined.map((rest) => `agent:main:${rest}`),
  );
  fc.assert(
    fc.property(text, (raw) => {
      const answer = taken(raw);
      if (!("key" in answer)) return;
      assert.equal(parseKey(answer.key), answer.key);
      assert.equal(rowsThatFit(answer.key), 1);
    }),
    MANY,
  );
});

test("K5: neither a key nor a part of one leads out of a directory", () => {
  const dir = join(sep, "home", "sessions");
  fc.assert(
    fc.property(addresses, (address) => {
      const key = keyOf(address);
      for (const name of [key, ...key.split(":")]) {
        assert.equal(join(dir, name), `${dir}${sep}${name}`);
        assert.equal(isAbsolute(name), false);
        assert.doesNotMatch(name, /[/\\\0]|^\.{0,2}$/);
      }
    }),
    MANY,
  );
});

test("K6: a refusal is one line of printable text with short quotations, whatever was refused", () => {
  const start = fc.constantFrom("", "agent:", "agent:main:", "agent:main:direct:", "cron:", "agent:Main:");
  fc.assert(
    fc.property(start, fc.string({ unit: "binary", maxLength: 256 }), (begin, raw) => {
      const answer = taken(begin + raw);
      if ("key" in answer) return;
      assert.match(answer.refusal, /^[ -~…]{1,400}$/);
      for (const quotation of answer.refusal.match(/"[^"]*"/g) ?? [])
        assert.ok(quotation.length <= 82, quotation);
    }),
    MANY,
  );
});
