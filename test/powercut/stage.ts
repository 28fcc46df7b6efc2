// Where tests of this folder run small programs: a directory that is gone afterwards, also when a test fails.

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Recording, Tree } from "./operation.ts";
import { record } from "./trace.ts";
import { materialise } from "./tree.ts";

export async function scratch(test: TestContext): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "powercut-")));
  test.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export interface Played {
  readonly recording: Recording;
  readonly root: string; // as the program left it
}

/** Runs the text of a module under the trace. It finds its directory in `root`, and `fs`, `fsp` and `say` as well. */
export async function play(test: TestContext, source: string, initial: Tree = new Map()): Promise<Played> {
  const directory = await scratch(test);
  const root = join(directory, "root");
  await mkdir(root);
  await materialise(initial, root);
  const program = join(directory, "program.mjs");
  await writeFile(program, PROLOGUE + source);
  const args = [program, root];
  return { recording: await record({ command: process.execPath, args, env: {}, root }), root };
}

/** What a program that is played has at hand. */
export const PROLOGUE = `
  import fs from "node:fs";
  import fsp from "node:fs/promises";
  const root = process.argv[2];
  const say = (text) => fs.writeSync(1, text + "\\n");
  const syncDirectory = (path) => {
    const fd = fs.openSync(path, "r");
    fs.fsyncSync(fd);
    fs.closeSync(fd);
  };
`;
