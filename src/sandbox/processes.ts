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
//   P2. A record is removed only after a look in which nothing of its tree lived.
//   P3. What a daemon left is ended by reapLeft() of the next; what a living one has is not touched.
//   P4. With no process there is no timer and no work.

import type { Readable, Writable } from "node:stream";
import type { Log } from "../base/log.ts";
import { alarm } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { SessionKey } from "../routing/key.ts";
import { launch, type Launched } from "./launch.ts";
import { currentBoot, HAS_PROC, seenOf, type Seen } from "./proc.ts";
import { readRecord, recordIds, removeRecord, writeRecord, type ProcessRecord } from "./record.ts";
import { Sampler } from "./sampler.ts";
import { endTree, Looks, membersOf, type Tree } from "./tree.ts";

export interface Starting {
  /** Program and arguments, never a text for a shell. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly session: SessionKey | null; // null: of the gateway itself, such as a server of tools
}

export interface Ended {
  readonly exitCode: number | null; // as shells tell it: 128 + n after signal n; null: it was killed together with its launcher
  readonly signal: string | null; //   only then
  readonly cpuMs: number;
  readonly peakBytes: number; //       see sampler.ts for what it cannot see
  readonly left: number; //            processes that it left behind, which live
}

export interface Running {
  readonly id: string;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. The program is gone and its output was read; or shortly after, when somebody else keeps the pipe open. */
  readonly ended: Promise<Ended>;
  /** The whole tree: SIGTERM, two seconds, SIGKILL. Resolves when nothing of it is left, or can be killed (that is logged). */
  kill(): Promise<void>;
}

export interface ProcessesParts {
  readonly folder: string; // of the records
  readonly world: World;
  readonly log: Log;
}

