import type { World } from "../src/base/world.ts";

/** The world of whichever life there is now: what outlives one has no other clock. */
export class CurrentWorld implements World {
  current: World;

  constructor(first: World) {
    this.current = first;
  }

  nowMs(): number {
    return this.current.nowMs();
  }

  random(): number {
    return this.current.random();
  }

  newId(): string {
    return this.current.newId();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.current.sleep(ms, signal);
  }
}
