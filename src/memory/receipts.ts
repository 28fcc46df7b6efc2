// Receipts: what an append was about to make of its note, by the call that makes it. A call that was cut off by a crash is made
// again; its receipt tells whether it had happened, also when others have appended since.
//
// A receipt is durable before the note is exchanged, so what happened has one. One that is torn was not durable, and says nothing.
// They are of no use once the result of the call is committed, which nobody tells us: so the newest are kept, and the others go.

import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RECEIPTS_MAX } from "../limits.ts";
import { codeOf } from "../sandbox/place.ts";

export interface Receipt {
  readonly before: string | null; // version; null: there was no note
  readonly after: string; //         version
  readonly bytes: number; //         of the note after it
  readonly times: number; //         that what is appended stood there before; 0 also for other writes
}

export class Receipts {
  readonly #folder: string;
  #written = 0; // since those that are too many were last removed

  /** It need not exist. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Null: this call has appended nothing. */
  async of(cause: string): Promise<Receipt | null> {
    try {
      return receiptIn(await readFile(this.#pathOf(cause), "utf8"));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  async put(cause: string, receipt: Receipt): Promise<void> {
    const made = await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if (made !== undefined) await synced(dirname(made));
    if (this.#written % RECEIPTS_MAX === 0) await this.#removeOld();
    this.#written += 1;
    await using file = await open(this.#pathOf(cause), "w", 0o600);
    await file.writeFile(JSON.stringify(receipt));
    await file.sync();
    await synced(this.#folder);
  }

  #pathOf(cause: string): string {
    return join(this.#folder, createHash("sha256").update(cause).digest("hex"));
  }

  async #removeOld(): Promise<void> {
    const names = await readdir(this.#folder);
    if (names.length <= RECEIPTS_MAX) return;
    const aged = await Promise.all(
      names.map(async (name) => ({ name, atMs: await changedAtMs(join(this.#folder, name)) })),
    );
    const old = aged.toSorted((a, b) => b.atMs - a.atMs).slice(RECEIPTS_MAX);
    for (const { name } of old) await rm(join(this.#folder, name), { force: true });
  }
}

async function synced(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

/** Another write may have removed it meanwhile: then it is as old as can be. */
async function changedAtMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}

/** Null: it is torn. */
function receiptIn(text: string): Receipt | null {
  try {
    return JSON.parse(text) as Receipt;
  } catch {
    return null; // It never was durable, so nothing happened after it.
  }
}
