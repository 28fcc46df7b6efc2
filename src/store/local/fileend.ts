// What a history's next file begins with: the lines of the newest one from where the context starts, as they stand there.

import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import { COMMIT_BYTES_MAX, HEADER_BYTES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import { Decoder, decodeLine } from "../../transcript/codec.ts";
import { blobsOf, type Header } from "../../transcript/entry.ts";
import { linesForward, type Source } from "../../transcript/lines.ts";
import { seekSeq } from "../../transcript/read.ts";
import type { Of } from "../rules.ts";
import type { Paths } from "./paths.ts";
import { newestFile } from "./spliced.ts";
import type { FileEnd } from "./wire.ts";

/** Null: there is no such session. Whether a new file may be begun is the writer's to say. */
export function readEnd(
  database: DatabaseSync,
  paths: Paths,
  key: SessionKey,
  keep: Of<"rotate">["keep"],
): FileEnd | null {
  const taken = newestFile(database, paths, key);
  if (taken === null) return null;
  const { row, source } = taken;
  const { id, lastSeq, contextSeq, firstSeq } = row.transcript;
  try {
    const isShorter = keep === "context" && contextSeq > firstSeq;
    const cut = isShorter ? seekSeq(source, contextSeq) : source.size;
    const bytes = source.size - cut;
    if (bytes + HEADER_BYTES_MAX > COMMIT_BYTES_MAX)
      throw new Fault(
        "bad_input",
        `${key}: what its model is shown has ${bytes} bytes, too many to be copied in one commit; compact it first`,
      );
    const lines = source.read(cut, bytes);
    return { seen: { id, lastSeq }, header: headerIn(source), cut, lines, blobs: blobsIn(source, cut) };
  } finally {
    source.close();
  }
}

/** Null: the first line is none. */
export function headerIn(source: Source): Header | null {
  const [first] = linesForward(source, 0, HEADER_BYTES_MAX);
  const header = first?.text ? new Decoder().line(first.text) : null;
  return header !== null && typeof header !== "string" && header.type === "session" ? header : null;
}

function blobsIn(source: Source, from: number): string[] {
  const blobs = new Set<string>();
  for (const { text } of linesForward(source, from)) {
    if (!text?.includes('"sha256"')) continue; // cheaper than making an object of each
    const entry = decodeLine(text);
    if (typeof entry !== "string") for (const sha256 of blobsOf(entry)) blobs.add(sha256);
  }
  return [...blobs];
}
