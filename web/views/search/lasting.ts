// What was found before stays until the next answer is there: a list that goes and comes while somebody types cannot be read.

import { useRef } from "preact/hooks";
import type { Asked } from "../../state/asking.ts";

/** Null: nothing was ever there, or the last question was refused. */
export function useLasting<Of>({ value, fault }: Asked<Of>): Of | null {
  const last = useRef<Of | null>(null);
  if (value !== null) last.current = value;
  return value ?? (fault === null ? last.current : null);
}
