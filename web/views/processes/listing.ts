// Listing
//
// The sessions that are wanted, as far as they were fetched: what does something at once, the rest in pages, newest first, as far
// as somebody looks. Changes come in between at any time.
//
//   Owns:      the forest of one filter, and how far the list was read.
//   Does not:  show anything, or know how the daemon is reached.
//
// Invariants
//   L1. Pages are asked for one after the other: each begins where the one before ended.
//   L2. What came by the stream is never undone by a page that was asked for before it.

import type { Fault } from "../../../src/base/fault.ts";
import type { Input, Output } from "../../../src/calls/door.ts";
import type { Row } from "../../wire/events.ts";
import { Forest } from "./forest.ts";
import { asked, isAnything, isWanted, type Wanted } from "./wanted.ts";

/** Rows of one page, as the daemon gives them at most. */
const PAGE_ROWS = 200;
/** Lines that are there beyond what is seen: a page. */
const AHEAD_LINES = 200;
/** Pages that are read without anybody asking, when they bring no line below what is seen: all is folded away, or stands above. */
const HIDDEN_PAGES_MAX = 5;
/** Pages of each state in which something goes on: a gateway has not as many slots. */
const ACTIVE_PAGES_MAX = 5;
/** Pages between two that are shown, while everything is read. */
const PAGES_A_LOOK = 10;
const AGAIN_MS = 1_000;
const ACTIVE = ["running", "waiting", "paused"] as const;

/** Where rows come from, and who is told. */
export interface Door {
  readonly list: (input: Input<"list">, signal: AbortSignal) => Promise<Output<"list">>;
  readonly faultOf: (error: unknown) => Fault;
  /** Something is otherwise than it was. It may be said often. */
  readonly changed: () => void;
}

export class Listing {
  readonly forest: Forest<Row>;
  readonly wanted: Wanted;
  readonly #door: Door;
  readonly #over = new AbortController();
  readonly #gone = new Set<string>(); // while something is listed: it may be in a page that was made before (L2)
  #next: string | null = null;
  #isBegun = false;
  #isReading = false;
  #fault: Fault | null = null;
  #seen = 0; //          the last line that somebody sees, where it was then
  #seenKey = ""; //      and its key: what comes in above moves it; "": there is no such line yet
  #hiddenPages = 0; //   since a page last brought a line that is still to be seen
  #isForAll = false;
  #pages = 0;

  constructor(wanted: Wanted, door: Door) {
    this.wanted = wanted;
    this.#door = door;
    this.forest = new Forest({ foldsEnded: isAnything(wanted) });
  }

