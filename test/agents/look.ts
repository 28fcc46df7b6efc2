// What a folder shows when everything has come to rest: what the campaign of turns looks at, and of which sessions nothing is
// left, and which timers are.

import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { look as lookAtTurns, type Seen as SeenOfTurns } from "../turns/look.ts";

/** A session of which nothing stayed but its report. */
export interface Gone {
  readonly key: string;
  readonly transcript: string;
}

export interface Seen extends SeenOfTurns {
  readonly gone: readonly Gone[];
  /** Keys of the sessions that they are for. */
  readonly timers: readonly string[];
}

/** The store shows neither to anybody: nobody else has to know of a session that is gone. */
export async function look(folder: string): Promise<Seen> {
  const seen = await lookAtTurns(folder);
  const database = new DatabaseSync(join(folder, "home", "state.sqlite"), { readOnly: true });
  try {
    const gone = database.prepare("SELECT key, transcript FROM tombstones").all() as unknown as Gone[];
    const timers = database.prepare("SELECT key FROM timers").all() as unknown as { readonly key: string }[];
    return { ...seen, gone, timers: timers.map(({ key }) => key) };
  } finally {
    database.close();
  }
}
