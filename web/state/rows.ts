// Rows
//
// Sessions as this page knows them: whatever was listed, and whatever has changed since. One stream tells of every change, however
// many parts of the page show it.
//
//   Owns:      the newest row of each session that anybody asked for or that changed.
//   Does not:  decide what is shown, and in which order (views/processes).
//
// Invariants
//   R1. The stream begins before anything is listed: so no change falls between the two.
//   R2. Changes are gathered, and told at most every TELL_MS: at a thousand events a second the page has other things to do.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { follow } from "../wire/socket.ts";

/** Rows that are kept. Past it the oldest that nobody has changed go: whoever needs them asks again. */
const ROWS_MAX = 250_000;
const TELL_MS = 120;

export interface Told {
  readonly changed: ReadonlyMap<string, Row>;
  readonly gone: ReadonlySet<string>;
}

const known = new Map<string, Row>();
const listeners = new Set<(told: Told) => void>();
const forgotten = new Set<() => void>();

/** Grows with everything that is told: who reads rows in a render reads this too. */
const version = signal(0);

/** Whether the stream has begun: whoever lists before that may miss what changes in between (R1). */
export const begun = signal(false);

let changed = new Map<string, Row>();
let gone = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function rowOf(key: string): Row | null {
  return known.get(key) ?? null;
}

/** What a list or a status gave. A row that the stream told of is newer, whatever came first. */
export function learn(rows: readonly Row[]): void {
  for (const row of rows) {
    const had = known.get(row.sessionKey);
    if (had === undefined || had.updatedAt <= row.updatedAt) known.set(row.sessionKey, row);
  }
  for (const key of known.keys()) {
    if (known.size <= ROWS_MAX) break;
    known.delete(key);
  }
}

/** Hears of changes (R2), and of the moment when nothing that it has can be relied upon any more. Returns how to stop. */
export function onRows(told: (told: Told) => void, forget: () => void): () => void {
  listeners.add(told);
  forgotten.add(forget);
  return () => {
    listeners.delete(told);
    forgotten.delete(forget);
  };
}

/** R1. Called once, before anything is listed. */
export function watchRows(): void {
  follow(
    "watch",
    {},
    {
      event: (event) => {
        if (event.type === "row") {
          changed.set(event.row.sessionKey, event.row);
          gone.delete(event.row.sessionKey);
        } else if (event.type === "gone") {
          gone.add(event.sessionKey);
          changed.delete(event.sessionKey);
        } else {
          begun.value = true;
          return;
        }
        timer ??= setTimeout(tell, TELL_MS);
      },
      lost: () => {
        known.clear();
        begun.value = false;
        watchRows();
        for (const forget of forgotten) forget();
        version.value += 1;
      },
    },
  );
}

function tell(): void {
  timer = undefined;
  const told: Told = { changed, gone };
  changed = new Map();
  gone = new Set();
  for (const [key, row] of told.changed) known.set(key, row);
  for (const key of told.gone) known.delete(key);
  for (const listener of listeners) listener(told);
  version.value += 1;
}

/** The row of a session, live; null: it is not known (yet), or there is none. */
export function useRow(key: string | null): Row | null {
  void version.value;
  useEffect(() => {
    if (key === null || known.has(key)) return;
    void call("status", { sessionKey: key })
      .then((row) => {
        learn([row]);
        version.value += 1;
      })
      .catch(() => {}); // It is gone, or the daemon is away: then what is shown says so.
  }, [key]);
  return key === null ? null : rowOf(key);
}
