// Home: what outlives every life of a simulated gateway. The tables, what tools and doors did, what people were told; and
// the ledger of all of it, in the order in which it happened.
//
//   Owns:      the only memory there is between two lives.
//   Does not:  decide anything.

import { createHash } from "node:crypto";
import type { World } from "../src/base/world.ts";
import type { SessionKey } from "../src/routing/key.ts";
import { MemoryStore } from "../src/store/memory.ts";
import type { Change, Receipt } from "../src/store/change.ts";
import type { Draft, Message } from "../src/transcript/entry.ts";
import { Reports, type Said } from "../test/turns/reports.ts";
import type { Delivery, Effect } from "../test/turns/tools.ts";
import { CurrentWorld } from "./current.ts";

export class Home {
  readonly clock: CurrentWorld;
  readonly store: MemoryStore;
  readonly reports = new Reports();
  readonly effects: Effect[] = [];
  readonly deliveries: Delivery[] = [];
  readonly problems: string[] = [];
  /** Causes of tool calls whose result is durable. */
  readonly settled = new Set<string>();
  /** How often each letter was written into a transcript, also into one that is gone. */
  readonly letters = new Map<string, number>();
  /** What was given to children, by the id of the task. */
  readonly tasks = new Map<string, Task>();
  /** Keys and transcripts of sessions that were deleted. */
  readonly deleted = new Set<string>();
  /** Keys of sessions that had ended, and were given something to do again. */
  readonly revived = new Set<string>();
  readonly #transcripts = new Map<SessionKey, string>();
  /** Of each transcript, the entry of the last answer. */
  readonly #answers = new Map<string, number>();
  readonly #hash = createHash("sha256");
  readonly #trace: ((line: string) => void) | null;
  commits = 0;
  /** The last entry that somebody was shown who follows a session. */
  followed = 0;

  /** `trace`: hears every line of the ledger; null: nobody does. */
  constructor(first: World, trace: ((line: string) => void) | null) {
    this.clock = new CurrentWorld(first);
    this.store = new MemoryStore(this.clock);
    this.#trace = trace;
  }

  /** One line of the ledger. Two runs of a seed have the same. */
  note(what: string, of: unknown): void {
    const line = `${this.clock.nowMs()} ${what} ${JSON.stringify(of)}`;
    this.#hash.update(`${line}\n`);
    this.#trace?.(line);
  }

  /** Of everything that happened. Nothing can be noted after it. */
  hash(): string {
    return this.#hash.digest("hex").slice(0, 16);
  }

  say(said: Said): void {
    this.note("said", said);
    this.reports.hearOutput(`${JSON.stringify(said)}\n`);
  }

  wrong(what: string): void {
    this.note("wrong", what);
    this.problems.push(what);
  }

  /** A commit is durable, whether or not anybody will be told. */
  async committed(changes: readonly Change[], receipt: Receipt): Promise<void> {
    this.commits += 1;
    this.note("commit", { changes, receipt });
    for (const change of changes) {
      if (change.do === "delete") {
        this.deleted.add(change.key);
        this.deleted.add(this.#transcripts.get(change.key) ?? "");
      }
      if (change.do === "revive") this.revived.add(change.key);
      if (change.do !== "append") continue;
      const id =
        (await this.store.session(change.key))?.transcript.id ?? this.#transcripts.get(change.key) ?? "";
      this.#transcripts.set(change.key, id);
      const first = (receipt.seqs[change.key] ?? 0) - change.entries.length + 1;
      for (const [at, entry] of change.entries.entries())
        if (entry.type === "message") this.#written({ key: change.key, id, seq: first + at }, entry);
    }
  }

  /** A task was given, as whoever gave it was told. */
  given(id: string, task: Task): void {
    const known = this.tasks.get(id);
    if (known && known.to !== task.to) this.wrong(`J10 ${id} was given to ${known.to}, and to ${task.to}`);
    this.tasks.set(id, task);
  }

  #written(
    { key, id, seq }: { readonly key: SessionKey; readonly id: string; readonly seq: number },
    { message, mailId }: Extract<Draft, { type: "message" }>,
  ): void {
    if (mailId !== undefined) this.letters.set(mailId, (this.letters.get(mailId) ?? 0) + 1);
    if (message.role === "assistant") this.#answers.set(id, seq);
    if (message.role !== "toolResult") return;
    this.settled.add(`cause:call:${id}:${this.#answers.get(id)}:${message.toolCallId}`);
    const task = taskIn(message);
    if (task) this.given(task.id, { by: key, to: task.to, isTold: task.isTold });
  }
}

export interface Task {
  readonly by: string;
  readonly to: string;
  readonly isTold: boolean; // whether somebody hears of its end
}

/** What the result of a spawn says; null: it is of another call, or nothing was given. */
function taskIn(
  message: Extract<Message, { role: "toolResult" }>,
): (Omit<Task, "by"> & { readonly id: string }) | null {
  const { toolName, isError, content, details } = message;
  const [block] = content;
  if (isError || !["sessions_spawn", "subagents"].includes(toolName) || block?.type !== "text") return null;
  const told = JSON.parse(block.text) as {
    readonly id: string;
    readonly sessionKey: string;
    readonly created?: boolean;
  };
  if (told.created === undefined) return null;
  return {
    id: told.id,
    to: told.sessionKey,
    isTold: (details as Partial<Spawned> | undefined)?.spawned?.isTold === true,
  };
}

/** What the result of a spawn keeps. */
interface Spawned {
  readonly spawned: { readonly isTold: boolean };
}
