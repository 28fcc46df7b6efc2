// What a commit does with archives. Lines, names of blobs and taken letters stay where they are: they go by the transcript, or
// by the number of the session.

import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { checkAtRest, checkRestore, noSuchArchive, restoredRow } from "../archived.ts";
import { checkUntouched, type Of } from "../rules.ts";
import type { Tables } from "./tables.ts";

/** How a commit changes its tables, so that it can be undone. */
export interface Changing {
  readonly tables: Tables;
  readonly atMs: number;
  readonly put: <Key, Value>(map: Map<Key, Value>, key: Key, value: Value | null) => void;
  /** One file goes, with what it names. */
  readonly bury: (transcript: string, key: SessionKey) => void;
}

export function archive({ tables, atMs, put }: Changing, { key, expect, why }: Of<"archive">): void {
  const { n, row } = tables.session(key);
  checkUntouched(row, expect, {
    mail: tables.waitingFor(key).length > 0,
    children: tables.sessions.values().some((each) => each.row.parent === key),
  });
  checkAtRest(row, {
    timer: tables.timers.values().some((timer) => timer.key === key),
    answer: tables.outbox.values().some((each) => each.row.key === key && each.row.refused === null),
  });
  const { id } = row.transcript;
  const bytes = tables.bytesOf(row);
  put(tables.archives, id, {
    ...{ id, key, agent: row.agent, why, archivedAtMs: atMs, session: row, bytes, packedBytes: null },
  });
  put(tables.archivedAs, id, n);
  put(tables.sessions, key, null);
}

/** Under the number that it had; what a session was before it began anew gets one of its own. */
export function restore({ tables, atMs, put }: Changing, { archive: id }: Of<"restore">): Session {
  const found = tables.archives.get(id) ?? null;
  checkRestore(id, found, found !== null && tables.sessions.has(found.key));
  const row = restoredRow(found, atMs);
  put(tables.sessions, row.key, { n: tables.archivedAs.get(id) ?? tables.next(), row });
  put(tables.archives, id, null);
  put(tables.archivedAs, id, null);
  return row;
}

export function purge({ tables, put, bury }: Changing, id: string): void {
  const found = tables.archives.get(id);
  if (!found) throw noSuchArchive(id);
  const { key } = found;
  const n = tables.archivedAs.get(id);
  for (const transcript of [id, ...tables.olderOf(id)]) bury(transcript, key);
  for (const [letter, taken] of tables.taken)
    if (taken.by === n && !letter.startsWith("ext:")) put(tables.taken, letter, null);
  put(tables.archives, id, null);
  put(tables.archivedAs, id, null);
  const lives = tables.sessions.has(key) || tables.archives.values().some((each) => each.key === key);
  if (!lives)
    for (const [answer, { row }] of tables.outbox) if (row.key === key) put(tables.outbox, answer, null);
}

/** All that were put away under a key. */
export function purgeAll(changing: Changing, key: SessionKey): void {
  for (const { id } of [...changing.tables.archives.values()].filter((each) => each.key === key))
    purge(changing, id);
}
