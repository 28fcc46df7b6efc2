import assert from "node:assert/strict";
import { test } from "node:test";
import { stepOf, type Step } from "./script.ts";

const WRONG = "The script is wrong, so nothing of it was done:\n";

function stepIn(text: string): Step | null {
  return stepOf([{ role: "user", content: text, timestamp: 1 }], 0);
}

/** What is said of the mistakes. */
function complaint(text: string): string {
  const [deed, ...others] = stepIn(text) ?? [];
  assert.ok(deed?.do === "say" && others.length === 0 && deed.text.startsWith(WRONG), text.slice(0, 80));
  return deed.text.slice(WRONG.length);
}

test("a text without a line that begins with ! is no script", () => {
  for (const text of ["", "say !list", " !list", "a\n !list", "a\r!list", "a\u2028!list"])
    assert.equal(stepIn(text), null);
  assert.equal(stepOf([], -1), null);
});

test("lines around a script are left alone (S2)", () => {
  assert.deepEqual(stepIn("[[sessiond message from x]]\r\n!list\r\n[[sessiond end]]\r\n"), [{ do: "list" }]);
  assert.deepEqual(stepIn(`${"so\n".repeat(100_000)}!system`), [{ do: "system" }]);
});

test("a script that was answered, or that is not a user's, is not done again", () => {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const content = [{ type: "text", text: "!list" }] as const;
  const from = { api: "x", provider: "x", model: "x", stopReason: "stop", usage };
  const messages = [
    { role: "user", content: "!list", timestamp: 1 },
    { role: "assistant", content, ...from, timestamp: 2 },
    { role: "toolResult", toolCallId: "c", toolName: "t", content, isError: false, timestamp: 3 },
    { role: "user", content: "so: !list", timestamp: 4 },
  ] as const;
  assert.equal(stepOf(messages, 3), null);
  assert.deepEqual(stepOf(messages.slice(0, 3), 0), []);
});

test("what !say says is kept letter by letter, also half a character", () => {
  assert.deepEqual(stepIn("!say  a\ud800b\udc00\t"), [{ do: "say", text: " a\ud800b\udc00\t" }]);
});

test("blanks around arguments do not matter, and names of arguments may be any", () => {
  assert.deepEqual(stepIn("!fail \t retry   2 \n!slow  5 \n!then "), [
    { do: "fail", why: "retry", times: 2 },
    { do: "slow", ms: 5 },
  ]);
  const [deed] = stepIn('!call  a.b-c  {"__proto__":{"x":1}} ') ?? [];
  assert.ok(deed?.do === "call");
  assert.equal(deed.tool, "a.b-c");
  assert.deepEqual(Object.keys(deed.arguments), ["__proto__"]);
});

test("an unknown word is named, with the words that there are", () => {
  assert.equal(
    complaint("!say a\n!shout b\n!call c"),
    '"!shout b": this is no word of a script; the words are !say, !think, !call, !then, !slow, !verbose, ' +
      "!fail, !spawn, !wait, !list, !system, !results",
  );
  for (const line of ["!", "! say a", "!!", "!SAY a", "!constructor", "!__proto__ {}", "!\ud800"])
    assert.ok(complaint(line).startsWith(`${JSON.stringify(line)}: this is no word`), line);
});

test("each word says what it needs, and nothing is guessed (S1)", () => {
  const lines: readonly (readonly [string, RegExp])[] = [
    ["!say", /!say needs a text/],
    ["!think ", /!think needs a text/],
    ["!call", /!call needs the name of a tool/],
    ['!call {"a":1}', /!call needs the name of a tool/],
    [`!call ${"x".repeat(129)}`, /at most 128 characters/],
    ["!call read {path}", /the arguments cannot be read: .*JSON/],
    ["!call read [1]", /the arguments are a JSON object, not a list/],
    ["!spawn null", /the arguments are a JSON object, not null/],
    ['!wait "x"', /the arguments are a JSON object, not "x"/],
    [`!call a {"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, /nested too deeply/],
    ["!then say", /nothing may follow !then/],
    ["!list all", /nothing may follow !list/],
    ["!system x", /nothing may follow !system/],
    ["!results x", /nothing may follow !results/],
    ["!slow", /!slow needs whole milliseconds/],
    ["!slow -1", /!slow needs/],
    ["!slow 1.5", /!slow needs/],
    ["!slow 86400001", /at most 86400000/],
    ["!verbose 0", /!verbose needs a number of words from 1 to 100000/],
    ["!verbose 100001", /!verbose needs/],
    ["!verbose Infinity", /!verbose needs/],
    ["!fail", /!fail needs one of retry, overflow, auth, local/],
    ["!fail hard", /!fail needs/],
    ["!fail toString", /!fail needs/],
    ["!fail retry x", /!fail needs/],
    ["!fail retry 1 2", /!fail needs/],
    [`!fail retry ${"9".repeat(400)}`, /!fail needs/],
  ];
  for (const [line, wanted] of lines) assert.match(complaint(`!say never\n${line}`), wanted);
});

test("what is said of a mistake is short, however long the line and however many there are (S3)", () => {
  for (const line of ["!", "!call ", "!call a ", '!call a {"', "!slow ", "!fail retry ", "!say"])
    for (const rest of ["x".repeat(10_000_000), "\ud800".repeat(100_000), "{\u0000".repeat(100_000)])
      assert.ok(complaint(`${line}${rest}`).length < 1_000, line);
  assert.match(complaint("!what\n".repeat(10_000)), /^(?:"!what": .*\n){5}and 9995 more$/);
});

test("a script has at most 10,000 lines, and a step at most 1,000 calls", () => {
  assert.equal(complaint("!say x\n".repeat(100_000)), "it has 100000 lines, and at most 10000 are allowed");
  assert.equal(stepIn("!say x\n".repeat(10_000))?.length, 10_000);
  const calls = "!call a\n".repeat(1_000);
  assert.equal(complaint(`!then\n${calls}!wait`), "step 2 has 1001 calls, and at most 1000 are allowed");
  assert.equal(stepIn(`${calls}!then\n!wait`)?.length, 1_000);
});
