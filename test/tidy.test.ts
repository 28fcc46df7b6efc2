// The style rules that a machine can check. When one is wrong, change it here, in the open.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 60;

/** A folder may import itself and the folders before it; types may come from anywhere. This list is the architecture. */
const ORDER = [
  "base",
  "limits.ts",
  "config",
  "routing",
  "events",
  "transcript",
  "store",
  "sessions",
  "sandbox",
  "models",
  "mail",
  "scheduler",
  "context",
  "tools",
  "turns",
  "children",
  "calls",
  "timers",
  "upkeep",
  "exchange",
  "gateway",
  "cli",
  "index.ts",
  "main.ts",
];

const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bDate\.now\(|\bnew Date\(\)/, "world.nowMs()"],
  [/\bMath\.random\(/, "world.random()"],
  [/\bcatch \{\s*\}/, "handle it, return it, or say in a comment why it is safe"],
  [/ForTests?\b/, "pass the part in through the constructor"],
  [/\bas any\b|@ts-(?:ignore|expect-error|nocheck)/, "a type guard"],
  [/export \*/, "named exports"],
  [/\b(?:TODO|FIXME|XXX)\b/, "do it, or write it down as an issue"],
  [
    /\b(?:class|interface|function|const) \w*(?:Manager|Service|Helper|Util|Handler|Registry|Accessor)\b/,
    "a noun of the domain",
  ],
  [/\b(?:function|const) (?:normalize|resolve)[A-Z]/, "parse at the door, trust inside"],
];

/** The contract is a test that happens to be shared: a suite is one long function. */
const SUITE = "store/contract";

/** Where time and chance come from. */
const WORLD = "base/world.ts";
const WORLDLY = new Set(["world.nowMs()", "world.random()"]);

/** Closing any descriptor of a database file drops the locks that SQLite holds for the whole process. */
const SQLITE_BY_FS =
  /\b(?:open|openSync|readFile|readFileSync|writeFile|writeFileSync|copyFile|copyFileSync|createReadStream)\([^)]*(?:\.sqlite|paths\.(?:state|owner|search))/;

function sources(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
}

function untidy(path: string, text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length;
  if (lines > FILE_LINES_MAX)
    found.push(`${path}: ${lines} lines, at most ${FILE_LINES_MAX}: is there a seam?`);
  if (path.endsWith(".test.ts") || path.startsWith(SUITE)) return found;
  const code = text.replaceAll(/^(\s*)\/\/.*$/gm, "$1;"); // a comment is no code, but it is something in an empty block
  for (const [pattern, instead] of BANNED) {
    if (path === WORLD && WORLDLY.has(instead)) continue;
    if (pattern.test(code)) found.push(`${path}: ${pattern.source} is banned, use ${instead}`);
  }
  if (SQLITE_BY_FS.test(code)) found.push(`${path}: a database is opened with fs; only SQLite may touch it`);
  return [...found, ...wrongImports(path, text), ...longFunctions(path, text)];
}

function wrongImports(path: string, text: string): string[] {
  const here = ORDER.indexOf(path.split("/")[0] ?? "");
  if (here < 0) return [`${path}: its folder is not in the order of test/tidy.test.ts`];
  const found: string[] = [];
  for (const [, isType, names = "", target = ""] of text.matchAll(
    /^import (type )?([^;]*?)from "((?:\.\.?\/)+[^"]+)";/gm,
  )) {
    const onlyTypes = isType !== undefined || /^\{\s*(?:type \w+,?\s*)+\}\s*$/.test(names);
    const folder = join("/src", path, "..", target).split("/")[2] ?? "";
    if (!onlyTypes && ORDER.indexOf(folder) > here) found.push(`${path}: may not import ${folder}`);
  }
  return found;
}

/** Functions as the formatter writes them: a line that opens a body, and the closing brace at the same indent. */
function longFunctions(path: string, text: string): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const opens =
      /^(\s*)(?:export )?(?:async )?(?:function\b|(?:static |async |\*|#|get )*[\w#]+\(.*\).*\{$)/.exec(line);
    if (!opens || !line.endsWith("{") || /^\s*(?:if|for|while|switch|return)\b/.test(line)) return [];
    const length = lines.slice(at).findIndex((each) => each === `${opens[1]}}`);
    return length > FUNCTION_LINES_MAX
      ? [`${path}:${at + 1}: a function of ${length} lines, at most ${FUNCTION_LINES_MAX}`]
      : [];
  });
}

test("the source is tidy", () => {
  const found = sources("src").flatMap((path) => untidy(path, readFileSync(join("src", path), "utf8")));
  assert.deepEqual(found, []);
});

test("the rules can fail: each is broken by a piece of text made for it", () => {
  const broken = [
    ["store/x.ts", 'import { a } from "../cli/a.ts";'],
    ["store/x.ts", "const at = Date.now();"],
    ["store/x.ts", "try { a(); } catch {}"],
    ["store/x.ts", "class SessionManager {"],
    ["store/x.ts", 'readFileSync("state.sqlite")'],
    ["store/x.ts", "x\n".repeat(FILE_LINES_MAX + 1)],
    ["store/x.ts", `function long() {\n${"  a();\n".repeat(FUNCTION_LINES_MAX + 1)}}`],
    ["helpers/x.ts", ""],
  ] as const;
  for (const [path, text] of broken) assert.notDeepEqual(untidy(path, text), [], text.slice(0, 60));
  assert.deepEqual(untidy("store/x.ts", 'import type { Call } from "../calls/table.ts";'), []);
});

test("every document that the README and ARCHITECTURE.md point to exists", () => {
  for (const document of ["README.md", "ARCHITECTURE.md"]) {
    const text = readFileSync(document, "utf8");
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g))
      assert.ok(existsSync(target), `${document} points to ${target}`);
  }
});

test("the README's test command is what CI runs, word for word", () => {
  const command = /```sh\n(npm install && npm test)\n```/.exec(readFileSync("README.md", "utf8"))?.[1];
  assert.ok(command, "the README has the command in a block of its own");
  assert.ok(readFileSync(".ci/run", "utf8").split("\n").includes(command));
});
