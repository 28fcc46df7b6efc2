// The program that the campaigns kill: it does to many sessions at once whatever a store can be asked to do
// (deeds.ts), and reports every attempt and every acknowledgement on its standard output, each before the next thing
// happens.
//
//   node test/crash/workload.ts HOME SEED RUN [COMMITS]
//
// COMMITS is how many there are at least; without it they go on until somebody kills it.
//
// It has no memory of its own: like any daemon it learns from the store what there is, and goes on.

import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import { Fault } from "../../src/base/fault.ts";
import { DEFAULT_AGENT, directKey, type SessionKey } from "../../src/routing/key.ts";
import type { Session } from "../../src/sessions/session.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import type { Change } from "../../src/store/change.ts";
import { textOf } from "../../src/transcript/entry.ts";
import {
  archive,
  choose,
  end,
  fork,
  FREE,
  HELD,
  letters,
  open,
  remove,
  reset,
  revive,
  STALE,
  swap,
  type Deed,
  type Scene,
} from "./deeds.ts";
import { Hands } from "./hands.ts";
import type { Attempt, Said } from "./ledger.ts";
import { sayLine } from "./say.ts";

const [home = "", seed = "1", run = "0", commits = "Infinity"] = process.argv.slice(2);
say({ starting: true });
const dice = new SimulatedWorld(Number(seed) * 1_000 + Number(run));
const world = new RealWorld();
const store = await LocalStore.open(home, {
  world,
  log: openLog("error"),
  died: (fault) => {
    say({ died: fault.code });
    process.exit(1);
  },
});

const IN_FLIGHT = 8;
const KEYS = Array.from({ length: 24 }, (_, n) =>
  directKey({ agent: DEFAULT_AGENT, channel: "test", account: null, peer: String(n) }),
);

/** Attempts between one checkpoint and the next. */
const ROUND = 40;

/** Sessions that an attempt is about to change: one turn at a time, as lanes will see to it. */
const busy = new Set<SessionKey>();
/** Free changes under way. A session does not end before they are done, and is not visited while it does. */
const visits = new Map<SessionKey, number>();
const fading = new Set<SessionKey>();
const hands = new Hands(store, dice, (wrong) => say({ wrong }));
let attempts = 0;

function say(said: Said): void {
  sayLine(said);
}

async function attempt(name: string, changes: readonly Change[], fate: Attempt["fate"]): Promise<void> {
  if (changes.length === 0) return;
  say({ attempt: { name, changes, fate } });
  try {
    await store.commit(changes);
    say({ done: name });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    say({ refused: name, why: `${error.code}: ${error.message}` });
  }
}

/** Does something to sessions that nobody else is about to change, or visits one. */
async function step(name: string): Promise<void> {
  if (dice.random() < 0.25) return await visit(name);
  const mine = idle(dice.random() < 0.3 ? 3 : 1);
  for (const key of mine) busy.add(key);
  try {
    await change(name, mine);
  } finally {
    for (const key of mine) busy.delete(key);
  }
}

/** Some sessions that nobody is changing. There always are: eight attempts hold at most three each. */
function idle(count: number): SessionKey[] {
  const free = KEYS.filter((key) => !busy.has(key));
  return Array.from({ length: count }, () => free.splice(Math.floor(dice.random() * free.length), 1)).flat();
}

function sceneOf(name: string, row: Session, others: readonly Session[] = []): Scene {
  return { store, world, dice, name, row, others, fenceOf: (key) => hands.fenceOf(key) };
}

/** By somebody who does not ask whether anybody is at work there. */
async function visit(name: string): Promise<void> {
  const open = KEYS.filter((key) => !fading.has(key));
  const key = open[Math.floor(dice.random() * open.length)];
  if (key === undefined) return;
  visits.set(key, (visits.get(key) ?? 0) + 1);
  try {
    const row = await store.session(key);
    if (row !== null && row.state.kind !== "ended")
      await attempt(name, await choose(FREE, dice)(sceneOf(name, row)), "accepted");
  } finally {
    visits.set(key, (visits.get(key) ?? 1) - 1);
  }
}

