// Grants: listens to whoever decides whose step is next, and holds it to its word (F3 in src/scheduler/fair.ts): a class
// that is ready gets a slot within `share` grants that are not people's reserve. It counts for itself, from who waits and
// who holds.

import type { Class } from "../src/mail/letter.ts";
import { CLASSES } from "../src/mail/urgency.ts";
import { Fair, type Grant } from "../src/scheduler/fair.ts";

type Counts = Record<Class, number>;

const none = (): Counts => ({ interactive: 0, delegated: 0, scheduled: 0, background: 0 });

/** How often each class was passed over since it was last granted a slot or had nobody waiting. */
const passed = new WeakMap<Fair, Counts>();

export interface Heard {
  readonly wrong: (what: string) => void;
  readonly granted: (of: Class) => void;
}

let heard: Heard | null = null;

/** Who hears of grants from now on; null: nobody. */
export function listen(to: Heard | null): void {
  heard = to;
}

const decide = Object.getOwnPropertyDescriptor(Fair.prototype, "next")?.value as (
  nowMs: number,
) => Grant | null;

/** It is asked after everything that happens, so whatever changed in between is seen here. */
Fair.prototype.next = function next(this: Fair, nowMs: number): Grant | null {
  const [waiting, held] = [this.waiting(), this.held()];
  const grant = decide.call(this, nowMs);
  const counts = passed.get(this) ?? none();
  passed.set(this, counts);
  for (const each of CLASSES) if (waiting[each] === 0) counts[each] = 0;
  if (grant) count(this, grant.class, { waiting, held, counts });
  return grant;
};

interface Before {
  readonly waiting: Counts;
  readonly held: Counts;
  readonly counts: Counts;
}

function count(fair: Fair, chosen: Class, { waiting, held, counts }: Before): void {
  const { slots, share } = fair.settings;
  heard?.granted(chosen);
  const isReserved = chosen === "interactive" && held.interactive < fair.reserved;
  const others = held.delegated + held.scheduled + held.background;
  const isPermitted = (each: Class): boolean => each === "interactive" || others < slots - fair.reserved;
  if (!isReserved)
    for (const each of CLASSES)
      if (each !== chosen && waiting[each] > 0 && isPermitted(each)) counts[each] += 1;
  counts[chosen] = 0;
  for (const each of CLASSES)
    if (counts[each] >= share)
      heard?.wrong(`J9 ${each} waits, and ${counts[each]} others were granted a slot`);
}
