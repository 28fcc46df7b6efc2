// A client of the daemon's WebSocket: calls and their answers, and what subscriptions are told.

import { once } from "node:events";
import { WebSocket } from "ws";
import type { Daemon } from "./daemon.ts";

export interface Said {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: { readonly code: string };
  };
}

export interface Told {
  readonly method: "event" | "ended";
  readonly params: {
    readonly subscription: string;
    readonly event?: { readonly type: string; readonly seq?: number; readonly [name: string]: unknown };
    readonly resume: string | null;
    readonly error?: { readonly code: string; readonly message: string } | null;
  };
}

export class Line {
  readonly socket: WebSocket;
  readonly told: Told[] = [];
  readonly #asked = new Map<number, PromiseWithResolvers<Said>>();
  #last = 0;
  #wake = Promise.withResolvers<void>();

  static async open(daemon: Daemon, token = daemon.token): Promise<Line> {
    const url = `${daemon.url.replace("http", "ws")}/ws`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    const line = new Line(socket);
    await once(socket, "open");
    return line;
  }

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer) => this.#hear(JSON.parse(data.toString()) as Said | Told));
    socket.on("close", () => {
      for (const { reject } of this.#asked.values()) reject(new Error("the socket was closed"));
      this.#stir();
    });
    socket.on("error", () => {}); // whoever waits sees that it is closed
  }

  rpc(method: string, params: unknown): Promise<Said> {
    const id = (this.#last += 1);
    const asked = Promise.withResolvers<Said>();
    this.#asked.set(id, asked);
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return asked.promise;
  }

  async subscribe(stream: string, input: object): Promise<string> {
    const { result, error } = await this.rpc("subscribe", { stream, input });
    if (error !== undefined) throw new Error(error.message);
    return (result as { readonly subscription: string }).subscription;
  }

  /** What was told, as soon as it is as wanted. Rejects when the socket closes before. */
  async until(isWanted: (told: readonly Told[]) => boolean): Promise<readonly Told[]> {
    while (!isWanted(this.told)) {
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`closed; told: ${JSON.stringify(this.told.slice(-5))}`);
      await this.#wake.promise;
    }
    return this.told;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.socket, "close");
    this.socket.terminate();
    await closed;
  }

  #hear(said: Said | Told): void {
    if ("method" in said) this.told.push(said);
    else {
      this.#asked.get(said.id ?? 0)?.resolve(said);
      this.#asked.delete(said.id ?? 0);
    }
    this.#stir();
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
