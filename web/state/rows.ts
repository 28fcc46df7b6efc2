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
import { call, faultOf } from "../wire/call.ts";
import type { Row } from "../wire/events.ts";
import { connections, follow } from "../wire/socket.ts";

/** Rows that are kept. Past it the oldest that nobody has changed go: whoever needs them asks again. */
const ROWS_MAX = 250_000;
const TELL_MS = 120;
const PAUSE_MS = 5_000;

export interface Told {
  readonly changed: ReadonlyMap<string, Row>;
  readonly gone: ReadonlySet<string>;
}

const known = new Map<string, Row>();
const missing = new Set<string>(); // of those that were asked for: the daemon has none of that name
const listeners = new Set<(told: Told) => void>();
const forgotten = new Set<() => void>();

/** Grows with everything that is told: who reads rows in a render reads this too. */
const version = signal(0);

/** Grows when everything is forgotten: who shows a row asks for it again. */
const generation = signal(0);

/** Whether the stream has begun: whoever lists before that may miss what changes in between (R1). */
export const begun = signal(false);

let changed = new Map<string, Row>();
let gone = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** What a list or a status gave. A row that the stream told of is newer, whatever came first. */
export function learn(rows: readonly Row[]): void {
  for (const row of rows) {
    const had = known.get(row.sessionKey);
    if (had === undefined || had.updatedAt <= row.updatedAt) known.set(row.sessionKey, row);
    missing.delete(row.sessionKey);
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

/** R1. Called once, before anything is listed; by itself again when it was lost. */
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
      lost: ({ code }) => {
        forgetAll();
        if (code === "cursor_expired") watchRows();
        else setTimeout(watchRows, PAUSE_MS); // It would be refused again, as fast as it is asked for.
      },
    },
  );
}

function forgetAll(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const each of [known, missing, changed, gone]) each.clear();
  begun.value = false;
  generation.value += 1;
  for (const forget of forgotten) forget();
}

function tell(): void {
  timer = undefined;
  const told: Told = { changed, gone };
  changed = new Map();
  gone = new Set();
  for (const [key, row] of told.changed) {
    known.set(key, row);
    missing.delete(key);
  }
  for (const key of told.gone) if (known.delete(key)) missing.add(key);
  for (const listener of listeners) listener(told);
  version.value += 1;
}

/** The row of a session as it is known just now; null: it is not. Nobody is asked, and nobody is told when it changes. */
export function rowNow(key: string): Row | null {
  return known.get(key) ?? null;
}

/** Whether it is known that there is no such session (any more). */
export function isMissing(key: string): boolean {
  void version.value;
  return missing.has(key);
}

/** The row of a session, live; null: it is not known (yet), or there is none. */
export function useRow(key: string | null): Row | null {
  void version.value;
  useEffect(() => {
    if (key === null || known.has(key)) return;
    void call("status", { sessionKey: key })
      .then(
        (row) => learn([row]),
        (error: unknown) => {
          if (faultOf(error).code === "not_found") missing.add(key); // Else it is asked for with the next connection.
        },
      )
      .then(() => (version.value += 1));
  }, [key, generation.value, connections.value]);
  return key === null ? null : (known.get(key) ?? null);
}
