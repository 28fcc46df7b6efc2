// The home that upkeep is measured on: sessions over a hundred days, and for each so many an archive, a blob that nobody names, a large
// session.

import { RealWorld } from "../src/base/world.ts";
import { directKey, parseAgent, type SessionKey } from "../src/routing/key.ts";
import type { LocalStore } from "../src/store/local/local.ts";
import type { Of } from "../src/store/rules.ts";
import type { Draft } from "../src/transcript/entry.ts";
import { textAt, userMessage } from "./load.ts";
import type { Run } from "./run.ts";
import { searchIdle } from "./scratch.ts";

export const AGENT = parseAgent("main");
/** One in so many: archives that are there already, blobs that nobody names, large sessions. */
export const ONE_IN = { archive: 50, blob: 100, large: 1_000 };
/** Commits under way at once while the home is made. */
const IN_FLIGHT = 500;
/** Sessions are made so far apart by their clock that the oldest is a hundred days old. */
const SPAN_MS = 100 * 24 * 60 * 60 * 1_000;
const LARGE_KIB = 1_100;

class Clock extends RealWorld {
  #nowMs: number;

  constructor(startMs: number) {
    super();
    this.#nowMs = startMs;
  }

  override nowMs(): number {
    return Math.floor(this.#nowMs);
  }

  step(ms: number): void {
    this.#nowMs += ms;
  }
}

export async function filled(run: Run, sessions: number, kib: number): Promise<string> {
  const home = run.scratch.home("upkeep");
  const clock = new Clock(Date.now() - SPAN_MS);
  const store = await run.scratch.open(home, clock);
  const beganMs = performance.now();
  const underWay = new Set<Promise<unknown>>();
  for (let n = 0; n < sessions; n += 1) {
    clock.step(SPAN_MS / sessions);
    for (const work of made(store, n, kib)) {
      const done = work.finally(() => underWay.delete(done));
      underWay.add(done);
    }
    if (underWay.size >= IN_FLIGHT) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  for (let n = 0; n < Math.ceil(sessions / ONE_IN.large); n += 1)
    await store.commit(conversation(`large${n}`, LARGE_KIB, 2));
  await store.checkpoint();
  await searchIdle(store);
  await run.scratch.close(store);
  run.say(`made ${sessions} sessions in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`);
  return home;
}

/** A session, and now and then something for upkeep beside it. */
function made(store: LocalStore, n: number, kib: number): Promise<unknown>[] {
  const work: Promise<unknown>[] = [store.commit(conversation(`p${n}`, kib))];
  if (n % ONE_IN.blob === 0) work.push(store.putBlob(Buffer.from(`${n} ${textAt(n)}`)));
  if (n % ONE_IN.archive === 0) {
    const [opening, append] = conversation(`old${n}`, kib);
    const expect = { transcript: opening.transcript, lastSeq: append.entries.length };
    work.push(store.commit([opening, append, { do: "archive", key: opening.key, expect, why: "asked" }]));
  }
  return work;
}

/** A message, and what came of it: results of tools, which search does not read. `contextSeq` null: all of it is shown. */
function conversation(
  peer: string,
  kib: number,
  contextSeq: number | null = null,
): [Of<"open">, Of<"append">] {
  const key = directKey({ agent: AGENT, channel: null, account: null, peer });
  const n = Number(peer.replace(/\D+/, ""));
  const entries = [userMessage(textAt(n), `ext:bench:${peer}`)];
  for (let part = 1; part < kib; part += 1) entries.push(filler(n * 31 + part * 7));
  return [opened(key), { do: "append", key, fence: 0, after: 0, entries, rewindTo: null, contextSeq }];
}

function filler(n: number): Draft {
  const data = { text: `${n} ${textAt(n)} ${textAt(n + 1)}`.slice(0, 900) };
  return { type: "custom", timestamp: new Date().toISOString(), customType: "bench/filler", data };
}

const world = new RealWorld();

export function opened(key: SessionKey): Of<"open"> {
  return {
    do: "open",
    key,
    transcript: world.newId(),
    cwd: "/home/ada/garden",
    parent: null,
    settings: {},
    copy: null,
    ifExists: "refuse",
  };
}
