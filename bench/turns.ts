// Measure 10: what a turn costs when the model costs nothing: the rehearsal model answers at once, so what is left is ours.
//
// One step is three commits. The first is the send, which is acknowledged when it is durable; the other two are the
// turn: letters taken and written down, then answer and end. What is measured is from the acknowledgement to the end
// being durable, beside the time that those two commits took by themselves. Then many sessions at once, each sending the
// next message when the turn is over: everything, sends included, in turns per second.
//
// OpenClaw takes 485 to 825 ms for such a turn through its gateway, and does 1.2 to 2.4 of them a second with 50 sessions;
// that was measured elsewhere, and is not in the table.

import { open, type Sessions } from "../src/index.ts";
import {
  interleaved,
  kibibytes,
  median,
  ms,
  perSecond,
  quantile,
  ratioFigure,
  type Figure,
} from "./measure.ts";
import type { Run } from "./run.ts";
import { openStore } from "./scratch.ts";
import { timedStore, type TimedCommit } from "./timed.ts";

const WARM_TURNS = 200;

/**
 * So many chats take turns, so that each has some thirty turns of history at the end: what a model is shown is put
 * together anew for every step, and costs more the longer it is.
 */
const PEERS = 40;

export async function turns(run: Run): Promise<Figure[]> {
  return [...(await oneTurn(run)), ...(await manySessions(run)), ...(await idleSessions(run))];
}

async function oneTurn(run: Run): Promise<Figure[]> {
  const commits: TimedCommit[] = [];
  const home = run.scratch.home("turns-one");
  const sessions = await openAt(home, commits);
  const whole: number[] = [];
  const own: number[] = [];
  const all: number[] = [];
  let words = "";
  for (let n = 0; n < WARM_TURNS + run.sized(1_000); n += 1) {
    commits.length = 0;
    const fromMs = performance.now();
    await sessions.ask(`agent:main:direct:peer-${n % PEERS}`, "hello");
    if (n < WARM_TURNS) continue;
    const [post, ...rest] = commits;
    if (!post || rest.length !== 2)
      throw new Error(`a turn of one step is three commits, not ${commits.length}`);
    words = rest.map(({ what }) => what).join("; ");
    const endMs = rest.at(-1)?.toMs ?? 0;
    whole.push(endMs - post.toMs);
    own.push(rest.reduce((sum, { fromMs: from, toMs }) => sum + toMs - from, 0));
    all.push(endMs - fromMs);
  }
  await sessions.close();
  await run.scratch.remove(home);
  return [
    ratioFigure({
      what: "a turn of one step: acknowledged send to durable end",
      ours: ms(median(whole), "p50"),
      base: ms(median(own), "p50"),
      beside: `its commits by themselves (${words})`,
      most: 1.5,
    }),
    ratioFigure({
      what: "a turn of one step: acknowledged send to durable end",
      ours: ms(quantile(whole, 0.99), "p99"),
      base: ms(quantile(own, 0.99), "p99"),
      beside: "its commits by themselves",
    }),
    ratioFigure({
      what: "a turn of one step, its send included",
      ours: ms(median(all), "p50"),
      base: ms(median(whole), "p50"),
      beside: "without its send",
    }),
  ];
}

/** In turn, several times: the rate of one round differs from the next by a tenth. */
async function manySessions(run: Run): Promise<Figure[]> {
  const turnsOf = run.sized(4_000);
  const rates: { fifty: number[]; twoHundred: number[] } = { fifty: [], twoHundred: [] };
  await interleaved(run.atLeast(3, 6), [
    async () => void rates.fifty.push(await rate(run, 50, turnsOf)),
    async () => void rates.twoHundred.push(await rate(run, 200, turnsOf)),
  ]);
  const fifty = median(rates.fifty);
  return [
    {
      what: "50 sessions at once: turns",
      ours: perSecond(fifty),
      beside: "the slowest of these rounds",
      base: perSecond(Math.min(...rates.fifty)),
      wanted: { words: "≥ 500/s", met: Math.min(...rates.fifty) >= 500 },
    },
    ratioFigure({
      what: "200 sessions at once: turns",
      ours: perSecond(median(rates.twoHundred)),
      base: perSecond(fifty),
      beside: "50 sessions at once",
      least: 1,
    }),
  ];
}

/** Each session sends the next message when the turn of the last one is over. */
async function rate(run: Run, count: number, turnsOf: number): Promise<number> {
  const home = run.scratch.home(`turns-${count}`);
  const sessions = await openAt(home, null);
  const each = async (n: number, times: number): Promise<void> => {
    for (let turn = 0; turn < times; turn += 1) await sessions.ask(`agent:main:direct:peer-${n}`, "hello");
  };
  const everybody = (times: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, (_, n) => each(n, times)));
  await everybody(Math.max(2, Math.ceil(WARM_TURNS / count)));
  const times = Math.ceil(turnsOf / count);
  const fromMs = performance.now();
  await everybody(times);
  const tookMs = performance.now() - fromMs;
  await sessions.close();
  await run.scratch.remove(home);
  run.say(`${count} sessions: ${Math.round((count * times * 1_000) / tookMs)} turns/s`);
  return (count * times * 1_000) / tookMs;
}

/** In a process of its own: memory that others have used and given back would hide what is looked for. */
async function idleSessions(run: Run): Promise<Figure[]> {
  const count = run.sized(10_000);
  const home = run.scratch.home("turns-idle");
  const script = new URL("./turns-idle.ts", import.meta.url);
  const child = run.scratch.start(script, [home, String(count)], ["--max-semi-space-size=1"]);
  const { idleBytes, heapBytes } = (await run.scratch.hear(child)) as Idle;
  await run.scratch.remove(home);
  return [
    {
      what: `${count.toLocaleString("en-US")} more idle sessions, each had a turn: resident memory of each`,
      ours: kibibytes(idleBytes / count),
      beside: "of that, objects of the main thread",
      base: kibibytes(heapBytes / count),
      wanted: { words: "≤ 1 KiB", met: idleBytes / count <= 1_024 },
    },
  ];
}

export interface Idle {
  readonly idleBytes: number;
  readonly heapBytes: number;
}

/** `commits` null: nobody wants to know how long they take. */
export async function openAt(home: string, commits: TimedCommit[] | null): Promise<Sessions> {
  const plain = await openStore(home);
  const store = commits === null ? plain : timedStore(plain, commits);
  return await open({ home, session: { dmScope: "per-peer" }, log: { level: "error" } }, { store });
}
