// A program that puts a session away and takes it out again, in every way there is, and says each step before and after it:
// a test stops it at every one of its system calls (src/store/local/shelf.test.ts).
//
//   node test/crash/shelf.ts HOME

import { openLog } from "../../src/base/log.ts";
import { RealWorld } from "../../src/base/world.ts";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import type { Change } from "../../src/store/change.ts";
import { entryId, type Draft } from "../../src/transcript/entry.ts";
import { sayLine } from "./say.ts";

const [home = ""] = process.argv.slice(2);
const world = new RealWorld();
const died = (fault: Error): never => {
  throw fault;
};
const store = await LocalStore.open(home, { world, log: openLog("silent"), died });
const key = namedKey(DEFAULT_AGENT, "kept");

function said(text: string, more: object = {}): Draft {
  const content = [{ type: "text", text, ...more }] as const;
  const timestamp = new Date(world.nowMs()).toISOString();
  return { type: "message", timestamp, message: { role: "user", content, timestamp: 0 } };
}

function append(after: number, entries: readonly Draft[], contextSeq: number | null = null): Change {
  return { do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq };
}

/** What stands after it, as the test sees it: where the session is, and how many entries it has. */
async function step(name: string, now: string, work: () => Promise<unknown>): Promise<void> {
  sayLine({ trying: name });
  await work();
  sayLine({ did: name, now });
}

function anew(transcript: string): Promise<unknown> {
  return store.commit([{ do: "rotate", key, fence: 0, after: 5, transcript, cwd: "/", keep: "nothing" }]);
}

let id = world.newId();
const blob = await store.putBlob(Buffer.from("a result"));
const compaction: Draft = {
  ...{ type: "compaction", timestamp: new Date(world.nowMs()).toISOString(), summary: "three" },
  ...{ firstKeptEntryId: entryId(id, 2), tokensBefore: 1 },
};
await step("open", "lives 3 .jsonl", () =>
  store.commit([
    {
      do: "open",
      key,
      transcript: id,
      cwd: "/",
      parent: null,
      settings: {},
      copy: null,
      ifExists: "refuse",
    },
    append(0, [said("one"), said("two", { blob }), compaction], 2),
  ]),
);
await step("go on in a new file", "lives 3 .jsonl.jsonl", async () => {
  id = world.newId();
  await store.commit([{ do: "rotate", key, fence: 0, after: 3, transcript: id, cwd: "/", keep: "context" }]);
});
await step("archive with the last words", "archived 4 .jsonl.jsonl", () =>
  store.commit([
    append(3, [said("four")]),
    { do: "archive", key, expect: { transcript: id, lastSeq: 4 }, why: "stale" },
  ]),
);
await step("pack", "packed 4 .zst.zst", () => store.pack(id));
await step("unpack", "archived 4 .jsonl.jsonl", () => store.unpack(id));
await step("restore", "lives 4 .jsonl.jsonl", () =>
  store.commit([{ do: "restore", archive: id, over: null }]),
);
await step("write on", "lives 5 .jsonl.jsonl", () => store.commit([append(4, [said("five")])]));
const other = world.newId();
await step("begin anew", "both 0 .jsonl.jsonl.jsonl", () => anew(other));
await step("swap", "both 5 .jsonl.jsonl.jsonl", () =>
  store.commit([{ do: "restore", archive: id, over: { key, transcript: other, lastSeq: 5 } }]),
);
await step("purge the other", "lives 5 .jsonl.jsonl", () => store.commit([{ do: "purge", archive: other }]));
await step("begin anew again", "both 0 .jsonl.jsonl.jsonl", () => anew(world.newId()));
await step("pack what was", "both, packed 0 .jsonl.zst.zst", () => store.pack(id));
await step("delete", "gone 0", () => store.commit([{ do: "delete", key, expect: null }]));
await store.close();
