import type { Class } from "../mail/letter.ts";
import { CLASSES } from "../mail/urgency.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Account } from "./accounts.ts";

export function ofEachClass<Value>(make: (each: Class) => Value): Record<Class, Value> {
  const [interactive, delegated, scheduled, background] = CLASSES;
  return {
    interactive: make(interactive),
    delegated: make(delegated),
    scheduled: make(scheduled),
    background: make(background),
  };
}

/** Who asks for a slot, and what the choice between those who wait goes by. */
export interface Asking {
  readonly key: SessionKey;
  readonly root: SessionKey;
  readonly class: Class;
  readonly nice: number; // -20 to 19; that of the asking session counts, not its root's
  readonly provider: string;
}

/** One who waits. Only Fair makes and changes it, and it is of no more use once it was withdrawn. */
export interface Ask {
  readonly asking: Asking;
  readonly age: number; // the order of asking
  class: Class; //         that of the asking, or a higher one that it was raised to
  account: Account; //     its root's, in that class
}
