import type { TranscriptFiles } from "./files.ts";
import type { FileWrite } from "./outcome.ts";
import { isFull } from "./trouble.ts";

/** Committed lines that are not in their files yet, joined per file: many small writes become one. */
export class Unwritten {
  readonly #byPath = new Map<string, { readonly offset: number; readonly chunks: Buffer[] }>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Writes of one file come in the order of their offsets, each where the last one ended. */
  add(write: FileWrite): void {
    const known = this.#byPath.get(write.path);
    if (known) known.chunks.push(write.bytes);
    else this.#byPath.set(write.path, { offset: write.offset, chunks: [write.bytes] });
    this.#bytes += write.bytes.length;
  }

  /** False: the disk is full, and some are still not in their files. */
  writeTo(files: TranscriptFiles): boolean {
    try {
      for (const [path, { offset, chunks }] of this.#byPath) {
        files.write(path, offset, chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
        this.drop(path);
      }
      return true;
    } catch (error) {
      if (!isFull(error)) throw error;
      return false;
    }
  }

  drop(path: string): void {
    const known = this.#byPath.get(path);
    this.#bytes -= known?.chunks.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0;
    this.#byPath.delete(path);
  }
}
