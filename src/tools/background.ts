// Background processes of sessions: what `exec` starts with background: true, and what became of it. In memory only: a
// gateway that stops ends them, and one that crashed finds and ends them at its next start (sandbox/processes.ts).

import type { World } from "../base/world.ts";
import type { SessionKey } from "../routing/key.ts";
import { Output } from "../sandbox/output.ts";
import type { Ended, Processes, Running } from "../sandbox/processes.ts";

/** One that runs, or ran. */
export interface Job {
  readonly id: string; //        short, for a model
  readonly command: string; //   its first line, shortened
  readonly startedAtMs: number;
  readonly running: Running;
  readonly output: Output;
  ended: Ended | null; //        null: it runs
  endedAtMs: number; //          only when it has ended
  isCharged: boolean; //         what it used was told in a result
}

/** Background processes of one session that run at once, and of all sessions: each holds pipes and a ring of output. */
const JOBS_OF_SESSION_MAX = 16;
const JOBS_MAX = 256;

/** Ended ones that are remembered: of one session, and of all; and characters of output of all of them. */
const ENDED_OF_SESSION_MAX = 32;
const ENDED_MAX = 1_024;
const ENDED_CHARS_MAX = 16 * 1024 * 1024;

/** Characters of output that are kept of one. */
const JOB_CHARS_MAX = 256 * 1024;

const COMMAND_CHARS_SHOWN = 120;

interface Remembered {
  readonly job: Job;
  readonly key: SessionKey;
  readonly chars: number; // as counted when it ended: what it left behind may still print
}

export class Jobs {
  readonly #processes: Processes;
  readonly #world: World;
  readonly #jobs = new Map<SessionKey, Job[]>();
  readonly #ended = new Set<Remembered>(); // longest ended first
  readonly #beginning: SessionKey[] = [];
  #running = 0;
  #endedChars = 0;

  constructor(processes: Processes, world: World) {
    this.#processes = processes;
    this.#world = world;
  }

  of(key: SessionKey): readonly Job[] {
    return this.#jobs.get(key) ?? [];
  }

  /** Also when it has ended: something that it left behind may live. */
  isAlive(key: SessionKey, { running, ended }: Job): boolean {
    return ended === null || this.#processes.of(key).some(({ id }) => id === running.id);
  }

  /** A text: why there is no room for another. Rejects when `begin` does. */
  async start(key: SessionKey, command: string, begin: () => Promise<Running>): Promise<Job | string> {
    const why = this.#whyFull(key);
    if (why !== null) return why;
    this.#beginning.push(key); // Others may ask before it has begun.
    try {
      return this.#add(key, command, await begin());
    } finally {
      this.#beginning.splice(this.#beginning.indexOf(key), 1);
    }
  }

  #whyFull(key: SessionKey): string | null {
    const alive = this.of(key).filter((job) => this.isAlive(key, job));
    const beginning = this.#beginning.filter((each) => each === key).length;
    if (alive.length + beginning >= JOBS_OF_SESSION_MAX) {
      const which = alive.map(({ id, command }) => `${id} (${command})`).join("; ");
      const many = `${alive.length + beginning} background processes of this session run already`;
      return `${many}: ${which}. End one with the tool process.`;
    }
    return this.#running + this.#beginning.length >= JOBS_MAX
      ? "Too many background processes run in all sessions. Try again later."
      : null;
  }

  #add(key: SessionKey, command: string, running: Running): Job {
    const output = new Output({ headChars: 0, tailChars: JOB_CHARS_MAX });
    output.read(running.stdout);
    output.read(running.stderr);
    const job: Job = {
      id: `p-${running.id.slice(-8)}`, // the end of an id is chance
      command: shortened(command),
      startedAtMs: this.#world.nowMs(),
      running,
      output,
      ended: null,
      endedAtMs: 0,
      isCharged: false,
    };
    this.#jobs.set(key, [...this.of(key), job]);
    this.#running += 1;
    void running.ended.then((ended) => this.#end(key, job, ended));
    return job;
  }

  #end(key: SessionKey, job: Job, ended: Ended): void {
    job.ended = ended;
    job.endedAtMs = this.#world.nowMs();
    this.#running -= 1;
    const chars = job.output.keptChars;
    this.#endedChars += chars;
    this.#ended.add({ job, key, chars });
    const isFull = (): boolean => this.#ended.size > ENDED_MAX || this.#endedChars > ENDED_CHARS_MAX;
    const ofSession = [...this.#ended].filter((each) => each.key === key);
    for (const each of ofSession.slice(0, -ENDED_OF_SESSION_MAX)) this.#forget(each);
    for (const each of this.#ended) if (isFull()) this.#forget(each);
  }

  /** One whose descendants live is still ended with its session, or by the gateway's end. */
  #forget(each: Remembered): void {
    this.#ended.delete(each);
    this.#endedChars -= each.chars;
    const rest = this.of(each.key).filter((job) => job !== each.job);
    if (rest.length > 0) this.#jobs.set(each.key, rest);
    else this.#jobs.delete(each.key);
  }
}

function shortened(command: string): string {
  const [line = ""] = command.trim().split("\n", 1);
  return line.length <= COMMAND_CHARS_SHOWN && line.length === command.trim().length
    ? line
    : `${line.slice(0, COMMAND_CHARS_SHOWN).toWellFormed()} …`;
}
