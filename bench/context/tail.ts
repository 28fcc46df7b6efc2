// Measure 15, second half: how much of a long transcript is touched to show a model its context, when it was compacted
// lately: from the row of the session to the messages. A process per sample, as in measure 4; the bytes are those that all
// its threads read, from the database and other files too.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { KEPT_ENTRIES, type LongHome } from "../fill.ts";
import { interleaved, mebibytes, median, ms, ratioFigure, type Figure } from "../measure.ts";
import type { Resumed } from "../resume-once.ts";
import { once } from "../resume.ts";
import type { Run } from "../run.ts";

const SHORT = 1_000;

/** Only the tail is read if no more is read than so many entries take, however many there are. */
const TAIL_ENTRIES = 1_000;

export async function tail(run: Run): Promise<Figure[]> {
  const entries = run.sized(100_000);
  const long = await run.filled.long(entries);
  const short = await run.filled.long(SHORT);
  const samples: { long: Resumed[]; short: Resumed[] } = { long: [], short: [] };
  await interleaved(run.atLeast(4, 10), [
    async () => void samples.long.push(await once(run, ["shown", long.home, long.key])),
    async () => void samples.short.push(await once(run, ["shown", short.home, short.key])),
  ]);
  const what = `context of ${entries.toLocaleString("en-US")} entries, ${KEPT_ENTRIES} kept`;
  const firstMs = (of: readonly Resumed[]): number => median(of.map((sample) => sample.firstMs));
  const readBytes = median(samples.long.map((sample) => sample.readBytes));
  const read =
    readBytes === 0 // where the system does not count them
      ? { ours: null, beside: "this system does not count what is read" }
      : { ours: mebibytes(readBytes), beside: "the whole transcript" };
  return [
    ratioFigure({
      what: `${what}: bytes read until it is shown`,
      ...read,
      base: mebibytes(transcriptBytes(long)),
      most: TAIL_ENTRIES / entries,
    }),
    ratioFigure({
      what: `${what}: until it is shown`,
      ours: ms(firstMs(samples.long), "p50"),
      beside: `the same of ${SHORT.toLocaleString("en-US")} entries`,
      base: ms(firstMs(samples.short), "p50"),
      most: 3,
    }),
  ];
}

function transcriptBytes({ home }: LongHome): number {
  const directory = join(home, "agents", "main", "sessions");
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}
