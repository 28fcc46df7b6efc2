// Measure 8: how long a question to full-text search takes while 128 writers say more than search can follow. It is far
// behind then, and says so; but whoever asks must not wait until it has caught up.

import { setTimeout as sleep } from "node:timers/promises";
import { textAt, Writer } from "./load.ts";
import { WRITERS } from "./many-writers.ts";
import { ms, quantile, timed, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";

const ASK_EVERY_MS = 50;

export async function search(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("search");
  const store = await run.scratch.open(home);
  const writers = await Promise.all(Array.from({ length: WRITERS }, (_, n) => Writer.on(store, `w${n}`)));
  const text = textAt(0).split(" ").slice(0, 2).join(" ");
  let behind = 0;
  const ask = async (): Promise<number> =>
    await timed(async () => {
      behind = Math.max(behind, (await store.search({ text })).behind);
    });
  const askWhile = async (isGoing: () => boolean): Promise<number[]> => {
    const waits: number[] = [];
    while (isGoing()) {
      waits.push(await ask());
      await sleep(ASK_EVERY_MS);
    }
    return waits;
  };

  let writing = true;
  const asked = askWhile(() => writing);
  for (let round = 0; round < run.sized(40); round += 1) {
    await Writer.post(writers);
    await Promise.all(writers.map((writer) => writer.drain()));
  }
  writing = false;
  const busy = await asked;
  await searchIdle(store);
  let left = run.sized(60);
  const idle = await askWhile(() => left-- > 0);
  run.say(`search was up to ${behind} groups behind`);
  await run.scratch.close(store);
  await run.scratch.remove(home);
  return [0.5, 0.99].map((share) => ({
    what: `a question to search, ${WRITERS} writers`,
    ours: ms(quantile(busy, share), share === 0.5 ? "p50" : "p99"),
    base: ms(quantile(idle, share), share === 0.5 ? "p50" : "p99"),
    beside: "the same question when search has caught up",
    wanted: null,
  }));
}
