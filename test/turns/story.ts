// Story: a transcript as turns. What does not fit in one is a problem (J2).

import { basename } from "node:path";
import type { Block, Entry, Route, Session } from "../../src/index.ts";
import { textOf } from "../../src/transcript/entry.ts";

export interface Call {
  readonly cause: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly results: Result[];
}

export interface Result {
  readonly isError: boolean;
  readonly text: string;
  readonly atMs: number;
  readonly details: unknown; // undefined: there are none
}

export interface Turn {
  readonly id: string;
  readonly begunAtMs: number;
  readonly letters: Letter[];
  readonly calls: Call[];
  /** What the model said last: its words, as blocks of text. */
  words: readonly Block[];
  resumed: number;
  /** Null: it has not ended. */
  end: { readonly outcome: string; readonly reason: string | null; readonly seq: number } | null;
}

export interface Letter {
  readonly id: string;
  readonly replyTo: Route | null;
  readonly isFromSession: boolean;
}

export interface Story {
  readonly row: Session;
  readonly turns: readonly Turn[];
  readonly problems: readonly string[];
  /** Of every letter, how often it is there. */
  readonly letters: ReadonlyMap<string, number>;
  /** The letters that sessions began with which this one handed its work to, by id: to whom. */
  readonly handedOver: ReadonlyMap<string, string>;
}

/** `entries` are those that a session wrote itself: what a thread copied from its chat is another's story. */
export function storyOf(row: Session, entries: readonly Entry[]): Story {
  const reader = new Reader(row);
  for (const entry of entries) reader.read(entry);
  reader.close();
  const { turns, problems, letters, handedOver } = reader;
  return { row, turns, problems, letters, handedOver };
}

function opened(id: string, begunAtMs: number): Turn {
  return { id, begunAtMs, letters: [], calls: [], words: [], resumed: 0, end: null };
}

class Reader {
  readonly turns: Turn[] = [];
  readonly problems: string[] = [];
  readonly letters = new Map<string, number>();
  readonly handedOver = new Map<string, string>();
  readonly #row: Session;
  #open: Turn | null = null;
  #calls = new Map<string, Call>(); // of the last answer

  constructor(row: Session) {
    this.#row = row;
  }

  read(entry: Entry): void {
    if (entry.type === "custom") this.#note(entry);
    else if (entry.type === "message") this.#message(entry);
  }

  close(): void {
    if (this.#open !== null) this.#complain(`turn ${this.#open.id} has not ended`);
  }

  #complain(what: string): void {
    this.problems.push(`J2 ${this.#row.key}: ${what}`);
  }

  #note(entry: Extract<Entry, { type: "custom" }>): void {
    const data = entry.data as { readonly turn: string; readonly outcome: string; readonly reason: string };
    const isOpen = this.#open !== null && this.#open.id === data.turn;
    switch (entry.customType) {
      case "sessiond/turn-started":
        if (this.#open !== null) this.#complain(`turn ${data.turn} begins inside ${this.#open.id}`);
        if (this.turns.some(({ id }) => id === data.turn)) this.#complain(`turn ${data.turn} begins twice`);
        this.#open = opened(data.turn, Date.parse(entry.timestamp));
        this.turns.push(this.#open);
        this.#calls = new Map();
        break;
      case "sessiond/turn-resumed":
        if (!isOpen || this.#open === null) this.#complain(`${data.turn} is gone on with, and is not open`);
        else this.#open.resumed += 1;
        break;
      case "sessiond/turn-ended":
        if (!isOpen || this.#open === null) this.#complain(`turn ${data.turn} ends, and is not open`);
        else this.#end(this.#open, { outcome: data.outcome, reason: data.reason, seq: entry.seq });
        break;
      case "sessiond/handoff":
        this.#handOver(entry.data as { readonly path: string; readonly key: string });
        break;
      default:
    }
  }

  /** The file is called as the transcript of the session that goes on. */
  #handOver({ path, key }: { readonly path: string; readonly key: string }): void {
    this.handedOver.set(`cause:begin:${basename(path, ".md")}`, key);
  }

  #end(turn: Turn, end: NonNullable<Turn["end"]>): void {
    this.#mustBeSettled(`turn ${turn.id} ended (${end.outcome}, ${end.reason ?? "-"})`);
    turn.end = end;
    this.#open = null;
    this.#calls = new Map();
  }

  #mustBeSettled(when: string): void {
    for (const { cause, name, results } of this.#calls.values())
      if (results.length === 0) this.#complain(`${when}, and ${name} ${cause} has no result`);
  }

  #message(entry: Extract<Entry, { type: "message" }>): void {
    const { message, seq } = entry;
    const turn = this.#open;
    if (turn === null) return this.#complain(`entry ${seq}, of a ${message.role}, is in no turn`);
    if (message.role === "user") {
      const id = entry.mailId ?? "";
      turn.letters.push({
        id,
        replyTo: entry.replyTo ?? null,
        isFromSession: entry.provenance?.kind === "inter_session",
      });
      this.letters.set(id, (this.letters.get(id) ?? 0) + 1);
    } else if (message.role === "assistant") {
      this.#mustBeSettled(`the model was asked again (entry ${seq})`);
      this.#answer(turn, message.content, seq);
    } else this.#result(seq, message, textOf(entry));
  }

  #answer(turn: Turn, content: readonly Block[], seq: number): void {
    const made = content.flatMap((block): [string, Call][] => {
      if (block.type !== "toolCall") return [];
      const cause = `cause:call:${this.#row.transcript.id}:${seq}:${block.id}`;
      return [[block.id, { cause, name: block.name, arguments: block.arguments, results: [] }]];
    });
    this.#calls = new Map(made);
    turn.calls.push(...this.#calls.values());
    turn.words = content.filter((block) => block.type === "text" && block.text.trim() !== "");
  }

  #result(
    seq: number,
    message: {
      readonly toolCallId: string;
      readonly isError: boolean;
      readonly timestamp: number;
      readonly details?: unknown;
    },
    text: string,
  ): void {
    const call = this.#calls.get(message.toolCallId);
    if (!call) return this.#complain(`the result of ${message.toolCallId} (entry ${seq}) is of no call`);
    const { isError, timestamp: atMs, details } = message;
    call.results.push({ isError, text, atMs, details });
    if (call.results.length > 1)
      this.#complain(`${call.name} ${call.cause} has ${call.results.length} results`);
  }
}
