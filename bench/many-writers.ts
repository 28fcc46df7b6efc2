// Measure 2: 128 sessions that write at once. Commits that wait for a sync share the next one, so together they
// should be several times as quick as one plain writer that syncs every line.
//
// A rate is the median of the rates of its rounds. Checkpoints of the journal fall where they fall, in a round or
// between two: one every second, or every 8 MiB.

import { join } from "node:path";
import { LETTERS, RawFile, Writer } from "./load.ts";
import { interleaved, median, ms, perSecond, quantile, ratioFigure, timed, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";

export const WRITERS = 128;
const WARM_ROUNDS = 5;
const RAW_LINES = 200;

/** Rounds of load without a pause between them, so that search and checkpoints find their pace. */
const SUSTAINED_ROUNDS = 5;

export async function manyWriters(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("many-writers");
  const store = await run.scratch.open(home);
  const writers = await Promise.all(Array.from({ length: WRITERS }, (_, n) => Writer.on(store, `w${n}`)));
  let waits: number[] = [];
  let rates: number[] = [];
  const round = async (): Promise<void> => {
    await Writer.post(writers);
    const tookMs = await timed(async () => {
      const drained = await Promise.all(writers.map((writer) => writer.drain()));
      waits.push(...drained.flat());
    });
    rates.push((WRITERS * LETTERS * 1_000) / tookMs);
  };
  for (let warm = 0; warm < WARM_ROUNDS; warm += 1) await round();
  waits = [];
  rates = [];

  const bytes = (await writers[0]?.lineBytes()) ?? 0;
  const raw = new RawFile(join(home, "raw"), bytes, Infinity);
  const rawRates: number[] = [];
  let behind = 0;
  const bare = async (): Promise<void> => {
    // Nothing that our load left to be done is in its way: neither a sync nor search.
    behind = (await store.search({ text: "nothing" })).behind;
    await store.checkpoint();
    await searchIdle(store);
    rawRates.push((RAW_LINES * 1_000) / (await timed(() => void raw.append(RAW_LINES))));
  };
  const load = async (): Promise<void> => {
    for (let sustained = 0; sustained < SUSTAINED_ROUNDS; sustained += 1) await round();
  };
  await interleaved(run.sized(10), [load, bare]);
  raw.close();
  run.say(`search was ${behind} groups behind at the end of a round`);
  await run.scratch.close(store);
  await run.scratch.remove(home);

  const what = `${WRITERS} writers, the same commit`;
  const p99 = quantile(waits, 0.99);
  return [
    ratioFigure({
      what: `${what}: durable commits`,
      ours: perSecond(median(rates)),
      base: perSecond(median(rawRates)),
      beside: "one plain writer, one fdatasync a line",
      least: 5,
    }),
    {
      what: `${what}: how long each waits`,
      ours: ms(p99, "p99"),
      base: ms(median(waits), "p50"),
      beside: "of the same commits",
      wanted: { words: "≤ 50 ms", met: p99 <= 50 },
    },
  ];
}
