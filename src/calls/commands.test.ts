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
  const found = (text: string): [string, string] | null => {
    const { command, rest } = commandIn(text) ?? {};
    return command === undefined ? null : [command.name, rest ?? ""];
  };
  assert.deepEqual(found("/status"), ["status", ""]);
  assert.deepEqual(found("  /status \n"), ["status", ""]);
  assert.deepEqual(found("/STATUS@a_bot now"), ["status", "now"]);
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
