// What a commit does with archives. Lines, names of blobs and taken letters stay where they are: they go by the transcript, or
// by the number of the session.

import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import {
  checkAtRest,
  checkGivesWay,
  checkMayGo,
  checkRestore,
  noSuchArchive,
  restoredRow,
  swappedRow,
} from "../archived.ts";
import { checkUntouched, type Of } from "../rules.ts";
import type { Archive } from "../store.ts";
import type { Numbered, Tables } from "./tables.ts";

/** How a commit changes its tables, so that it can be undone. */
export interface Changing {
  readonly tables: Tables;
  readonly atMs: number;
  readonly put: <Key, Value>(map: Map<Key, Value>, key: Key, value: Value | null) => void;
  /** One file goes, with what it names. */
  readonly bury: (transcript: string, key: SessionKey) => void;
}

export function archive(changing: Changing, { key, expect, why }: Of<"archive">): void {
  const { tables } = changing;
  const numbered = tables.session(key);
  const { row } = numbered;
  checkUntouched(row, expect, {
    mail: tables.waitingFor(key).length > 0,
    children: tables.sessions.values().some((each) => each.row.parent === key),
  });
  checkAtRest(row, {
    timer: tables.timers.values().some((timer) => timer.key === key),
    answer: tables.outbox.values().some((each) => each.row.key === key && each.row.refused === null),
  });
  checkMayGo(
    row,
    why,
    tables.jobs.values().some(({ target }) => target.kind === "session" && target.key === key),
  );
  putAway(changing, numbered, why);
}

function putAway({ tables, atMs, put }: Changing, { n, row }: Numbered<Session>, why: Archive["why"]): void {
  const { key, agent, transcript } = row;
  const { id } = transcript;
  put(tables.archives, id, {
    ...{ id, key, agent, why, archivedAtMs: atMs, session: row, packedBytes: null },
    ...{ firstSeq: tables.firstSeqOf(row), bytes: tables.bytesOf(row) },
  });
  put(tables.archivedAs, id, n);
  put(tables.sessions, key, null);
}

/** Under the number that it had; what a session was before it began anew has that of who gives way to it, or one of its own. */
export function restore(changing: Changing, change: Of<"restore">): Session {
  const { tables, atMs, put } = changing;
  const { archive: id, over } = change;
  const found = tables.archives.get(id) ?? null;
  const present = (found && tables.sessions.get(found.key)) ?? null;
  checkRestore(change, found, present?.row ?? null);
  if (present !== null) {
    checkGivesWay(present.row, over, tables.waitingFor(found.key).length > 0);
    putAway(changing, present, "asked");
  }
  const row = present === null ? restoredRow(found, atMs) : swappedRow(found, present.row, atMs);
  const had = tables.archivedAs.get(id);
  if (present !== null && had === undefined) put(tables.archivedAs, present.row.transcript.id, null);
  put(tables.sessions, row.key, { n: had ?? present?.n ?? tables.next(), row });
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
