// Measure 2, second half: whether a commit costs the same however long the history of its session is. One writer, the
// commit of measure 1, in turn into a session of 100,000 entries and into one that has just been opened.

import { LETTERS, Writer } from "./load.ts";
import { interleaved, median, ms, quantile, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const WARM_ROUNDS = 40;

/** What "about 1 ×" may be on a machine that does other things too. */
const FLAT = 1.25;

export async function history(run: Run): Promise<Figure[]> {
  const entries = run.sized(100_000);
  const { home, key } = await run.filled.long(entries);
  const store = await run.scratch.open(home);
  const long = await Writer.onKey(store, key);
  const times: { long: number[]; fresh: number[] } = { long: [], fresh: [] };
  const toLong = async (): Promise<void> => {
    await Writer.post([long]);
    times.long.push(...(await long.drain()));
  };
  let opened = 0;
  const toFresh = async (): Promise<void> => {
    opened += 1;
    const fresh = await Writer.on(store, `fresh-${opened}`);
    await Writer.post([fresh]);
    times.fresh.push(...(await fresh.drain()));
  };
  await interleaved(run.atLeast(10, WARM_ROUNDS), [toLong, toFresh]);
  times.long = [];
  times.fresh = [];
  await interleaved(run.sized(100), [toLong, toFresh]);
  await run.scratch.close(store);

  const what = `1 writer, history of ${entries.toLocaleString("en-US")} entries`;
  const beside = `history of at most ${LETTERS}`;
  return [
    ratioFigure({
      what,
      ours: ms(median(times.long), "p50"),
      base: ms(median(times.fresh), "p50"),
      beside,
      most: FLAT,
    }),
    ratioFigure({
      what,
      ours: ms(quantile(times.long, 0.99), "p99"),
      base: ms(quantile(times.fresh, 0.99), "p99"),
      beside,
    }),
  ];
}
