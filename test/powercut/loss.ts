// The ways in which a disk can lose what nobody synced.
//
// Chance alone seldom makes a mistake visible: with fifty unsynced writes nearly every subset drops half of them
// somewhere in the middle. The extremes are where programs break (all gone; the new name without its data; the
// newest write without the one before), so each of them is a style of its own, and every cut picks one.

export type Random = () => number; // in [0, 1)

/**
 * What becomes of an unsynced write.
 *   whole    all of it is there
 *   dropped  none of it is
 *   hole     the file has grown as it should, and there are zeros where the data belongs
 *   torn     some of its sectors are there
 */
export type Fate = "whole" | "dropped" | "hole" | "torn";

/** `order` is the place among the operations. */
export interface Loss {
  keepsName(order: number): boolean;
  fateOf(order: number, inode: number): Fate;
}

/** What there is to lose. */
export interface AtStake {
  readonly oldest: number;
  readonly newest: number;
  readonly lastWrite: number; // -1: there is none
}

type Style = (stake: AtStake, random: Random) => Loss;

function uniform(name: boolean, fate: Fate): Style {
  return () => ({ keepsName: () => name, fateOf: () => fate });
}

/** A coin for every operation, weighted once for the whole cut so that few and many are lost equally often. */
function chance(fates: readonly Fate[]): Style {
  return (_stake, random) => {
    const share = random();
    return {
      keepsName: () => random() < share,
      fateOf: () => (random() < share ? "whole" : pick(fates, random)),
    };
  };
}

/** Everything before or after some moment is there, the rest is not. */
function since(kept: "newer" | "older", atTheEdge: Fate): Style {
  return ({ oldest, newest }, random) => {
    const edge = oldest + Math.floor(random() * (newest - oldest + 1));
    const keeps = (order: number): boolean => (kept === "newer" ? order >= edge : order < edge);
    return {
      keepsName: keeps,
      fateOf: (order) => (keeps(order) ? "whole" : order === edge ? atTheEdge : "dropped"),
    };
  };
}

/** Some files are written back and others are not: the order between files that programs like to rely on. */
function byFile(names: boolean): Style {
  return (_stake, random) => {
    const fates = new Map<number, Fate>();
    return {
      keepsName: () => names,
      fateOf: (_order, inode) => {
        const fate = fates.get(inode) ?? pick(["whole", "dropped"], random);
        fates.set(inode, fate);
        return fate;
      },
    };
  };
}

function lastTorn({ lastWrite }: AtStake): Loss {
  return { keepsName: () => true, fateOf: (order) => (order === lastWrite ? "torn" : "whole") };
}

const STYLES: Readonly<Record<string, Style>> = {
  "nothing unsynced": uniform(false, "dropped"),
  everything: uniform(true, "whole"),
  "names without data": uniform(true, "dropped"),
  "names and sizes without data": uniform(true, "hole"),
  "data without names": uniform(false, "whole"),
  "any subset": chance(["dropped", "hole"]),
  "any subset, torn": chance(["dropped", "hole", "torn", "torn"]),
  "the last write torn": lastTorn,
  "newer without older": since("newer", "dropped"),
  "older without newer": since("older", "torn"),
  "some files": byFile(true),
  "some files, no names": byFile(false),
};

export function chooseLoss(stake: AtStake, random: Random): Loss & { readonly style: string } {
  const style = pick(Object.keys(STYLES), random);
  return { style, ...(STYLES[style] ?? lastTorn)(stake, random) };
}

/** Which sectors of `count` a torn write leaves on the disk: the first ones, the last ones, or any. */
export function chooseSectors(count: number, random: Random): (sector: number) => boolean {
  const shape = random();
  const edge = Math.floor(random() * (count + 1));
  if (shape < 0.3) return (sector) => sector < edge;
  if (shape < 0.6) return (sector) => sector >= edge;
  return () => random() < 0.5;
}

function pick<T>(choices: readonly T[], random: Random): T {
  return choices[Math.floor(random() * choices.length)] as T;
}
