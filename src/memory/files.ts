// The notes of agents as files of their workspaces. Writing and reading happen here; a thread searches, from the first question
// on.

import { Fault, type FaultWords } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { Thread } from "../store/local/thread.ts";
import { listNotes, readNote } from "./folder.ts";
import type { Listed, Memory, NotesFound, NoteText, Question, Writing, Written } from "./memory.ts";
import type { FromNotes, ToNotes } from "./notes.ts";
import { Receipts } from "./receipts.ts";
import { writeNote } from "./writing.ts";

interface Parts {
  readonly world: World;
  readonly log: Log;
  readonly receipts: string; // a folder of its own; it need not exist
}

export class FileMemory implements Memory {
  readonly #parts: Parts;
  readonly #receipts: Receipts;
  #thread: Thread<ToNotes, FromNotes> | null = null; // null: nobody has searched yet, or it died
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#receipts = new Receipts(parts.receipts);
  }

  async list(workspace: string, under = ""): Promise<Listed> {
    return await listNotes(workspace, under);
  }

  async read(workspace: string, path: string): Promise<NoteText> {
    return await readNote(workspace, path);
  }

  async write(workspace: string, writing: Writing, signal: AbortSignal): Promise<Written> {
    const { world, log } = this.#parts;
    return await writeNote({ world, log, receipts: this.#receipts }, workspace, writing, signal);
  }

  async search(workspace: string, question: Question, signal: AbortSignal): Promise<NotesFound> {
    if (this.#closed) throw closed();
    signal.throwIfAborted();
    const thread = (this.#thread ??= this.#begun());
    const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
    let asked = 0;
    const answer = thread.ask<NotesFound>((id) => ({ id: (asked = id), workspace, question }));
    const drop = (): void => {
      giveUp(signal.reason);
      thread.settle(asked, { code: "closed", message: "nobody waits for it" } satisfies FaultWords);
      thread.post({ id: asked, question: null });
    };
    signal.addEventListener("abort", drop, { once: true });
    try {
      return await Promise.race([given, answer]);
    } finally {
      signal.removeEventListener("abort", drop);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#thread = null;
    thread?.fail(closed());
    await thread?.stop();
  }

  /** Whatever becomes of it, the rest goes on: who waits is told, and the next question starts another. */
  #begun(): Thread<ToNotes, FromNotes> {
    const thread: Thread<ToNotes, FromNotes> = new Thread("notes", "", {
      beside: import.meta.url,
      hear: ({ id, answer }) => thread.settle(id, answer),
      died: (fault) => {
        if (this.#thread === thread) this.#thread = null;
        this.#parts.log.error({ err: fault }, "the search in notes died; the next question starts it anew");
      },
    });
    return thread;
  }
}

function closed(): Fault {
  return new Fault("closed", "memory is closed");
}
