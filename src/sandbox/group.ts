// Group
//
// The group of processes that a launcher begins, which is its session too.
//
// Looking at processes takes a while, and what forks and ends over and over is never there when it is looked at. But a
// signal to a group reaches everybody in it at one stroke, and nobody can fork whom a signal is on its way to. So a group
// that was stopped can be looked at, and one that is killed as a whole is dead.
//
// Invariants
//   G1. A group is signalled as a whole only while nobody has waited for its launcher: its number is nobody else's then.
//   G2. A group that was stopped goes on when the last one who looks has looked. Should we die before, the next start finds
//       it as it is, and ends it.

export interface Leader {
  readonly pid: number;
  /** False: it has ended, and its number may be given again. */
  isHeld(): boolean;
  /** It has told its program's end and only waits for its last word: it is no part of what is left. */
  isWaiting(): boolean;
}

export class Group {
  readonly leader: Leader;
  #looking = 0;

  constructor(leader: Leader) {
    this.leader = leader;
  }

  /** False: nobody was signalled; its number may be another's. */
  signal(name: NodeJS.Signals): boolean {
    return this.leader.isHeld() && signal(-this.leader.pid, name); // G1
  }

  /** Nobody in it forks or ends meanwhile, if it is held; else it is only looked at. */
  async stopped<Value>(look: () => Promise<Value>): Promise<Value> {
    this.#looking += 1;
    try {
      this.signal("SIGSTOP");
      return await look();
    } finally {
      this.#looking -= 1;
      if (this.#looking === 0) this.signal("SIGCONT"); // G2
    }
  }
}

/** A group of which only the number is known, from a record. */
export function groupLeft(pid: number): Group {
  return new Group({ pid, isHeld: () => false, isWaiting: () => false });
}

/** Negative: a group. False: there is none any more, or it is not ours to signal (it changed its user). */
export function signal(to: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(to, name);
  } catch {
    return false; // Whether it matters is seen by the next look.
  }
}
