// Whether archives are what the state says: every file is there in the form that counts, can be unpacked, and is of the session
// that was put away.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import { ARCHIVE, recordedFrom, type Recorded } from "../store/local/archiving.ts";
import { unpacked } from "../store/local/frames.ts";
import { generationsOf, type Generation } from "../store/local/generations.ts";
import { isTranscriptId, packedPath, transcriptPath, type Paths } from "../store/local/paths.ts";
import { olderFile } from "../store/local/spliced.ts";
import type { Source } from "../transcript/lines.ts";
import { foldTranscript, isBeginning, REASONS, type Folded } from "./folded.ts";
import type { Finding } from "./fsck.ts";

/** `named` gets the blobs that they name, and who does. */
export function checkArchives(database: DatabaseSync, paths: Paths, named: Map<string, string>): Finding[] {
  const findings: Finding[] = [];
  const packed = new Set<string>();
  for (const found of database.prepare(`SELECT ${ARCHIVE} FROM archives ORDER BY archived_ms, id`).all()) {
    const archive = recordedFrom(found);
    const files = generationsOf(database, { archive: archive.id });
    findings.push(...checkRecord(paths, archive, files));
    for (const file of files) {
      if (archive.packedBytes !== null) packed.add(file.transcript);
      findings.push(...checkFile(database, paths, { archive, file, named }));
    }
  }
  for (const { path, id } of packedFiles(paths))
    if (!packed.has(id))
      findings.push(
        note(path, "no archive that is packed has this transcript; `rebuild` would bring it back"),
      );
  return findings;
}

/** Every packed transcript on the disk, in a stable order. */
export function* packedFiles(
  paths: Paths,
): Generator<{ readonly path: string; readonly agent: string; readonly id: string }> {
  if (!existsSync(paths.agents)) return;
  for (const agent of readdirSync(paths.agents).toSorted()) {
    const folder = join(paths.agents, agent, "archive");
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder).toSorted()) {
      const id = name.replace(/\.jsonl\.zst$/, "");
      if (name.endsWith(".jsonl.zst") && isTranscriptId(id)) yield { path: join(folder, name), agent, id };
    }
  }
}

function checkRecord(paths: Paths, archive: Recorded, files: readonly Generation[]): Finding[] {
  const { id, key, agent, session, bytes } = archive;
  const all = files.reduce((sum, file) => sum + file.bytes, 0);
  const pairs: readonly (readonly [name: string, inTable: unknown, inRecord: unknown])[] = [
    ["id", id, session.transcript.id],
    ["key", key, session.key],
    ["agent", agent, session.agent],
    ["length", bytes, all],
    ["newest file", id, files.at(-1)?.transcript],
    ["length of that", session.transcript.bytes, files.at(-1)?.bytes],
  ];
  return pairs
    .filter(([, inTable, inRecord]) => inTable !== inRecord)
    .map(([name, inTable, inRecord]) =>
      damage(
        paths.state,
        `archive ${id}: ${name} is ${String(inTable)}, by its record and files ${String(inRecord)}`,
      ),
    );
}

function checkFile(
  database: DatabaseSync,
  paths: Paths,
  at: { readonly archive: Recorded; readonly file: Generation; readonly named: Map<string, string> },
): Finding[] {
  const { archive, file, named } = at;
  const plain = transcriptPath(paths, file.agent, file.transcript);
  const packed = packedPath(paths, file.agent, file.transcript);
  const isPacked = archive.packedBytes !== null;
  const where = isPacked ? packed : plain;
  const findings: Finding[] =
    isPacked && existsSync(plain)
      ? [note(plain, `archive ${archive.id} is packed, and this is there too`)]
      : [];
  const source = isPacked ? inMemory(packed, file.bytes) : olderFile(database, paths, file)();
  if (typeof source === "string") return [...findings, damage(where, source)];
  try {
    if (source.isMissing) return [...findings, damage(where, `missing; archive ${archive.id} has it`)];
    if (!isPacked && existsSync(plain) && statSync(plain).size > file.bytes)
      findings.push(note(plain, "another program added to it; packing moves it to foreign/"));
    if (source.size !== file.bytes)
      findings.push(damage(where, `it ends at byte ${source.size}, the state says ${file.bytes}`));
    const folded = foldTranscript(source);
    for (const sha256 of folded.blobs) named.set(sha256, where);
    return [...findings, ...checkContent(where, at, folded), ...checkNames(database, where, file, folded)];
  } finally {
    source.close();
  }
}

/** A string: why it cannot be unpacked. */
function inMemory(
  path: string,
  bytes: number,
): (Source & { isMissing: boolean; close: () => void }) | string {
  try {
    const all = Buffer.concat([...unpacked(path, bytes)]);
    const read = (at: number, length: number): Buffer => all.subarray(at, at + length);
    return { size: all.length, read, isMissing: false, close: () => {} };
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

function checkContent(
  where: string,
  { archive, file }: { readonly archive: Recorded; readonly file: Generation },
  folded: Folded,
): Finding[] {
  const gaps = folded.gaps.filter((gap) => !isBeginning(folded, gap));
  if (gaps.length > 0)
    return gaps.map((gap) => damage(where, `line ${gap.line} ${REASONS[gap.reason]} (kept; shown as a gap)`));
  const { header } = folded;
  if (header === null) return [damage(where, "its first line is not a header")];
  const { transcript } = archive.session;
  const isNewest = file.transcript === archive.id;
  const pairs: readonly (readonly [name: string, inFile: unknown, inRecord: unknown])[] = [
    ["key", header.key, archive.key],
    ["id", header.id, file.transcript],
    ...(isNewest ? ([["last seq", folded.lastSeq, transcript.lastSeq]] as const) : []),
    ...(isNewest ? ([["last entry", folded.leafId, transcript.leafId]] as const) : []),
  ];
  return pairs
    .filter(([, inFile, inRecord]) => inFile !== inRecord)
    .map(([name, inFile, inRecord]) =>
      damage(
        where,
        `${name}: the file says ${JSON.stringify(inFile)}, the archive ${JSON.stringify(inRecord)}`,
      ),
    );
}

/** What is not written down as named here is collected, or goes when another that names it is deleted. */
function checkNames(database: DatabaseSync, where: string, file: Generation, folded: Folded): Finding[] {
  const known = database.prepare("SELECT sha256 FROM blobs WHERE transcript = ?").all(file.transcript);
  const missing = folded.blobs.difference(new Set(known.map(({ sha256 }) => String(sha256))));
  return [...missing].map((sha256) => damage(where, `the state does not know that it names blob ${sha256}`));
}

function damage(where: string, message: string): Finding {
  return { grade: "damage", where, message };
}

function note(where: string, message: string): Finding {
  return { grade: "note", where, message };
}
