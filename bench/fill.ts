// Homes with something in them, made through the public interface like everything else, once per run.
//
//   many(n)   n sessions of one message each. Every property that a list can be asked for has three values, thrown
//             by dice, so that each filter leaves about a third, whatever n is.
//   long(n)   one session of n entries, of which a compaction just left the last fifty in the context.

import { RealWorld, SimulatedWorld } from "../src/base/world.ts";
import { directKey, groupKey, hookKey, mainKey, parseAgent, type SessionKey } from "../src/routing/key.ts";
import type { RunState } from "../src/sessions/session.ts";
import type { LocalStore } from "../src/store/local/local.ts";
import type { Change } from "../src/store/change.ts";
import { entryId, type Draft } from "../src/transcript/entry.ts";
import { textAt, userMessage } from "./load.ts";
import { searchIdle, type Scratch } from "./scratch.ts";

/** Commits under way at once while a home is filled: enough for full groups, few enough for little memory. */
const IN_FLIGHT = 2_000;

/** Entries a commit while a long session is made. */
const ENTRIES_AT_ONCE = 1_000;

/** What the compaction of a long session kept. */
export const KEPT_ENTRIES = 50;

/** Sessions are made this far apart by their clock: a hundred share each second, by which lists are ordered. */
const APART_MS = 10;

export const AGENTS = ["red", "green", "blue"] as const;
export const TITLES = ["apple", "pear"] as const; // of the two thirds that have no label
export const LABEL = "labelled";
export const PARENT = mainKey(parseAgent("red"));

export interface ManyHome {
  readonly home: string;
  readonly count: number;
  /** When the first half had been made, by the clock of the home. */
  readonly halfMs: number;
}

export interface LongHome {
  readonly home: string;
  readonly key: SessionKey;
}

export class Filled {
  readonly #scratch: Scratch;
  readonly #say: (words: string) => void;
  readonly #many = new Map<number, Promise<ManyHome>>();
  readonly #long = new Map<number, Promise<LongHome>>();

  constructor(scratch: Scratch, say: (words: string) => void) {
    this.#scratch = scratch;
    this.#say = say;
  }

  many(count: number): Promise<ManyHome> {
    const made = this.#many.get(count) ?? this.#makeMany(count);
    this.#many.set(count, made);
    return made;
  }

  long(count: number): Promise<LongHome> {
    const made = this.#long.get(count) ?? this.#makeLong(count);
    this.#long.set(count, made);
    return made;
  }

  async #makeMany(count: number): Promise<ManyHome> {
    const home = this.#scratch.home(`many-${count}`);
    const clock = new SteppedClock(Date.now() - count * APART_MS);
    const store = await this.#scratch.open(home, clock);
    const before = performance.now();
    const dice = new SimulatedWorld(count);
    await store.commit([opened(PARENT, clock, null, null)]);
    const underWay = new Set<Promise<unknown>>();
    let halfMs = 0;
    for (let n = 1; n < count; n += 1) {
      clock.step();
      if (n === count / 2) halfMs = clock.nowMs();
      const commit = store.commit(oneOfMany(n, dice, clock)).finally(() => underWay.delete(commit));
      underWay.add(commit);
      if (underWay.size >= IN_FLIGHT) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    await this.#done(store, `${count} sessions`, before);
    return { home, count, halfMs };
  }

