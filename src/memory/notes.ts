// The thread that finds words in notes, so that the main thread waits for no file. One question after the other.

import { constants, setPriority } from "node:os";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultWords } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { NOTE_INDEXES_BYTES_MAX } from "../limits.ts";
import { NoteIndexes } from "./indexes.ts";
import type { NotesFound, Question } from "./memory.ts";

/** A question; without one, that nobody waits any more for the answer to the one of that number. */
export type ToNotes =
  | { readonly id: number; readonly workspace: string; readonly question: Question }
  | { readonly id: number; readonly question: null };

export interface FromNotes {
  readonly id: number;
  readonly answer: NotesFound | FaultWords;
}

const indexes = new NoteIndexes(new RealWorld(), NOTE_INDEXES_BYTES_MAX);
const waited = new Map<number, AbortController>(); // questions that are not answered yet, by number

/** Null: nobody waits for it any more. What is no Fault is our bug: the thread dies of it, and the next question starts another. */
async function answer(
  workspace: string,
  question: Question,
  { signal }: AbortController,
): Promise<NotesFound | FaultWords | null> {
  if (signal.aborted) return null;
  try {
    return await indexes.answer(workspace, question, signal);
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, message: error.message };
  }
}

// As search does it in the store: people come first. Elsewhere than on Linux this would be the whole process's.
if (process.platform === "linux") setPriority(0, constants.priority.PRIORITY_LOW);

const { port } = workerData as { readonly port: MessagePort };
let before: Promise<void> = Promise.resolve();

port.on("message", (asked: ToNotes) => {
  const { id, question } = asked;
  if (question === null) {
    waited.get(id)?.abort();
    return;
  }
  const wait = new AbortController();
  waited.set(id, wait);
  before = before.then(async () => {
    const said = await answer(asked.workspace, question, wait);
    waited.delete(id);
    if (said !== null) port.postMessage({ id, answer: said } satisfies FromNotes);
  });
});
