// Processes
//
// Every process that the gateway starts, for a tool or as a server of tools, from before its execution until nothing of it
// is left. Nothing confines them: they may do what the gateway's user may. What is promised is that none is forgotten.
//
//   Owns:      which trees of processes there are, their records, and their end.
//   Does not:  know tools, read output (whoever starts one must: a full pipe stops it), or decide how many may run.
//
// Invariants
//   P1. What is executed has a record. A daemon that dies before the record is whole has executed nothing.
//   P2. A record is removed only after a look in which nothing of its tree lived; and one that is no record, or of a boot before.
//   P3. What a daemon left is ended by reapLeft() of the next; what a living one has is not touched.
//   P4. With no process there is no timer and no work.

import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { KILLED_GRACE_MS } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { Grace } from "./grace.ts";
import { groupLeft } from "./group.ts";
import { launch } from "./launch.ts";
import { currentBoot, HAS_PROC, seenOf, type Seen } from "./proc.ts";
import { readRecord, recordIds, removeRecord, writeRecord, type ProcessRecord } from "./record.ts";
import { Sampler } from "./sampler.ts";
import { Started, tellStuck, type Running } from "./started.ts";
import { endTree, Looks, type Tree } from "./tree.ts";

export type { Ended, Running } from "./started.ts";

export interface Starting {
  /** Program and arguments, never a text for a shell. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly session: SessionKey | null; // null: of the gateway itself, such as a server of tools
}

export interface ProcessesParts {
  readonly folder: string; // of the records
  readonly world: World;
  readonly log: Log;
}

/** Records of a dead daemon that are looked after at once: each reads files, of which there are not too many. */
const REAPED_AT_ONCE = 16;

/** What a program needs to know of its surroundings. Everything else stays here: keys of providers are in the environment. */
const PASSED_ON = /^(?:PATH|HOME|LANG|LC_[A-Z]+|TERM|TMPDIR|USER|SHELL|TZ)$/;

export function plainEnv(from: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const passed = Object.entries(from).filter(([name, value]) => PASSED_ON.test(name) && value !== undefined);
  return Object.fromEntries(passed) as Record<string, string>;
}

export class Processes {
  readonly #parts: ProcessesParts;
  readonly #looks = new Looks();
  readonly #sampler: Sampler;
  readonly #trees = new Map<Started, SessionKey | null>();
  readonly #starting = new Map<Promise<unknown>, SessionKey | null>();
  #self: Promise<Pick<ProcessRecord, "bootId" | "owner">> | null = null;

  constructor(parts: ProcessesParts) {
    this.#parts = parts;
    this.#sampler = new Sampler({ ...parts, looks: this.#looks });
  }

