// A log file that is bounded: when it is full it becomes <name>.1, what was .1 becomes .2, and the oldest goes.
//
// Written at once, like standard error: the last lines before a crash are the ones that somebody wants. A disk that is
// full, or a folder that is gone, must not stop the daemon over its log: such lines go to standard error.

import { closeSync, fstatSync, openSync, renameSync, truncateSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { DestinationStream } from "pino";
import { makeDirectory } from "./directory.ts";

export interface Rotation {
  readonly file: string;
  readonly fileBytes: number;
  readonly files: number; // that are kept, this one included
}

export class RotatingFile implements DestinationStream {
  readonly #rotation: Rotation;
  #handle: number | null = null; // null: it could not be opened; the next line tries again
  #bytes = 0;

  constructor(rotation: Rotation) {
    this.#rotation = rotation;
    makeDirectory(dirname(rotation.file));
    this.#open();
  }

  write(line: string): void {
    try {
      if (this.#handle === null || this.#bytes >= this.#rotation.fileBytes) this.#turn();
      if (this.#handle !== null) this.#bytes += writeSync(this.#handle, line);
    } catch (error) {
      complain(`${line.trimEnd()} (not in the log file: ${(error as Error).message})\n`);
    }
  }

  #open(): void {
    this.#handle = openSync(this.#rotation.file, "a", 0o600);
    this.#bytes = fstatSync(this.#handle).size;
  }

  #turn(): void {
    const { file, files } = this.#rotation;
    if (this.#handle !== null) closeSync(this.#handle);
    const isFull = this.#handle !== null;
    this.#handle = null;
    for (let at = files - 1; isFull && at > 0; at -= 1) {
      try {
        renameSync(at === 1 ? file : `${file}.${at - 1}`, `${file}.${at}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // There are not so many yet.
      }
    }
    if (isFull && files === 1) truncateSync(file); // There is none to keep: it begins anew.
    this.#open();
  }
}

function complain(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Nobody reads standard error either. Whoever logs must not fail of it.
  }
}
