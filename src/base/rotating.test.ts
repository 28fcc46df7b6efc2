import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../../test/fixtures/home.ts";
import { openLog } from "./log.ts";
import { RotatingFile } from "./rotating.ts";

test("a full log becomes .1, and the oldest goes", (t) => {
  const file = join(scratch(t), "logs", "a.jsonl");
  const log = new RotatingFile({ file, fileBytes: 20, files: 3 });
  for (let n = 1; n <= 8; n += 1) log.write(`line ${n} of eight\n`);
  const kept = [`${file}.2`, `${file}.1`, file].map((path) => readFileSync(path, "utf8")).join("");
  assert.equal(kept, [3, 4, 5, 6, 7, 8].map((n) => `line ${n} of eight\n`).join(""));
  assert.ok(!existsSync(`${file}.3`));
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("a log goes on where the last process stopped", (t) => {
  const file = join(scratch(t), "a.jsonl");
  new RotatingFile({ file, fileBytes: 1_000, files: 2 }).write("one\n");
  new RotatingFile({ file, fileBytes: 1_000, files: 2 }).write("two\n");
  assert.equal(readFileSync(file, "utf8"), "one\ntwo\n");
});

test("one file only begins anew", (t) => {
  const file = join(scratch(t), "a.jsonl");
  const log = new RotatingFile({ file, fileBytes: 5, files: 1 });
  for (const line of ["first\n", "2\n", "3\n", "4\n"]) log.write(line);
  assert.equal(readFileSync(file, "utf8"), "2\n3\n4\n", "once it is full, and not again at each line");
});

test("what is logged as a secret is not in the file", (t) => {
  const file = join(scratch(t), "a.jsonl");
  const log = openLog("info", new RotatingFile({ file, fileBytes: 1_000, files: 2 }));
  log.info({ token: "abc", request: { authorization: "Bearer abc" } }, "hello");
  assert.doesNotMatch(readFileSync(file, "utf8"), /abc/);
});

test("a folder that is gone does not stop whoever logs", (t) => {
  const folder = scratch(t);
  const file = join(folder, "a.jsonl");
  const log = new RotatingFile({ file, fileBytes: 5, files: 2 });
  log.write("first\n");
  rmSync(folder, { recursive: true });
  log.write("into nothing\n");
  log.write("again\n");
});
