// A session whose history goes on in a new file, through the doors: whoever follows it, asks for its history or goes back in
// it does not notice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { wishLetter } from "../../src/mail/wish.ts";
import { parseKey } from "../../src/routing/key.ts";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import { openedWired, type Opened } from "../fixtures/wired.ts";

const KEY = parseKey("agent:main:main");

async function wish(
  { system }: Opened,
  name: "rotate" | "reset",
): Promise<{ readonly outcome: string; readonly reason: string | null }> {
  const { world } = system;
  const transcript = world.newId();
  const letter =
    name === "rotate"
      ? wishLetter(world.newId(), name, { transcript })
      : wishLetter(world.newId(), name, { transcript, model: null });
  const answered = system.answers.wait(letter.id, AbortSignal.timeout(20_000));
  await system.commit([{ do: "post", to: [KEY], letter }]);
  return await answered;
}

async function history({ system }: Opened): Promise<Entry[]> {
  const row = await system.store.session(KEY);
  const items = await Array.fromAsync(system.store.entries(row?.transcript.id ?? "", { since: 0 }));
  return items.map((item) => {
    assert(item.type !== "gap");
    return item;
  });
}

test("a follower, a history and a rewind go on over new files, and a follower over a new beginning", async (t) => {
  const opened = await openedWired(t, {});
  const { sessions, system } = opened;
  const over = new AbortController();
  const followed: number[] = [];
  const following = (async () => {
    for await (const event of sessions.follow(KEY, { from: 0, signal: over.signal }))
      if (event.type === "entry") followed.push(event.seq);
  })();
  for (const word of ["one", "two", "three"]) await sessions.ask(KEY, `${word}${" words".repeat(8_000)}`);
  const refused = await wish(opened, "rotate");
  assert.deepEqual([refused.outcome, /no shorter/.test(refused.reason ?? "")], ["failed", true]);
  await sessions.call("compact", { sessionKey: KEY });
  const before = await history(opened);
  assert.equal((await wish(opened, "rotate")).outcome, "done");
  await sessions.ask(KEY, "four");
  const now = await history(opened);
  assert.deepEqual(now.slice(0, before.length), before);
  const row = await system.store.session(KEY);
  assert.ok((row?.transcript.firstSeq ?? 0) > 1);

  const first = now.find((entry) => textOf(entry).includes("one"));
  await sessions.call("rewind", { sessionKey: KEY, seq: first?.seq ?? 0 });
  await sessions.ask(KEY, "five");
  assert.equal((await wish(opened, "reset")).outcome, "done");
  await sessions.ask(KEY, "six");
  const last = (await system.store.session(KEY))?.transcript.lastSeq ?? 0;
  while (followed.at(-1) !== last) await new Promise(setImmediate);
  over.abort();
  await following;
  assert.deepEqual(
    followed,
    Array.from({ length: last }, (_, at) => at + 1),
  );
  assert.ok((await history(opened)).every((entry) => !textOf(entry).includes("five")));
});
