// A process that makes the context of one session ready once, says what it took, and ends. Everything that the
// figure must not contain (loading modules, opening the store, starting threads) is done before the clock starts.
//
//   resume-once.ts ours <home> <key>
//   resume-once.ts shown <home> <key>       and as messages for a model
//   resume-once.ts pi <transcript file>

import { readFileSync } from "node:fs";
import { assemble } from "../src/context/assemble.ts";
import { parseKey } from "../src/routing/key.ts";
import type { Entry, Gap } from "../src/transcript/entry.ts";
import { loadPi, type PiSession } from "./peers.ts";
import { openStore } from "./scratch.ts";

export interface Resumed {
  readonly firstMs: number;
  /** The same again, in the same process. */
  readonly againMs: readonly number[];
  readonly items: number;
  /** Growth of the process's resident memory over the first time, all threads, garbage not yet collected. */
  readonly residentBytes: number;
  /** Bytes that system calls read, over the first time; 0 where the system does not count them. */
  readonly readBytes: number;
}

const AGAIN = 20;

async function ours(
  home: string,
  name: string,
  show: (items: readonly (Entry | Gap)[]) => readonly unknown[],
): Promise<Resumed> {
  const store = await openStore(home);
  await store.timers({ dueByMs: 0 }); // the reader's thread is there, and has looked at no session
  await store.search({ text: "nothing" }); // and so is search's
  const key = parseKey(name);
  const resumed = await measured(AGAIN, async () => {
    const row = await store.session(key);
    return show(await Array.fromAsync(store.entries(row?.transcript.id ?? "", { from: "context" })));
  });
  await store.close();
  return resumed;
}

async function pi(path: string): Promise<Resumed> {
  const { SessionManager } = await loadPi();
  const held: PiSession[] = []; // as its agent holds it while the session is open
  return await measured(0, async () => {
    const session = SessionManager.open(path);
    held.push(session);
    return session.buildSessionContext().messages;
  });
}

async function measured(again: number, resume: () => Promise<readonly unknown[]>): Promise<Resumed> {
  globalThis.gc?.();
  const readBefore = readBytes();
  const residentBefore = process.memoryUsage.rss();
  const before = performance.now();
  const items = await resume();
  const firstMs = performance.now() - before;
  const read = readBytes() - readBefore;
  const residentBytes = process.memoryUsage.rss() - residentBefore;
  const againMs: number[] = [];
  for (let n = 0; n < again; n += 1) {
    const start = performance.now();
    await resume();
    againMs.push(performance.now() - start);
  }
  return {
    firstMs,
    againMs,
    items: items.length,
    residentBytes,
    readBytes: read,
  };
}

function readBytes(): number {
  if (process.platform !== "linux") return 0;
  return Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1] ?? 0);
}

function shown(items: readonly (Entry | Gap)[]): readonly unknown[] {
  return assemble(
    items.filter((item) => item.type !== "gap"),
    false,
  );
}

const [, , who, first = "", second = ""] = process.argv;
const show = who === "shown" ? shown : (items: readonly (Entry | Gap)[]) => items;
process.send?.(who === "pi" ? await pi(first) : await ours(first, second, show));
process.disconnect();
