import assert from "node:assert/strict";
import { test } from "node:test";
import { whyParts, worded } from "./worded.ts";

const AT = "2026-11-16T14:25:24.000Z";

test("why a session waits is said without times, and with the sessions that it names", () => {
  const words = `waits for its children since ${AT}: agent:main:subagent:50abfa22a22f, agent:work:thread:a and 3 more`;
  assert.deepEqual(whyParts(words), [
    { words: "waits for its children: ", sessionKey: null },
    { words: "agent:main:subagent:50abfa22a22f", sessionKey: "agent:main:subagent:50abfa22a22f" },
    { words: ", ", sessionKey: null },
    { words: "agent:work:thread:a", sessionKey: "agent:work:thread:a" },
    { words: " and 3 more", sessionKey: null },
  ]);
  const said = (why: string): string =>
    whyParts(why)
      .map((part) => part.words)
      .join("");
  assert.equal(said(`step 4 of a turn since ${AT}: asks rehearsal/default`), "asks rehearsal/default");
  assert.equal(said(`step 4 of a turn since ${AT}`), "step 4 of a turn");
  for (const why of [`paused since ${AT}; \`cont\` goes on`, "paused: letters wait until `cont`"])
    assert.equal(said(why), "paused: messages wait until it continues");
  assert.equal(
    said("runs a: agent:main:main, agent:main:sub [… 5 more characters]"),
    "runs a: agent:main:main …",
  );
  assert.equal(
    said("runs a: agent:main:sub [… 5 more characters]; pauses after it"),
    "runs a: …; pauses after it",
  );
  assert.equal(said("runs exec: ls -l /some/wh [… 12 more characters]"), "runs exec: ls -l /some/wh …");
  assert.equal(said("nothing to do"), "nothing to do");
});

test("other times are those of a clock on the wall", () => {
  assert.doesNotMatch(worded(`its turn is at ${AT}`), /T14:25/);
  assert.equal(worded("at 2026-99-99T99:99:99Z"), "at 2026-99-99T99:99:99Z");
});
