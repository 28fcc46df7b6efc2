// Measure 1: how long one person waits for one durable commit, beside the least that a disk allows for the same
// bytes: write and fdatasync, on the calling thread, with nothing around it.
//
// A commit costs two hops between threads, one transaction (letter, row, two journal pages, feed) and one sync. It is
// measured warm: the write-ahead log has been filled once and is overwritten from its beginning, so its size no
// longer changes and a sync has less to do than for a growing file. The raw figure for a file that is overwritten in
// place stands in the table too, because that is the fairer limit of a warm log.

import { join } from "node:path";
import { LETTERS, RawFile, Writer } from "./load.ts";
import { interleaved, median, ms, quantile, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";

/** Longer than two checkpoints of the journal: by then the log is as long as it gets. */
const WARM_MS = 3_000;

export async function oneWriter(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("one-writer");
  const store = await run.scratch.open(home);
  const writer = await Writer.on(store, "one");
  const round = async (): Promise<number[]> => {
    await Writer.post([writer]);
    return await writer.drain();
  };
  for (const until = performance.now() + run.atLeast(1_500, WARM_MS); performance.now() < until;)
    await round();
  await searchIdle(store);

  const bytes = await writer.lineBytes();
  const grows = new RawFile(join(home, "raw-grows"), bytes, Infinity);
  const stays = new RawFile(join(home, "raw-stays"), bytes, 4 * 2 ** 20);
  const times: Record<"ours" | "grows" | "stays", number[]> = { ours: [], grows: [], stays: [] };
  await interleaved(run.sized(120), [
    async () => {
      times.ours.push(...(await round()));
      await searchIdle(store); // it is not in the way of what is measured beside us
    },
    () => void times.grows.push(...grows.append(LETTERS)),
    () => void times.stays.push(...stays.append(LETTERS)),
  ]);
  grows.close();
  stays.close();
  await run.scratch.close(store);
  await run.scratch.remove(home);

  const what = `1 writer: take a letter and append ${bytes} bytes`;
  const besides = `write + fdatasync of the same bytes, file`;
  const p50 = ms(median(times.ours), "p50");
  return [
    ratioFigure({
      what,
      ours: p50,
      base: ms(median(times.grows), "p50"),
      beside: `${besides} grows`,
      most: 2.5,
    }),
    ratioFigure({
      what,
      ours: p50,
      base: ms(median(times.stays), "p50"),
      beside: `${besides} overwritten in place`,
    }),
    ratioFigure({
      what,
      ours: ms(quantile(times.ours, 0.99), "p99"),
      base: ms(quantile(times.grows, 0.99), "p99"),
      beside: `${besides} grows`,
    }),
  ];
}