  async #makeLong(count: number): Promise<LongHome> {
    const home = this.#scratch.home(`long-${count}`);
    const store = await this.#scratch.open(home);
    const before = performance.now();
    const clock = new RealWorld();
    const key = directKey({ agent: parseAgent("main"), channel: null, account: null, peer: "long" });
    const open = opened(key, clock, null, null);
    await store.commit([open]);
    const append = { do: "append", key, fence: 0, rewindTo: null } as const;
    for (let after = 0; after < count - 1; after += ENTRIES_AT_ONCE) {
      const length = Math.min(ENTRIES_AT_ONCE, count - 1 - after);
      const entries = Array.from({ length }, (_, at) => oneOfLong(after + at));
      await store.commit([{ ...append, after, entries, contextSeq: null }]);
    }
    const contextSeq = count - KEPT_ENTRIES;
    const compaction: Draft = {
      type: "compaction",
      timestamp: new Date().toISOString(),
      summary: textAt(0),
      firstKeptEntryId: entryId(open.transcript, contextSeq),
      tokensBefore: 150_000,
    };
    await store.commit([{ ...append, after: count - 1, entries: [compaction], contextSeq }]);
    await this.#done(store, `a session of ${count} entries`, before);
    return { home, key };
  }

  async #done(store: LocalStore, what: string, before: number): Promise<void> {
    await store.checkpoint();
    const filledMs = performance.now() - before;
    await searchIdle(store);
    const searchMs = performance.now() - before - filledMs;
    this.#say(
      `made ${what} in ${(filledMs / 1_000).toFixed(1)} s; search needed ${(searchMs / 1_000).toFixed(1)} s more`,
    );
    await this.#scratch.close(store);
  }
}

/** So that sessions made in a burst have different times, as those of a year do. */
class SteppedClock extends RealWorld {
  #nowMs: number;

  constructor(startMs: number) {
    super();
    this.#nowMs = startMs;
  }

  override nowMs(): number {
    return this.#nowMs;
  }

  step(): void {
    this.#nowMs += APART_MS;
  }
}

function opened(key: SessionKey, world: RealWorld, parent: SessionKey | null, label: string | null) {
  const transcript = world.newId();
  const settings = { label };
  return {
    do: "open",
    key,
    transcript,
    cwd: "/home/ada/garden",
    parent,
    settings,
    copy: null,
    ifExists: "refuse",
  } as const satisfies Change;
}

function oneOfMany(n: number, dice: SimulatedWorld, clock: SteppedClock): Change[] {
  const third = (): number => Math.floor(dice.random() * 3);
  const agent = parseAgent(AGENTS[third()] ?? "");
  const chat = { agent, channel: null, account: null, peer: `p${n}` };
  const key = [directKey(chat), groupKey(chat), hookKey(agent, `p${n}`)][third()] ?? mainKey(agent);
  const text = `${TITLES[n % 2]} ${n} ${textAt(n)}`.slice(0, 200);
  const parent = third() === 0 ? PARENT : null;
  const label = third() === 0 ? LABEL : null;
  const states: RunState[] = [
    { kind: "idle" },
    { kind: "waiting", sinceMs: clock.nowMs(), for: "person" },
    { kind: "ended", atMs: clock.nowMs(), outcome: "done", reason: null },
  ];
  const entries = [userMessage(text, `ext:bench:${n}`)];
  return [
    opened(key, clock, parent, label),
    { do: "append", key, fence: 0, after: 0, entries, rewindTo: null, contextSeq: null },
    { do: "run", key, fence: 0, state: states[third()] ?? { kind: "idle" } },
  ];
}

/** A person writes, the model calls a tool, the tool answers, the model answers: a quarter each. */
function oneOfLong(n: number): Draft {
  const text = textAt(n);
  if (n % 4 === 0) return userMessage(text, `ext:bench:${n}`);
  const timestamp = new Date().toISOString();
  const at = Date.now();
  if (n % 4 === 2) {
    const content = [{ type: "text", text }] as const;
    const result = {
      role: "toolResult",
      toolCallId: `call-${n - 1}`,
      toolName: "read",
      isError: false,
    } as const;
    return { type: "message", timestamp, message: { ...result, content, timestamp: at } };
  }
  const usage = { input: 1_000, output: 200, cacheRead: 0, cacheWrite: 0, cost: { total: 0.01 } };
  const model = { api: "rehearsal", provider: "rehearsal", model: "rehearsal", usage } as const;
  const call = { type: "toolCall", id: `call-${n}`, name: "read", arguments: { path: "README.md" } } as const;
  const content =
    n % 4 === 1 ? ([{ type: "text", text }, call] as const) : ([{ type: "text", text }] as const);
  const stopReason = n % 4 === 1 ? "toolUse" : "stop";
  return {
    type: "message",
    timestamp,
    message: { role: "assistant", content, ...model, stopReason, timestamp: at },
  };
}
