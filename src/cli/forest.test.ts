import assert from "node:assert/strict";
import { test } from "node:test";
import { forest } from "./forest.ts";

function row(sessionKey: string, parent: string | null = null, state = "idle", updatedAt = "2026-01-01") {
  return { sessionKey, parent, state, updatedAt };
}

const drawn = (rows: readonly ReturnType<typeof row>[]): string[] =>
  forest(rows).map(({ stem, name }) => stem + name);

const MAIN = "agent:main:main";

test("children stand below their parent, and what does something comes first with all above it", () => {
  const rows = [
    row("agent:main:heartbeat", null, "idle", "2026-01-09"),
    row("agent:main:thread:plan", MAIN, "idle", "2026-01-08"),
    row("agent:main:subagent:7f3a00", MAIN),
    row("agent:main:subagent:7f3a00:subagent:b12000", "agent:main:subagent:7f3a00", "running"),
    row(MAIN),
  ];
  assert.deepEqual(drawn(rows), [
    MAIN,
    "├─ subagent:7f3a",
    "│  └─ subagent:b120",
    "└─ thread:plan",
    "agent:main:heartbeat",
  ]);
});

test("a child whose parent is not shown has its whole key, and one that is its own parent ends", () => {
  assert.deepEqual(drawn([row("agent:main:subagent:abcdef", "agent:main:gone")]), [
    "agent:main:subagent:abcdef",
  ]);
  assert.deepEqual(drawn([row("agent:main:x", "agent:main:x")]), ["agent:main:x"]);
});

test("of an id as much is shown as tells it from the others", () => {
  const rows = [
    row(MAIN),
    ...["abcd01", "abcd02", "ffff00"].map((id) => row(`agent:main:subagent:${id}`, MAIN)),
  ];
  assert.deepEqual(drawn(rows).slice(1), ["├─ subagent:abcd01", "├─ subagent:abcd02", "└─ subagent:ffff00"]);
});
