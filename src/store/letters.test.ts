import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { letterOf } from "./contract/samples.ts";
import { checkRead, forwardTo, sealLetter } from "./letters.ts";

const [A, B, C] = ["a", "b", "c"].map((name) => namedKey(DEFAULT_AGENT, name));
assert(A && B && C);

test("an end over unread mail is refused in words that say whose it is, and how much", () => {
  checkRead(A, 0);
  const says = {
    name: "Fault",
    code: "unread",
    message: `letters wait for ${A} that nobody else could read: 2`,
  };
  assert.throws(() => checkRead(A, 2), says);
});

test("a letter goes to the first that lives; those before it are not asked again", () => {
  const states = { [A]: "ended", [B]: "idle", [C]: "idle" } as const;
  const stateOf = (key: keyof typeof states): (typeof states)[keyof typeof states] | null =>
    states[key] ?? null;
  assert.deepEqual(forwardTo([A, B, C], stateOf), { to: B, others: [C] });
  assert.deepEqual(forwardTo([B, A], stateOf), { to: B, others: [A] });
  assert.deepEqual(forwardTo([A, namedKey(DEFAULT_AGENT, "nobody")], stateOf), null);
  assert.deepEqual(forwardTo([], stateOf), null);
});

test("a letter's print tells every difference of what it says, and none of its id", () => {
  const letter = letterOf("ext:1", "text");
  const { print } = sealLetter(letter);
  assert.equal(sealLetter({ ...letter, id: "ext:2" }).print, print);
  const others = [
    letterOf("ext:1", "Text"),
    { ...letter, mode: "collect" as const },
    { ...letter, class: "background" as const },
    { ...letter, replyTo: { channel: "c", to: "t", thread: null }, origin: null },
    { ...letter, from: { kind: "external_user" as const, channel: "test", peer: null } },
    { ...letter, content: [...letter.content, ...letter.content] },
  ];
  assert.equal(new Set([print, ...others.map((other) => sealLetter(other).print)]).size, others.length + 1);
});
