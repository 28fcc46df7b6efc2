// The load of measures 1, 2 and 3: what a person's message costs. Each commit takes one waiting letter and appends
// the message it held to the transcript; the row of the session is updated with it.
//
// Letters are posted before the clock runs, fifty for each session, in waves: the first letter of every session, then
// the second of every session. So letters that are taken at about the same time were posted at about the same time,
// as it is when people write. (Posted session by session, each would lie in a page of its own.)

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { SimulatedWorld } from "../src/base/world.ts";
import { directKey, parseAgent, type SessionKey } from "../src/routing/key.ts";
import type { LocalStore } from "../src/store/local/local.ts";
import type { Change } from "../src/store/change.ts";
import type { Draft } from "../src/transcript/entry.ts";

/** With the stamp, the provenance and the envelope of the format this makes a line of about 1 KiB. */
const TEXT_CHARS = 660;
const TEXTS = 512;

/** Letters that wait for each session when the clock starts. */
export const LETTERS = 50;
const WORDS = 4_000;

/** Texts of many different words, as people write them: full-text search has its real work to do. */
const TEXT: readonly string[] = makeTexts();

function makeTexts(): string[] {
  const dice = new SimulatedWorld(1);
  const letter = (): string => String.fromCharCode(97 + Math.floor(dice.random() * 26));
  const word = (): string => Array.from({ length: 2 + Math.floor(dice.random() * 8) }, letter).join("");
  const words = Array.from({ length: WORDS }, word);
  return Array.from({ length: TEXTS }, () => {
    let text = "";
    while (text.length < TEXT_CHARS) text += `${words[Math.floor(dice.random() ** 2 * WORDS)]} `;
    return text.slice(0, TEXT_CHARS);
  });
}

export function textAt(n: number): string {
  return TEXT[n % TEXTS] ?? "";
}

const FROM = { kind: "external_user", channel: "bench", peer: "someone" } as const;

export function userMessage(text: string, mailId: string): Draft {
  const now = Date.now();
  return {
    type: "message",
    timestamp: new Date(now).toISOString(),
    mailId,
    provenance: FROM,
    message: { role: "user", content: [{ type: "text", text }], timestamp: now },
  };
}

function post(to: SessionKey, id: string, text: string): Change {
  const letter = {
    id,
    from: FROM,
    class: "interactive",
    mode: "steer",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  } as const;
  return { do: "post", to: [to], letter };
}

/** One session, and the letters that wait for it. */
export class Writer {
  readonly #store: LocalStore;
  readonly #key: SessionKey;
  #lastSeq: number;
  #waiting: string[] = [];

  private constructor(store: LocalStore, key: SessionKey, lastSeq: number) {
    this.#store = store;
    this.#key = key;
    this.#lastSeq = lastSeq;
  }

  /** On a new session, or where an existing one stopped. */
  static async on(store: LocalStore, name: string): Promise<Writer> {
    const key = directKey({ agent: parseAgent("main"), channel: null, account: null, peer: name });
    return await Writer.onKey(store, key);
  }

  static async onKey(store: LocalStore, key: SessionKey): Promise<Writer> {
    const open = {
      do: "open",
      key,
      cwd: "/home/ada/garden",
      parent: null,
      settings: {},
      copy: null,
    } as const;
    await store.commit([{ ...open, transcript: crypto.randomUUID(), ifExists: "keep" }]);
    const row = await store.session(key);
    return new Writer(store, key, row?.transcript.lastSeq ?? 0);
  }

  /** LETTERS of them to each writer's session; all writers are of one store. */
  static async post(writers: readonly Writer[]): Promise<void> {
    const [first] = writers;
    if (first === undefined) return;
    const waves = Array.from({ length: LETTERS }, () => writers.map((writer) => writer.#letter()));
    await Promise.all(waves.map((wave) => first.#store.commit(wave)));
  }

  #letter(): Change {
    const n = this.#lastSeq + this.#waiting.length;
    const id = `ext:bench:${this.#key}:${n}`;
    this.#waiting.push(id);
    return post(this.#key, id, textAt(n));
  }

  /** The commit that is measured. */
  async commit(): Promise<void> {
    const key = this.#key;
    const id = this.#waiting.shift() ?? "";
    const entries = [userMessage(textAt(this.#lastSeq), id)];
    await this.#store.commit([
      { do: "take", key, fence: 0, ids: [id] },
      { do: "append", key, fence: 0, after: this.#lastSeq, entries, rewindTo: null, contextSeq: null },
    ]);
    this.#lastSeq += 1;
  }

  /** Everything that waits, one after the other; the time of each. */
  async drain(): Promise<number[]> {
    const times: number[] = [];
    while (this.#waiting.length > 0) {
      const before = performance.now();
      await this.commit();
      times.push(performance.now() - before);
    }
    return times;
  }

  /** Bytes of the lines it has written, on average. */
  async lineBytes(): Promise<number> {
    const row = await this.#store.session(this.#key);
    return Math.round((row?.transcript.bytes ?? 0) / Math.max(1, row?.transcript.lastSeq ?? 1));
  }
}

/** The limit: bytes to a file and a sync, with nothing around it. */
export class RawFile {
  readonly #file: number;
  readonly #line: Buffer;
  readonly #sizeMax: number;
  #at = 0;

  /** `sizeMax`: it is written from its beginning again when it is that large; Infinity: it grows. */
  constructor(path: string, lineBytes: number, sizeMax: number) {
    this.#file = openSync(path, "w");
    this.#line = Buffer.alloc(lineBytes, "x");
    this.#sizeMax = sizeMax;
    if (sizeMax === Infinity) return;
    writeSync(this.#file, Buffer.alloc(sizeMax, "y"), 0, sizeMax, 0);
    fdatasyncSync(this.#file);
  }

  append(count: number): number[] {
    const times: number[] = [];
    for (let done = 0; done < count; done += 1) {
      const before = performance.now();
      writeSync(this.#file, this.#line, 0, this.#line.length, this.#at);
      fdatasyncSync(this.#file);
      times.push(performance.now() - before);
      this.#at += this.#line.length;
      if (this.#at + this.#line.length > this.#sizeMax) this.#at = 0;
    }
    return times;
  }

  close(): void {
    closeSync(this.#file);
  }
}
