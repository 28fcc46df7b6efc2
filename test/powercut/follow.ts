// Follow
//
// Reads a trace line by line, knows which calls are under way and in which thread.
//
//   Owns:      processes and threads, calls that have begun and not returned.
//   Does not:  know what a call means (calls.ts).
//
// Invariants
//   O1. Threads share one table of descriptors; a forked process has a copy. Descriptors made from one another
//       share an offset, also across processes.
//   O2. A new thread may show before the clone() that made it returns. It belongs to the clone that is under way;
//       if there are several that would give it different tables, that is an error.

import { assert } from "../../src/base/assert.ts";
import { CALLS } from "./calls.ts";
import type { Files } from "./files.ts";
import type { Flight, Thread } from "./flight.ts";
import { parseLine, type Call, type Result } from "./line.ts";

interface Underway extends Flight {
  readonly finish: ((result: Result) => void) | null;
}

const CLONES = new Set(["clone", "clone3", "fork", "vfork"]);

export class Follower {
  readonly #files: Files;
  readonly #threads = new Map<number, Thread>();
  readonly #underway = new Map<number, Underway>();
  #first: Thread | null;

  /** `cwd` is where the program starts. Its descriptor 1 is what it says. */
  constructor(files: Files, cwd: string) {
    this.#files = files;
    const said = { opened: { target: "said" as const, append: false, offset: 0 }, closeOnExec: false };
    this.#first = { table: new Map([[1, said]]), place: { cwd } };
  }

  take(text: Buffer): void {
    this.#files.tick();
    const line = parseLine(text);
    if (line === null) return;
    if (line.kind === "call") {
      const flight = this.#begin(line.pid, line.call);
      if (line.result === null) this.#underway.set(line.pid, flight);
      else this.#end(flight, line.result);
      return;
    }
    const flight = this.#underway.get(line.pid);
    this.#underway.delete(line.pid);
    if (line.kind === "resumed") {
      assert(flight !== undefined, `a call of ${line.pid} is under way`);
      this.#end(flight, line.result);
    } else {
      if (flight !== undefined) this.#end(flight, { value: Number.NaN, path: null });
      this.#threads.delete(line.pid);
    }
  }

  #begin(pid: number, call: Call): Underway {
    const thread = this.#threadOf(pid);
    const span = this.#files.begin(thread.table);
    const flight = { files: this.#files, thread, span, call };
    const begin = CALLS[call.name];
    assert(begin !== undefined, `${call.name} has a meaning`);
    return { ...flight, finish: begin(flight) };
  }

  #end(flight: Underway, result: Result): void {
    const { span, call, finish } = flight;
    if (Number.isNaN(result.value)) this.#files.doubt(span, call.toString());
    const succeeded = result.value >= 0;
    this.#files.end(span, succeeded);
    if (!succeeded) return;
    finish?.(result);
    if (CLONES.has(call.name) && !this.#threads.has(result.value))
      this.#threads.set(result.value, childOf(flight));
  }

  #threadOf(pid: number): Thread {
    const thread = this.#threads.get(pid) ?? this.#first ?? this.#adopted(pid);
    this.#first = null;
    this.#threads.set(pid, thread);
    return thread;
  }

  #adopted(pid: number): Thread {
    const clones = [...this.#underway.values()].filter((flight) => CLONES.has(flight.call.name));
    const [one, ...others] = clones.map(childOf);
    assert(one !== undefined, `${pid} was made by a clone that is under way (O2)`);
    assert(
      others.every((other) => other.table === one.table),
      `only one clone can have made ${pid} (O2)`,
    );
    return one;
  }
}

/** What the thread made by a clone starts with (O1). */
function childOf({ thread, call }: Flight): Thread {
  const shares = call.toString();
  return {
    table: shares.includes("CLONE_FILES") ? thread.table : new Map(thread.table),
    place: shares.includes("CLONE_FS") ? thread.place : { ...thread.place },
  };
}
