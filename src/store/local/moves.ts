// Moves: the writer's part in packing and unpacking the files of an archive, which happens on another thread.
//
// A move begins with an intent and ends with one small transaction that says which files count from now on; many are made
// together, and share their syncs. Whatever is half done when somebody dies, or is not wanted any more when it is done, the
// intent tidies up.
//
// Invariants
//   N1. No file of a move has a name before its intent is durable, and the intent goes only when nothing is left over.
//   N2. The files that counted are there until the state says that the others do.
//   N3. Files count only for the archive that they were made of: one that came back meanwhile, was written to and was
//       archived again has the same name, and is another.

import type { DatabaseSync } from "node:sqlite";
import type { FaultWords } from "../../base/fault.ts";
import { PACK_BYTES_AT_ONCE } from "../../limits.ts";
import { noSuchArchive } from "../archived.ts";
import { generationsOf, type Generation } from "./generations.ts";
import type { Form, Intent, PackedFile } from "./tables.ts";
import { isFaultWords } from "./thread.ts";
import { inTransaction } from "./transaction.ts";
import { wordsOf } from "./trouble.ts";

/** What has to be done, by whoever does it. */
export interface Move {
  readonly intent: number;
  readonly archive: string;
  readonly agent: string;
  readonly files: readonly PackedFile[];
}

/** What comes of asking for one. Null: it is in this form already. Words: not_found, or it is written to all the time (busy). */
export type Begun = Move | FaultWords | null;

/** A move whose files are there. */
export interface Done extends Pick<Move, "intent" | "archive"> {
  readonly packedBytes: number | null; // null: they are not packed
}

/** Null: the new files count. Words: not_found, and nobody wants them. */
export type Counted = FaultWords | null;

export class Moves {
  readonly #database: DatabaseSync;
  readonly #underWay = new Map<number, string>(); // by intent, what the files were made of

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  isUnderWay(intent: number): boolean {
    return this.#underWay.has(intent);
  }

  /** Lines of it that are not safe in its files yet. */
  isJournalled(archive: string): boolean {
    const some = this.#database.prepare(
      `SELECT 1 FROM generations WHERE archive = ? AND
       (EXISTS (SELECT 1 FROM journal_a WHERE session = -generations.n) OR EXISTS (SELECT 1 FROM journal_b WHERE session = -generations.n))`,
    );
    return some.get(archive) !== undefined;
  }

  /** Of the first of them, at least one, as much as is moved in one go. All that are begun have their intents when it returns. */
  begin(archives: readonly string[], to: Form): readonly Begun[] {
    const all = inTransaction(this.#database, () => {
      const begun: Begun[] = [];
      let bytes = 0;
      for (const archive of archives) {
        const move = this.#plan(archive, to);
        const more = isMove(move) ? move.files.reduce((sum, file) => sum + file.bytes, 0) : 0;
        if (bytes > 0 && bytes + more > PACK_BYTES_AT_ONCE) break;
        bytes += more;
        begun.push(isMove(move) ? this.#begin(move) : move);
      }
      return begun;
    });
    for (const move of all.filter(isMove)) this.#underWay.set(move.intent, this.#print(move.archive));
    return all;
  }

  #plan(archive: string, to: Form): Omit<Move, "intent"> | FaultWords | null {
    const found = this.#database
      .prepare("SELECT agent, packed_bytes FROM archives WHERE id = ?")
      .get(archive);
    if (!found) return wordsOf(noSuchArchive(archive));
    if ((found["packed_bytes"] !== null) === (to === "packed")) return null;
    if (to === "packed" && this.isJournalled(archive))
      return { code: "busy", message: `archive ${archive} comes back and goes again all the time` };
    const files = generationsOf(this.#database, { archive });
    return {
      archive,
      agent: String(found["agent"]),
      files: files.map(({ transcript, bytes }) => ({ transcript, bytes })),
    };
  }

  #begin({ archive, agent, files }: Omit<Move, "intent">): Move {
    const body: Intent = { do: "tidy", agent, files };
    const added = this.#database.prepare("INSERT INTO intents (body) VALUES (?)").run(JSON.stringify(body));
    return { intent: Number(added.lastInsertRowid), archive, agent, files };
  }

  /** The new files count from now on: `tell` hears which they are. */
  done(moves: readonly Done[], tell: (file: Generation) => void): readonly Counted[] {
    const counted = inTransaction(this.#database, () => moves.map((move) => this.#done(move)));
    for (const [at, { archive }] of moves.entries())
      if (counted[at] === null) for (const file of generationsOf(this.#database, { archive })) tell(file);
    return counted;
  }

  #done({ intent, archive, packedBytes }: Done): Counted {
    const isSame = this.#underWay.get(intent) === this.#print(archive); // N3
    const set = this.#database.prepare(
      "UPDATE archives SET packed_bytes = ?2 WHERE id = ?1 AND (packed_bytes IS NULL) <> (?2 IS NULL)",
    );
    if (isSame && Number(set.run(archive, packedBytes).changes) > 0) return null;
    return { code: "not_found", message: `archive ${archive} was restored or purged meanwhile` };
  }

  /**
   * Nothing of them is left over. Should this fail, the intents are finished with the next deletion, or by the next start. Returns
   * whether each archive is still there.
   */
  end(moves: readonly Pick<Move, "intent" | "archive">[]): readonly boolean[] {
    for (const { intent } of moves) this.#underWay.delete(intent);
    return inTransaction(this.#database, () =>
      moves.map(({ intent, archive }) => {
        this.#database.prepare("DELETE FROM intents WHERE n = ?").run(intent);
        return this.#database.prepare("SELECT 1 FROM archives WHERE id = ?").get(archive) !== undefined;
      }),
    );
  }

  #print(archive: string): string {
    return JSON.stringify(generationsOf(this.#database, { archive }));
  }
}

export function isMove<Some extends object>(begun: Some | FaultWords | null): begun is Some {
  return begun !== null && !isFaultWords(begun);
}
