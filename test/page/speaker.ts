// A model that says what a test tells it, piece by piece, when the test wants it: an HTTP server on this machine that speaks
// chat completions.

import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { afterwards } from "../fixtures/home.ts";

export class Speaker {
  readonly #server: Server;
  readonly #asked: ServerResponse[] = [];
  #came = Promise.withResolvers<void>();

  static async open(test: TestContext): Promise<Speaker> {
    const server = createServer();
    const speaker = new Speaker(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    afterwards(test, () => {
      server.closeAllConnections();
      server.close();
    });
    return speaker;
  }

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response: ServerResponse) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      this.#asked.push(response);
      this.#came.resolve();
    });
  }

  /** Of a daemon whose one agent speaks by it. */
  get config(): object {
    const { port } = this.#server.address() as AddressInfo;
    const local = { api: "openai-compatible", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "none" };
    return { models: { providers: { local } }, agents: { main: { model: "local/speaker" } } };
  }

  /** Resolves when it was asked so often. */
  async asked(times: number): Promise<void> {
    while (this.#asked.length < times) {
      await this.#came.promise;
      this.#came = Promise.withResolvers();
    }
  }

  /** To whoever asked last. */
  say(text: string): void {
    this.#write({ index: 0, delta: { role: "assistant", content: text }, finish_reason: null });
  }

  end(): void {
    this.#write({ index: 0, delta: {}, finish_reason: "stop" });
    this.#asked.at(-1)?.end("data: [DONE]\n\n");
  }

  /** In the middle of what it says. */
  breakOff(): void {
    this.#asked.at(-1)?.destroy();
  }

  #write(choice: object): void {
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const chunk = {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "speaker",
      usage,
      choices: [choice],
    };
    this.#asked.at(-1)?.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}
