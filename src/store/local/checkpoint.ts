// Checkpoint
//
// Moves lines out of the journal into the care of their files. One journal table takes new lines while the
// lines of its twin are synced; then the twin is emptied whole, which costs the same however full it was.
//
//   Owns:      which twin is active, how full it is, and the order: files, directories, then the journal.
//   Does not:  write lines (the writer has, before a twin is sealed).
//
// Invariants
//   P1. A line leaves the journal only after its file, and every directory that gained a name for it, is synced.
//   P2. A failed sync is final. The pages may be gone, and asking again would be answered with a lie.
//   P3. A full disk is not the end: a twin that cannot be emptied for lack of room stays sealed until there is some.
//   P4. After a crash both twins are emptied in one transaction: with the newer lines gone and the older still there,
//       a second crash would leave a journal that ends before its rows do.

import { open } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import type { Dirty, TranscriptFiles } from "./files.ts";
import type { WriteAheadLog } from "./log.ts";
import type { Twin } from "./tables.ts";
import { isMissing } from "./trouble.ts";
import type { Notice } from "./wire.ts";

/** Syncs under way at once: what the thread pool has to give. */
const SYNCS_PARALLEL = 4;

interface Sealed {
  readonly twins: readonly Twin[];
  readonly dirty: Dirty;
}

export class Checkpoint {
  readonly #database: DatabaseSync;
  readonly #log: WriteAheadLog;
  readonly #files: TranscriptFiles;
  readonly #notify: (notice: Notice) => void;
  #active: Twin = "a";
  #activeBytes = 0;
  #sealed: Sealed | null = null;
  readonly #vanished = new Set<string>();
  #running: Promise<void> | null = null;

  constructor(parts: {
    database: DatabaseSync;
    log: WriteAheadLog;
    files: TranscriptFiles;
    notify: (notice: Notice) => void;
  }) {
    this.#database = parts.database;
    this.#log = parts.log;
    this.#files = parts.files;
    this.#notify = parts.notify;
  }

  get active(): Twin {
    return this.#active;
  }

  get activeBytes(): number {
    return this.#activeBytes;
  }

  get running(): Promise<void> | null {
    return this.#running;
  }

  /** No line is in either twin. */
  get isEmpty(): boolean {
    return this.#sealed === null && this.#activeBytes === 0;
  }

  wrote(bytes: number): void {
    this.#activeBytes += bytes;
  }

  /**
   * Seals the active twin and goes on with the other. Call only when every committed line is in its file.
   * Rejects when the disk is too full to empty the sealed twin: it stays sealed, and the next call tries again.
   */
  begin(): Promise<void> {
    if (this.#running !== null) return this.#running;
    if (this.isEmpty) return Promise.resolve();
    this.#sealed ??= this.#seal();
    this.#running = this.#finish(this.#sealed).finally(() => (this.#running = null));
    return this.#running;
  }

  /** What both twins had was written again after a crash. */
  async replayed(): Promise<void> {
    await this.#finish({ twins: ["a", "b"], dirty: this.#files.takeDirty() });
  }

  #seal(): Sealed {
    const twin = this.#active;
    this.#active = twin === "a" ? "b" : "a";
    this.#activeBytes = 0;
    return { twins: [twin], dirty: this.#files.takeDirty() };
  }

  /** P1, P4. */
  async #finish({ twins, dirty }: Sealed): Promise<void> {
    await syncAll(dirty.files, (path) => this.#syncFile(path));
    await syncAll(dirty.directories, syncPath);
    if (this.#vanished.size > 0) return this.#finish({ twins, dirty: this.#broughtBack() });
    this.#empty(twins);
    this.#sealed = null;
    this.#log.fold();
  }

  #empty(twins: readonly Twin[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      for (const twin of twins) this.#database.exec(`DELETE FROM journal_${twin}`);
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  async #syncFile(path: string): Promise<void> {
    try {
      await syncPath(path, "data");
    } catch (error) {
      if (!isMissing(error)) throw error;
      // Erased with its session, or taken away by a stranger.
      if (!this.#files.wasErased(path)) this.#vanished.add(path);
    }
  }

  /** What a stranger took away is written again while the journal has it: it may be the last copy (P1). */
  #broughtBack(): Dirty {
    for (const path of this.#vanished) {
      this.#notify({ what: "missing_bytes", message: `${path} has disappeared`, count: 1 });
      this.#files.bringBack(path);
    }
    this.#vanished.clear();
    return this.#files.takeDirty();
  }
}

async function syncAll(paths: ReadonlySet<string>, sync: (path: string) => Promise<void>): Promise<void> {
  const waiting = [...paths];
  const worker = async (): Promise<void> => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) await sync(path);
  };
  await Promise.all(Array.from({ length: Math.min(SYNCS_PARALLEL, waiting.length) }, worker));
}

async function syncPath(path: string, what: "data" | "all" = "all"): Promise<void> {
  const handle = await open(path, "r");
  try {
    if (what === "data") await handle.datasync();
    else await handle.sync();
  } catch (error) {
    // Whatever the reason, a full disk included: the pages may be gone (P2), so nobody may read a code here and try again.
    throw new Error(`${path} could not be synced`, { cause: error });
  } finally {
    await handle.close();
  }
}
