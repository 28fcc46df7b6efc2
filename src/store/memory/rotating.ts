// What a commit does when a history goes on in a new file. Here it stays in one piece: its lines are the newest file's, and
// older ones are names for it.

import type { Session, Tail } from "../../sessions/session.ts";
import { headerLine } from "../../transcript/codec.ts";
import { blobsOf, type Entry, type Header } from "../../transcript/entry.ts";
import { checkRotate, checkSeen, headerTooLong, rotatedHeader, rotatedRow } from "../generations.ts";
import type { Of } from "../rules.ts";
import type { Changing } from "./archiving.ts";

/** Returns the row from now on, and what would be written. `seen` is what there was before the commit. */
export function rotate(
  { tables, atMs, put }: Changing,
  change: Of<"rotate">,
  { fence, seen }: { readonly fence: number; readonly seen: Tail | null },
): { readonly row: Session; readonly bytes: number } {
  const { lines, older, blobNames, headers, archives } = tables;
  const { row } = tables.session(change.key);
  const { id, contextSeq, firstSeq } = row.transcript;
  checkRotate(row, change, fence);
  tables.checkNew(change.transcript);
  checkSeen(row, seen);
  const all = lines.get(id) ?? [];
  const kept = change.keep === "context" ? all.filter(({ seq }) => seq >= contextSeq) : [];
  const header = headerLine(rotatedHeader(row, change, headers.get(id) ?? null, atMs));
  if (header === null) throw headerTooLong(row);
  const bytes = Buffer.byteLength(header) + kept.reduce((sum, entry) => sum + lengthOf(entry), 0);
  put(lines, change.transcript, change.keep === "context" ? all : []);
  put(blobNames, change.transcript, new Set(kept.flatMap(blobsOf)));
  put(headers, change.transcript, JSON.parse(header) as Header);
  if (change.keep === "context") {
    put(lines, id, null);
    put(older, id, { next: change.transcript, bytes: row.transcript.bytes, firstSeq });
  } else {
    const { key, agent } = row;
    put(archives, id, {
      ...{ id, key, agent, why: "reset", archivedAtMs: atMs, session: row, packedBytes: null },
      ...{ firstSeq: tables.firstSeqOf(row), bytes: tables.bytesOf(row) },
    });
  }
  return { bytes, row: rotatedRow(row, change, bytes, atMs) };
}

/** The bytes of its line. */
function lengthOf(entry: Entry): number {
  return Buffer.byteLength(JSON.stringify(entry)) + 1;
}
