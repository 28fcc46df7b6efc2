import { SimulatedWorld } from "../base/world.ts";
import type { Opened } from "./contract/corner.ts";
import { storeContract } from "./contract.ts";
import { MemoryStore } from "./memory.ts";

storeContract("memory", async (): Promise<Opened> => {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  return {
    store,
    world,
    reopen: async () => {},
    sweep: async () => {},
    close: () => store.close(),
  };
});
