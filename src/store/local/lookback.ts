// What has to be read before a commit reaches the writer: the entries that a fork copies, the entry that a rewind goes
// back to, the lines that a new file begins with. If it is not there, the writer is told: whether it matters depends on the changes before it in the commit,
// and on what exists by then.

import { Fault } from "../../base/fault.ts";
import { COMMIT_BYTES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { decodeLine } from "../../transcript/codec.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import { noSuchEntry, type Of } from "../rules.ts";
import type { Change } from "../change.ts";
import type { Range } from "../store.ts";
import { NOTHING_READ, type FileEnd, type Looked } from "./wire.ts";

/** The part of a store that is needed for it. A line is one that the reader has checked. */
export interface Reading {
  session(key: SessionKey): Promise<Session | null>;
  lines(transcript: string, range: Range): AsyncIterable<string | Gap>;
  /** Null: there is no such session. */
  end(key: SessionKey, keep: Of<"rotate">["keep"]): Promise<FileEnd | null>;
}

/** Nearly every change needs nothing. */
export function needsReading(change: Change): boolean {
  return (
    (change.do === "open" && change.copy !== null) ||
    (change.do === "append" && change.rewindTo !== null) ||
    change.do === "rotate"
  );
}

export async function lookBack(reading: Reading, change: Change): Promise<Looked> {
  let readOf: string | null = null;
  const transcriptOf = async (key: SessionKey): Promise<string> => {
    const row = await reading.session(key);
    if (row === null) throw new Fault("not_found", `there is no session ${key}`);
    readOf = row.transcript.id;
    return readOf;
  };
  try {
    if (change.do === "rotate") return { ...NOTHING_READ, end: await reading.end(change.key, change.keep) };
    if (change.do === "append" && change.rewindTo !== null)
      await find(reading, await transcriptOf(change.key), change.key, change.rewindTo);
    if (change.do !== "open" || change.copy === null) return { ...NOTHING_READ, readOf };
    const copied = await copy(reading, await transcriptOf(change.copy.of), change.copy);
    return { ...NOTHING_READ, copied, readOf };
  } catch (error) {
    if (!(error instanceof Fault) || error.code === "bad_input" || error.code === "closed") throw error;
    return { ...NOTHING_READ, readOf, missing: { code: error.code, message: error.message } };
  }
}

async function find(
  reading: Reading,
  transcript: string,
  key: SessionKey,
  entry: { readonly id: string; readonly seq: number },
): Promise<void> {
  for await (const line of reading.lines(transcript, { since: entry.seq })) {
    const found = typeof line === "string" ? decoded(line) : null;
    if (found?.id === entry.id && found.seq === entry.seq) return;
    break;
  }
  throw noSuchEntry(key, entry.seq);
}

async function copy(
  reading: Reading,
  transcript: string,
  { of, fromSeq, throughSeq }: NonNullable<Of<"open">["copy"]>,
): Promise<Entry[]> {
  const copied: Entry[] = [];
  let chars = 0;
  for await (const line of reading.lines(transcript, { from: fromSeq })) {
    if (typeof line !== "string")
      throw new Fault("damaged", `${of} cannot be copied: there is a gap at byte ${line.offset}`);
    const entry = decoded(line);
    if (entry.seq > throughSeq) break;
    chars += line.length;
    // Before it fills the memory. A character has at least one byte.
    if (chars > COMMIT_BYTES_MAX)
      throw new Fault(
        "bad_input",
        `${of} is too long to be copied: more than ${COMMIT_BYTES_MAX} bytes in one commit`,
      );
    copied.push(entry);
    if (entry.seq === throughSeq) break; // Damage behind it is nobody's concern here.
  }
  if (copied.at(-1)?.seq !== throughSeq) throw noSuchEntry(of, throughSeq);
  return copied;
}

/** The reader has checked the line; here it only becomes an object. */
export function decoded(line: string): Entry {
  const entry = decodeLine(line);
  if (typeof entry === "string")
    throw new Error(`assertion failed: the reader let a line pass that is ${entry}`);
  return entry;
}
