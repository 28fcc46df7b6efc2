// Tree
//
// Everything that came of one start: finds all of it that lives, and ends it.
//
//   Owns:      who belongs to a tree, and the signals that are sent to it.
//   Does not:  start anything, or remember trees (processes.ts, record.ts).
//
// A process belongs to a tree when it carries the tree's marker in its environment, when it was seen in the tree before,
// when its parent does, or when its session does: the launcher begins a session of its own, and sessions are left only by
// beginning another. So one that forked twice, began a session and ignores SIGTERM is found; and, while the launcher is
// there, also what forks and ends over and over in its group (group.ts). What is not found: a process that cleared its
// environment, left its session and lost its parent, all before it was seen once; and what forks and ends over and over
// after it left the group, or after the gateway died. Only a sandbox holds those.
//
// Invariants
//   F1. Nobody is signalled alone who was not seen in the tree, and whose start is not the same right before the signal.
//   F2. Neither ourselves nor pid 1 are ever members, nor anyone older than the tree.
//   F3. endTree() resolves true only after a look, with the group stopped, in which nothing of the tree lived.
//   F4. A look that fails is tried again for some seconds. If it cannot be had, the group is killed without one.

import type { World } from "../base/world.ts";
import type { Grace } from "./grace.ts";
import { signal, type Group } from "./group.ts";
import { everyPid, HAS_PROC, markerOf, seenOf, type Seen } from "./proc.ts";

export interface Tree {
  readonly id: string; //         its marker
  readonly group: Group; //       the launcher's
  readonly sinceTicks: number; // when it was started: nothing of it is older
  /** Members by pid, with their start. A tree that another process left has none: its marker must do. */
  readonly known: Map<number, number>;
}

/** All processes at one time. */
export interface Look {
  readonly processes: ReadonlyMap<number, Seen>;
  readonly markers: ReadonlyMap<number, string>; // of those that were asked for theirs
  readonly byParent: ReadonlyMap<number, readonly Seen[]>;
  readonly bySession: ReadonlyMap<number, readonly Seen[]>;
}

/** Files of /proc that are read at once. There are four threads for files, and the store's blobs need them too. */
const READ_AT_ONCE = 4;

/**
 * Rounds of SIGKILL, and the pause between two, growing up to the second number. Dead at once is what is not stuck in
 * the kernel, such as on a dead network disk; nothing can be done about that, so there is an end after some ten seconds.
 */
const KILL_ROUNDS_MAX = 60;
const KILL_PAUSE_MS = 5;
const KILL_PAUSE_MS_MAX = 200;

/** When a look that failed is tried again: files run out, and come back. */
const AGAIN_MS = [10, 50, 200, 500, 1_000, 2_000];

const NEVER = new AbortController().signal;

/** Looks are shared: whoever asks while one is under way gets the next, together with all others who ask. */
export class Looks {
  #underWay: Promise<unknown> = Promise.resolve();
  #next: { sinceTicks: number; readonly look: Promise<Look> } | null = null;

  /** Markers are read of processes that started at `sinceTicks` or later. Infinity: of none, which is much cheaper. */
  take(sinceTicks: number): Promise<Look> {
    if (this.#next) {
      this.#next.sinceTicks = Math.min(this.#next.sinceTicks, sinceTicks);
      return this.#next.look;
    }
    const look: Promise<Look> = this.#underWay.then(() => {
      this.#next = null;
      return lookAround(next.sinceTicks);
    });
    const next = { sinceTicks, look };
    this.#next = next;
    this.#underWay = look.catch(() => null); // Told to those who wait for it.
    return look;
  }
}

async function lookAround(sinceTicks: number): Promise<Look> {
  const processes = new Map<number, Seen>();
  const markers = new Map<number, string>();
  const pids = HAS_PROC ? await everyPid() : [];
  const readSome = async (): Promise<void> => {
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const seen = await seenOf(pid);
      if (seen === null) continue;
      processes.set(pid, seen);
      const marker = seen.startTicks < sinceTicks ? null : await markerOf(pid);
      if (marker !== null) markers.set(pid, marker);
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, readSome));
  const all = [...processes.values()];
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const bySession = Map.groupBy(all, ({ session }) => session);
  return { processes, markers, byParent, bySession };
}

/** Those of the tree that live. They are known from now on. */
export function membersOf(look: Look, tree: Tree): readonly Seen[] {
  const waiting = [...look.processes.values()].filter(
    ({ pid, startTicks }) => tree.known.get(pid) === startTicks || look.markers.get(pid) === tree.id,
  );
  const found = new Set<Seen>();
  const sessions = new Set([0, 1, look.processes.get(process.pid)?.session]); // which are not followed, or were already
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { pid, startTicks, session } = next;
    if (found.has(next) || pid <= 1 || pid === process.pid || startTicks < tree.sinceTicks) continue; // F2
    found.add(next);
    waiting.push(...(look.byParent.get(pid) ?? []));
    if (!sessions.has(session)) waiting.push(...(look.bySession.get(session) ?? []));
    sessions.add(session);
  }
  tree.known.clear();
  for (const { pid, startTicks } of found) tree.known.set(pid, startTicks);
  return [...found].filter(({ isDead }) => !isDead);
}

