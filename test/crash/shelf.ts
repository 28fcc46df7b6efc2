// A program that puts a session away and takes it out again, in every way there is, and says each step before and after it:
// a test stops it at every one of its system calls (src/store/local/shelf.test.ts).
//
//   node test/crash/shelf.ts HOME

import { openLog } from "../../src/base/log.ts";
import { RealWorld } from "../../src/base/world.ts";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import type { Change } from "../../src/store/store.ts";
import type { Draft } from "../../src/transcript/entry.ts";
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

async function archive(): Promise<string> {
  const row = await store.session(key);
  const { id: transcript, lastSeq } = row?.transcript ?? { id: "", lastSeq: 0 };
  await store.commit([{ do: "archive", key, expect: { transcript, lastSeq }, why: "asked" }]);
  return transcript;
}

let id = "";
const blob = await store.putBlob(Buffer.from("a result"));
await step("open", "lives 3", () =>
  store.commit([
    {
      do: "open",
      key,
      transcript: world.newId(),
      cwd: "/",
      parent: null,
      settings: {},
      copy: null,
      ifExists: "refuse",
    },
    append(0, [said("one"), said("two", { blob }), said("three")]),
  ]),
);
await step("archive with the last words", "archived 4", async () => {
  const row = await store.session(key);
  const expect = { transcript: row?.transcript.id ?? "", lastSeq: 4 };
  id = expect.transcript;
  await store.commit([append(3, [said("four")]), { do: "archive", key, expect, why: "stale" }]);
});
await step("pack", "packed 4", () => store.pack(id));
await step("unpack", "archived 4", () => store.unpack(id));
await step("restore", "lives 4", () => store.commit([{ do: "restore", archive: id, over: null }]));
await step("write on", "lives 5", () => store.commit([append(4, [said("five")])]));
const other = world.newId();
await step("begin anew", "both 0", () =>
  store.commit([{ do: "rotate", key, fence: 0, after: 5, transcript: other, cwd: "/", keep: "nothing" }]),
);
await step("swap", "both 5", () =>
  store.commit([{ do: "restore", archive: id, over: { key, transcript: other, lastSeq: 5 } }]),
);
await step("purge the other", "lives 5", () => store.commit([{ do: "purge", archive: other }]));
await step("archive", "archived 5", archive);
await step("pack again", "packed 5", () => store.pack(id));
await step("purge", "gone 0", () => store.commit([{ do: "purge", archive: id }]));
await store.close();
