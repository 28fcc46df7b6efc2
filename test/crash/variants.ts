// Deliberately broken copies of the source. A campaign that cannot tell them from the real thing proves nothing.
//
// A variant is the source with a few words replaced, in a directory of its own. The words must be there exactly
// once, so that a variant cannot silently become the real thing when the source changes.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const VARIANTS = {
  /** SQLite does not wait for the disk. Only a power cut shows it. */
  "synchronous-off": [
    { file: "src/store/local/schema.ts", from: "PRAGMA synchronous = FULL", to: "PRAGMA synchronous = OFF" },
  ],
  /** Lines leave the journal before their files are safe. Only a power cut shows it. */
  "journal-emptied-early": [
    {
      file: "src/store/local/checkpoint.ts",
      from: "    await syncAll(dirty.files, (path) => this.#syncFile(path));\n",
      to: "    this.#empty(twins);\n    await new Promise((wake) => setTimeout(wake, 400));\n    await syncAll(dirty.files, (path) => this.#syncFile(path));\n",
    },
  ],
  /** A new file is synced, its name is not. Only a power cut shows it. */
  "no-directory-sync": [
    { file: "src/store/local/checkpoint.ts", from: "await syncAll(dirty.directories, syncPath);", to: "" },
  ],
  /** Recovery empties the journal's twins in two transactions. Only a crash between them shows it. */
  "twins-emptied-apart": [
    {
      file: "src/store/local/checkpoint.ts",
      from: "for (const twin of twins) this.#database.exec(`DELETE FROM journal_${twin}`);",
      to: "for (const twin of twins) this.#database.exec(`DELETE FROM journal_${twin}; COMMIT; BEGIN IMMEDIATE`);",
    },
  ],
  /** Recovery trusts that the names of the files it writes to are safe. Only a power cut after a kill shows it. */
  "no-directory-sync-in-recovery": [
    { file: "src/store/local/recover.ts", from: "    files.doubt(path);\n", to: "" },
  ],
  /** A start shows commits that a killed process wrote and never synced. Only a power cut after a kill shows it. */
  "log-left-unsynced": [
    { file: "src/store/local/schema.ts", from: "if (existsSync(log)) syncDirectory(log);", to: "" },
  ],
  /** The caller hears "done" before it is. Any crash shows it. */
  "told-before-commit": [
    {
      file: "src/store/local/writer.ts",
      from: '      this.#database.exec("COMMIT");\n',
      to: '      this.#say({ say: "done", results: JSON.stringify(applied.results) });\n      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);\n      this.#database.exec("COMMIT");\n',
    },
    {
      file: "src/store/local/writer.ts",
      from: '      this.#say({ say: "done", results: JSON.stringify(applied.results) }); // A1\n',
      to: "",
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type Variant = keyof typeof VARIANTS;

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** Where the real source is. */
export function realSource(): string {
  return ROOT;
}

/** Puts a broken copy of the source into `directory`, which must be empty, and returns it. */
export function brokenSource(variant: Variant, directory: string): string {
  return editedSource(variant, VARIANTS[variant], directory);
}

/** The same for the edits of another campaign. */
export function editedSource(variant: string, edits: readonly Edit[], directory: string): string {
  mkdirSync(join(directory, "test"), { recursive: true });
  for (const folder of ["src", "test/crash", "test/turns", "test/agents", "sim"])
    cpSync(join(ROOT, folder), join(directory, folder), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(directory, "package.json"));
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  for (const { file, from, to } of edits) {
    const path = join(directory, file);
    const text = readFileSync(path, "utf8");
    if (text.split(from).length !== 2)
      throw new Error(`variant ${variant}: ${file} does not have these words exactly once: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  return directory;
}