  /** Rejects with words for a model when it cannot be started: nothing was executed then. */
  start(starting: Starting): Promise<Running> {
    const started = this.#start(starting);
    const settled = started.catch(() => null).finally(() => this.#starting.delete(settled));
    this.#starting.set(settled, starting.session);
    return started;
  }

  /** What runs now, or has left something behind that does. */
  of(session: SessionKey | null): readonly Running[] {
    return [...this.#trees].filter(([, whose]) => whose === session).map(([running]) => running);
  }

  /** Everything that runs now, and whose it is. */
  all(): readonly {
    readonly session: SessionKey | null;
    readonly pid: number;
    readonly startedAtMs: number;
  }[] {
    return [...this.#trees].map(([{ pid, startedAtMs }, session]) => ({ session, pid, startedAtMs }));
  }

  /**
   * What is of one session, also what is just being started: what runs does not wait for that. Whoever calls this sees to it
   * that nobody starts more.
   */
  async killAll(session: SessionKey, graceMs?: number): Promise<void> {
    const running = this.of(session);
    const starting = [...this.#starting].filter(([, whose]) => whose === session).map(([settled]) => settled);
    const killLate = async (): Promise<void> => {
      await Promise.all(starting);
      const late = this.of(session).filter((each) => !running.includes(each));
      await killEach(late, graceMs);
    };
    await allOf([killEach(running, graceMs), killLate()]);
  }

  /** What is of sessions, and the gateway's own. Whoever calls this sees to it that nobody starts more. */
  async killEverything(): Promise<void> {
    await Promise.all(this.#starting.keys());
    await killEach([...this.#trees.keys()]);
  }

  /** P3. To be called once, before the first start. How many trees of a dead daemon were ended. */
  async reapLeft(): Promise<number> {
    const ids = await recordIds(this.#parts.folder);
    let ended = 0;
    const reapSome = async (): Promise<void> => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) if (await this.#reap(id)) ended += 1;
    };
    await Promise.all(Array.from({ length: REAPED_AT_ONCE }, reapSome));
    return ended;
  }

  async #start(starting: Starting): Promise<Running> {
    const { world, folder } = this.#parts;
    const id = world.newId();
    const self = await this.#whoWeAre();
    const launched = await launch({ id, ...starting });
    const { pid } = launched;
    try {
      const startTicks = HAS_PROC ? ((await seenOf(pid))?.startTicks ?? 0) : 0;
      await writeRecord(folder, { id, pid, startTicks, session: starting.session, ...self }); // P1
      const gone = (running: Started): Promise<void> => this.#gone(running);
      const started = new Started(launched, { id, startTicks }, { ...this.#parts, looks: this.#looks, gone });
      this.#trees.set(started, starting.session);
      this.#sampler.add(started);
      launched.goOn();
      return started;
    } catch (error) {
      launched.callOff();
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`it could not be started: its record could not be written (${why})`, { cause: error });
    }
  }

  /** P2. Last it is forgotten: who ends everything waits for its record too. */
  async #gone(running: Started): Promise<void> {
    this.#sampler.remove(running);
    await this.#remove(running.id);
    this.#trees.delete(running);
  }

  async #remove(id: string): Promise<void> {
    const { folder, log } = this.#parts;
    // A record that stays is looked at once more by the next start, which finds nobody.
    await removeRecord(folder, id).catch((error: unknown) => log.warn({ id, err: error }, "a record stays"));
  }

  /** True: something of it lived. Never rejects: what cannot be known now is for the next start. */
  async #reap(id: string): Promise<boolean> {
    const { log, folder } = this.#parts;
    try {
      const record = await readRecord(folder, id);
      if (record === null) log.warn({ id }, "what is no record of a process is removed; nobody is killed");
      return record === null ? await this.#remove(id).then(() => false) : await this.#reapTree(record);
    } catch (error) {
      log.error({ id, err: error }, "what a former daemon left is not known; its record stays");
      return false;
    }
  }

  async #reapTree({ id, pid, startTicks, bootId, session, owner }: ProcessRecord): Promise<boolean> {
    const { log, world } = this.#parts;
    const isOfThisBoot = bootId === (await this.#whoWeAre()).bootId;
    if (isOfThisBoot && (await isAlive(owner))) return false;
    let found = 0;
    // A pid in a record proves nothing, so nobody is known: those are ended who carry the marker, and what is theirs.
    if (HAS_PROC && isOfThisBoot) {
      const tree: Tree = { id, group: groupLeft(pid), sinceTicks: startTicks, known: new Map() };
      const seen = (members: readonly Seen[]): void => void (found = Math.max(found, members.length));
      const grace = new Grace(world, KILLED_GRACE_MS);
      const isGone = await endTree({ looks: this.#looks, world, seen }, tree, grace);
      log.info({ id, session, processes: found }, "what a former daemon left was ended");
      if (!isGone) return tellStuck(log, id);
    }
    await this.#remove(id);
    return found > 0;
  }

  /** Asked once. What could not be answered is asked again. */
  #whoWeAre(): Promise<Pick<ProcessRecord, "bootId" | "owner">> {
    this.#self ??= whoIs(process.pid).catch((error: unknown) => {
      this.#self = null;
      throw error;
    });
    return this.#self;
  }
}

async function whoIs(pid: number): Promise<Pick<ProcessRecord, "bootId" | "owner">> {
  const [bootId, seen] = await Promise.all([currentBoot(), HAS_PROC ? seenOf(pid) : null]);
  return { bootId, owner: { pid, startTicks: seen?.startTicks ?? 0 } };
}

async function isAlive({ pid, startTicks }: ProcessRecord["owner"]): Promise<boolean> {
  const seen = HAS_PROC ? await seenOf(pid) : null;
  return seen !== null && !seen.isDead && seen.startTicks === startTicks;
}

async function killEach(running: readonly Running[], graceMs?: number): Promise<void> {
  await allOf(running.map((each) => each.kill(graceMs)));
}

/** To the end of each, also when one fails; then it rejects. */
async function allOf(promises: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(promises);
  const failed = ends.find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}
