// When, by the clock of who looks.

import { clock } from "../../parts/clock.ts";
import { nowMs } from "../../state/now.ts";

/** Today's only the time. */
export function exactly(time: string): string {
  const at = new Date(time);
  const isToday = at.toDateString() === new Date(nowMs.value).toDateString();
  return clock(time, isToday ? "minutes" : "day");
}
