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
  "routing",
  "config",
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
  "memory",
  "turns",
  "children",
  "timers",
  "upkeep",
  "calls",
  "exchange",
  "channels",
  "gateway",
  "wire.ts",
  "main.ts",
  "index.ts",
  "daemon.ts",
  "cli",
];

/** A token is a secret: one that a seed can make again is none. */
const TOKENS = "gateway/tokens.ts";

interface Banned {
  readonly pattern: RegExp;
  readonly instead: string;
  /** A piece of text that breaks the rule, so that nobody believes in a rule that finds nothing. */
  readonly breaks: string;
  /** Files that may. */
  readonly except?: readonly string[];
  /** True: also in a comment. Elsewhere words about code are no code. */
  readonly inComments?: boolean;
}

/** Where time and chance come from. */
const WORLD = "base/world.ts";

/**
 * Files of the local store with a clock or dice of their own. The writer and search are threads: no World reaches
 * them, and they wait for a real disk, which no simulation has. A blob that is being written needs a file name that
 * nobody else takes; the name is gone when the blob is there.
 */
const ON_REAL_DISKS = [
  "store/local/writer.ts",
  "store/local/filing.ts",
  "store/local/intents.ts",
  "store/local/search.ts",
  "store/local/blobs.ts",
];

const BANNED: readonly Banned[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    instead: "world.nowMs()",
    breaks: "const at = Date.now();",
    except: [WORLD],
  },
  {
    pattern: /\bMath\.random\(/,
    instead: "world.random()",
    breaks: "const die = Math.random();",
    except: [WORLD],
  },
  {
    pattern: /\b(?:randomUUID|randomBytes|randomInt|getRandomValues)\b/,
    instead: "world.newId() or world.random()",
    breaks: 'import { randomUUID } from "node:crypto";',
    except: [WORLD, TOKENS, ...ON_REAL_DISKS],
  },
  {
    pattern: /\b(?:setTimeout|setInterval|setImmediate)\b|\bnode:timers\b/,
    instead: "world.sleep()",
    breaks: 'import { setTimeout as sleep } from "node:timers/promises";',
    except: [WORLD, ...ON_REAL_DISKS],
  },
  {
    pattern: /\bperformance\.now\(|\bhrtime\b/,
    instead: "world.nowMs()",
    breaks: "const before = performance.now();",
    except: [WORLD, ...ON_REAL_DISKS],
  },
  {
    pattern: /\bcatch \{\s*\}/,
    instead: "handle it, return it, or say in a comment why it is safe",
    breaks: "try { a(); } catch {}",
  },
  {
    pattern: /ForTests?\b/,
    instead: "pass the part in through the constructor",
    breaks: "resetForTest();",
  },
  { pattern: /\bas any\b/, instead: "a type guard", breaks: "const a = b as any;" },
  {
    pattern: /@ts-(?:ignore|expect-error|nocheck)/,
    instead: "a type guard",
    breaks: "// @ts-expect-error",
    inComments: true,
  },
  { pattern: /export \*/, instead: "named exports", breaks: 'export * from "./a.ts";' },
  {
    pattern: /\b(?:TODO|FIXME|XXX)\b/,
    instead: "do it, or write it down as an issue",
    breaks: "// TODO: more",
    inComments: true,
  },
  {
    pattern:
      /\b(?:class|interface|function|const) \w*(?:Manager|Service|Helper|Util|Handler|Registry|Accessor)\b/,
    instead: "a noun of the domain",
    breaks: "class SessionManager {",
  },
  {
    pattern: /\b(?:function|const) (?:normalize|resolve)[A-Z]/,
    instead: "parse at the door, trust inside",
    breaks: "function normalizeKey() {",
  },
];

/** The contract is a test that happens to be shared: a suite is one long function. */
const SUITE = "store/contract";

/**
 * Closing any descriptor of a database file drops the locks that SQLite holds for the whole process. A class of ours may
 * have a verb of the same name.
 */
const SQLITE_BY_FS =
  /(?:\bfs\.|(?<![.\w]))(?:open|openSync|readFile|readFileSync|writeFile|writeFileSync|copyFile|copyFileSync|createReadStream)\([^)]*(?:\.sqlite|paths\.(?:state|owner|search))/;

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
  for (const { pattern, instead, except, inComments } of BANNED) {
    if (pattern.test(inComments ? text : code) && !except?.includes(path))
      found.push(`${path}: ${pattern.source} is banned, use ${instead}`);
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

/**
 * Functions as the formatter writes them: a line that opens a body, and a closing brace at the same indent. Where the
 * line only ends a signature of several, the function begins further up, also at that indent.
 */
function longFunctions(path: string, text: string): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    if (!/(?:\)(?:: .*)?|=>) \{$/.test(line)) return [];
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const isHere = (each: string): boolean =>
      each.startsWith(indent) && /^\S/.test(each.slice(indent.length));
    const from = lines.findLastIndex((each, up) => up <= at && isHere(each) && !/^\s*[)}]/.test(each));
    if (/^\s*(?:(?:\} )?else )?(?:if|for|while|switch|catch)\b/.test(lines[from] ?? "")) return [];
    if (/^\s*\} (?:else|catch)\b/.test(line)) return [];
    const to = lines.findIndex((each, down) => down > at && isHere(each) && /^\s*\}/.test(each));
    return to - from > FUNCTION_LINES_MAX
      ? [`${path}:${from + 1}: a function of ${to - from} lines, at most ${FUNCTION_LINES_MAX}`]
      : [];
  });
}

