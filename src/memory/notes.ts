// The thread that finds words in notes, so that the main thread waits for no file. One question after the other.

import { constants, setPriority } from "node:os";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultWords } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { NoteIndex } from "./indexed.ts";
import type { NotesFound, Question } from "./memory.ts";

export interface ToNotes {
  readonly id: number;
  readonly workspace: string;
  readonly question: Question;
}

export interface FromNotes {
  readonly id: number;
  readonly answer: NotesFound | FaultWords;
}

/** Agents whose notes are indexed at once, in memory. The one that was not searched for longest goes, and is read again. */
const INDEXES_MAX = 16;

const world = new RealWorld();
const indexes = new Map<string, NoteIndex>(); // by workspace; the one asked last is the last

function indexOf(workspace: string): NoteIndex {
  const index = indexes.get(workspace) ?? new NoteIndex(world, workspace);
  indexes.delete(workspace);
  indexes.set(workspace, index);
  if (indexes.size > INDEXES_MAX) {
    const [[oldest, unused] = []] = indexes;
    if (oldest !== undefined) indexes.delete(oldest);
    unused?.close();
  }
  return index;
}

/** What is no Fault is our bug: the thread dies of it, and the next question starts another. */
async function answer({ workspace, question }: ToNotes): Promise<NotesFound | FaultWords> {
  try {
    return await indexOf(workspace).answer(question);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, message: error.message };
  }
}

// As search does it in the store: people come first. Elsewhere than on Linux this would be the whole process's.
if (process.platform === "linux") setPriority(0, constants.priority.PRIORITY_LOW);

const { port } = workerData as { readonly port: MessagePort };
let before: Promise<void> = Promise.resolve();

port.on("message", (asked: ToNotes) => {
  before = before.then(async () => {
    const said: FromNotes = { id: asked.id, answer: await answer(asked) };
    port.postMessage(said);
  });
});
