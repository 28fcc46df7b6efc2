// A process in which many sessions have a turn each and are idle then; says how much memory they left behind, and ends.
//
// Resident memory is what the process was given, also for garbage that four heaps did not see a reason to collect yet. So
// there are rounds, each with as many new sessions, and what a later round adds is what that many more sessions take.
// The heaps are told to keep little garbage (run with --max-semi-space-size=1); the sizes of caches are left as they are.
//
//   turns-idle.ts <home> <count> [children]
//
// With the last word they are named children of main.

import { median } from "./measure.ts";
import { openAt, type Idle } from "./turns.ts";

const AT_ONCE = 50;
const ROUNDS = 8;
const WARM = 3;

const [home = "", count = "0", what = "chats"] = process.argv.slice(2);
const sessions = await openAt(home, null);

async function turn(name: string): Promise<void> {
  if (what === "chats") return void (await sessions.ask(`agent:main:direct:${name}`, "hello"));
  const { sessionKey, id } = await sessions.spawn("hello", { name, announce: false });
  await sessions.wait(sessionKey, id);
}

async function eachOnce(name: string, many: number): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    while (next < many) await turn(`${name}-${next++}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

/** The log of SQLite and the journal are as long as they get, and garbage is gone. */
async function settled(): Promise<NodeJS.MemoryUsage> {
  for (let n = 0; n < 5; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, 400));
    globalThis.gc?.();
  }
  return process.memoryUsage();
}

const looks: NodeJS.MemoryUsage[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  await eachOnce(`round-${round}`, Number(count));
  looks.push(await settled());
}
/** What the rounds added, in the median; the first ones made the process as large as the load makes it. */
const added = (of: "rss" | "heapUsed"): number =>
  median(looks.slice(WARM).map((look, at) => look[of] - (looks[WARM + at - 1]?.[of] ?? 0)));
const idle: Idle = { idleBytes: Math.max(0, added("rss")), heapBytes: Math.max(0, added("heapUsed")) };
await sessions.close();
process.send?.(idle);
process.disconnect?.();
