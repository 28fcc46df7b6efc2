// Reading
//
// A transcript while somebody looks at it: the window that is there, what the model says right now, and what was found out meanwhile.
//
//   Owns:      which pages are asked for, and what is done with what is heard.
//   Does not:  know what a window may hold (window.ts), or where on the screen anything is (scroller.ts).
//
// Invariants
//   D1. Pages first, then the stream from where they were: what is heard twice is there once (W1), and nothing falls between.
//   D2. A page is taken only by who asked for it: whoever went elsewhere meanwhile is not brought back.
//   D3. Pieces of an answer are thrown away when the connection is another: the answer comes whole, as an entry.
//   D4. Who reads further up still does when all is read anew, and nothing moves. Of another transcript the newest is shown.

import { signal } from "@preact/signals";
import type { Fault } from "../../../../src/base/fault.ts";
import type { Entry } from "../../../../src/transcript/entry.ts";
import { call, faultOf, isCalledOff } from "../../../wire/call.ts";
import type { StreamEvent } from "../../../wire/events.ts";
import { connections, follow } from "../../../wire/socket.ts";
import { arrived } from "../pending.tsx";
import { Growing, type Grown } from "./growing.ts";
import { told } from "./rows.ts";
import {
  holds,
  lastIn,
  opened,
  seqsIn,
  withEarlier,
  withLater,
  withNew,
  type Line,
  type Page,
  type Window,
} from "./window.ts";

const PAGE_ENTRIES = 60;
const SHOW_MS = 100; // between two looks at a text that grows
const AGAIN_MS = 1_000;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** What a model says now. */
export interface Speech {
  readonly text: Grown;
  readonly thinking: Grown;
}

/** What is to be seen, told anew each time it is to be. */
export interface Target {
  readonly seq: number | null; // null: the newest
  readonly isMarked: boolean;
}

/** What is said aloud to who does not see it. */
export interface Said {
  readonly words: string; // empty: nothing yet
  readonly times: number; // that anything was
}

type Heard = StreamEvent<"follow">;

export class Reading {
  readonly key: string;
  readonly window = signal<Window | null>(null);
  readonly target = signal<Target>({ seq: null, isMarked: false });
  readonly speech = signal<Speech | null>(null);
  readonly fault = signal<Fault | null>(null);
  readonly loading = signal<"all" | "earlier" | "later" | null>(null);
  readonly fresh = signal(0); //                              what came and was not seen yet
  readonly isFar = signal(false); //                          the newest entry is not seen
  readonly said = signal<Said>({ words: "", times: 0 }); //   the newest answer, for who listens
  readonly restarts = signal<readonly number[]>([]);

  /** Told by whoever scrolls: the newest entry is seen, and wants to be seen on. */
  isAtEnd = true;
  /** The first entry that is seen. */
  seen = 1;

  #heard = 0;
  #asking = new AbortController();
  #text = new Growing();
  #thinking = new Growing();
  #pieces: Extract<Heard, { type: "delta" }>[] = [];
  #step = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  #stop: (() => void) | null = null;

  constructor(key: string) {
    this.key = key;
  }

  close(): void {
    this.#asking.abort();
    this.#stop?.();
    this.#stop = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
  }

  // ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Shows an entry, or the newest; of what is there already nothing is asked for again. */
  async show(seq: number | null, isMarked = false): Promise<void> {
    const window = this.window.value;
    if (window === null || !holds(window, seq)) return await this.open(seq, isMarked);
    this.target.value = { seq, isMarked };
  }

  /** The same, read anew. */
  async open(seq: number | null, isMarked = false): Promise<void> {
    await this.#open({ seq, isMarked }, false);
  }

