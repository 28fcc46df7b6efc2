// How a thread is stopped that may be inside of something which takes for ever.
//
// A thread that is ended while a file is being opened leaves that file open for as long as the process lives. So it is told
// to stop, and stops by itself before its next step; only who is inside of an expression is ended.
//
// Invariants
//   F1. Whoever stops says so first, and looks then whether the thread is inside. The thread says first that it is inside,
//       and looks then whether to stop; and looks again when it is outside. So who is ended was inside, and has
//       opened nothing since.

/** Shared by both threads; by the names below. */
export type Flags = Int32Array<SharedArrayBuffer>;

const STOP = 0; //   written by whoever waits
const INSIDE = 1; // written by the thread

export function newFlags(): Flags {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** True: it cannot hear, and is to be ended. */
export function tellToStop(flags: Flags): boolean {
  Atomics.store(flags, STOP, 1);
  return Atomics.load(flags, INSIDE) === 1;
}

/** To be asked before anything is opened. */
export function throwIfToldToStop(flags: Flags): void {
  if (Atomics.load(flags, STOP) === 1) throw new Error("nobody waits for it any more");
}

/** For what may take for ever, and opens nothing. */
export function inside(flags: Flags, look: () => boolean): boolean {
  Atomics.store(flags, INSIDE, 1);
  try {
    throwIfToldToStop(flags);
    return look();
  } finally {
    Atomics.store(flags, INSIDE, 0);
    throwIfToldToStop(flags);
  }
}
