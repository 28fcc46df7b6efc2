import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { memoryOf, type Seen } from "./proc.ts";
import { membersOf, type Looks, type Tree } from "./tree.ts";

/** A tree whose use is measured from time to time. */
export interface Sampled {
  readonly tree: Tree;
  readonly startedAtMs: number;
  seen(members: readonly Seen[], bytes: number): void;
}

/** When a tree is looked at after its start, in milliseconds: most programs are short. Then every second. */
const FIRST_LOOKS_MS = [10, 30, 100, 300, 1_000];
const LOOKS_EVERY_MS = 1_000;

/** The least time between two looks, however many trees are young: a look reads a file of every process there is. */
const PAUSE_MS_MIN = 10;

/**
 * Measures the memory of all trees, with one loop for all of them; with no tree there is no loop. Memory is the sum over a
 * tree's members of what they have in memory, shared pages counted by each; or, if that is more, the peak of one member.
 * What escapes: programs that begin and end between two looks, and peaks of several at once that no look saw.
 */
export class Sampler {
  readonly #parts: { readonly looks: Looks; readonly world: World; readonly log: Log };
  readonly #due = new Map<Sampled, number>(); // when each is looked at next
  #wake = new AbortController();
  #isRunning = false;

  constructor(parts: { readonly looks: Looks; readonly world: World; readonly log: Log }) {
    this.#parts = parts;
  }

  add(tree: Sampled): void {
    this.#due.set(tree, nextLookMs(tree, tree.startedAtMs));
    if (this.#isRunning) this.#wake.abort();
    else void this.#run();
  }

  remove(tree: Sampled): void {
    this.#due.delete(tree);
    if (this.#due.size === 0) this.#wake.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let lookedAtMs = 0; this.#due.size > 0;) {
      const { world, log } = this.#parts;
      const wakeAtMs = Math.max(Math.min(...this.#due.values()), lookedAtMs + PAUSE_MS_MIN);
      const isDue = await this.#sleepUntil(wakeAtMs);
      if (!isDue || this.#due.size === 0) continue;
      await this.#look().catch((error: unknown) =>
        log.warn({ err: error }, "processes could not be measured"),
      );
      lookedAtMs = world.nowMs();
    }
    this.#isRunning = false;
  }

  /** False: there is another tree, or none is left. */
  async #sleepUntil(atMs: number): Promise<boolean> {
    this.#wake = new AbortController();
    const { world } = this.#parts;
    return await world.sleep(Math.max(0, atMs - world.nowMs()), this.#wake.signal).then(
      () => true,
      () => false,
    );
  }

  /** Of every tree, also of those that are not due: the look is made anyway. */
  async #look(): Promise<void> {
    const { looks, world } = this.#parts;
    const look = await looks.take(Number.POSITIVE_INFINITY);
    // All at once: a look that is applied late would forget who was found since.
    const found = [...this.#due.keys()].map((each) => [each, membersOf(look, each.tree)] as const);
    for (const [each, members] of found) {
      const bytes = await bytesOf(members);
      if (!this.#due.has(each)) continue; // It ended meanwhile.
      each.seen(members, bytes);
      this.#due.set(each, nextLookMs(each, world.nowMs()));
    }
  }
}

function nextLookMs({ startedAtMs }: Sampled, nowMs: number): number {
  const next = FIRST_LOOKS_MS.find((ms) => startedAtMs + ms > nowMs);
  return next === undefined ? nowMs + LOOKS_EVERY_MS : startedAtMs + next;
}

async function bytesOf(members: readonly Seen[]): Promise<number> {
  let [sum, peak] = [0, 0];
  for (const { pid } of members) {
    const memory = await memoryOf(pid);
    sum += memory.bytes;
    peak = Math.max(peak, memory.peakBytes);
  }
  return Math.max(sum, peak);
}
