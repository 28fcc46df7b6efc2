import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { OUTWARD_CHARS_MAX } from "../limits.ts";
import { COMMANDS, commandIn, messageIn, textIn } from "./commands.ts";

test("docs/chat-commands.md has every command as help has it", () => {
  const text = readFileSync(new URL("../../docs/chat-commands.md", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `/"));
  const expected = COMMANDS.map(({ name, takes, about, aliases = [] }) => {
    const what = `/${name}${takes === "" ? "" : ` ${takes.replaceAll("|", String.raw`\|`)}`}`;
    const others = aliases.map((alias) => `\`/${alias}\``).join(", ");
    return `| \`${what}\` | ${about}${others === "" ? "" : ` (also ${others})`} |`;
  });
  assert.deepEqual(rows, expected);
});

test("a command is a known word with a slash, and what follows it", () => {
  const found = (text: string, isAlone = true): [string, string] | null => {
    const { command, rest } = commandIn(text, isAlone) ?? {};
    return command === undefined ? null : [command.name, rest ?? ""];
  };
  assert.deepEqual(found("/status"), ["status", ""]);
  assert.deepEqual(found("  /status \n"), ["status", ""]);
  assert.deepEqual(found("/STATUS@a_bot"), ["status", ""]);
  assert.deepEqual(found("/Label@a_bot now"), ["label", "now"]);
  assert.deepEqual(found("/help Status"), ["help", "Status"]);
  assert.deepEqual(found("/reset"), ["new", ""]);
  assert.deepEqual(found("/subagents\tspawn one\ntwo "), ["subagents", "spawn one\ntwo"]);
  for (const text of [
    "status",
    "//status",
    "/",
    "/ status",
    "/status/x",
    "/statu",
    "/constructor",
    "/__proto__",
    "x /status",
  ])
    assert.equal(found(text), null, text);
});

test("a command with more behind it than it takes is a message", () => {
  for (const { name, takes } of COMMANDS) {
    assert.notEqual(commandIn(`/${name}`, true), null, name);
    assert.equal(commandIn(`/${name} of the project?`, true) === null, takes === "" || name === "help", name);
  }
  assert.equal(commandIn("/help me with this", true), null);
});

test("what is addressed to somebody by name is obeyed only where nobody else is", () => {
  for (const text of ["/stop@other_bot", "/new@x", "/label@a_bot now"]) {
    assert.notEqual(commandIn(text, true), null, text);
    assert.equal(commandIn(text, false), null, text);
  }
  assert.notEqual(commandIn("/stop", false), null);
});

test("a second slash makes a message of what looks like a command, and of nothing else", () => {
  assert.equal(messageIn("//status"), "/status");
  assert.equal(messageIn("//any word\nmore "), "/any word\nmore ");
  for (const text of ["//server/share", "///status", "// a comment", "/status", "//", ""])
    assert.equal(messageIn(text), text, text);
});

test("what is said is harmless and bounded", () => {
  assert.equal(textIn(["a\u001b[2J", "b\u202e\u0007"]), "a\nb");
  assert.ok(textIn(["x".repeat(1_000_000)]).length <= OUTWARD_CHARS_MAX);
});
