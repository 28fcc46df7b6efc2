// Many calls at once over one socket, as fast as they are answered.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { afterwards } from "../fixtures/home.ts";
import type { Daemon } from "../gateway/daemon.ts";

/** Calls that are not answered yet, at most. */
const AT_ONCE = 64;

export class Burst {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, () => void>();
  readonly #refused: string[] = [];
  #made = 0;

  static async open(test: TestContext, { url, token }: Daemon): Promise<Burst> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, ["sessiond", `bearer.${token}`]);
    afterwards(test, () => socket.close());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the socket was refused")));
    await promise;
    return new Burst(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const said = JSON.parse(String(data)) as {
        readonly id: number;
        readonly error?: { readonly message: string };
      };
      if (said.error !== undefined) this.#refused.push(said.error.message);
      this.#waiting.get(said.id)?.();
      this.#waiting.delete(said.id);
    });
  }

  /** Resolves when all of them have their labels. */
  async labels(given: readonly (readonly [key: string, label: string])[]): Promise<void> {
    const left = given.values();
    const lane = async (): Promise<void> => {
      for (const [sessionKey, label] of left) await this.#call("set", { sessionKey, label });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    assert.deepEqual(this.#refused, []);
  }

  #call(method: string, params: object): Promise<void> {
    this.#made += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(this.#made, resolve);
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id: this.#made, method, params }));
    return promise;
  }
}
