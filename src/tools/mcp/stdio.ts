// A server that is a program
//
// Carries messages over the standard streams of a process that we start: one JSON object a line. The process is one of
// our own (sandbox/processes.ts), so its whole tree goes when the line is closed, and what is left of it after a crash
// of sessiond is found there.
//
//   Owns:      one process, from start() to close().
//   Does not:  know what the messages mean, or start it again (server.ts).
//
// Invariants
//   P1. onclose is told once, after the process is gone or was told to go; why() says what it died of from then on.
//   P2. Whatever the process prints, at most LINE_BYTES_MAX of it are kept, and nothing is thrown.
//   P3. close() does not reject: the client calls it without looking.

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Log } from "../../base/log.ts";
import { unlessLate } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { McpServer } from "../../config/config.ts";
import { plainEnv, type Ended, type Processes, type Running } from "../../sandbox/processes.ts";
import { Words } from "./words.ts";

/** Bytes of one message of a server. A picture of 10 MB fits; what never ends does not. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes that wait for a server to read them. One that reads nothing must not fill our memory with what it is asked. */
const UNREAD_BYTES_MAX = 32 * 1024 * 1024;

/** What is kept of a server's complaints: the last of them says why it died, the others are for the log. */
const STDERR_LINES_KEPT = 20;
const STDERR_CHARS_MAX = 500;

/** Characters that are told of a line which is no message. */
const GARBAGE_CHARS_MAX = 200;

/** Bytes of a character of a text in memory, in UTF-8, at most. */
const UTF8_BYTES_MAX = 3;

/** How long a server may take to leave when its input ends, before it is killed. It may want to write something down. */
const LEAVING_MS_MAX = 1_000;

/** How long the end of a process is waited for when its output has ended. */
const ENDING_MS_MAX = 2_000;

export interface StdioParts {
  readonly world: World;
  readonly log: Log;
  readonly processes: Pick<Processes, "start">;
  readonly server: Extract<McpServer, { kind: "stdio" }>;
  /** Throws what is no message. */
  readonly parse: (line: string) => JSONRPCMessage;
}

