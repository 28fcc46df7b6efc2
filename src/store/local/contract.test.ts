import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../base/log.ts";
import { SimulatedWorld } from "../../base/world.ts";
import type { Opened } from "../contract/corner.ts";
import { storesAgree } from "../contract/agree.ts";
import { storeContract } from "../contract.ts";
import { MemoryStore } from "../memory.ts";
import { LocalStore } from "./local.ts";

storeContract("local", openLocal);
storesAgree("memory and local", openMemory, openLocal);

async function openMemory(): Promise<Opened> {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  return { store, world, reopen: async () => {}, sweep: async () => {}, close: () => store.close() };
}

/** A local store in a home of its own, which goes with it. */
async function openLocal(): Promise<Opened> {
  const home = await mkdtemp(join(tmpdir(), "sessiond-contract-"));
  const world = new SimulatedWorld(1);
  // These tests end every store properly, so it has nothing to repair and nothing to report: a notice is a failure.
  const heard: string[] = [];
  const log = openLog("warn", { write: (line: string) => line.includes('"what":') && heard.push(line) });
  const died = (fault: Error): void => void heard.push(`died: ${fault.message}`);
  const open = (): Promise<LocalStore> => LocalStore.open(home, { world, log, died });
  let store = await open();
  return {
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
