// The README's example is a program. Here it runs, as it stands there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

test("the README's example runs and prints what was said", () => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-readme-"));
  try {
    const example = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8"))?.[1] ?? "";
    const program = example.replace(
      'from "sessiond"',
      () => `from ${JSON.stringify(resolve("src/index.ts"))}`,
    );
    writeFileSync(join(folder, "example.ts"), program);
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const printed = execFileSync(process.execPath, ["example.ts"], { cwd: folder, encoding: "utf8" });
    assert.match(printed, /type: 'message'/);
    assert.match(printed, /content: 'hello'/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
