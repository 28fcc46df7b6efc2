// Measure: upkeep of a large home while people use it. 100,000 sessions of about 20 KiB each are there; a fifth of them is archived
// and packed, with a policy that asks for it, as a round of the daemon does it, while one writer commits and one reader lists.
// Both are measured without it first, in the same process, and a bare write to the same disk all the time. Beside that a few old archives are erased, blobs that nobody names are
// removed, and large sessions are asked to go on in a new file: as many as ONE_IN says.
//
//   SESSIOND_BENCH_SESSIONS   how many sessions there are (100,000)
//   SESSIOND_BENCH_ARCHIVED   how many of them go (a fifth)
//   SESSIOND_BENCH_KIB        of each transcript (20)

import { setTimeout as sleep } from "node:timers/promises";
import { openLog } from "../src/base/log.ts";
import { RealWorld } from "../src/base/world.ts";
import type { UpkeepPolicy } from "../src/config/config.ts";
import { directKey, type SessionKey } from "../src/routing/key.ts";
import type { LocalStore } from "../src/store/local/local.ts";
import type { Archive, Page } from "../src/store/store.ts";
import type { Report } from "../src/upkeep/apply.ts";
import type { Plan } from "../src/upkeep/plan.ts";
import { Upkeep } from "../src/upkeep/rounds.ts";
import { beside, span, type Span } from "./bare.ts";
import { sampled } from "./event-loop.ts";
import { textAt, userMessage } from "./load.ts";
import { median, ms, percent, perSecond, quantile, timed, type Amount, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";
import { AGENT, filled, ONE_IN, opened } from "./upkeep-home.ts";

const FOREGROUND_MS_MAX = 100;
const LOOP_MS_MAX = 50;
/** A disk that takes longer for a bare write is busy with somebody else's. */
const BARE_MS_MAX = 50;
/** How long the two are measured without upkeep. */
const QUIET_MS = 30_000;
/** Archives older than this are erased: about a tenth of those that are there already. */
const ARCHIVE_DAYS = 90;

function sizeOf(name: string, otherwise: number): number {
  const given = Number(process.env[`SESSIOND_BENCH_${name}`] ?? otherwise);
  if (!Number.isSafeInteger(given) || given < 1) throw new Error(`SESSIOND_BENCH_${name} is a whole number`);
  return given;
}

export async function upkeep(run: Run): Promise<Figure[]> {
  const sessions = sizeOf("SESSIONS", run.sized(100_000));
  const archived = Math.min(sessions - 1, sizeOf("ARCHIVED", Math.ceil(sessions / 5)));
  const home = await filled(run, sessions, sizeOf("KIB", 20));
  const world = new RealWorld();
  const store = await run.scratch.open(home, world);
  await searchIdle(store);
  const front = new Foreground(store);
  await front.open();
  globalThis.gc?.();
  let quietLoop: readonly number[] = [];
  const quietDisk = await beside(run, async () => {
    quietLoop = await sampled(() => front.during(sleep(run.atLeast(1_000, QUIET_MS))));
  });
  const quiet = front.taken();

  const all = sessions + Math.ceil(sessions / ONE_IN.large) + Foreground.SESSIONS;
  const policy: UpkeepPolicy = { ...POLICY, sessionsMax: all - archived };
  const keeping = new Upkeep({
    world,
    log: openLog("error"),
    store,
    commit: (changes) => store.commit(changes),
    policy,
    programs: () => new Set(),
  });
  let plan: Plan | null = null;
  let report: Report | null = null;
  let [lookMs, runMs] = [0, 0];
  let busyLoop: readonly number[] = [];
  const upkept = async (): Promise<void> => {
    lookMs = await timed(() => keeping.plan());
    const running = keeping.run(); // It looks again: what was due a moment ago may be more now.
    runMs = await timed(() => running.ended);
    ({ plan, report } = running);
  };
  const busyDisk = await beside(run, async () => {
    busyLoop = await sampled(() => front.during(upkept()));
  });
  const busy = front.taken();
  const share = await compared(store, { plan, report }, archived);
  await keeping.close();
  await run.scratch.close(store);
  await run.scratch.remove(home);
  run.say(`looked for ${(lookMs / 1_000).toFixed(1)} s, ran for ${(runMs / 1_000).toFixed(1)} s`);
  const of = `${sessions.toLocaleString("en-US")} sessions, upkeep running`;
  return [
    ...besides(`commit, ${of}`, busy.commits, quiet.commits),
    answeredFigure(`commit, ${of}, whenever the disk took a bare write in time`, busy.commits, busyDisk),
    ...besides(`page of 100, ${of}`, busy.lists, quiet.lists),
    bareFigure(busyDisk, quietDisk),
    loopFigure(of, busyLoop, quietLoop),
    told(`upkeep: looking at ${sessions.toLocaleString("en-US")} sessions`, ms(lookMs)),
    told(
      `upkeep: archived and packed, of ${archived.toLocaleString("en-US")}`,
      perSecond((archived / runMs) * 1_000),
    ),
    told("upkeep: what packing leaves of a transcript", percent(share)),
  ];
}

const POLICY: UpkeepPolicy = {
  mode: "enforce",
  everyMinutes: 60,
  staleDays: 0,
  sessionsMax: 0,
  subagentHours: 0,
  rotateMiB: 1,
  archiveDays: ARCHIVE_DAYS,
  diskMiB: 0,
  highWater: 0.9,
};

/** Fails unless what was done is what was planned. What is left of a byte, packed. */
async function compared(
  store: LocalStore,
  { plan, report }: { readonly plan: Plan | null; readonly report: Report | null },
  archived: number,
): Promise<number> {
  const { purge, rotate, collect } = plan?.totals ?? { purge: 0, rotate: 0, collect: 0 };
  const beside = [report?.purged, report?.rotated, report?.collected];
  if (Math.min(purge, rotate, collect) === 0 || `${beside}` !== `${[purge, rotate, collect]}`)
    throw new Error(
      `${purge}, ${rotate} and ${collect} were to be erased, rotated, collected: ${beside} were`,
    );
  const planned = new Set(plan?.steps.flatMap((step) => (step.do === "archive" ? [step.key] : [])));
  let [packed, bytes, found] = [0, 0, 0];
  for (let cursor: string | null = null; ;) {
    const page: Page<Archive> = await store.archives({ cursor, limit: 500 });
    for (const each of page.rows) {
      if (each.why === "asked") continue; // It was there before.
      if (!planned.has(each.key)) throw new Error(`${each.key} is archived, and was not to be`);
      if (each.packedBytes === null) throw new Error(`${each.key} is not packed`);
      [packed, bytes, found] = [packed + each.packedBytes, bytes + each.bytes, found + 1];
    }
    if (page.next === null) break;
    cursor = page.next;
  }
  if (planned.size !== archived || found !== archived)
    throw new Error(`${planned.size} were planned and ${found} archived, of ${archived} that were wanted`);
  return packed / bytes;
}

/** Somebody who writes, and somebody who looks, one after the other all the time. */
class Foreground {
  static readonly SESSIONS = 8;
  readonly #store: LocalStore;
  readonly #keys: SessionKey[] = [];
  #commits: Span[] = [];
  #lists: Span[] = [];
  #seq = 0;

  constructor(store: LocalStore) {
    this.#store = store;
  }

  async open(): Promise<void> {
    for (let n = 0; n < Foreground.SESSIONS; n += 1) {
      const key = directKey({ agent: AGENT, channel: null, account: null, peer: `front-${n}` });
      await this.#store.commit([opened(key)]);
      this.#keys.push(key);
    }
  }

  async during(work: Promise<unknown>): Promise<void> {
    let isOver = false;
    const ended = work.finally(() => (isOver = true));
    const writing = async (): Promise<void> => {
      while (!isOver) {
        this.#commits.push(await span(() => this.#write()));
        await sleep(2);
      }
    };
    const listing = async (): Promise<void> => {
      while (!isOver) {
        this.#lists.push(await span(() => this.#store.sessions({ limit: 100 })));
        await sleep(5);
      }
    };
    await Promise.all([ended, writing(), listing()]);
  }

  taken(): { readonly commits: readonly Span[]; readonly lists: readonly Span[] } {
    const taken = { commits: this.#commits, lists: this.#lists };
    [this.#commits, this.#lists] = [[], []];
    return taken;
  }

  /** Each session in turn, so each has got as many as the others. */
  async #write(): Promise<void> {
    const n = this.#seq++;
    const key = this.#keys[n % this.#keys.length];
    if (key === undefined) throw new Error("nothing was opened");
    const after = Math.floor(n / this.#keys.length);
    const entries = [userMessage(textAt(n), `ext:bench:front-${n}`)];
    await this.#store.commit([
      { do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq: null },
    ]);
  }
}

function besides(what: string, during: readonly Span[], before: readonly Span[]): Figure[] {
  const [busy, quiet] = [during.map(({ tookMs }) => tookMs), before.map(({ tookMs }) => tookMs)];
  const words = "the same without upkeep";
  const longest = Math.max(...busy);
  return [
    { what, ours: ms(median(busy), "p50"), base: ms(median(quiet), "p50"), beside: words, wanted: null },
    {
      what,
      ours: ms(quantile(busy, 0.99), "p99"),
      base: ms(quantile(quiet, 0.99), "p99"),
      beside: words,
      wanted: null,
    },
    {
      what,
      ours: ms(longest, "longest"),
      base: ms(Math.max(...quiet), "longest"),
      beside: words,
      wanted: foreground(longest),
    },
  ];
}

/** Without those during which the disk let a stranger wait too. */
function answeredFigure(what: string, commits: readonly Span[], disk: readonly Span[]): Figure {
  const late = disk.filter(({ tookMs }) => tookMs > BARE_MS_MAX);
  const inTime = disk.filter(({ tookMs }) => tookMs <= BARE_MS_MAX);
  const isAnswered = (one: Span): boolean => !late.some((other) => overlap(one, other));
  const answered = commits.filter(isAnswered);
  if (answered.length === 0) throw new Error("the disk was late during every commit: nothing is known");
  const longest = Math.max(...answered.map(({ tookMs }) => tookMs));
  const base = ms(Math.max(...inTime.map(({ tookMs }) => tookMs)), "longest");
  return {
    what,
    ours: ms(longest, "longest"),
    base,
    beside: "a bare write meanwhile",
    wanted: foreground(longest),
  };
}

function bareFigure(busy: readonly Span[], quiet: readonly Span[]): Figure {
  const longest = (spans: readonly Span[]): Amount =>
    ms(Math.max(...spans.map(({ tookMs }) => tookMs)), "longest");
  return {
    what: "a bare write of 4 KiB to the same disk, upkeep running",
    ours: longest(busy),
    base: longest(quiet),
    beside: "the same without upkeep",
    wanted: null,
  };
}

function overlap(one: Span, other: Span): boolean {
  return one.fromMs < other.fromMs + other.tookMs && other.fromMs < one.fromMs + one.tookMs;
}

function foreground(longest: number): Figure["wanted"] {
  return { words: `≤ ${FOREGROUND_MS_MAX} ms`, met: longest <= FOREGROUND_MS_MAX };
}

function loopFigure(of: string, busy: readonly number[], quiet: readonly number[]): Figure {
  const p99 = quantile(busy, 0.99);
  return {
    what: `event loop of the main thread, ${of}`,
    ours: ms(p99, "p99"),
    base: ms(quantile(quiet, 0.99), "p99"),
    beside: "the same without upkeep",
    wanted: { words: `≤ ${LOOP_MS_MAX} ms`, met: p99 <= LOOP_MS_MAX },
  };
}

function told(what: string, ours: Amount): Figure {
  return { what, ours, base: null, beside: "–", wanted: null };
}