// ── The page ────────────────────────────────────────────────────────────────────────────────────────────────

/** The same for the page. Views are beside each other: none imports another's files. */
const PAGE_ORDER = ["wire", "state", "parts", "views", "help.tsx", "login.tsx", "shell.tsx", "main.tsx"];

/** A browser has its own clock and dice, and no simulator runs it. */
const OF_A_WORLD: ReadonlySet<string> = new Set([
  "world.nowMs()",
  "world.random()",
  "world.newId() or world.random()",
  "world.sleep()",
]);

const BANNED_IN_PAGE: readonly Banned[] = [
  ...BANNED.filter(({ instead }) => !OF_A_WORLD.has(instead)),
  {
    pattern:
      /\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|DOMParser|document\.write)\b/,
    instead: "elements: what is shown was written by anybody",
    breaks: "a.innerHTML = b;",
  },
  {
    pattern: /\bhttps?:\/\/(?!www\.w3\.org\/)[\w.-]/,
    instead: "nothing from elsewhere",
    breaks: 'fetch("https://example.com")',
  },
];

function untidyPage(path: string, text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length;
  if (lines > FILE_LINES_MAX)
    found.push(`web/${path}: ${lines} lines, at most ${FILE_LINES_MAX}: is there a seam?`);
  if (path.endsWith(".css")) return [...found, ...wideSelectors(path, text)];
  if (path.endsWith(".test.ts")) return found;
  const code = text.replaceAll(/^(\s*)\/\/.*$/gm, "$1;");
  for (const { pattern, instead, inComments } of BANNED_IN_PAGE)
    if (pattern.test(inComments ? text : code))
      found.push(`web/${path}: ${pattern.source} is banned, use ${instead}`);
  return [...found, ...wrongImportsOfPage(path, text), ...longFunctions(`web/${path}`, text)];
}

/**
 * All styles of the page are in one sheet: a selector of a view that does not begin with a class of its view, such as `.memory`
 * or `.memory-head`, is about whatever has the same name elsewhere. What views share is in web/style.
 */
