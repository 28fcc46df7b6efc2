import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../../base/log.ts";
import { SimulatedWorld } from "../../base/world.ts";
import { Corner, type Opened } from "../contract/corner.ts";
import { storesAgree } from "../contract/agree.ts";
import { ended, said } from "../contract/samples.ts";
import { storeContract } from "../contract.ts";
import { MemoryStore } from "../memory.ts";
import { LocalStore } from "./local.ts";

storeContract("local", openLocal);
storesAgree("memory and local", openMemory, openLocal);

test("a transcript's file is its first line and its entries, and as long as its row says", async (t) => {
  const opened = await openLocal();
  t.after(() => opened.close());
  const at = new Corner(opened);
  const parent = await at.talk("parent", ["1"]);
  const key = await at.open("a", { parent });
  for (const text of ["é🎉", "2", ""]) await at.append(key, [said(text)]);
  await at.rewind(key, 1, ["3"]);
  await opened.sweep(); // a checkpoint: afterwards all is in the file
  const { transcript } = await at.row(key);
  const path = join(opened.home, "agents", at.agent, "sessions", `${transcript.id}.jsonl`);
  const text = await readFile(path, "utf8");
  assert.equal(Buffer.byteLength(text), transcript.bytes);
  const [header, ...lines] = text.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    await at.entries(key, { since: 0 }),
  );
  assert.deepEqual(JSON.parse(header ?? ""), {
    ...{ type: "session", version: 3, id: transcript.id, timestamp: "2026-01-01T00:00:00.000Z" },
    ...{ cwd: "/tmp", key, agent: at.agent, child: true },
    parentSession: `${await at.transcript(parent)}.jsonl`,
  });
});

test("a session that is deleted in the commit of its last words has no file, before and after a restart", async (t) => {
  const opened = await openLocal();
  t.after(() => opened.close());
  const at = new Corner(opened);
  const parent = await at.talk("parent", ["1"]);
  const folder = join(opened.home, "agents", at.agent, "sessions");
  const kept = [`${await at.transcript(parent)}.jsonl`];
  // One whose file was there before, one whose file is still to be written, and one that never had any.
  const [old, fresh, brief] = [await at.talk("old", ["1"]), at.key("fresh"), at.key("brief")];
  await opened.sweep();
  assert.equal((await readdir(folder)).length, 2);
  await at.talk("fresh", ["1"]);
  for (const key of [old, fresh, brief]) {
    await at.store.commit([
      ...(key === brief ? [at.opening(key)] : []),
      {
        ...{ do: "append", key, fence: 0, after: key === brief ? 0 : 1, entries: [said("last words")] },
        ...{ rewindTo: null, contextSeq: null },
      } as const,
      at.posting(parent, key),
      { do: "run", key, fence: 0, state: ended(1) },
      { do: "delete", key, expect: null },
    ]);
  }
  for (const settle of [opened.sweep, opened.reopen]) {
    await settle();
    assert.deepEqual(await readdir(folder), kept);
    assert.equal((await at.mail(parent)).length, 3);
  }
});

async function openMemory(): Promise<Opened> {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  return { store, world, reopen: async () => {}, sweep: async () => {}, close: () => store.close() };
}

/** A local store in a home of its own, which goes with it. */
async function openLocal(): Promise<Opened & { readonly home: string }> {
  const home = await mkdtemp(join(tmpdir(), "sessiond-contract-"));
  const world = new SimulatedWorld(1);
  // These tests end every store properly, so it has nothing to repair and nothing to report: a notice is a failure.
  const heard: string[] = [];
  const log = openLog("warn", { write: (line: string) => line.includes('"what":') && heard.push(line) });
  const died = (fault: Error): void => void heard.push(`died: ${fault.message}`);
  const open = (): Promise<LocalStore> => LocalStore.open(home, { world, log, died });
  let store = await open();
  return {
    home,
    world,
    get store() {
      return store;
    },
    reopen: async () => {
      await store.close();
      store = await open();
    },
    sweep: () => store.checkpoint(),
    close: async () => {
      try {
        await store.close();
      } finally {
        await rm(home, { recursive: true, force: true });
      }
      assert.deepEqual(heard, []);
    },
  };
}