/** How long an output without a word is waited for after the program is gone. */
const SILENCE_MS = 200;

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
  readonly #starting = new Set<Promise<unknown>>();
  #self: Promise<Pick<ProcessRecord, "bootId" | "owner">> | null = null;

  constructor(parts: ProcessesParts) {
    this.#parts = parts;
    this.#sampler = new Sampler({ ...parts, looks: this.#looks });
  }

  /** Rejects with words for a model when it cannot be started: nothing was executed then. */
  start(starting: Starting): Promise<Running> {
    const started = this.#start(starting);
    const settled = started.catch(() => null).finally(() => this.#starting.delete(settled));
    this.#starting.add(settled);
    return started;
  }

  /** What runs now, or has left something behind that does. */
  of(session: SessionKey | null): readonly Running[] {
    return [...this.#trees].filter(([, whose]) => whose === session).map(([running]) => running);
  }

  /** Null: all there are, the gateway's own too. Whoever calls this sees to it that nobody starts more. */
  async killAll(session: SessionKey | null): Promise<void> {
    await Promise.all(this.#starting);
    const all = [...this.#trees].filter(([, whose]) => session === null || whose === session);
    await Promise.all(all.map(([running]) => running.kill()));
  }

  /** P3. To be called once, before the first start. How many trees of a dead daemon were ended. */
  async reapLeft(): Promise<number> {
    const ids = await recordIds(this.#parts.folder);
    const ends = await Promise.all(ids.map((id) => this.#reap(id)));
    return ends.filter((ended) => ended).length;
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
      const tree: Tree = { id, leader: pid, sinceTicks: startTicks, known: new Map([[pid, startTicks]]) };
      const gone = (running: Started): Promise<void> => this.#gone(running);
      const started = new Started(launched, tree, { ...this.#parts, looks: this.#looks, gone });
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

  /** P2. */
  async #gone(running: Started): Promise<void> {
    if (!this.#trees.delete(running)) return;
    this.#sampler.remove(running);
    await this.#remove(running.id);
  }

  async #remove(id: string): Promise<void> {
    const { folder, log } = this.#parts;
    // A record that stays is looked at once more by the next start, which finds nobody.
    await removeRecord(folder, id).catch((error: unknown) => log.warn({ id, err: error }, "a record stays"));
  }

  /** True: something of it lived. */
  async #reap(id: string): Promise<boolean> {
    const { log, folder, world } = this.#parts;
    const { bootId } = await this.#whoWeAre();
    const record = await readRecord(folder, id).catch((error: unknown) => {
      log.warn({ id, err: error }, "the record of a process cannot be read and is removed; nobody is killed");
      return null;
    });
    if (record?.bootId === bootId && (await isAlive(record.owner))) return false;
    let found = 0;
    // A pid in a record proves nothing, so nobody is known: those are ended who carry the marker, and what is theirs.
    if (HAS_PROC && record?.bootId === bootId) {
      const tree: Tree = { id, leader: record.pid, sinceTicks: record.startTicks, known: new Map() };
      const seen = (members: readonly Seen[]): void => void (found = Math.max(found, members.length));
      const isGone = await endTree({ looks: this.#looks, world, seen }, tree);
      log.info({ id, session: record.session, processes: found }, "what a former daemon left was ended");
      if (!isGone) return tellStuck(log, id);
    }
    await this.#remove(id);
    return found > 0;
  }

  #whoWeAre(): Promise<Pick<ProcessRecord, "bootId" | "owner">> {
    this.#self ??= Promise.all([currentBoot(), HAS_PROC ? seenOf(process.pid) : null]).then(
      ([bootId, seen]) => ({
        bootId,
        owner: { pid: process.pid, startTicks: seen?.startTicks ?? 0 },
      }),
    );
    return this.#self;
  }
}

async function isAlive({ pid, startTicks }: ProcessRecord["owner"]): Promise<boolean> {
  const seen = HAS_PROC ? await seenOf(pid) : null;
  return seen !== null && !seen.isDead && seen.startTicks === startTicks;
}

function tellStuck(log: Log, id: string): true {
  log.error({ id }, "processes cannot be killed; their record stays, and the next start tries again");
  return true;
}

interface StartedParts extends ProcessesParts {
  readonly looks: Looks;
  readonly gone: (running: Started) => Promise<void>;
}

/** One tree, from its launcher's first word on. */
class Started implements Running {
  readonly id: string;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<Ended>;
  readonly tree: Tree;
  readonly startedAtMs: number;
  readonly #parts: StartedParts;
  #cpuMs = 0; //      the most that was seen
  #peakBytes = 0;
  #hasEnded = false;
  #killing: Promise<void> | null = null; // null: nobody asked for it

  constructor(launched: Launched, tree: Tree, parts: StartedParts) {
    this.id = tree.id;
    this.pid = launched.pid;
    this.stdin = launched.stdin;
    this.stdout = launched.stdout;
    this.stderr = launched.stderr;
    this.tree = tree;
    this.#parts = parts;
    this.startedAtMs = parts.world.nowMs();
    this.ended = this.#follow(launched);
  }

  /** Of the sampler. What the program left behind ends by itself some day, too. */
  seen(members: readonly Seen[], bytes: number): void {
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    this.#noteCpu(members);
    if (members.length === 0 && this.#hasEnded) void this.#left();
  }

  kill(): Promise<void> {
    this.#killing ??= this.#kill();
    return this.#killing;
  }

  async #kill(): Promise<void> {
    const { looks, world, log } = this.#parts;
    const seen = (members: readonly Seen[]): void => this.#noteCpu(members);
    if (await endTree({ looks, world, seen }, this.tree)) await this.#parts.gone(this);
    else tellStuck(log, this.id);
  }

  #noteCpu(members: readonly Seen[]): void {
    this.#cpuMs = Math.max(this.#cpuMs, sumOf(members));
  }

  async #follow(launched: Launched): Promise<Ended> {
    const report = await launched.reported;
    const left = await this.#left(); // while the launcher waits, or after it was killed
    launched.goOn();
    const { exitCode, signal } = await launched.exited;
    await this.#outputRead(launched);
    this.#hasEnded = true;
    const cpuMs = Math.max(this.#cpuMs, (report?.cpuMs ?? 0) + sumOf(left));
    return {
      exitCode: report?.exitCode ?? exitCode,
      signal,
      cpuMs,
      peakBytes: this.#peakBytes,
      left: left.length,
    };
  }

  /** What lives of the tree besides its launcher. With nothing left the tree is over (P2). */
  async #left(): Promise<readonly Seen[]> {
    const { looks, log, gone } = this.#parts;
    try {
      const members = HAS_PROC ? membersOf(await looks.take(this.tree.sinceTicks), this.tree) : [];
      const left = members.filter(({ pid }) => pid !== this.pid);
      if (left.length === 0) await gone(this);
      return left;
    } catch (error) {
      log.error({ id: this.id, err: error }, "what a process left behind is not known; its record stays");
      return [];
    }
  }

  /** An end that does not come because somebody else has the pipe is waited for only as long as words come out of it. */
  async #outputRead({ closed, stdout, stderr }: Launched): Promise<void> {
    const bytes = (): number =>
      [stdout, stderr].reduce((sum, each) => sum + ((each as { bytesRead?: number }).bytesRead ?? 0), 0);
    for (let [before, now] = [-1, bytes()]; before !== now; [before, now] = [now, bytes()]) {
      const silence = Promise.withResolvers<false>();
      const callOff = alarm(this.#parts.world, SILENCE_MS, () => silence.resolve(false));
      const isClosed = await Promise.race([closed.then(() => true), silence.promise]);
      callOff();
      if (isClosed) return;
    }
  }
}

function sumOf(members: readonly Seen[]): number {
  return members.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}
