// Measure 6: how long from LocalStore.open until the store serves. After a clean stop it should not follow how many
// sessions there are; after a kill it should follow what was unfinished, and nothing else.
//
// Starts happen in this process, one after the other; each has new threads, which load their modules again. The page
// cache is warm.

import { once } from "node:events";
import { openLog } from "../src/base/log.ts";
import { RealWorld } from "../src/base/world.ts";
import type { ManyHome } from "./fill.ts";
import { interleaved, median, ms, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { openStore } from "./scratch.ts";

const FEW = 100;
const SOME = 1_000;
const UNFINISHED = [10, 1_000] as const;
const KILLS = 10;

export async function start(run: Run): Promise<Figure[]> {
  const large = await run.filled.many(run.sized(100_000));
  const some = await run.filled.many(SOME);
  const few = await run.filled.many(FEW);
  return [
    ...(await clean(run, large, few)),
    ...(await unclean(run, large, UNFINISHED[0])),
    ...(await unclean(run, some, UNFINISHED[0])),
    ...(await unclean(run, large, UNFINISHED[1])),
    ...(await unclean(run, some, UNFINISHED[1])),
  ];
}

async function clean(run: Run, large: ManyHome, few: ManyHome): Promise<Figure[]> {
  const times: { large: number[]; few: number[] } = { large: [], few: [] };
  await interleaved(run.atLeast(5, 30), [
    async () => void times.large.push((await startOnce(large.home)).tookMs),
    async () => void times.few.push((await startOnce(few.home)).tookMs),
  ]);
  return [
    ratioFigure({
      what: `start with ${sessions(large)}, after a clean stop`,
      ours: ms(median(times.large), "p50"),
      base: ms(median(times.few), "p50"),
      beside: `with ${sessions(few)}`,
      most: 2,
    }),
  ];
}

/** Each kill is followed by the start that is measured, and that by a clean one, to stand beside it. */
async function unclean(run: Run, { home, count }: ManyHome, unfinished: number): Promise<Figure[]> {
  const times: { unclean: number[]; clean: number[] } = { unclean: [], clean: [] };
  for (let n = 0; n < run.atLeast(2, KILLS); n += 1) {
    const child = run.scratch.start(new URL("./start-unclean.ts", import.meta.url), [
      home,
      String(unfinished),
    ]);
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    if (signal !== "SIGKILL") throw new Error(`the process that was to be killed ended by itself`);
    const started = await startOnce(home);
    if (started.recovered !== unfinished)
      throw new Error(`${started.recovered} transcripts were recovered, not ${unfinished}`);
    times.unclean.push(started.tookMs);
    times.clean.push((await startOnce(home)).tookMs);
  }
  const unfinishedWords = `${unfinished.toLocaleString("en-US")} transcripts unfinished`;
  return [
    ratioFigure({
      what: `start with ${sessions({ count })}, killed with ${unfinishedWords}`,
      ours: ms(median(times.unclean), "p50"),
      base: ms(median(times.clean), "p50"),
      beside: "the same home after a clean stop",
    }),
  ];
}

interface Started {
  readonly tookMs: number;
  /** How many transcripts the store says it wrote again. */
  readonly recovered: number;
}

async function startOnce(home: string): Promise<Started> {
  let recovered = 0;
  const write = (line: string): void => {
    const said = JSON.parse(line) as { readonly what?: string; readonly count?: number };
    if (said.what === "recovered") recovered += said.count ?? 0;
  };
  const before = performance.now();
  const store = await openStore(home, new RealWorld(), openLog("warn", { write }));
  const tookMs = performance.now() - before;
  await store.close();
  return { tookMs, recovered };
}

function sessions({ count }: Pick<ManyHome, "count">): string {
  return `${count.toLocaleString("en-US")} sessions`;
}
