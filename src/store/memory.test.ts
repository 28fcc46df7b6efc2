import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedWorld } from "../base/world.ts";
import { FEED_GROUPS_MAX } from "../limits.ts";
import { Corner, refused, type Opened } from "./contract/corner.ts";
import { storeContract } from "./contract.ts";
import { MemoryStore } from "./memory.ts";

storeContract("memory", openMemory);

test("the feed remembers so many groups of commits, and says when it has forgotten", async () => {
  const at = new Corner(await openMemory());
  const key = await at.open("a");
  const cursor = await at.now();
  for (let n = 0; n < FEED_GROUPS_MAX; n += 1)
    await at.store.commit([{ do: "charge", key, usage: { steps: 1 } }]);
  assert.equal((await at.feed(cursor)).changes.length, FEED_GROUPS_MAX);
  await at.store.commit([{ do: "charge", key, usage: { steps: 1 } }]);
  await refused("cursor_expired", at.store.changesSince(cursor));
});

async function openMemory(): Promise<Opened> {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  return {
    store,
    world,
    reopen: async () => {},
    sweep: async () => {},
    close: () => store.close(),
  };
}
