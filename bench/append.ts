// Measure 7: one message appended by pi and by us, in turn. The two do not promise the same: pi has handed the line to
// the operating system when it returns, and a power cut may take it; ours has reached the disk, together with the row
// and the letter it came from.

import { LETTERS, Writer } from "./load.ts";
import { interleaved, median, ms, ratioFigure, type Figure } from "./measure.ts";
import { installedPi, NOT_INSTALLED } from "./peers.ts";
import type { Run } from "./run.ts";

const WARM_ROUNDS = 40;
const WHAT = "append one message, synced";

export async function append(run: Run): Promise<Figure[]> {
  const pi = installedPi();
  const home = run.scratch.home("append");
  const store = await run.scratch.open(home);
  const writer = await Writer.on(store, "one");
  const times: { ours: number[]; pi: number[] } = { ours: [], pi: [] };
  const ours = async (): Promise<void> => {
    await Writer.post([writer]);
    times.ours.push(...(await writer.drain()));
  };
  const script = new URL("./append-pi.ts", import.meta.url);
  const peer = pi === null ? null : run.scratch.start(script, [run.scratch.home("append-pi")]);
  if (peer) await run.scratch.hear(peer);
  const theirs = async (): Promise<void> => {
    if (!peer) return;
    peer.send(LETTERS);
    times.pi.push(...((await run.scratch.hear(peer)) as number[]));
  };
  await interleaved(run.atLeast(10, WARM_ROUNDS), [ours, theirs]);
  times.ours = [];
  times.pi = [];
  await interleaved(run.sized(60), [ours, theirs]);
  peer?.disconnect();
  await run.scratch.close(store);
  await run.scratch.remove(home);

  const p50 = ms(median(times.ours), "p50");
  if (pi === null)
    return [{ what: WHAT, ours: p50, base: null, beside: `pi: ${NOT_INSTALLED}`, wanted: null }];
  return [
    ratioFigure({
      what: WHAT,
      ours: p50,
      base: ms(median(times.pi), "p50"),
      beside: `pi ${pi.version}, not synced`,
    }),
  ];
}
