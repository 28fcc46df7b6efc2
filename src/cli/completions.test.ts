import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";
import { scratch } from "../../test/fixtures/home.ts";
import { GROUPS } from "./commands.ts";
import { scriptFor } from "./completions.ts";
import { EVERYWHERE } from "./program.ts";

const COMMANDS = GROUPS.flatMap(({ commands }) => commands);

/** What bash proposes for a line, with a daemon that has two sessions and two archives. */
function proposals(t: TestContext): (line: string) => string[] {
  const folder = scratch(t);
  const script = join(folder, "sessiond.bash");
  writeFileSync(script, scriptFor("bash", COMMANDS, EVERYWHERE));
  mkdirSync(join(folder, "bin"));
  const fake = join(folder, "bin", "sessiond");
  writeFileSync(
    fake,
    `#!/bin/sh
case "$2" in
  archives) printf '0198aa\\n0199bb\\n' ;;
  *) printf 'main\\nagent:main:main\\nagent:main:thread:plan\\n' ;;
esac
`,
  );
  chmodSync(fake, 0o755);
  const env = { ...process.env, PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}` };
  return (line) => {
    const ask = `source "${script}"; COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'; COMP_LINE="$1"; COMP_POINT=\${#1}; _sessiond; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync("bash", ["-c", ask, "bash", line], { encoding: "utf8", env, cwd: folder });
    return out.split("\n").filter((word) => word !== "");
  };
}

test("bash proposes commands, options, their values, and sessions by their keys", (t) => {
  const propose = proposals(t);
  assert.deepEqual(propose("sessiond sta"), ["status"]);
  assert.deepEqual(propose("sessiond ps --sta"), ["--state"]);
  assert.deepEqual(propose("sessiond ps --state "), [
    "idle",
    "queued",
    "running",
    "waiting",
    "paused",
    "ended",
  ]);
  assert.deepEqual(propose("sessiond status m"), ["main"]);
  assert.deepEqual(
    propose("sessiond status agent:main:t"),
    ["thread:plan"],
    "bash has split the word at its colons",
  );
  assert.deepEqual(propose("sessiond ps --tree agent:main:m"), ["main"]);
  assert.deepEqual(propose("sessiond export main --format mark"), ["markdown"]);
  assert.deepEqual(propose("sessiond token re"), ["revoke"]);
  assert.deepEqual(propose("sessiond send main -f sess"), ["sessiond.bash"]);
  assert.deepEqual(propose("sessiond nice main "), []);
  assert.deepEqual(propose("sessiond restore 0199"), ["0199bb"]);
  assert.deepEqual(propose("sessiond archives --purge "), ["0198aa", "0199bb"]);
  assert.ok(propose("sessiond ").length > COMMANDS.length, "with aliases and help");
});

test("every command and option is in the scripts of all shells", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    const script = scriptFor(shell, COMMANDS, EVERYWHERE);
    for (const { name, options } of COMMANDS) {
      assert.ok(new RegExp(`\\b${name}\\b`).test(script), `${shell}: ${name}`);
      for (const { flags } of options) {
        const long = /--([\w-]+)/.exec(flags)?.[1] ?? "";
        assert.ok(
          script.includes(shell === "fish" ? `-l ${long}` : `--${long}`),
          `${shell}: ${name} --${long}`,
        );
      }
    }
  }
});

test("no two commands have the same name, and options of a command differ", () => {
  const names = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  assert.equal(new Set(names).size, names.length);
  for (const { name, options } of COMMANDS) {
    const flags = [...options, ...EVERYWHERE].flatMap((option) => option.flags.match(/-+[\w-]+/g) ?? []);
    assert.equal(new Set(flags).size, flags.length, name);
  }
});