function wideSelectors(path: string, text: string): string[] {
  const [folder, view = ""] = path.split("/");
  if (folder !== "views") return [];
  const code = text.replaceAll(/\/\*[^]*?\*\//g, "");
  const own = new RegExp(`^\\.${view}(?![\\w])`);
  return [...code.matchAll(/([^{};]+)\{/g)]
    .map(([, before = ""]) => before.trim())
    .flatMap((before) => (before.startsWith("@") ? globalName(before) : before.split(/,(?![^(]*\))/)))
    .map((selector) => selector.trim())
    .filter((selector) => !own.test(selector))
    .map((selector) => `web/${path}: "${selector}" does not begin with a class of its view, .${view}`);
}

/** Of rules that are about rules nothing; of those that name something for the whole page, the name. */
function globalName(rule: string): string[] {
  return /^@(?:media|container|supports)\b/.test(rule) ? [] : [rule];
}

function wrongImportsOfPage(path: string, text: string): string[] {
  const found: string[] = [];
  for (const target of valuesOf(text)) {
    const from = join("/web", path, "..", target);
    if (from.startsWith("/src/")) {
      const needs = nodeNeededBy(from.slice(1));
      if (needs !== null) found.push(`web/${path}: ${target} needs ${needs}, which no browser has`);
      continue;
    }
    const [here, there] = [path.split("/"), from.split("/").slice(2)];
    if (PAGE_ORDER.indexOf(there[0] ?? "") > PAGE_ORDER.indexOf(here[0] ?? ""))
      found.push(`web/${path}: may not import ${there[0]}`);
    const areViews = here[0] === "views" && there[0] === "views" && here.length > 2 && there.length > 2;
    if (areViews && here[1] !== there[1]) found.push(`web/${path}: may not import another view, ${target}`);
  }
  return found;
}

/** The files of ours that a file imports more than types from. */
function valuesOf(text: string): string[] {
  return [...text.matchAll(/^import (type )?([^;]*?)from "([^"]+)";/gm)].flatMap(
    ([, isType, names = "", target = ""]) =>
      isType !== undefined || /^\{\s*(?:type \w+,?\s*)+\}\s*$/.test(names) || !target.startsWith(".")
        ? []
        : [target],
  );
}

/** What a module of src needs of Node or of a package, by itself or through others; null: nothing. */
function nodeNeededBy(path: string, seen = new Set<string>()): string | null {
  if (seen.has(path)) return null;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  const [, other] = /^import (?!type )[^;]*?from "([^."][^"]*)";/m.exec(text) ?? [];
  if (other !== undefined) return other;
  for (const target of valuesOf(text)) {
    const needs = nodeNeededBy(join(path, "..", target), seen);
    if (needs !== null) return needs;
  }
  return null;
}

test("the page is tidy", () => {
  const paths = readdirSync("web", { recursive: true, encoding: "utf8" }).filter(
    (path) => /\.(?:tsx?|css)$/.test(path) && path !== "vite.config.ts",
  );
  const found = paths.flatMap((path) => untidyPage(path, readFileSync(join("web", path), "utf8")));
  assert.deepEqual(found, []);
});

test("the rules of the page can fail", () => {
  const broken = [
    ["views/a/a.tsx", "a.innerHTML = b;"],
    ["views/a/a.tsx", 'const a = "https://example.com";'],
    ["views/a/a.tsx", 'import { b } from "../b/b.tsx";'],
    ["wire/a.ts", 'import { b } from "../views/deeds.tsx";'],
    ["wire/a.ts", 'import { b } from "../../src/base/world.ts";'],
    ["wire/a.ts", 'import { b } from "../../src/calls/table.ts";'],
    ["parts/a.tsx", "x\n".repeat(FILE_LINES_MAX + 1)],
    ["views/memory/a.css", ".counts { color: red; }"],
    ["views/memory/a.css", ".memory a { color: red; }\n\n.view > header .memory { color: red; }"],
    ["views/memory/a.css", ".memory .a,\n.b { color: red; }"],
    ["views/memory/a/b.css", "@media (max-width: 640px) {\n  .a {\n    color: red;\n  }\n}"],
    ["views/memory/a.css", ".memoryless { color: red; }"],
    ["views/memory/a.css", "@keyframes a { from { opacity: 0; } }"],
  ] as const;
  for (const [path, text] of broken) assert.notDeepEqual(untidyPage(path, text), [], text.slice(0, 60));
  for (const text of [
    'import { b } from "../../src/base/figures.ts";',
    'import type { b } from "../../src/base/world.ts";',
  ])
    assert.deepEqual(untidyPage("wire/a.ts", text), [], text);
  const styles =
    "/* .a */\n.memory :is(.a, .b),\n.memory-head { color: red; }\n@media (hover: none) { .memory > .a { top: 0; } }";
  assert.deepEqual(untidyPage("views/memory/a.css", styles), []);
  assert.deepEqual(untidyPage("parts/a.css", ".a { color: red; }"), []);
});

test("the source is tidy", () => {
  const found = sources("src").flatMap((path) => untidy(path, readFileSync(join("src", path), "utf8")));
  assert.deepEqual(found, []);
});

const BODY = "  a();\n".repeat(FUNCTION_LINES_MAX + 1);

/** A function of each form that is too long, as the formatter writes it. */
const LONG = [
  `function long() {\n${BODY}}`,
  `export async function* long<T>(a: T): AsyncGenerator<T> {\n${BODY}}`,
  `export function long(\n  a: string,\n  b: string,\n): void {\n${BODY}}`,
  `function long({\n  a,\n  b,\n}: Pair): string {\n${BODY}}`,
  `const long = (a: string): void => {\n${BODY}};`,
  `const long = async (\n  a: string,\n): Promise<void> => {\n${BODY}};`,
  `lines.map((line) => {\n${BODY}});`,
  `class A {\n  static #long(a: string): { readonly b: string } {\n${BODY}  }\n}`,
  `class A {\n  get long(): string {\n${BODY}  }\n}`,
  `class A {\n  private constructor(\n    a: string,\n  ) {\n${BODY}  }\n}`,
];

test("the rules can fail: each is broken by a piece of text made for it", () => {
  for (const { pattern, breaks, except } of BANNED) {
    const found = untidy("store/x.ts", breaks);
    assert.ok(
      found.some((each) => each.includes(pattern.source)),
      breaks,
    );
    for (const path of except ?? []) assert.deepEqual(untidy(path, breaks), [], path);
  }
  for (const text of LONG)
    assert.match(untidy("store/x.ts", text).join("\n"), /a function of \d+ lines/, text);
  const broken = [
    ["store/x.ts", 'import { a } from "../cli/a.ts";'],
    ["store/x.ts", 'readFileSync("state.sqlite")'],
    ["store/x.ts", "const file = openSync(this.#paths.search);"],
    ["store/x.ts", "const file = await fs.open(paths.state);"],
    ["store/x.ts", "x\n".repeat(FILE_LINES_MAX + 1)],
    ["helpers/x.ts", ""],
  ] as const;
  for (const [path, text] of broken) assert.notDeepEqual(untidy(path, text), [], text.slice(0, 60));
});

test("the rules leave alone what they are not about", () => {
  for (const text of [
    'import type { Call } from "../calls/table.ts";',
    `const table = {\n${BODY}};`,
    `class Long {\n${BODY}}`,
    `  for (\n    let a = 0;\n    a < 1;\n  ) {\n${BODY}  }`,
    `  if (a()) {\n${BODY}  } else if (b()) {\n${BODY}  }`,
    "const words = Words.open(this.#paths.search);",
    "// setTimeout is what we do not use",
  ])
    assert.deepEqual(untidy("store/x.ts", text), [], text.slice(0, 60));
});

test("every file that a rule excepts exists", () => {
  for (const path of BANNED.flatMap(({ except }) => except ?? []))
    assert.ok(existsSync(join("src", path)), path);
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
