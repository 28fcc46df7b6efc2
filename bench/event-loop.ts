// Measure 3: how late the main thread is while 128 writers commit. It serves people, so it must not wait for a disk;
// what it does for each commit (check, encode, wake the caller) is all the load it may feel.
//
// Sampled by Node's own monitor at 1 ms, so that an idle loop shows a little more than 1 ms. Only the measured part
// counts: each round has a histogram of its own, and their samples are put together.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Writer } from "./load.ts";
import { WRITERS } from "./many-writers.ts";
import { median, ms, quantile, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";

const IDLE_MS = 3_000;
const LATER_MS_MAX = 5;

export async function eventLoop(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("event-loop");
  const store = await run.scratch.open(home);
  const writers = await Promise.all(Array.from({ length: WRITERS }, (_, n) => Writer.on(store, `w${n}`)));
  await searchIdle(store);
  globalThis.gc?.();
  const idle = await sampled(() => sleep(run.atLeast(1_000, IDLE_MS)));

  const busy: number[] = [];
  for (let round = 0; round < run.sized(40); round += 1) {
    await Writer.post(writers);
    busy.push(...(await sampled(() => Promise.all(writers.map((writer) => writer.drain())))));
  }
  await run.scratch.close(store);
  await run.scratch.remove(home);

  const p99 = quantile(busy, 0.99);
  const idleP99 = quantile(idle, 0.99);
  return [
    {
      what: `event loop of the main thread, ${WRITERS} writers`,
      ours: ms(p99, "p99"),
      base: ms(idleP99, "p99"),
      beside: "the same sampler on the idle loop",
      wanted: { words: `≤ idle + ${LATER_MS_MAX} ms`, met: p99 <= idleP99 + LATER_MS_MAX },
    },
    {
      what: `event loop of the main thread, ${WRITERS} writers`,
      ours: ms(median(busy), "p50"),
      base: ms(median(idle), "p50"),
      beside: "the same sampler on the idle loop",
      wanted: null,
    },
    {
      what: `event loop of the main thread, ${WRITERS} writers`,
      ours: ms(Math.max(...busy), "longest"),
      base: ms(Math.max(...idle), "longest"),
      beside: "the same sampler on the idle loop",
      wanted: null,
    },
  ];
}

/** Each delay that the monitor saw while the work ran, in milliseconds. */
export async function sampled(work: () => Promise<unknown>): Promise<number[]> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await work();
  histogram.disable();
  // A histogram gives its samples back by their rank, in order; there is no other way to join two of them.
  const { count } = histogram;
  return Array.from({ length: count }, (_, at) => histogram.percentile(((at + 1) / count) * 100) / 1e6);
}
