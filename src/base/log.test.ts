import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog, type Log } from "./log.ts";

function logged(level: string, write: (log: Log) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(openLog(level, { write: (line: string) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a line of the log is one JSON object with time, level and message", () => {
  const [line, ...others] = logged("info", (log) => log.info({ key: "agent:main:main" }, "two\nlines"));
  assert.equal(others.length, 0);
  assert.equal(line?.["msg"], "two\nlines");
  assert.equal(line?.["key"], "agent:main:main");
  assert.match(String(line?.["time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(Object.keys(line ?? {}).sort(), ["key", "level", "msg", "time"]); // no host name, no pid
});

test("what is below the level is not written", () => {
  const lines = logged("warn", (log) => {
    log.info("no");
    log.warn("yes");
    log.error("yes");
  });
  assert.deepEqual(
    lines.map((line) => line["msg"]),
    ["yes", "yes"],
  );
});

test("secrets do not reach the log, at the top or one level down, by whatever they are called", () => {
  const secret = "hunter2";
  for (const name of ["token", "apiKey", "authorization", "password", "secret"]) {
    const [line] = logged("info", (log) => {
      log.info(
        { [name]: secret, request: { [name]: secret, path: "/v1" }, headers: { [name]: secret } },
        "x",
      );
    });
    assert.ok(!JSON.stringify(line).includes(secret), name);
    const request = line?.["request"] as Record<string, unknown> | undefined;
    assert.equal(request?.["path"], "/v1");
  }
});

test("a log made for a part of the system hides secrets too", () => {
  const [line] = logged("info", (log) => log.child({ provider: { apiKey: "hunter2" } }).info("x"));
  assert.ok(!JSON.stringify(line).includes("hunter2"));
});