export class StdioLine implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #parts: StdioParts;
  readonly #words: Words;
  readonly #complaints: string[] = [];
  readonly #over = Promise.withResolvers<void>();
  #starting: Promise<Running> | null = null; // null: nobody asked for it
  #running: Running | null = null; //           null: not started yet
  #why: string | null = null; //      null: it did not die
  #isClosed = false;
  #hasEnded = false;
  #hasToldGarbage = false;

  constructor(parts: StdioParts) {
    this.#parts = parts;
    this.#words = new Words(parts.server);
  }

  /** What it died of. Null: it lives, it was never started, or it was closed. */
  why(): string | null {
    return this.#why;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env } = this.#parts.server;
    const given = Object.entries(env).map(([name, value]) => [name, value.reveal()] as const);
    this.#starting = this.#parts.processes.start({
      command: [command, ...args],
      cwd,
      env: { ...plainEnv(process.env), ...Object.fromEntries(given) },
      session: null, // It serves all of them.
    });
    const running = await this.#starting;
    this.#running = running;
    this.#listen(running);
    void running.ended.then((ended) => this.#end(running, wordsOfEnd(ended)));
    if (this.#isClosed) throw new Error("it was closed before it had started");
  }

  #listen(running: Running): void {
    const messages = new Lines(LINE_BYTES_MAX);
    running.stdout.on("data", (chunk: Buffer) => {
      for (const line of messages.take(chunk)) this.#heard(line);
      if (messages.isTooLong) this.#breakOff(running, `it sent a line of more than ${LINE_BYTES_MAX} bytes`);
    });
    running.stdout.on("end", () => void this.#silent(running));
    const complaints = new Lines(this.#words.charsRead(STDERR_CHARS_MAX) * UTF8_BYTES_MAX);
    running.stderr.on("data", (chunk: Buffer) => {
      for (const line of complaints.take(chunk)) this.#complained(line);
      if (complaints.isTooLong) this.#complained(complaints.cut());
    });
    running.stderr.on("end", () => this.#complained(complaints.restart()));
    for (const stream of [running.stdin, running.stdout, running.stderr])
      stream.on("error", (error: Error) => this.onerror?.(error)); // Its end is told by `ended`.
  }

  /** What is no message is left out: many programs greet on their output. */
  #heard(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#parts.parse(line);
    } catch {
      const { log, server } = this.#parts;
      const level = this.#hasToldGarbage ? "debug" : "warn";
      log[level](
        { server: server.name, line: this.#words.shortly(line, GARBAGE_CHARS_MAX) },
        "a line that is no message is skipped",
      );
      this.#hasToldGarbage = true;
      return;
    }
    this.onmessage?.(message);
  }

  #complained(line: string): void {
    const words = this.#words.shortly(line, STDERR_CHARS_MAX);
    if (words === "") return;
    this.#complaints.push(words);
    if (this.#complaints.length > STDERR_LINES_KEPT) this.#complaints.shift();
    this.#parts.log.debug({ server: this.#parts.server.name, stderr: words }, "a server of tools complains");
  }

  /** Mostly the process ends as well, and then its end says more. */
  async #silent(running: Running): Promise<void> {
    await unlessLate(this.#parts.world, ENDING_MS_MAX, running.ended);
    if (!this.#hasEnded) this.#breakOff(running, "it closed its output");
  }

  /** It lives but cannot be talked with any more. */
  #breakOff(running: Running, why: string): void {
    if (this.#why !== null || this.#isClosed) return;
    this.#why = why;
    running.stdout.removeAllListeners("data").resume();
    void this.#kill(running);
  }

  /** P1. */
  async #end(running: Running, how: string): Promise<void> {
    this.#hasEnded = true;
    const last = this.#complaints.at(-1);
    if (!this.#isClosed) this.#why ??= last === undefined ? how : `${how}: ${last}`;
    await this.#kill(running); // Children of it may be left.
    this.#over.resolve();
    this.onclose?.();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#running?.stdin;
    if (!stdin?.writable || this.#isClosed || this.#why !== null)
      throw new Error("the server does not listen any more");
    if (stdin.writableLength > UNREAD_BYTES_MAX) throw new Error("the server does not read what it is sent");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    return promise;
  }

  /** P3. Resolves when the whole tree is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = await this.#starting?.catch(() => null); // What could not be started need not be ended.
    if (running) await this.#leave(running);
  }

  async #leave(running: Running): Promise<void> {
    const { world } = this.#parts;
    running.stdin.end();
    await unlessLate(world, LEAVING_MS_MAX, running.ended);
    await this.#kill(running);
    await unlessLate(world, LEAVING_MS_MAX, this.#over.promise);
  }

  async #kill(running: Running): Promise<void> {
    try {
      await running.kill();
    } catch (error) {
      this.#parts.log.warn({ server: this.#parts.server.name, err: error }, "a server could not be killed");
    }
  }
}

function wordsOfEnd({ exitCode, signal }: Ended): string {
  return signal === null ? `exit ${exitCode ?? "unknown"}` : `killed by ${signal}`;
}

/** Pieces of a line that are kept as they came. Who sends single bytes must not make us keep an object for each. */
const PIECES_LOOSE_MAX = 1_024;

/** Cuts bytes into lines, and keeps the beginning of the next one up to a bound. */
class Lines {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #loose = 0; // pieces since some were joined
  #isCut = false; // true: the rest of a line is left out until it ends

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isTooLong(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  *take(chunk: Buffer): Generator<string> {
    let from = this.#isCut ? chunk.indexOf(10) + 1 : 0;
    if (this.#isCut && from === 0) return;
    this.#isCut = false;
    for (let end = chunk.indexOf(10, from); end >= 0; end = chunk.indexOf(10, from)) {
      this.#pieces.push(chunk.subarray(from, end));
      from = end + 1;
      yield this.restart();
    }
    if (from === chunk.length) return;
    this.#pieces.push(chunk.subarray(from));
    this.#bytes += chunk.length - from;
    this.#loose += 1;
    if (this.#loose < PIECES_LOOSE_MAX) return;
    this.#pieces.push(Buffer.concat(this.#pieces.splice(-this.#loose)));
    this.#loose = 0;
  }

  /** What there is of a line; the rest of it is left out, because it would begin anywhere. */
  cut(): string {
    this.#isCut = true;
    return this.restart();
  }

  /** What there is of a line, as if it had ended. */
  restart(): string {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#bytes = 0;
    this.#loose = 0;
    return line;
  }
}
