// The indexes of all agents' notes that are in memory at once. The one that was not asked for longest goes, and is read again.

import type { World } from "../base/world.ts";
import { NoteIndex } from "./indexed.ts";
import type { NotesFound, Question } from "./memory.ts";

/** Also small ones take some memory each. */
const INDEXES_MAX = 16;

export class NoteIndexes {
  readonly #world: World;
  readonly #bytesMax: number;
  readonly #all = new Map<string, NoteIndex>(); // by workspace; the one asked last is the last

  /** Bytes of notes, of all together. One that has more by itself stays until another is asked. */
  constructor(world: World, bytesMax: number) {
    this.#world = world;
    this.#bytesMax = bytesMax;
  }

  /** Workspaces whose notes are in memory, the one asked last at the end. */
  get held(): readonly string[] {
    return [...this.#all.keys()];
  }

  /** One question at a time. */
  async answer(workspace: string, question: Question, signal: AbortSignal): Promise<NotesFound> {
    const index = this.#all.get(workspace) ?? new NoteIndex(this.#world, workspace);
    this.#all.delete(workspace);
    this.#all.set(workspace, index);
    try {
      return await index.answer(question, signal);
    } finally {
      this.#makeRoom(); // What it has read may be more than before.
    }
  }

  #makeRoom(): void {
    let bytes = this.#all.values().reduce((sum, index) => sum + index.bytes, 0);
    for (const [workspace, index] of this.#all) {
      if (this.#all.size === 1 || (bytes <= this.#bytesMax && this.#all.size <= INDEXES_MAX)) return;
      bytes -= index.bytes;
      this.#all.delete(workspace);
      index.close();
    }
  }
}
