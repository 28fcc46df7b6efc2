// Scroller
//
// Where in a transcript somebody is. What is read stays where it is, whatever comes in above it, grows or goes; who is at the end
// stays there. It is done by hand: browsers differ in what they do by themselves, and do nothing at the very top.
//
//   Owns:      the position, and when more is needed.
//   Does not:  know what is shown, but that rows follow each other and have numbers.
//
// Invariants
//   P1. Of the rows that are seen, the first that is still there after a change is where it was.
//   P2. More is asked for in the direction in which somebody goes: a window that is moved never moves back by itself.
//   P3. Only somebody who scrolls leaves the end. What is moved because the box has another height stays at it.

import type { Reading } from "./reading.ts";
import { ENTRIES_MAX } from "./window.ts";

/** Pixels from an edge at which more is asked for; and from the end, within which it is the end. */
const NEAR = 1_400;
const AT_END = 48;

interface Anchor {
  readonly row: HTMLElement;
  readonly top: number;
}

export class Scroller {
  readonly #reading: Reading;
  readonly #box: HTMLElement;
  readonly #content: HTMLElement;
  readonly #onSeen: (seq: number) => void;
  readonly #watcher = new ResizeObserver(() => this.settle());
  #anchors: readonly Anchor[] = [];
  #top = 0;
  #height = 0; //                                             of the box, when it was last looked at
  #way: "up" | "down" | null = null;

  constructor(reading: Reading, box: HTMLElement, onSeen: (seq: number) => void) {
    this.#reading = reading;
    this.#box = box;
    this.#content = box.firstElementChild as HTMLElement;
    this.#onSeen = onSeen;
    this.#watcher.observe(box);
    this.#watcher.observe(this.#content);
    box.addEventListener("scroll", this.#scrolled, { passive: true });
  }

  close(): void {
    this.#watcher.disconnect();
    this.#box.removeEventListener("scroll", this.#scrolled);
  }

  /** After whatever may have changed what is there. */
  settle(): void {
    const box = this.#box;
    if (this.#reading.isAtEnd && this.#reading.window.value?.next === null) box.scrollTop = box.scrollHeight;
    else this.#keep();
    this.#look();
  }

  /** Brings an entry into sight, or the newest. */
  show(seq: number | null): void {
    this.#way = null;
    const row = seq === null ? null : this.rows.find((each) => Number(each.dataset["seq"] ?? 0) >= seq);
    this.#reading.isAtEnd = seq === null;
    this.#box.scrollTop =
      row == null ? this.#box.scrollHeight : row.offsetTop - Math.round(this.#box.clientHeight / 4);
    this.#look();
  }

  get rows(): readonly HTMLElement[] {
    return [...this.#content.querySelectorAll<HTMLElement>("[data-row]")];
  }

  /** Those that can be seen. */
  get inSight(): readonly HTMLElement[] {
    const [from, to] = [this.#box.scrollTop, this.#box.scrollTop + this.#box.clientHeight];
    return this.rows.filter((row) => row.offsetTop + row.offsetHeight > from && row.offsetTop < to);
  }

  get #isEndSeen(): boolean {
    const { scrollTop, clientHeight, scrollHeight } = this.#box;
    return scrollHeight - clientHeight - scrollTop < AT_END && this.#reading.window.value?.next === null;
  }

  readonly #scrolled = (): void => {
    const { scrollTop: top, clientHeight } = this.#box;
    const reading = this.#reading;
    // P3. What stands below grew and went meanwhile: a browser moves up what had too much room for a moment, and not down again.
    if (reading.isAtEnd && clientHeight !== this.#height) return this.settle();
    if (top < this.#top) this.#way = "up";
    if (top > this.#top) this.#way = "down";
    if (this.#isEndSeen) reading.isAtEnd = true;
    else if (top < this.#top) reading.isAtEnd = false;
    this.#look();
  };

  /** P1 */
  #keep(): void {
    const anchor = this.#anchors.find(({ row }) => row.isConnected);
    if (anchor === undefined) return;
    const moved = anchor.row.offsetTop - anchor.top;
    if (moved !== 0) this.#box.scrollTop += moved;
  }

  #look(): void {
    const seen = this.inSight;
    this.#anchors = seen.map((row) => ({ row, top: row.offsetTop }));
    this.#top = this.#box.scrollTop;
    this.#height = this.#box.clientHeight;
    const reading = this.#reading;
    // Who looks at the beginning of what is short sees the end as well.
    reading.isFar.value = !reading.isAtEnd && !this.#isEndSeen;
    if (!reading.isFar.value) reading.fresh.value = 0;
    const first = seen.find((row) => row.dataset["seq"] !== undefined);
    if (first !== undefined) {
      reading.seen = Number(first.dataset["seq"]);
      this.#onSeen(reading.seen);
    }
    this.#want();
  }

  /** P2 */
  #want(): void {
    const { window, loading, fault } = this.#reading;
    if (window.value === null || loading.value !== null || fault.value !== null) return;
    const { scrollTop, clientHeight, scrollHeight } = this.#box;
    const hasRoom = window.value.lines.length < ENTRIES_MAX / 2;
    const isUp = this.#way === "up" || hasRoom;
    const isDown = this.#way === "down" || hasRoom;
    if (isUp && scrollTop < NEAR && window.value.prev !== null) void this.#reading.earlier();
    else if (isDown && scrollHeight - clientHeight - scrollTop < NEAR && window.value.next !== null)
      void this.#reading.later();
  }
}
