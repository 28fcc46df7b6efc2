// What hostile clients do, byte by byte, and what has to be left of a daemon afterwards.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket, type ClientOptions } from "ws";
import { afterwards } from "../fixtures/home.ts";
import { Daemon } from "./daemon.ts";

/** More than the garbage of any attack here: the largest bodies, several at once. What is not bounded comes to gigabytes. */
const LEFT_BYTES_MAX = 256 * 1024 * 1024;

/** How long garbage may lie about after an attack. */
const COLLECTED_MS_MAX = 10_000;

/** Memory that V8 would rather keep than tidy up, above all on a busy machine, is no harm done: so it gets little. */
const TIDY = "--max-semi-space-size=8 --max-old-space-size=256";

/** A page that the config lets in. */
export const FRIEND = "https://friend.example";

/** A daemon that says everything it does, and is looked at when the attacks are over. */
export async function attacked(test: TestContext): Promise<Daemon> {
  return await Daemon.start(test, {
    config: { log: { level: "trace" }, gateway: { origins: [FRIEND], requestsPerSecond: 1_000_000 } },
    env: { NODE_OPTIONS: TIDY },
  });
}

/** Runs attacks side by side; then the daemon is as well as before. */
export async function unharmed(daemon: Daemon, attacks: () => readonly Promise<unknown>[]): Promise<void> {
  const { pid } = daemon;
  await turn(daemon);
  const before = memoryOf(pid);
  const ends = await Promise.allSettled(attacks());
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  assert.equal((await daemon.fetch("/healthz", { token: null })).status, 200);
  assert.equal(daemon.pid, pid, "it is the same process");
  await turn(daemon);
  for (let waited = 0; memoryOf(pid) - before > LEFT_BYTES_MAX && waited < COLLECTED_MS_MAX; waited += 500) {
    await turn(daemon);
    await sleep(500);
  }
  assert.ok(memoryOf(pid) - before < LEFT_BYTES_MAX, `${before} bytes became ${memoryOf(pid)}`);
  const complaints = daemon.log.split("\n").filter((line) => /"level":[56]0|"bug"|[Uu]nhandled/.test(line));
  assert.deepEqual(complaints.slice(0, 3), []);
  assert.doesNotMatch(daemon.said, /Error|[Uu]nhandled|Warning/);
  assert.ok(!daemon.log.includes(daemon.token) && !daemon.said.includes(daemon.token), "no token is told");
}

async function turn(daemon: Daemon): Promise<void> {
  const asked = await daemon.call("ask", { sessionKey: "main", message: "!say well" });
  assert.deepEqual([asked.outcome, asked.text], ["done", "well"]);
}

/** Bytes in memory; 0 where the system does not say. */
export function memoryOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

export interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly todo: string;
    readonly retry: boolean;
  };
}

/** What every refusal looks like. */
export function assertRefusal(value: unknown): asserts value is Refusal {
  const { error, ...others } = value as Refusal;
  assert.deepEqual(Object.keys(others), []);
  assert.deepEqual(Object.keys(error).toSorted(), ["code", "message", "retry", "todo"]);
  assert.ok(error.message.length > 0 && error.message.length < 4_000, error.message.slice(0, 200));
}

/** A connection on which anything can be said. */
export class Raw {
  readonly #socket: Socket;
  readonly ended: Promise<void>;
  heard = "";

  static async open(test: TestContext, daemon: Daemon): Promise<Raw> {
    const { hostname, port } = new URL(daemon.url);
    const socket = connect({ host: hostname, port: Number(port) });
    afterwards(test, () => socket.destroy());
    await once(socket, "connect");
    return new Raw(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    socket.setEncoding("latin1").on("data", (text: string) => (this.heard += text));
    socket.on("error", () => {}); // It was reset: `ended` says so.
    socket.on("close", () => resolve());
  }

  get isEnded(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  say(text: string | Uint8Array): void {
    if (!this.isEnded) this.#socket.write(text);
  }

  /** Resolves when it is on its way, or when nobody takes it any more. */
  async sayAll(bytes: Uint8Array): Promise<void> {
    if (this.isEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.write(bytes, () => resolve());
    await Promise.race([promise, this.ended]);
  }

  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.heard)) {
      assert.ok(!this.isEnded, `it ended: ${this.heard.slice(0, 300)}`);
      await sleep(5);
    }
    return this.heard;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.heard)?.[1] ?? 0);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** The lines before a body; `more` as in "Name: value". */
export function headOf(daemon: Daemon, line: string, ...more: readonly string[]): string {
  const host = more.some((each) => /^host:/i.test(each)) ? [] : [`Host: ${new URL(daemon.url).host}`];
  const lines = [
    `${line} HTTP/1.1`,
    ...host,
    `Authorization: Bearer ${daemon.token}`,
    "Content-Type: application/json",
  ];
  return [...lines, ...more, "", ""].join("\r\n");
}

/** Says it, and waits until the other side closes. */
export async function raw(test: TestContext, daemon: Daemon, text: string | Uint8Array): Promise<Raw> {
  const connection = await Raw.open(test, daemon);
  connection.say(text);
  await connection.ended;
  return connection;
}

/** Bytes of a body that never ends, in chunks of HTTP. */
export async function flood(connection: Raw, bytes: number): Promise<void> {
  const piece = new Uint8Array(1024 * 1024).fill(0x20);
  for (let sent = 0; sent < bytes && !connection.isEnded; sent += piece.length) {
    connection.say(`${piece.length.toString(16)}\r\n`);
    await connection.sayAll(piece);
    connection.say("\r\n");
  }
}

export interface Said {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly event?: { readonly type: string; readonly seq?: number };
    readonly error?: { readonly code: string; readonly message: string } | null;
    readonly resume?: string | null;
  };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: { readonly code: string };
  };
}

/** A WebSocket of ours or of somebody who pretends to be. */
export class Line {
  readonly socket: WebSocket;
  readonly heard: Said[] = [];
  readonly closed: Promise<{ readonly code: number; readonly why: string }>;
  #last = 0;

  static async open(test: TestContext, daemon: Daemon, wishes: Wishes = {}): Promise<Line> {
    const { token = daemon.token, ...options } = wishes;
    const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/ws`, {
      ...options,
      headers: { authorization: `Bearer ${token}`, ...options.headers },
    });
    afterwards(test, () => socket.terminate());
    const line = new Line(socket);
    await Promise.race([once(socket, "open"), line.closed]);
    return line;
  }

  private constructor(socket: WebSocket) {
    this.socket = socket;
    const { promise, resolve } = Promise.withResolvers<{ readonly code: number; readonly why: string }>();
    this.closed = promise;
    socket.on("message", (data: Buffer) => this.heard.push(JSON.parse(data.toString()) as Said));
    let refusal = ""; // The first one, of who is not let in.
    socket.on("error", ({ message }) => (refusal ||= message));
    socket.on("close", (code, why) => resolve({ code, why: why.toString() || refusal }));
  }

  async call(method: string, params: object): Promise<Said> {
    const id = (this.#last += 1);
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return await this.until((said) => said.id === id);
  }

  async until(fits: (said: Said) => boolean): Promise<Said> {
    for (;;) {
      const found = this.heard.find(fits);
      if (found) return found;
      assert.ok(this.socket.readyState === this.socket.OPEN, "the socket is closed");
      await sleep(5);
    }
  }
}

type Wishes = ClientOptions & { readonly token?: string };
