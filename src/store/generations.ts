// Generations
//
// A history may go on in a new file: with what a model is shown, or with nothing, when the conversation begins anew. What
// that does to a row, and when it is refused: pure functions, the same for every engine.
//
// Invariants
//   Y1. Numbers go on: no two entries of a session have the same one, whichever file they are in.
//   Y2. With the context, the new file begins with the very lines that the old one ends with. So the old file up to
//       there and the new one behind its first line are, joined, the file as it would be had it never been rotated.
//   Y3. What is copied was read before the commit. Whoever appended meanwhile, also in the same commit, is not forgotten:
//       the commit is refused.

import { Fault } from "../base/fault.ts";
import type { Session } from "../sessions/session.ts";
import type { Header } from "../transcript/entry.ts";
import { checkAppend, type Of } from "./rules.ts";

/** Refuses whoever is not the owner or knows an older history, and what would change nothing. */
export function checkRotate(row: Session, change: Of<"rotate">, fence: number): void {
  checkAppend(row, change, fence);
  const { leafId, contextSeq, firstSeq, lastSeq } = row.transcript;
  if (leafId === null)
    throw new Fault("bad_input", `${row.key} has no entry yet: there is nothing to put away`);
  if (change.keep === "context" && (contextSeq <= firstSeq || contextSeq > lastSeq))
    throw new Fault(
      "bad_input",
      `all of ${row.key}'s transcript is shown to its model: a new file would be no shorter; compact it first`,
    );
}

/** Y3. `seen` is what was read; null: there was no such session. */
export function checkSeen(row: Session, seen: Pick<Session["transcript"], "id" | "lastSeq"> | null): void {
  const { id, lastSeq } = row.transcript;
  if (seen?.id !== id || seen.lastSeq !== lastSeq)
    throw new Fault("stale_writer", `something has happened to ${row.key} since its end was read`);
}

/** The first line of the new file. `old` is the first line of the file before it; null: it cannot be read. */
export function rotatedHeader(row: Session, change: Of<"rotate">, old: Header | null, atMs: number): Header {
  const { id, contextSeq, lastSeq, copied } = row.transcript;
  const firstSeq = change.keep === "context" ? contextSeq : lastSeq + 1;
  return {
    type: "session",
    version: 3,
    id: change.transcript,
    timestamp: new Date(atMs).toISOString(),
    cwd: change.cwd,
    key: row.key,
    agent: row.agent,
    ...(old?.parentSession === undefined ? {} : { parentSession: old.parentSession }),
    ...(row.parent === null ? {} : { child: true }),
    ...(change.keep === "context" && copied > 0 ? { copied } : {}),
    previous: `${id}.jsonl`,
    ...(firstSeq > 1 ? { firstSeq } : {}),
  };
}

export function headerTooLong(row: Session): Fault {
  return new Fault(
    "bad_input",
    `the names of ${row.key} and of its transcript are too long for the first line of another file`,
  );
}

/** `bytes` is the length of the new file. Usage, settings, mail and children are not touched. */
export function rotatedRow(row: Session, change: Of<"rotate">, bytes: number, atMs: number): Session {
  const { transcript } = row;
  const { contextSeq, lastSeq } = transcript;
  if (change.keep === "context")
    return { ...row, transcript: { ...transcript, id: change.transcript, bytes, firstSeq: contextSeq } };
  const next = lastSeq + 1;
  return {
    ...row,
    transcript: {
      id: change.transcript,
      lastSeq,
      leafId: null,
      bytes,
      contextSeq: next,
      contextTokens: 0,
      firstSeq: next,
      jumpSeq: 0,
      copied: 0,
    },
    title: "",
    updatedAtMs: atMs,
  };
}