async function change(name: string, mine: readonly SessionKey[]): Promise<void> {
  const rows = await Promise.all(mine.map((key) => store.session(key)));
  const [row, ...others] = rows.filter((each) => each !== null);
  const missing = mine.find((_, at) => rows[at] === null);
  if (missing !== undefined && (await upkeep(name, missing))) return;
  if (missing !== undefined)
    return await attempt(
      name,
      row === undefined ? open({ name, world }, missing) : await fork(sceneOf(name, row), missing),
      "accepted",
    );
  if (row === undefined) return;
  const scene = sceneOf(name, row, others);
  if (row.state.kind === "ended") return await attempt(name, revive(scene), "accepted");
  const rolled = dice.random();
  if (rolled < 0.03) return await fade(name, scene, remove);
  if (rolled < 0.07) return await fade(name, scene, end);
  if (rolled < 0.09) return await searchFor(row);
  if (rolled < 0.12) return await attempt(name, await stale(scene), "refused");
  if (rolled < 0.18) return await fade(name, scene, archive);
  if (rolled < 0.21) return await fade(name, scene, reset);
  if (rolled < 0.24) return await fade(name, scene, swap);
  await attempt(name, await choose(HELD, dice)(scene), "accepted");
}

/** The end of a session. Sooner or later there is another one under its key. */
async function fade(name: string, scene: Scene, deed: Deed): Promise<void> {
  const { key } = scene.row;
  if ((visits.get(key) ?? 0) > 0) return;
  fading.add(key);
  try {
    const changes = await deed(scene);
    await attempt(name, changes, "accepted");
    if (changes.some(({ do: what }) => what === "delete" || what === "archive" || what === "restore"))
      hands.forget(key);
  } finally {
    fading.delete(key);
  }
}

/** Of a key that has no session: what was put away under it is packed, comes back, or goes. False: none of this. */
async function upkeep(name: string, key: SessionKey): Promise<boolean> {
  const rolled = dice.random();
  const { rows } = await store.archives({ key, limit: 10 });
  const found = rows[Math.floor(dice.random() * rows.length)];
  if (found === undefined || rolled < 0.2) return false;
  if (rolled < 0.6) await (found.packedBytes === null ? store.pack(found.id) : store.unpack(found.id));
  else if (rolled < 0.7) await attempt(name, [{ do: "purge", archive: found.id }], "accepted");
  else {
    await store.unpack(found.id);
    await attempt(name, [{ do: "restore", archive: found.id, over: null }], "accepted");
  }
  return true;
}

/** A letter goes with what will be refused, and must not arrive. */
async function stale(scene: Scene): Promise<Change[]> {
  return [...letters(scene), ...(await choose(STALE, dice)(scene))];
}

/** Search may be behind; when it says that it is not, it knows the last word. */
async function searchFor({ key, transcript }: Session): Promise<void> {
  for await (const entry of store.entries(transcript.id, { before: null })) {
    const text = entry.type === "gap" ? "" : textOf(entry);
    const { hits, behind } = await store.search({ text, key });
    if (behind === 0 && !hits.some((hit) => hit.seq === transcript.lastSeq))
      say({ wrong: `search is not behind and does not find ${text} in ${key}` });
    return;
  }
}

/** All lanes at once, as long as this is so. */
async function workWhile(is: () => boolean, deed: (name: string) => Promise<void>): Promise<void> {
  const lane = async (): Promise<void> => {
    while (is()) {
      attempts += 1;
      await deed(`r${run}a${attempts}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function work(count: number, deed: (name: string) => Promise<void>): Promise<void> {
  const last = attempts + count;
  await workWhile(() => attempts < last, deed);
}

/** Sooner than it would come by itself. Commits go on: one journal is emptied while its twin fills, and then that. */
async function checkpoint(): Promise<void> {
  let underway = true;
  say({ now: "checkpoint" });
  const over = store.checkpoint().finally(() => (underway = false));
  await workWhile(() => underway, step);
  await over;
  say({ now: "usual" });
}

/** Only the state changes for a while, and no transcript: there is nothing in the journal. */
async function quiet(): Promise<void> {
  await store.checkpoint();
  say({ now: "quiet" });
  await work(ROUND / 2, visit);
  say({ now: "usual" });
}

async function live(): Promise<void> {
  for (;;) {
    await hands.change();
    await work(Math.min(ROUND, Number(commits) - attempts), step);
    if (attempts >= Number(commits)) return;
    await checkpoint();
    await quiet();
  }
}

say({ ready: true });
await live();
await store.close();
say({ closed: true });