  /** `stays`: what is there stays where it is, as far as it is still there (D4). */
  async #open({ seq, isMarked }: Target, stays: boolean): Promise<void> {
    this.#asking.abort();
    const asking = (this.#asking = new AbortController());
    this.loading.value = "all";
    try {
      const before = this.window.value?.transcript;
      let page = await this.#around(seq, asking.signal);
      const isOther = stays && before !== undefined && page.transcript !== before;
      if (isOther) page = await this.#page({ before: NEWEST }, asking.signal);
      if (asking.signal.aborted) return;
      this.fault.value = null;
      this.loading.value = null;
      const at = isOther || (seq !== null && seq > page.lastSeq) ? null : seq;
      if (!stays || at === null || !seqsIn(page.lines).includes(at)) {
        this.target.value = { seq: at, isMarked };
        this.isAtEnd = at === null;
      }
      this.#take(opened(page, this.#heard), page.lines);
      if (at === null) this.fresh.value = 0;
      this.#follow(page.lastSeq);
    } catch (error) {
      if (asking.signal.aborted || isCalledOff(error)) return;
      this.loading.value = null;
      this.fault.value = faultOf(error);
    }
  }

  /** An entry comes with some before it: it is not to stand at the edge. */
  async #around(seq: number | null, signal: AbortSignal): Promise<Page> {
    if (seq === null) return await this.#page({ before: NEWEST }, signal);
    const page = await this.#page({ from: Math.max(1, seq) }, signal);
    if (lastIn(page.lines) === undefined) return await this.#page({ before: NEWEST }, signal);
    if (page.prev === null) return page;
    const earlier = await this.#page({ before: page.prev }, signal);
    if (earlier.transcript !== page.transcript) return page;
    return { ...page, lines: [...earlier.lines, ...page.lines], prev: earlier.prev };
  }

  async #page(
    where: { readonly from?: number; readonly before?: number },
    signal: AbortSignal,
  ): Promise<Page> {
    const page = await call("entries", { sessionKey: this.key, limit: PAGE_ENTRIES, ...where }, signal);
    const { transcript, lastSeq, prev, next } = page;
    return { transcript, lastSeq, prev, next, lines: page.entries as unknown as readonly Line[] };
  }

  async earlier(): Promise<void> {
    const prev = this.window.value?.prev ?? null;
    if (prev !== null)
      await this.#more("earlier", { before: prev }, (window, page) => withEarlier(window, page, prev));
  }

  async later(): Promise<void> {
    const next = this.window.value?.next ?? null;
    if (next !== null)
      await this.#more("later", { from: next }, (window, page) => withLater(window, page, next));
  }

  async #more(
    way: "earlier" | "later",
    where: { readonly from?: number; readonly before?: number },
    take: (window: Window, page: Page) => Window,
  ): Promise<void> {
    if (this.loading.value !== null) return;
    const { signal: asked } = this.#asking;
    this.loading.value = way;
    try {
      const page = await this.#page(where, asked);
      const window = this.window.value;
      if (asked.aborted || window === null) return; // D2
      this.loading.value = null;
      if (page.transcript === window.transcript) this.#take(take(window, page), page.lines);
      else await this.#anew();
    } catch (error) {
      if (asked.aborted || isCalledOff(error)) return;
      this.loading.value = null;
      this.fault.value = faultOf(error);
    }
  }

  /** What could not be read is asked for again, by whoever needs it; if nothing is heard any more, all of it. */
  again(): void {
    this.fault.value = null;
    if (this.#stop === null) void this.#anew();
  }

  /** D4 */
  async #anew(): Promise<void> {
    await this.#open({ seq: this.isAtEnd ? null : this.seen, isMarked: false }, true);
  }

  #take(window: Window, lines: readonly Line[]): void {
    this.#heard = Math.max(this.#heard, window.lastSeq);
    this.window.value = window;
    for (const line of lines) tellOf(line);
  }

  // ── What happens ──────────────────────────────────────────────────────────────────────────────────────────

  /** D1 */
  #follow(from: number): void {
    if (this.#stop !== null) return;
    this.#stop = follow(
      "follow",
      { sessionKey: this.key, from },
      {
        event: (event) => this.#hear(event),
        lost: () => {
          this.#stop = null;
          this.#heard = 0;
          this.#silence();
          this.#again = setTimeout(() => void this.#anew(), AGAIN_MS);
        },
      },
    );
  }

  /** D3. The connection is another one. */
  reconnected(): void {
    this.#silence();
    if (this.window.value === null || this.fault.value !== null) void this.#anew();
  }

  /** Who answers is another process than before; `after` was the last entry then. */
  restarted(after: number | null): void {
    if (after !== null) this.restarts.value = [...this.restarts.value, after];
  }

  get last(): number | null {
    const { window } = this;
    return window.value === null ? null : (seqsIn(window.value.lines).at(-1) ?? null);
  }

  #hear(event: Heard): void {
    if (event.type === "delta") return this.#piece(event);
    if (event.type !== "entry") return;
    const entry = event.entry as unknown as Entry;
    const isNew = event.seq > this.#heard;
    this.#heard = Math.max(this.#heard, event.seq);
    const { what } = told(entry);
    if (what === "answer" || what === "ended" || what === "silent") this.#silence();
    if (isNew) this.#notice(entry);
    const window = this.window.value;
    if (window === null) return;
    const grown = withNew(window, entry, this.isAtEnd ? "end" : "beginning");
    if (grown === null) void this.#anew();
    else this.#take(grown, [entry]);
  }

  #notice(entry: Entry): void {
    const item = told(entry);
    if (item.what === "answer" && item.text.trim() !== "") this.#say(`Answer: ${item.text}`);
    if (item.what === "ended" && item.outcome !== "done")
      this.#say(`The turn ended: ${item.outcome}. ${item.reason ?? ""}`);
    const isWorth = item.what === "answer" || item.what === "letter" || item.what === "report";
    if (isWorth && !this.isAtEnd) this.fresh.value += 1;
  }

  #say(words: string): void {
    this.said.value = { words, times: this.said.value.times + 1 };
  }

  #piece(piece: Extract<Heard, { type: "delta" }>): void {
    this.#pieces.push(piece);
    this.#timer ??= setTimeout(() => this.#show(), SHOW_MS);
  }

  #show(): void {
    this.#timer = undefined;
    for (const { turn, step, kind, text, begins } of this.#pieces) {
      const named = `${turn}/${step}`;
      if (begins || named !== this.#step) {
        [this.#text, this.#thinking, this.#step] = [new Growing(), new Growing(), named];
      }
      (kind === "text" ? this.#text : this.#thinking).add(text);
    }
    this.#pieces = [];
    this.speech.value = { text: this.#text.now, thinking: this.#thinking.now };
  }

  #silence(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pieces = [];
    this.#step = "";
    [this.#text, this.#thinking] = [new Growing(), new Growing()];
    this.speech.value = null;
  }
}

/** What was sent from here is not on its way any more. */
function tellOf(line: Line): void {
  if (line.type === "message" && line.mailId !== undefined) arrived(line.mailId);
}

/** When the daemon was started, as it was last asked; null: it was not, yet. */
let begun: string | null = null;

/** Looks after a reading while it is shown, and finds out whether who answers is another process than before. Returns how to stop. */
export function watchConnection(reading: Reading): () => void {
  let known = connections.peek();
  const look = async (): Promise<void> => {
    const after = reading.last;
    const { totals } = await call("overview", {});
    if (begun !== null && begun !== totals.since) reading.restarted(after);
    begun = totals.since;
  };
  begun = null; // What was before this was shown is nothing to tell.
  // Who may not ask, or finds nobody again, shows no rule: nothing else depends on it.
  void look().catch(() => {});
  return connections.subscribe((made) => {
    if (made === known) return;
    const isFirst = known === 0;
    known = made;
    if (!isFirst) reading.reconnected();
    void look().catch(() => {});
  });
}
