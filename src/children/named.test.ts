import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../base/fault.ts";
import { parseAgent } from "../routing/key.ts";
import { namedChild, type Naming } from "./named.ts";

const MAIN = parseAgent("main");

test("a child is named by a key, by a short one, or by its name alone", () => {
  const cases: readonly [Naming, string | null][] = [
    [{ sessionKey: "thread:budget-planning" }, "agent:main:thread:budget-planning"],
    [{ sessionKey: "agent:main:thread:budget-planning" }, "agent:main:thread:budget-planning"],
    [{ sessionKey: "thread:Plan B" }, "agent:main:thread:Plan%20B"],
    [{ sessionKey: "thread:run" }, "agent:main:thread:%72un"],
    [{ sessionKey: "thread:%72un" }, "agent:main:thread:%72un"],
    [{ sessionKey: "agent:main:subagent:1" }, "agent:main:subagent:1"],
    [{ name: "budget-planning" }, "agent:main:thread:budget-planning"],
    [{ name: "Über den Zaun" }, "agent:main:thread:%C3%9Cber%20den%20Zaun"],
    [{ name: "main" }, "agent:main:thread:%6Dain"],
    [{}, null],
  ];
  for (const [naming, key] of cases) assert.equal(namedChild(MAIN, naming), key);
});

test("what names no child is refused with what would", () => {
  const cases: readonly [Naming, RegExp][] = [
    [{ sessionKey: "main" }, /a named child is called "thread:<name>"/],
    [{ sessionKey: "agent:main:main" }, /a named child is called "thread:<name>"/],
    [{ sessionKey: "agent:larry:thread:x" }, /say agent: "larry" too/],
    [{ sessionKey: "thread:a:b" }, /is not a session key/],
    [{ sessionKey: "" }, /is not a session key/],
    [{ sessionKey: "thread:x", name: "x" }, /not by both/],
  ];
  for (const [naming, words] of cases)
    assert.throws(
      () => namedChild(MAIN, naming),
      (error) => error instanceof Fault && error.code === "bad_input" && words.test(error.message),
      JSON.stringify(naming),
    );
});
