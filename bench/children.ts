// Measure 12: what children cost. 200 tasks given in one step, all reported; a named child that was idle and is given a task,
// beside the first turn of a session that is new; and the memory of 10,000 named children that are idle.

import { median, kibibytes, ms, quantile, ratioFigure, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { openAt, type Idle } from "./turns.ts";

const FAN_OUT = 200;

/** Idle children are more than stay in memory, so that those which are woken are not there. */
const NAMED = 2_000;

export async function children(run: Run): Promise<Figure[]> {
  return [...(await fanOut(run)), ...(await waking(run)), ...(await idleChildren(run))];
}

/** Beside the same number of turns that people begin at once, in chats of their own: a child is a turn with two letters. */
async function fanOut(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("children-fan-out");
  const sessions = await openAt(home, null);
  const times: { spawned: number[]; asked: number[] } = { spawned: [], asked: [] };
  const script = [
    ...Array(FAN_OUT).fill('!spawn {"task":"!say done"}'),
    "!call sessions_yield",
    "!then",
    "!results",
  ];
  for (let round = 0; round < run.atLeast(3, 10); round += 1) {
    const fromMs = performance.now();
    const { text } = await sessions.ask(`agent:main:direct:parent-${round}`, script.join("\n")); // each has a context of its own
    times.spawned.push(performance.now() - fromMs);
    const reports = text.split("Report of ").length - 1;
    if (reports !== FAN_OUT) throw new Error(`${FAN_OUT} children, and ${reports} reports`);
    const thenMs = performance.now();
    const chats = Array.from({ length: FAN_OUT }, (_, n) => `agent:main:direct:round-${round}-${n}`);
    await Promise.all(chats.map((key) => sessions.ask(key, "!say done")));
    times.asked.push(performance.now() - thenMs);
  }
  await sessions.close();
  await run.scratch.remove(home);
  return [
    ratioFigure({
      what: `${FAN_OUT} children spawned in one step, until all have reported and the parent has answered`,
      ours: ms(median(times.spawned), "p50"),
      base: ms(median(times.asked), "p50"),
      beside: `${FAN_OUT} first turns of new chats at once`,
    }),
  ];
}

async function waking(run: Run): Promise<Figure[]> {
  const home = run.scratch.home("children-waking");
  const sessions = await openAt(home, null);
  const count = run.sized(NAMED);
  for (let n = 0; n < count; n += 1)
    await sessions.spawn("!say hello", { name: `child-${n}`, announce: false });
  await sessions.close();
  const again = await openAt(home, null);
  const woken: number[] = [];
  const fresh: number[] = [];
  const samples = run.atLeast(50, 500);
  for (let n = 0; n < samples; n += 1) {
    const name = `child-${Math.floor((n * count) / samples)}`;
    const wake = async (): Promise<void> => {
      const { sessionKey, id } = await again.spawn("!say hello", {
        name,
        resumeIfExists: true,
        announce: false,
      });
      await again.wait(sessionKey, id);
    };
    const begin = async (): Promise<void> =>
      void (await again.ask(`agent:main:direct:new-${n}`, "!say hello"));
    const works = [
      async () => void woken.push(await took(wake)),
      async () => void fresh.push(await took(begin)),
    ];
    for (const work of n % 2 === 0 ? works : works.toReversed()) await work();
  }
  await again.close();
  await run.scratch.remove(home);
  const figure = (of: string, share: number, most?: number): Figure =>
    ratioFigure({
      what: `an idle named child of ${count.toLocaleString("en-US")}: given a task, until its turn has ended`,
      ours: ms(quantile(woken, share), of),
      base: ms(quantile(fresh, share), of),
      beside: "the first turn of a new session",
      ...(most === undefined ? {} : { most }),
    });
  return [figure("p50", 0.5, 2), figure("p99", 0.99)];
}

async function took(work: () => Promise<void>): Promise<number> {
  const fromMs = performance.now();
  await work();
  return performance.now() - fromMs;
}

async function idleChildren(run: Run): Promise<Figure[]> {
  const count = run.sized(10_000);
  const home = run.scratch.home("children-idle");
  const script = new URL("./turns-idle.ts", import.meta.url);
  const child = run.scratch.start(script, [home, String(count), "children"], ["--max-semi-space-size=1"]);
  const { idleBytes, heapBytes } = (await run.scratch.hear(child)) as Idle;
  await run.scratch.remove(home);
  return [
    {
      what: `${count.toLocaleString("en-US")} more idle named children, each had a task: resident memory of each`,
      ours: kibibytes(idleBytes / count),
      beside: "of that, objects of the main thread",
      base: kibibytes(heapBytes / count),
      wanted: { words: "≤ 1 KiB", met: idleBytes / count <= 1_024 },
    },
  ];
}
