import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, entries, result, said, STARTED, user } from "../../test/fixtures/talk.ts";
import { flushNote, withoutFlushes } from "./flush.ts";

test("an exchange that is over is hidden, with every note in it, and what others wrote meanwhile stays", () => {
  const all = entries(
    user("go"),
    flushNote(),
    calls("1"),
    result("1"),
    flushNote(),
    user("wait"),
    said("NO_REPLY"),
    said("I go on"),
  );
  const kept = withoutFlushes(all);
  assert.deepEqual(kept, [all[0], all[5], all[7]]);
  assert.equal(withoutFlushes(kept), kept);
});

test("an exchange that goes on is shown, and those before it are not", () => {
  const all = entries(STARTED, flushNote(), said("NO_REPLY"), flushNote(), calls("1"), flushNote());
  assert.deepEqual(withoutFlushes(all), [all[0], ...all.slice(3)]);
});
