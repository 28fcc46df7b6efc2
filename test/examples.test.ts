// The examples of the pages are programs. Here they are compiled and run, as they stand there, against the built package.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";

const TSC = resolve("node_modules/.bin/tsc");

/** All pieces of code of a page, in their order: one program. */
function programIn(page: string): string {
  return [...readFileSync(page, "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code).join("\n");
}

/** What each page's program prints. */
const PAGES: Readonly<Record<string, readonly RegExp[]>> = {
  "README.md": [/^done Rehearsal .*\nentry 1\nentry 2\nentry 3\nentry 4\n$/],
  "docs/library.md": [
    /^done Rehearsal \(a scripted stand-in, no real model\): you said "Good morning"\.\ntrue true\ndone\n/,
    /agent:main:direct:user123\nHi, I'm working on Project X\. telegram user123\n5 true\n42\n/,
    /Morning rehearsal\/large session\nagent:main:direct:user123 agent:main:main\nuser assistant\n4 true 200000\n/,
    /bad_input: .*Did you mean "agent:main:main"\?\nnot_found: agent "nobody" is not configured.*\nbad_input: /,
  ],
  "docs/children.md": [/^42\nagent:main:thread:deep%20thought idle\n$/],
  "docs/store.md": [
    /^message\nmessage\nWhich roses like shade\?\ntrue\nunread\n/,
    /'agent:main:telegram:direct:ada'/,
    /North wall, clay\.\n$/,
  ],
};

/** As in a new project; only what it takes to find Node's own types is said. */
const STRICT = {
  compilerOptions: { strict: true, target: "esnext", module: "nodenext", types: ["node"], noEmit: true },
  include: ["*.ts"],
};

describe("the examples", () => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-readme-"));

  before(() => {
    const installed = join(folder, "node_modules", "sessiond");
    mkdirSync(installed, { recursive: true });
    execFileSync(TSC, ["-p", "tsconfig.build.json", "--outDir", join(installed, "dist")]);
    copyFileSync("package.json", join(installed, "package.json"));
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: object };
    for (const name of [...Object.keys(dependencies), "@types"]) {
      mkdirSync(join(folder, "node_modules", name, ".."), { recursive: true });
      symlinkSync(resolve("node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(STRICT));
    for (const page of Object.keys(PAGES)) writeFileSync(join(folder, scriptOf(page)), programIn(page));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  test("import the package by its name", () => {
    for (const page of Object.keys(PAGES)) assert.match(programIn(page), / from "sessiond";/);
  });

  test("compile", () => {
    execFileSync(TSC, ["-p", folder], { stdio: ["ignore", "inherit", "inherit"] });
  });

  for (const [page, expected] of Object.entries(PAGES)) {
    test(`of ${page} run, and print what they say`, () => {
      const cwd = mkdtempSync(join(folder, "run-"));
      const script = join(folder, scriptOf(page));
      const printed = execFileSync(process.execPath, [script], { cwd, encoding: "utf8" });
      for (const each of expected) assert.match(printed, each);
    });
  }
});

test("three research agents ask their models at the same time, and all their answers are in the result", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-example-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const printed = execFileSync(process.execPath, ["examples/parallel-research.ts"], {
    env: { ...process.env, TMPDIR: folder },
    encoding: "utf8",
  });
  const [events = "", ...rest] = printed.split("\n\n");
  const lines = events.split("\n");
  const asks = lines.map((line, at) => (line.endsWith(" asks its model") ? at : -1)).filter((at) => at >= 0);
  const answers = lines.map((line, at) => (line.includes(" answers: ") ? at : -1)).filter((at) => at >= 0);
  assert.deepEqual([asks.length, answers.length], [3, 3]);
  assert.ok(Math.max(...asks) < Math.min(...answers), "nobody had an answer when the last one asked");
  assert.match(events, / main +rests until its children report/);
  for (const answer of [/Acme sells at \$49 a seat/, /Globex is free up to five/, /Initech charges by use/])
    assert.match(rest.join("\n\n"), answer);
  assert.match(printed, /\nIt took \d+\.\d s; one after the other: \d+\.\d s\.\n$/);
  assert.deepEqual(readdirSync(folder), [], "it leaves nothing behind");
});

function scriptOf(page: string): string {
  return `${page.replaceAll(/\W/g, "-")}.ts`;
}
