import type { DatabaseSync } from "node:sqlite";
import { Fault, faultFrom } from "../../base/fault.ts";
import type { Session } from "../../sessions/session.ts";
import { headerLine } from "../../transcript/codec.ts";
import { checkRotate, checkSeen, headerTooLong, rotatedHeader, rotatedRow } from "../generations.ts";
import type { Generations } from "./generations.ts";
import type { Numbered, Tables } from "./tables.ts";
import type { WireOf } from "./wire.ts";

/** What a commit does when a history goes on in a new file. */
export class Rotation {
  readonly #database: DatabaseSync;
  readonly #tables: Tables;
  readonly #generations: Generations;

  constructor(database: DatabaseSync, tables: Tables, generations: Generations) {
    this.#database = database;
    this.#tables = tables;
    this.#generations = generations;
  }

  /** Returns the row from now on, and what its new file begins with. */
  rotate(
    numbered: Numbered,
    change: WireOf<"rotate">,
    fence: number,
    atMs: number,
  ): { readonly row: Session; readonly bytes: Buffer } {
    const { n, row } = numbered;
    checkRotate(row, change, fence);
    this.#tables.checkNew(change.transcript);
    if (change.missing) throw faultFrom(change.missing);
    const { end } = change;
    checkSeen(row, end?.seen ?? null);
    if (end === null) throw new Fault("not_found", `there is no session ${row.key}`);
    const header = headerLine(rotatedHeader(row, change, end.header, atMs));
    if (header === null) throw headerTooLong(row);
    const bytes = Buffer.concat([Buffer.from(header), end.lines]);
    const skip = Buffer.byteLength(header);
    if (change.keep === "context") this.#generations.add(numbered, { session: n }, { cut: end.cut, skip });
    else this.#putAway(numbered, atMs);
    this.#database.prepare("UPDATE sessions SET transcript = ? WHERE n = ?").run(change.transcript, n);
    for (const sha256 of end.blobs) this.#tables.nameBlob(sha256, change.transcript);
    return { bytes, row: rotatedRow(row, change, bytes.length, atMs) };
  }

  /** What the session was becomes an archive, with all its files. */
  #putAway(numbered: Numbered, atMs: number): void {
    const { n, row } = numbered;
    const { id, bytes } = row.transcript;
    const older = this.#generations.list({ session: n }).reduce((sum, one) => sum + one.bytes, 0);
    this.#generations.toArchive(n, id);
    this.#generations.add(numbered, { archive: id }, { cut: bytes, skip: 0 });
    this.#database
      .prepare(
        "INSERT INTO archives (id, key, agent, why, archived_ms, bytes, session) VALUES (?,?,?,'reset',?,?,?)",
      )
      .run(id, row.key, row.agent, atMs, older + bytes, JSON.stringify(row));
  }
}
