// One tree of processes, from its launcher's first word until nothing of it is left.
//
// When the program has ended but left something behind, the launcher is kept waiting: as long as it is there, what is in its
// group can be stopped, looked at and killed at one stroke (group.ts).

import type { Readable, Writable } from "node:stream";
import type { Log } from "../base/log.ts";
import { unlessLate } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { Grace, GRACE_MS } from "./grace.ts";
import { Group, signal } from "./group.ts";
import type { Exit, Launched } from "./launch.ts";
import { HAS_PROC, type Seen } from "./proc.ts";
import { endTree, leftOf, type Looks, type Tree } from "./tree.ts";

export interface Ended {
  readonly exitCode: number | null; // as shells tell it: 128 + n after signal n; null: it was killed together with its launcher
  readonly signal: string | null; //   only then
  readonly cpuMs: number;
  readonly peakBytes: number; //       see sampler.ts for what it cannot see
  readonly left: number; //            processes that it left behind, which live; 1 also when nobody can say
}

export interface Running {
  readonly id: string;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. The program is gone and its output was read; or shortly after, when somebody else keeps the pipe open. */
  readonly ended: Promise<Ended>;
  /**
   * The whole tree: SIGTERM, two seconds or what is said, SIGKILL. Of several who ask, the shortest grace counts. Resolves
   * when nothing of it is left, or can be killed (that is logged). Rejects when what is left cannot be seen. Whoever asks
   * again then, has it tried again.
   */
  kill(graceMs?: number): Promise<void>;
}

export interface StartedParts {
  readonly looks: Looks;
  readonly world: World;
  readonly log: Log;
  readonly gone: (running: Started) => Promise<void>;
}

/** How long an output without a word is waited for after the program is gone. */
const SILENCE_MS = 200;

interface Killing {
  readonly isGone: Promise<boolean>;
  readonly grace: Grace;
}

export class Started implements Running {
  readonly id: string;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<Ended>;
  readonly tree: Tree;
  readonly startedAtMs: number;
  readonly #launched: Launched;
  readonly #parts: StartedParts;
  #cpuMs = 0; //      the most that was seen
  #peakBytes = 0;
  #hasReported = false;
  #hasEnded = false;
  #gone: Promise<void> | null = null; //    null: something of it lives, or nobody has looked
  #killing: Killing | null = null; //       null: nobody asked for it, or it did not help

  constructor(
    launched: Launched,
    of: { readonly id: string; readonly startTicks: number },
    parts: StartedParts,
  ) {
    const { pid } = launched;
    this.id = of.id;
    this.pid = pid;
    this.stdin = launched.stdin;
    this.stdout = launched.stdout;
    this.stderr = launched.stderr;
    const isHeld = (): boolean => launched.isHeld();
    const group = new Group({ pid, isHeld, isWaiting: () => this.#hasReported });
    this.tree = { id: of.id, group, sinceTicks: of.startTicks, known: new Map([[pid, of.startTicks]]) };
    this.#launched = launched;
    this.#parts = parts;
    this.startedAtMs = parts.world.nowMs();
    this.ended = this.#follow();
  }

  /** Of the sampler. What the program left behind ends by itself some day, too. */
  seen(members: readonly Seen[], bytes: number): void {
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    this.#noteCpu(members);
    if (this.#hasEnded && members.every(({ pid }) => pid === this.pid)) void this.#left();
  }

  async kill(graceMs = GRACE_MS): Promise<void> {
    const grace = this.#killing?.grace ?? new Grace(this.#parts.world, graceMs);
    const killing = (this.#killing ??= { isGone: this.#kill(grace), grace });
    grace.shorten(graceMs);
    const isGone = await killing.isGone.catch((error: unknown) => {
      if (this.#killing === killing) this.#killing = null;
      throw error;
    });
    if (!isGone && this.#killing === killing) this.#killing = null;
  }

  async #kill(grace: Grace): Promise<boolean> {
    const { log } = this.#parts;
    if (!(await endTree(this.#looking, this.tree, grace))) return !tellStuck(log, this.id);
    await this.#over();
    if (this.#launched.isHeld()) signal(this.pid, "SIGKILL"); // It has nothing more to say.
    await this.#launched.exited;
    return true;
  }

  get #looking(): { looks: Looks; world: World; seen: (members: readonly Seen[]) => void } {
    const { looks, world } = this.#parts;
    return { looks, world, seen: (members) => this.#noteCpu(members) };
  }

  #noteCpu(members: readonly Seen[]): void {
    this.#cpuMs = Math.max(this.#cpuMs, sumOf(members));
  }

  async #follow(): Promise<Ended> {
    const launched = this.#launched;
    const report = await launched.reported;
    this.#hasReported = true; // or it was killed
    const left = await this.#left();
    const exit = report !== null && left.count > 0 ? KEPT_WAITING : await this.#exited();
    await this.#outputRead(launched);
    this.#hasEnded = true;
    return {
      exitCode: report === null ? exit.exitCode : report.exitCode,
      signal: report === null ? exit.signal : null,
      cpuMs: Math.max(this.#cpuMs, (report?.cpuMs ?? 0) + left.cpuMs),
      peakBytes: this.#peakBytes,
      left: left.count,
    };
  }

  async #exited(): Promise<Exit> {
    this.#launched.goOn();
    return await this.#launched.exited;
  }

  /** What lives of the tree besides its launcher. With nothing left the tree is over (P2). */
  async #left(): Promise<{ readonly count: number; readonly cpuMs: number }> {
    const { log } = this.#parts;
    try {
      const left = HAS_PROC ? await leftOf({ ...this.#looking, seen: () => {} }, this.tree) : [];
      if (left.length === 0) await this.#over();
      return { count: left.length, cpuMs: sumOf(left) };
    } catch (error) {
      log.error({ id: this.id, err: error }, "what a process left behind is not known; its record stays");
      return { count: 1, cpuMs: 0 };
    }
  }

  /** Whoever finds it so waits for the same end of its record. */
  async #over(): Promise<void> {
    this.#gone ??= this.#parts.gone(this);
    await this.#gone;
    this.#launched.goOn();
  }

  /** An end that does not come because somebody else has the pipe is waited for only as long as words come out of it. */
  async #outputRead({ closed, stdout, stderr }: Launched): Promise<void> {
    const bytes = (): number =>
      [stdout, stderr].reduce((sum, each) => sum + ((each as { bytesRead?: number }).bytesRead ?? 0), 0);
    for (let [before, now] = [-1, bytes()]; before !== now; [before, now] = [now, bytes()]) {
      const isClosed = closed.then(() => true);
      if (await unlessLate(this.#parts.world, SILENCE_MS, isClosed)) return;
    }
  }
}

/** Of a launcher that has not exited yet. */
const KEPT_WAITING: Exit = { exitCode: null, signal: null };

/** True, for whoever is asked whether something lives. */
export function tellStuck(log: Log, id: string): true {
  log.error({ id }, "processes cannot be killed; their record stays, and the next start tries again");
  return true;
}

function sumOf(members: readonly Seen[]): number {
  return members.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}
