import { CLASSES } from "../mail/urgency.ts";
import type { Standing } from "./fair.ts";

/** In words, why somebody waits: the provider first, because a free slot would not help; then the slots. */
export function whyItWaits(standing: Standing, slots: number, nowMs: number): string {
  return ofProvider(standing, nowMs) ?? `${ofSlots(standing, slots)}${inFront(standing)}`;
}

/** Null: it is not the provider. */
function ofProvider({ provider }: Standing, nowMs: number): string | null {
  const { name, inFlight, limit } = provider;
  const coolsForMs = provider.coolsForMs(nowMs);
  if (coolsForMs > 0)
    return `waits for ${name}, which asked for a pause; it is asked again in ${Math.ceil(coolsForMs / 1_000)} s`;
  if (limit !== null && provider.isFull)
    return `waits for ${name}: ${inFlight} of ${limit} calls are in flight`;
  if (!provider.isOpen(nowMs)) return `waits for ${name}, which is tried with one call after its pause`;
  return null;
}

function ofSlots({ free, isReserveInTheWay }: Standing, slots: number): string {
  if (free === 0)
    return slots === 1 ? "waits for the slot, which is in use" : `waits for a slot: all ${slots} are in use`;
  if (!isReserveInTheWay) return "waits for its turn";
  return `waits for a slot: the ${free === 1 ? "free slot is" : `${free} free slots are`} kept for people`;
}

/**
 * Those of higher classes go before it, and so may all of its own; which of them would be known only by looking at each.
 * That a lower class goes once in a while is left out.
 */
function inFront({ class: own, waiting }: Standing): string {
  const higher = CLASSES.slice(0, CLASSES.indexOf(own)).filter((each) => waiting[each] > 0);
  const counts = higher.map((each) => `${waiting[each]} ${each}`);
  if (waiting[own] > 1) counts.push(`up to ${waiting[own] - 1} ${own}`);
  const last = counts.pop();
  if (last === undefined) return "; nobody is in front of it";
  const isOne = counts.length === 0 && /\b1 /.test(last);
  return `; ${counts.length === 0 ? "" : `${counts.join(", ")} and `}${last} ${isOne ? "is" : "are"} in front of it`;
}
