import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../../base/log.ts";
import { SimulatedWorld } from "../../base/world.ts";
import { Corner, said, type Opened } from "../contract/corner.ts";
import { storesAgree } from "../contract/agree.ts";
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
