import assert from "node:assert/strict";
import { test } from "node:test";
import { stateWords, type Row } from "./ps.ts";

test("who waits says for how many children, where that is known", () => {
  const words = (why: string | null): string =>
    stateWords({ state: "waiting", since: "2026-01-01T00:00:00.000Z", why } as Row, () => 41_000);
  const since = "waits for its children since 2026-01-01T00:00:00.000Z";
  assert.equal(words(`${since}: agent:main:subagent:a`), "waiting 41s for 1 child");
  assert.equal(words(`${since}: agent:main:subagent:a, agent:main:subagent:b`), "waiting 41s for 2 children");
  assert.equal(
    words(`${since}: agent:main:subagent:a, agent:main:subagent:b and 3 more`),
    "waiting 41s for 5 children",
  );
  assert.equal(words(`${since}: agent:main:subagent:a, agent:main:suba…`), "waiting 41s", "it is cut off");
  for (const why of [since, "waits for a person since 2026-01-01T00:00:00.000Z", null])
    assert.equal(words(why), "waiting 41s");
});
