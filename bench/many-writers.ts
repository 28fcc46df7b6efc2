// Measure 2: 128 sessions that write at once. Commits that wait for a sync share the next one, so together they
// should be several times as quick as one plain writer that syncs every line.
// Checkpoints of the journal fall where they fall, in a round or between two: one every second, or every 8 MiB.

import { join } from "node:path";
import { RawFile, Writer } from "./load.ts";
import { interleaved, median, ms, perSecond, quantile, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

export const WRITERS = 128;
const RAW_LINES = 200;
const WARM_ROUNDS = 5;

export async function manyWriters(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("many-writers");
  const store = await run.scratch.open(home);
  const writers = await Promise.all(Array.from({ length: WRITERS }, (_, n) => Writer.on(store, `w${n}`)));
  const times: number[] = [];
  let busyMs = 0;
  const round = async (): Promise<void> => {
    await Writer.post(writers);
    const before = performance.now();
    const drained = await Promise.all(writers.map((writer) => writer.drain()));
    busyMs += performance.now() - before;
    times.push(...drained.flat());
  };
  for (let warm = 0; warm < WARM_ROUNDS; warm += 1) await round();
  times.length = 0;
  busyMs = 0;

  const bytes = (await writers[0]?.lineBytes()) ?? 0;
  const raw = new RawFile(join(home, "raw"), bytes, Infinity);
  const rawTimes: number[] = [];
  const bare = async (): Promise<void> => {
    await store.checkpoint(); // so that what our load left to be synced is not in its way
    rawTimes.push(...raw.append(RAW_LINES));
  };
  await interleaved(run.sized(40), [round, bare]);
  raw.close();
  const { behind } = await store.search({ text: "nothing" });
  run.say(`search was ${behind} groups behind at the end of the load`);
  await run.scratch.close(store);
  await run.scratch.remove(home);

  const rawMs = rawTimes.reduce((sum, each) => sum + each, 0);
  const what = `${WRITERS} writers, the same commit`;
  const p99 = quantile(times, 0.99);
  const besideRaw = "one plain writer, one fdatasync a line";
  return [
    ratioFigure({
      what: `${what}: durable commits`,
      ours: perSecond((times.length / busyMs) * 1_000),
      base: perSecond((rawTimes.length / rawMs) * 1_000),
      beside: besideRaw,
      least: 5,
    }),
    {
      what: `${what}: how long each waits`,
      ours: ms(p99, "p99"),
      base: ms(median(times), "p50"),
      beside: "of the same commits",
      wanted: { words: "≤ 50 ms", met: p99 <= 50 },
    },
  ];
}
