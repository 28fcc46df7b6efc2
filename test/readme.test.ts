// The README's example is a program. Here it is compiled and run, as it stands there, against the built package.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";

const TSC = resolve("node_modules/.bin/tsc");
const EXAMPLE = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8"))?.[1] ?? "";

/** As in a new project; only what it takes to find Node's own types is said. */
const STRICT = {
  compilerOptions: { strict: true, target: "esnext", module: "nodenext", types: ["node"], noEmit: true },
  files: ["example.ts"],
};

describe("the README's example", () => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-readme-"));

  before(() => {
    const installed = join(folder, "node_modules", "sessiond");
    mkdirSync(installed, { recursive: true });
    execFileSync(TSC, ["-p", "tsconfig.build.json", "--outDir", join(installed, "dist")]);
    copyFileSync("package.json", join(installed, "package.json"));
    for (const name of ["pino", "@types"])
      symlinkSync(resolve("node_modules", name), join(folder, "node_modules", name));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(STRICT));
    writeFileSync(join(folder, "example.ts"), EXAMPLE);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  test("imports the package by its name", () => {
    assert.match(EXAMPLE, / from "sessiond";/);
  });

  test("compiles", () => {
    execFileSync(TSC, ["-p", folder], { stdio: ["ignore", "inherit", "inherit"] });
  });

  test("runs, and prints what was said", () => {
    const printed = execFileSync(process.execPath, ["example.ts"], { cwd: folder, encoding: "utf8" });
    assert.match(printed, /type: 'message'/);
    assert.match(printed, /content: 'hello'/);
  });
});
