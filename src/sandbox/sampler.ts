import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { memoryOf, seenOf, type Seen } from "./proc.ts";
import { membersOf, type Looks, type Tree } from "./tree.ts";

interface SamplerParts {
  readonly looks: Pick<Looks, "take">;
  readonly world: World;
  readonly log: Log;
}

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
 * A tree of this age has most of the processes that it will have. From then on those are read that are known of it, and only
 * now and then all there are: a server that does nothing for days costs next to nothing.
 */
const SETTLED_MS = 10_000;
const WHOLE_LOOKS_EVERY_MS = 30_000;

/** When a tree is looked at next; and from when on that has to be a look at all processes. */
interface Due {
  readonly atMs: number;
  readonly wholeAtMs: number;
}

/**
 * Measures the memory of all trees, with one loop for all of them; with no tree there is no loop. Memory is the sum over a
 * tree's members of what they have in memory, shared pages counted by each; or, if that is more, the peak of one member.
 * What escapes: programs that begin and end between two looks, peaks of several at once that no look saw, and for half a
 * minute what a tree begins late.
 */
export class Sampler {
  readonly #parts: SamplerParts;
  readonly #due = new Map<Sampled, Due>();
  #wake = new AbortController();
  #isRunning = false;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
  }

  add(tree: Sampled): void {
    this.#due.set(tree, { atMs: nextLookMs(tree, tree.startedAtMs), wholeAtMs: 0 });
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
      const wakeAtMs = Math.max(this.#nextMs(), lookedAtMs + PAUSE_MS_MIN);
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

  #nextMs(): number {
    return [...this.#due.values()].reduce(
      (least, { atMs }) => Math.min(least, atMs),
      Number.POSITIVE_INFINITY,
    );
  }

  /** Of every tree when all processes are looked at; else of those that are due. */
  async #look(): Promise<void> {
    const nowMs = this.#parts.world.nowMs();
    const due = [...this.#due].filter(([, { atMs }]) => atMs <= nowMs);
    // First of all, so that a look that fails is not tried again at once.
    for (const [each, { wholeAtMs }] of due)
      this.#due.set(each, { atMs: nextLookMs(each, nowMs), wholeAtMs });
    if (due.some(([, { wholeAtMs }]) => wholeAtMs <= nowMs)) return await this.#lookAtAll();
    for (const [each] of due) await this.#tell(each, await stillThere(each.tree));
  }

  async #lookAtAll(): Promise<void> {
    const { looks, world } = this.#parts;
    const there = new Set(this.#due.keys());
    const look = await looks.take(Number.POSITIVE_INFINITY);
    const nowMs = world.nowMs();
    // All at once: a look that is applied late would forget who was found since. One that began before a tree did has
    // nothing of it, and would make it forget even its launcher, from which all others are found.
    const seen = [...this.#due.keys()].filter((each) => there.has(each));
    const found = seen.map((each) => [each, membersOf(look, each.tree)] as const);
    for (const [each] of found) {
      const isSettled = nowMs - each.startedAtMs >= SETTLED_MS;
      const wholeAtMs = isSettled ? nowMs + WHOLE_LOOKS_EVERY_MS : 0;
      this.#due.set(each, { atMs: nextLookMs(each, nowMs), wholeAtMs });
    }
    for (const [each, members] of found) await this.#tell(each, members);
  }

  async #tell(each: Sampled, members: readonly Seen[]): Promise<void> {
    const bytes = await bytesOf(members);
    if (this.#due.has(each)) each.seen(members, bytes); // Else it ended meanwhile.
  }
}

/** Those that are known of a tree, and live. Who is known is only changed by who looks at all. */
async function stillThere({ known }: Tree): Promise<readonly Seen[]> {
  const found: Seen[] = [];
  for (const [pid, startTicks] of [...known]) {
    const seen = await seenOf(pid);
    if (seen?.startTicks === startTicks && !seen.isDead) found.push(seen);
  }
  return found;
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
