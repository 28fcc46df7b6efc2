// What a measure gives back, and the few statistics all of them share.
//
// Every figure has an absolute value and stands beside another from the same run: the raw limit of the disk, the
// same work at a smaller size, or a peer. Nothing here is compared with a number from another day.

type Unit = "ms" | "/s" | "MiB" | "KiB" | "M tokens" | "%";

export interface Amount {
  readonly value: number;
  readonly unit: Unit;
  /** A word after the number, such as which percentile it is; empty: none. */
  readonly of: string;
}

export interface Figure {
  readonly what: string;
  /** Null: there was nothing to measure in this run, and `beside` says why. */
  readonly ours: Amount | null;
  /** What `base` is, in words. */
  readonly beside: string;
  /** Null: it could not be had in this run, and `beside` says why. */
  readonly base: Amount | null;
  /** Null: nobody wanted anything of it; it is reported. */
  readonly wanted: Wanted | null;
}

interface Wanted {
  readonly words: string;
  readonly met: boolean;
}

/** Of anything: our number divided by its base; null when there is no base, or nothing of ours. */
export function ratioOf(figure: Pick<Figure, "ours" | "base">): number | null {
  if (figure.ours === null || figure.base === null || figure.base.value === 0) return null;
  return figure.ours.value / figure.base.value;
}

/** A figure whose ratio is wanted at most, or at least, so large. */
export function ratioFigure(
  figure: Omit<Figure, "wanted"> & { readonly most?: number; readonly least?: number },
): Figure {
  const { most, least, ...rest } = figure;
  const ratio = ratioOf(rest);
  if (ratio === null || (most === undefined && least === undefined)) return { ...rest, wanted: null };
  if (most !== undefined) return { ...rest, wanted: { words: `≤ ${most} ×`, met: ratio <= most } };
  return { ...rest, wanted: { words: `≥ ${least} ×`, met: ratio >= (least ?? 0) } };
}

export function ms(value: number, of = ""): Amount {
  return { value, unit: "ms", of };
}

export function perSecond(value: number): Amount {
  return { value, unit: "/s", of: "" };
}

export function mebibytes(bytes: number, of = ""): Amount {
  return { value: bytes / 2 ** 20, unit: "MiB", of };
}

export function kibibytes(bytes: number): Amount {
  return { value: bytes / 2 ** 10, unit: "KiB", of: "" };
}

export function millionTokens(tokens: number): Amount {
  return { value: tokens / 1e6, unit: "M tokens", of: "" };
}

export function percent(share: number): Amount {
  return { value: share * 100, unit: "%", of: "" };
}

/** The value below which this share of the samples lies. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  const value = sorted[at];
  if (value === undefined) throw new Error("there is nothing to take a quantile of");
  return value;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

export async function timed(work: () => Promise<unknown> | void): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

/** Runs each work once per round, in alternating order, so that whatever disturbs the machine disturbs all alike. */
export async function interleaved(
  rounds: number,
  works: readonly ((round: number) => Promise<void> | void)[],
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const work of round % 2 === 0 ? works : works.toReversed()) await work(round);
  }
}

/** The same two works many times in turn; the median time of each. */
export async function mediansOfTwo(
  rounds: number,
  ours: () => Promise<unknown>,
  base: () => Promise<unknown>,
): Promise<readonly [ours: number, base: number]> {
  const times: [number[], number[]] = [[], []];
  await interleaved(rounds, [
    async () => void times[0].push(await timed(ours)),
    async () => void times[1].push(await timed(base)),
  ]);
  return [median(times[0]), median(times[1])];
}
