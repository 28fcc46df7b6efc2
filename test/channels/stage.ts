// Sessions with the webhook's door served on loopback, and a program that receives answers. All of it is gone after the test.

import { serve, type HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openLog } from "../../src/base/log.ts";
import type { Person } from "../../src/calls/call.ts";
import type { StreamInput } from "../../src/calls/door.ts";
import { Sessions } from "../../src/calls/library.ts";
import type { Streamed } from "../../src/calls/streams.ts";
import { signatureOf } from "../../src/channels/signature.ts";
import { readConfig } from "../../src/config/load.ts";
import type { ConfigInput } from "../../src/config/schema.ts";
import { errorBody, faultOf, type Gate } from "../../src/gateway/gate.ts";
import { webhookDoor } from "../../src/gateway/webhook.ts";
import { openWired, type Parts } from "../../src/main.ts";
import type { Wired } from "../../src/wire.ts";
import { afterwards, scratch } from "../fixtures/home.ts";

export const SECRET = "whsec-0123456789abcdef";

const ANYBODY: Person = { kind: "person", principal: "test", scope: "admin" };

export async function until<Value>(
  look: () => Value | Promise<Value>,
): Promise<Exclude<Value, null | undefined | false>> {
  for (let tries = 0; tries < 4_000; tries += 1) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false)
      return found as Exclude<Value, null | undefined | false>;
    await new Promise((wake) => setTimeout(wake, 5));
  }
  throw new Error("it never became so");
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
}

/** A request that came. */
export interface Came {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly said: { readonly id: string; readonly text: string; readonly thread: string | null };
}

/** A program that takes answers, as it is told to: by default with 204. */
export class Receiver {
  readonly came: Came[] = [];
  answer: (response: ServerResponse, times: number) => void = (response) =>
    void response.writeHead(204).end();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(test: TestContext): Promise<Receiver> {
    const server = createServer((request, response) => void receiver.#hear(request, response));
    const receiver = new Receiver(server);
    server.listen(0, "127.0.0.1");
    afterwards(test, () => closed(server));
    await once(server, "listening");
    return receiver;
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces = (await request.toArray()) as Buffer[];
    const body = Buffer.concat(pieces).toString("utf8");
    this.came.push({ headers: request.headers, body, said: JSON.parse(body) as Came["said"] });
    this.answer(response, this.came.length);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/answers?key=hunter2-hunter2`;
  }

  get ids(): string[] {
    return this.came.map(({ said }) => said.id);
  }

  get texts(): string[] {
    return this.came.map(({ said }) => said.text);
  }
}

export class Stage {
  readonly home: string;
  readonly logged: string[] = [];
  readonly #test: TestContext;
  readonly #parts: Parts;
  #config: ConfigInput;
  #wired: Wired | null = null;
  #url = "";

  static async open(test: TestContext, config: ConfigInput = {}, parts: Parts = {}): Promise<Stage> {
    const stage = new Stage(test, config, parts);
    afterwards(test, () => stage.close());
    await stage.reopen();
    return stage;
  }

  private constructor(test: TestContext, config: ConfigInput, parts: Parts) {
    this.home = join(scratch(test), "home");
    this.#test = test;
    this.#config = config;
    this.#parts = parts;
  }

  get wired(): Wired {
    if (this.#wired === null) throw new Error("it is closed");
    return this.#wired;
  }

  /** As after a restart. */
  async reopen(config: ConfigInput = this.#config): Promise<void> {
    await this.close();
    this.#config = config;
    const log = openLog("debug", { write: (line) => void this.logged.push(line) });
    const from = { homeDir: this.home, cwd: this.home, env: {} };
    const wired = await openWired(readConfig({ home: this.home, ...config }, from), { log, ...this.#parts });
    this.#wired = wired;
    const gate: Gate = {
      door: wired.door,
      system: wired.system,
      log,
      closing: new AbortController().signal,
      followed: new Set(),
    };
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.onError((error, context) => context.json(errorBody(faultOf(error)), faultOf(error).status as 400));
    app.route("/hooks", webhookDoor(gate));
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    afterwards(this.#test, () => closed(server));
    if (!server.listening) await once(server, "listening");
    this.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return this.#url;
  }

  get sessions(): Sessions {
    return new Sessions(this.wired);
  }

  async close(): Promise<void> {
    const wired = this.#wired;
    this.#wired = null;
    if (wired) await new Sessions(wired).close();
  }

  /** Posts to the door, signed now, unless it is said otherwise. */
  async post(
    message: object | string,
    {
      name = "shop",
      secret = SECRET,
      headers = {},
      atMs = this.wired.system.world.nowMs(),
      sent = null,
    }: {
      readonly name?: string;
      readonly secret?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly atMs?: number;
      readonly sent?: string | null; // null: what was signed
    } = {},
  ): Promise<{ readonly status: number; readonly body: Answered }> {
    const body = typeof message === "string" ? message : JSON.stringify(message);
    const timestamp = String(Math.floor(atMs / 1_000));
    const signature = signatureOf(secret, timestamp, body);
    const response = await fetch(`${this.#url}/hooks/${name}`, {
      method: "POST",
      body: sent ?? body,
      headers: {
        "x-sessiond-timestamp": timestamp,
        "x-sessiond-signature": signature,
        ...headers,
      },
    });
    return { status: response.status, body: (await response.json()) as Answered };
  }

  /** Everything that a chat shows, as it comes. */
  async chat(input: StreamInput<"chat">): Promise<Chat> {
    const over = new AbortController();
    const events = await this.wired.door.stream("chat", ANYBODY, input, over.signal);
    const chat = new Chat(events as AsyncIterable<Streamed<Shown>>, over);
    afterwards(this.#test, () => chat.end());
    return chat;
  }

  async send(
    peer: string,
    message: string,
    more: object = {},
  ): Promise<{ readonly id: string; readonly sessionKey: string }> {
    return await this.sessions.receive({ channel: "web", chatType: "direct", peer, ...more }, message);
  }
}

export interface Answered {
  readonly sessionKey: string;
  readonly id: string;
  readonly repeated: boolean;
  readonly error: { readonly code: string; readonly message: string; readonly todo: string };
}

interface Shown {
  readonly type: "message" | "typing" | "delta";
  readonly from?: string;
  readonly id?: string;
  readonly text?: string;
  readonly seq?: number;
  readonly isTyping?: boolean;
}

export class Chat {
  readonly shown: Streamed<Shown>[] = [];
  readonly #over: AbortController;
  #reading: Promise<void>;

  constructor(events: AsyncIterable<Streamed<Shown>>, over: AbortController) {
    this.#over = over;
    this.#reading = (async () => {
      for await (const each of events) this.shown.push(each);
    })();
    this.#reading.catch(() => {}); // It is told at the end.
  }

  /** Messages, as `from: text`. */
  get lines(): string[] {
    return this.shown.flatMap(({ event }) =>
      event.type === "message" ? [`${event.from}: ${event.text}`] : [],
    );
  }

  get typing(): (boolean | undefined)[] {
    return this.shown.flatMap(({ event }) => (event.type === "typing" ? [event.isTyping] : []));
  }

  get pieces(): string {
    return this.shown.flatMap(({ event }) => (event.type === "delta" ? [event.text ?? ""] : [])).join("");
  }

  get resume(): string {
    return this.shown.findLast(({ resume }) => resume !== null)?.resume ?? "0";
  }

  /** Rejects with what ended it before, once. */
  async end(): Promise<void> {
    this.#over.abort();
    const reading = this.#reading;
    this.#reading = Promise.resolve();
    await reading;
  }
}