export interface LookingParts {
  readonly looks: Looks;
  readonly world: World;
  /** Told of every look at the tree, so that what it used is known until its end. */
  readonly seen: (members: readonly Seen[]) => void;
}

/** SIGTERM, a grace, then SIGKILL until nothing is left. False: something cannot be killed. Rejects when it cannot be seen. */
export async function endTree(parts: LookingParts, tree: Tree, grace: Grace): Promise<boolean> {
  if (!HAS_PROC) return await endGroup(parts.world, tree.group.leader.pid, grace);
  try {
    return await endMembers(parts, tree, grace);
  } catch (error) {
    tree.group.signal("SIGKILL"); // F4
    throw error;
  }
}

async function endMembers(parts: LookingParts, tree: Tree, grace: Grace): Promise<boolean> {
  const { world } = parts;
  let members = await leftOf(parts, tree);
  if (members.length === 0) return true;
  await sendAll(parts, { tree, members, name: "SIGTERM" });
  while (members.length > 0 && !grace.isOver) {
    await grace.wait();
    members = await leftOf(parts, tree);
  }
  for (let round = 1; members.length > 0 && round <= KILL_ROUNDS_MAX; round += 1) {
    await sendAll(parts, { tree, members, name: "SIGKILL" });
    await world.sleep(Math.min(KILL_PAUSE_MS * round, KILL_PAUSE_MS_MAX), NEVER);
    members = await leftOf(parts, tree);
  }
  return members.length === 0; // F3
}

/**
 * What lives of it, without a launcher that only waits. One that forks and ends while a look goes on is missed together
 * with its child; so none is believed only after a look at the stopped group, or, when there is no launcher, a second one.
 */
export async function leftOf(parts: LookingParts, tree: Tree): Promise<readonly Seen[]> {
  const members = await living(parts, tree);
  return members.length > 0 ? members : await tree.group.stopped(() => living(parts, tree));
}

async function living({ looks, world, seen }: LookingParts, tree: Tree): Promise<readonly Seen[]> {
  const members = membersOf(await patiently(world, () => looks.take(tree.sinceTicks)), tree);
  seen(members);
  const { leader } = tree.group;
  return members.filter(({ pid }) => pid !== leader.pid || !leader.isWaiting());
}

/** F4. */
async function patiently<Value>(world: World, look: () => Promise<Value>): Promise<Value> {
  for (const pauseMs of AGAIN_MS) {
    try {
      return await look();
    } catch {
      await world.sleep(pauseMs, NEVER);
    }
  }
  return await look();
}

interface Sending {
  readonly tree: Tree;
  readonly members: readonly Seen[];
  readonly name: NodeJS.Signals;
}

/** The launcher's group first, in one stroke, so that none of it can fork meanwhile; then who is not in it, one by one. */
async function sendAll({ world }: LookingParts, { tree, members, name }: Sending): Promise<void> {
  const { leader } = tree.group;
  const isInGroup = ({ group, session }: Seen): boolean => group === leader.pid && session === leader.pid;
  const isStillThere = (member: Seen): Promise<boolean> => patiently(world, () => isSame(member));
  // A group keeps its number while somebody is in it, and who is in this session came out of the launcher.
  const one = members.find(isInGroup);
  const isSent =
    tree.group.signal(name) || (one && (await isStillThere(one)) && signal(-leader.pid, name)) === true;
  for (const member of isSent ? members.filter((each) => !isInGroup(each)) : members)
    if (await isStillThere(member)) signal(member.pid, name);
}

/** F1. A process cannot be held by its number alone, so some microseconds are left in which it might be another's. */
async function isSame({ pid, startTicks }: Seen): Promise<boolean> {
  const now = await seenOf(pid);
  return now !== null && !now.isDead && now.startTicks === startTicks;
}

/** Where there is no /proc: the group only. Who left it is not found, and a number that was given again is not noticed. */
async function endGroup(world: World, leader: number, grace: Grace): Promise<boolean> {
  signal(-leader, "SIGTERM");
  while (!grace.isOver) {
    if (!signal(-leader, 0)) return true;
    await grace.wait();
  }
  signal(-leader, "SIGKILL");
  for (let round = 1; round <= KILL_ROUNDS_MAX && signal(-leader, 0); round += 1)
    await world.sleep(KILL_PAUSE_MS_MAX, NEVER);
  return !signal(-leader, 0);
}
