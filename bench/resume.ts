// Measure 4: how long until what a model is shown of a session is ready: its row, and every entry from where its
// context starts. Both sessions were just compacted and show the same fifty entries; one has a hundred times the
// history. A hundred times the time would be reading the file; what is wanted is the price of the fifty.
//
// A process per sample, so that nothing of the last one is in memory. The page cache of the system is warm.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { KEPT_ENTRIES, type LongHome } from "./fill.ts";
import {
  interleaved,
  kibibytes,
  mebibytes,
  median,
  ms,
  ratioFigure,
  type Amount,
  type Figure,
} from "./measure.ts";
import { installedPi, NOT_INSTALLED } from "./peers.ts";
import type { Resumed } from "./resume-once.ts";
import type { Run } from "./run.ts";

const SHORT = 1_000;

export async function resume(run: Run): Promise<Figure[]> {
  const entries = run.sized(100_000);
  const long = await run.filled.long(entries);
  const short = await run.filled.long(SHORT);
  const samples: { long: Resumed[]; short: Resumed[] } = { long: [], short: [] };
  await interleaved(run.atLeast(4, 30), [
    async () => void samples.long.push(await once(run, ["ours", long.home, long.key])),
    async () => void samples.short.push(await once(run, ["ours", short.home, short.key])),
  ]);
  const what = `resume ${inWords(entries)}, ${KEPT_ENTRIES} kept`;
  const beside = `the same of ${inWords(SHORT)}`;
  const both = (take: (samples: readonly Resumed[]) => Amount): Pick<Figure, "ours" | "base" | "beside"> => ({
    ours: take(samples.long),
    base: take(samples.short),
    beside,
  });
  return [
    ratioFigure({ what: `${what}, first in its process`, ...both(firstMs), most: 3 }),
    ratioFigure({ what: `${what}, again`, ...both(againMs), most: 3 }),
    ratioFigure({ what: `${what}: memory`, ...both(resident), most: 3 }),
    ratioFigure({ what: `${what}: bytes read`, ...both(read) }),
    ...(await peer(run, long, { what, ours: samples.long })),
  ];
}

/** pi on the very same file, which is in its format. */
async function peer(
  run: Run,
  long: LongHome,
  { what, ours }: { readonly what: string; readonly ours: readonly Resumed[] },
): Promise<Figure[]> {
  const pi = installedPi();
  if (pi === null) {
    const absent = { base: null, beside: `pi: ${NOT_INSTALLED}`, wanted: null };
    return [{ what: `${what}, beside a peer`, ours: firstMs(ours), ...absent }];
  }
  const theirs: Resumed[] = [];
  const directory = join(long.home, "agents", "main", "sessions");
  const [file = ""] = readdirSync(directory);
  for (let n = 0; n < run.atLeast(2, 7); n += 1) theirs.push(await once(run, ["pi", join(directory, file)]));
  if (theirs[0]?.items !== ours[0]?.items)
    throw new Error(`pi shows a model ${theirs[0]?.items} messages, we ${ours[0]?.items}`);
  const beside = `pi ${pi.version} on the same file`;
  return [
    ratioFigure({ what: `${what}, beside a peer`, ours: firstMs(ours), base: firstMs(theirs), beside }),
    ratioFigure({
      what: `${what}: memory, beside a peer`,
      ours: resident(ours),
      base: resident(theirs),
      beside,
    }),
  ];
}

export async function once(run: Run, values: readonly string[]): Promise<Resumed> {
  return (await run.scratch.hear(
    run.scratch.start(new URL("./resume-once.ts", import.meta.url), values),
  )) as Resumed;
}

function firstMs(samples: readonly Resumed[]): Amount {
  return ms(median(samples.map((sample) => sample.firstMs)), "p50");
}

function againMs(samples: readonly Resumed[]): Amount {
  return ms(median(samples.flatMap((sample) => sample.againMs)), "p50");
}

function resident(samples: readonly Resumed[]): Amount {
  return mebibytes(median(samples.map((sample) => sample.residentBytes)), "resident");
}

function read(samples: readonly Resumed[]): Amount {
  return kibibytes(median(samples.map((sample) => sample.readBytes)));
}

function inWords(count: number): string {
  return `${count.toLocaleString("en-US")} entries`;
}
