// Whether the files of a history fit together: each is there, names the one before it, and begins with what that one ends with.

import type { DatabaseSync } from "node:sqlite";
import { headerIn } from "../store/local/fileend.ts";
import { generationsOf } from "../store/local/generations.ts";
import { transcriptPath, type Paths } from "../store/local/paths.ts";
import { newestFile, olderFile, type SplicedSource } from "../store/local/spliced.ts";
import type { Numbered } from "../store/local/tables.ts";
import type { Finding } from "./fsck.ts";

interface File {
  readonly id: string;
  readonly where: string;
  readonly source: SplicedSource;
  readonly bytes: number;
}

export function checkGenerations(database: DatabaseSync, paths: Paths, { n, row }: Numbered): Finding[] {
  const newest = newestFile(database, paths, row.key);
  if (newest === null) return [];
  const { id, bytes, firstSeq } = row.transcript;
  const where = transcriptPath(paths, row.agent, id);
  const last: File = { id, where, source: newest.source, bytes };
  const opened: File[] = [last];
  try {
    const header = headerIn(last.source);
    const findings =
      header === null || header.id === id ? [] : [damage(where, `its first line says ${header.id}`)];
    if (header?.firstSeq !== undefined && header.firstSeq !== firstSeq)
      findings.push(damage(where, `first seq: the file says ${header.firstSeq}, the row ${firstSeq}`));
    let next = last;
    for (const one of generationsOf(database, { session: n }).toReversed()) {
      const path = transcriptPath(paths, one.agent, one.transcript);
      const source = olderFile(database, paths, one)();
      const file: File = { id: one.transcript, where: path, source, bytes: one.bytes };
      opened.push(file);
      findings.push(...checkPair(file, next, one));
      next = file;
    }
    return findings;
  } finally {
    for (const { source } of opened) source.close();
  }
}

/** Y2. */
function checkPair(
  file: File,
  next: File,
  { cut, skip }: { readonly cut: number; readonly skip: number },
): Finding[] {
  const { where, source, bytes } = file;
  if (source.isMissing) return [damage(where, `missing; the history that goes on in ${next.id} began in it`)];
  const findings: Finding[] = [];
  if (source.size !== bytes)
    findings.push(damage(where, `journal and file end at byte ${source.size}, the state says ${bytes}`));
  const [mine, theirs] = [headerIn(source), headerIn(next.source)];
  if (mine !== null && mine.id !== file.id) findings.push(damage(where, `its first line says ${mine.id}`));
  if (theirs !== null && theirs.previous !== `${file.id}.jsonl`)
    findings.push(damage(next.where, `its first line does not name ${file.id}.jsonl as the file before it`));
  const copied = bytes - cut;
  if (!source.read(cut, copied).equals(next.source.read(skip, copied)))
    findings.push(damage(next.where, `it does not begin with the last ${copied} bytes of ${file.id}.jsonl`));
  return findings;
}

function damage(where: string, message: string): Finding {
  return { grade: "damage", where, message };
}