  /** False: there may be more than is listed. */
  get isWhole(): boolean {
    return this.#isBegun && this.#next === null;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  /** Everything is being read, because somebody wants to see the end of it. */
  get isForAll(): boolean {
    return this.#isForAll && !this.isWhole;
  }

  /** Why it does not go on; null: nothing is wrong. */
  get fault(): Fault | null {
    return this.#fault;
  }

  /** Reads what is missing. Does nothing while it reads, or when nothing is. */
  async read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#fault = null;
    this.#door.changed();
    try {
      if (!this.#isBegun) await this.#begin();
      while (this.#isMoreWanted()) await this.#page();
    } catch (error) {
      if (this.#over.signal.aborted) return;
      this.#fault = this.#door.faultOf(error);
    } finally {
      this.#isReading = false;
      this.#gone.clear();
    }
    this.#door.changed();
    if (this.#fault?.code === "rate_limited") setTimeout(() => void this.read(), AGAIN_MS);
  }

  /** Somebody sees lines up to this one. */
  see(last: number): void {
    if (last > this.#seenAt()) this.#hiddenPages = 0;
    this.#seen = last;
    this.#seenKey = this.forest.lines()[last]?.key ?? "";
    if (this.#isMoreWanted() && this.#fault === null) void this.read();
  }

  /** Somebody wants the next ones, though all that they bring may be folded away. */
  more(): void {
    this.#hiddenPages = 0;
    void this.read();
  }

  /** To the very end; or not any more. */
  readAll(isForAll: boolean): void {
    this.#isForAll = isForAll;
    if (isForAll) void this.read();
  }

  told({
    changed,
    gone,
  }: {
    readonly changed: ReadonlyMap<string, Row>;
    readonly gone: ReadonlySet<string>;
  }): void {
    for (const key of gone) this.#drop(key);
    for (const row of changed.values()) {
      this.#gone.delete(row.sessionKey);
      if (isWanted(row, this.wanted)) this.forest.put(row, "top");
      else this.#drop(row.sessionKey);
    }
    this.#door.changed();
  }

  /** Rows that were asked for once more: those that do something may do something else by now, without a change being told. */
  async refresh(): Promise<void> {
    try {
      this.#take((await this.#list({ state: "running" })).sessions);
      this.#door.changed();
    } catch {
      return; // The next time, or the stream, says it.
    }
  }

  stop(): void {
    this.#over.abort();
  }

  #drop(key: string): void {
    this.forest.drop(key);
    if (this.#isReading) this.#gone.add(key);
  }

  #isMoreWanted(): boolean {
    if (this.#over.signal.aborted) return false;
    if (!this.#isBegun) return true;
    if (this.#next === null) return false;
    if (this.#isForAll) return true;
    const isNear = this.forest.lines().length - this.#seen < AHEAD_LINES;
    return isNear && this.#hiddenPages < HIDDEN_PAGES_MAX;
  }

  #seenAt(): number {
    return this.forest.at(this.#seenKey) ?? this.#seen;
  }

  /** Below the last that is seen, wherever that is by now. */
  #linesBelow(): number {
    return this.forest.lines().length - this.#seenAt();
  }

  /** What does something is asked for by itself: among a hundred thousand it may not be among the newest. */
  async #begin(): Promise<void> {
    const { state, kind } = this.wanted;
    if (kind === null && state === null) this.#take((await this.#list({ kind: "main" })).sessions);
    if (state === null) await Promise.all(ACTIVE.map((each) => this.#active(each)));
    await this.#page();
    this.#isBegun = true;
  }

  async #active(state: (typeof ACTIVE)[number]): Promise<void> {
    let cursor: string | null = null;
    for (let page = 0; page < ACTIVE_PAGES_MAX && (page === 0 || cursor !== null); page += 1) {
      const at: Input<"list"> = cursor === null ? {} : { cursor };
      const given: Output<"list"> = await this.#list({ state, ...at });
      this.#take(given.sessions);
      cursor = given.next;
    }
  }

  async #page(): Promise<void> {
    const before = this.#isForAll ? 0 : this.#linesBelow();
    const { sessions, next } = await this.#list(this.#next === null ? {} : { cursor: this.#next });
    this.#take(sessions);
    this.#next = next;
    this.#pages += 1;
    if (this.#isForAll && this.#pages % PAGES_A_LOOK !== 0) return; // Nobody reads what only passes by.
    // A filter finds little in many pages, and shows all that it finds: only what is folded away, or stands above because it is
    // older than its siblings (F3), is not worth going on for.
    const isHidden = sessions.length > 0 && this.#linesBelow() <= before;
    this.#hiddenPages = isHidden ? this.#hiddenPages + 1 : 0;
    this.#door.changed();
  }

  async #list(more: Input<"list">): Promise<Output<"list">> {
    const { signal } = this.#over;
    const given = await this.#door.list({ ...asked(this.wanted), limit: PAGE_ROWS, ...more }, signal);
    signal.throwIfAborted();
    return given;
  }

  /** L2. */
  #take(rows: readonly Row[]): void {
    for (const row of rows) {
      const had = this.forest.branch(row.sessionKey)?.row;
      if (this.#gone.has(row.sessionKey) || (had !== undefined && had.updatedAt > row.updatedAt)) continue;
      if (isWanted(row, this.wanted)) this.forest.put(row, "end");
      else if (had !== undefined) this.forest.drop(row.sessionKey);
    }
  }
}
