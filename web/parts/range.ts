// From where to where a plot goes. Pure.

export interface Ranged {
  readonly lines: readonly { readonly values: readonly (number | null)[] }[];
  /** What it goes over at least, so that next to nothing looks like next to nothing. */
  readonly least: number;
  /** True: around what there is, for what is never near nothing. */
  readonly isAround?: boolean;
}

/** A little more than there is. */
const ROOM = 1.2;

export function rangeOf({ lines, least, isAround = false }: Ranged): readonly [low: number, high: number] {
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const top = all.reduce((most, each) => Math.max(most, each), 0);
  if (!isAround) return [0, Math.max(top, least)];
  const bottom = all.reduce((fewest, each) => Math.min(fewest, each), top);
  const span = Math.max((top - bottom) * ROOM, least);
  const low = Math.max(0, (top + bottom - span) / 2);
  return [low, low + span];
}
