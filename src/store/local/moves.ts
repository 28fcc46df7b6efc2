// Moves: the writer's part in packing and unpacking the files of an archive, which happens on another thread.
//
// A move begins with an intent and ends with one small transaction that says which files count from now on. Whatever is
// half done when somebody dies, or is not wanted any more when it is done, the intent tidies up.
//
// Invariants
//   N1. No file of a move has a name before its intent is durable, and the intent goes only when nothing is left over.
//   N2. The files that counted are there until the state says that the others do.
//   N3. Files count only for the archive that they were made of: one that came back meanwhile, was written to and was
//       archived again has the same name, and is another.

import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import { noSuchArchive } from "../archived.ts";
import { generationsOf, type Generation } from "./generations.ts";
import type { Form, Intent, PackedFile } from "./tables.ts";

/** What has to be done, by whoever does it. */
export interface Move {
  readonly intent: number;
  readonly archive: string;
  readonly agent: string;
  readonly files: readonly PackedFile[];
}

/** A move whose files are there. */
interface Done extends Pick<Move, "intent" | "archive"> {
  readonly packedBytes: number | null; // null: they are not packed
}

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

  /** Null: it is in this form already. Fault not_found. */
  begin(archive: string, to: Form): Move | null {
    const found = this.#database
      .prepare("SELECT agent, packed_bytes FROM archives WHERE id = ?")
      .get(archive);
    if (!found) throw noSuchArchive(archive);
    if ((found["packed_bytes"] !== null) === (to === "packed")) return null;
    const agent = String(found["agent"]);
    const generations = generationsOf(this.#database, { archive });
    const files = generations.map(({ transcript, bytes }) => ({ transcript, bytes }));
    const body: Intent = { do: "tidy", agent, files };
    const added = this.#database.prepare("INSERT INTO intents (body) VALUES (?)").run(JSON.stringify(body));
    const intent = Number(added.lastInsertRowid);
    this.#underWay.set(intent, JSON.stringify(generations));
    return { intent, archive, agent, files };
  }

  /** The new files count from now on. Returns which they are. Fault not_found: it is not there any more as it was, and nobody wants them. */
  done({ intent, archive, packedBytes }: Done): readonly Generation[] {
    const generations = generationsOf(this.#database, { archive });
    const isSame = this.#underWay.get(intent) === JSON.stringify(generations); // N3
    const set = this.#database.prepare(
      "UPDATE archives SET packed_bytes = ?2 WHERE id = ?1 AND (packed_bytes IS NULL) <> (?2 IS NULL)",
    );
    if (!isSame || Number(set.run(archive, packedBytes).changes) === 0)
      throw new Fault("not_found", `archive ${archive} was restored or purged meanwhile`);
    return generations;
  }

  /**
   * Nothing of it is left over. Should this fail, the intent is finished with the next deletion, or by the next start. Returns
   * whether the archive is still there.
   */
  end({ intent, archive }: Pick<Move, "intent" | "archive">): boolean {
    this.#underWay.delete(intent);
    this.#database.prepare("DELETE FROM intents WHERE n = ?").run(intent);
    return this.#database.prepare("SELECT 1 FROM archives WHERE id = ?").get(archive) !== undefined;
  }
}
