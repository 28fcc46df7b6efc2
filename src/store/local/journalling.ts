// What a commit does with lines: a transcript begins, goes on, or goes on in a new file.
//
// Invariants
//   G1. Lines are in the journal, with their offset, in the same transaction as the row that counts them.

import type { DatabaseSync } from "node:sqlite";
import { Fault, faultFrom } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import { stamp } from "../../transcript/codec.ts";
import { entryId } from "../../transcript/entry.ts";
import { titleFrom } from "../../transcript/fold.ts";
import type { Leases } from "../leases.ts";
import { born, checkParent } from "../opened.ts";
import { appendedRow, checkAppend, checkContext, checkSame } from "../rules.ts";
import { Generations } from "./generations.ts";
import type { Outcome } from "./outcome.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { Rotation } from "./rotation.ts";
import type { Rows } from "./rows.ts";
import type { Numbered, Tables } from "./tables.ts";
import type { Lines, WireOf } from "./wire.ts";

export class Journalling {
  readonly #tables: Tables;
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #paths: Paths;
  readonly #generations: Generations;
  readonly #rotation: Rotation;

  constructor(parts: { database: DatabaseSync; tables: Tables; rows: Rows; leases: Leases; paths: Paths }) {
    this.#tables = parts.tables;
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#paths = parts.paths;
    this.#generations = new Generations(parts.database);
    this.#rotation = new Rotation(parts.database, parts.tables, this.#generations);
  }

  open(change: WireOf<"open">, atMs: number, into: Outcome): void {
    const existing = this.#rows.find(change.key);
    if (existing && change.ifExists === "refuse") throw new Fault("exists", `${change.key} exists already`);
    if (existing) return;
    this.#tables.checkNew(change.transcript);
    const parent = change.parent === null ? null : this.#rows.get(change.parent).row;
    checkParent(parent);
    const source = change.copy === null ? null : this.#rows.get(change.copy.of).row; // a source that is gone cannot be copied
    if (change.copy?.missing) throw faultFrom(change.copy.missing);
    if (change.copy !== null) this.#checkSame(change.copy.of, change.copy.readOf);
    const copied = change.copy?.lines.drafts.length ?? 0;
    const { row, line: header } = born(change, { parent, source, copied, atMs });
    const n = this.#rows.insert(row);
    if (change.copy === null) {
      this.#journal({ n, row }, Buffer.from(header), 0, into);
      into.touch(row);
    } else {
      const { lines, contextSeq } = change.copy;
      this.#write({ n, row }, lines, { atMs, header, rewindTo: null, contextSeq }, into);
    }
    into.seqs[change.key] = copied;
  }

  append(change: WireOf<"append">, atMs: number, into: Outcome): void {
    const numbered = this.#rows.get(change.key);
    checkAppend(numbered.row, change, this.#leases.fenceOf(change.key));
    if (change.missing) throw faultFrom(change.missing);
    if (change.rewindTo !== null) this.#checkSame(change.key, change.readOf);
    checkContext(numbered.row, change);
    into.named.push(...change.lines.blobs);
    const { lines, contextSeq } = change;
    const rewindTo = change.rewindTo?.id ?? null;
    this.#write(numbered, lines, { atMs, header: "", rewindTo, contextSeq }, into);
  }

  rotate(change: WireOf<"rotate">, atMs: number, into: Outcome): void {
    const { n, row: old } = this.#rows.get(change.key);
    const fence = this.#leases.fenceOf(change.key);
    const { row, bytes } = this.#rotation.rotate({ n, row: old }, change, fence, atMs);
    into.keep(row);
    this.#journal({ n, row }, bytes, 0, into);
  }

  #write(
    { n, row }: Numbered,
    lines: Lines,
    how: { atMs: number; header: string; rewindTo: string | null; contextSeq: number | null },
    into: Outcome,
  ): void {
    const { transcript } = row;
    let seq = transcript.lastSeq;
    let leafId = how.rewindTo ?? transcript.leafId;
    let text = how.header;
    for (const draft of lines.drafts) {
      seq += 1;
      const id = draft.id ?? entryId(transcript.id, seq);
      text += stamp(draft, id, leafId, seq);
      leafId = id;
    }
    const bytes = Buffer.from(text);
    const headerBytes = how.header === "" ? 0 : transcript.bytes;
    this.#journal({ n, row }, bytes, transcript.bytes - headerBytes, into);
    for (const sha256 of lines.blobs) this.#tables.nameBlob(sha256, transcript.id);
    const appended = {
      count: lines.drafts.length,
      bytes: bytes.length - headerBytes,
      leafId: leafId ?? "",
      jumped: how.rewindTo !== null && how.rewindTo !== transcript.leafId,
      title: row.title === "" && lines.opening !== null ? titleFrom(lines.opening) : null,
      contextSeq: how.contextSeq,
      contextTokens: lines.contextTokens,
      isPersonal: how.header === "" && lines.isPersonal,
    };
    into.keep(appendedRow(row, appended, how.atMs));
    into.seqs[row.key] = seq;
  }

  /** G1. */
  #journal({ n, row }: Numbered, bytes: Buffer, offset: number, into: Outcome): void {
    this.#tables.journal(into.twin, n, offset, bytes);
    into.writes.push({ path: transcriptPath(this.#paths, row.agent, row.transcript.id), offset, bytes });
  }

  /** What was read for a change is of this history; meanwhile the session may be another one of the same key. */
  #checkSame(key: SessionKey, readOf: string | null): void {
    const { n, row } = this.#rows.get(key);
    const isSame = (of: string): boolean => of === row.transcript.id || this.#generations.isOf(of, n);
    checkSame(key, readOf !== null && isSame(readOf));
  }
}
