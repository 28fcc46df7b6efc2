// A stand-in for the real providers: an HTTP server on this machine that speaks their protocols, is as strict as they are
// about what it is asked, and does what a test tells it to. What is tested with it goes over a real connection.
//
//   await using standin = await Standin.open();
//   standin.play(reply({ text: "hi" }), status(429), hang());
//   … baseUrl: standin.baseUrl("anthropic")

import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Api } from "../../src/config/config.ts";
import { problemOf } from "./rules.ts";
import { errorBody, frames, overflowBody, pictureBody, written, type Frame, type Spoken } from "./wire.ts";

/** What it does with one request. */
export type Play =
  | { readonly do: "reply"; readonly spoken: Spoken }
  | { readonly do: "redirect"; readonly to: string }
  | { readonly do: "refusePictures" }
  | { readonly do: "hang" | "hangBefore" | "garbage" | "page" | "overflow" | "endEarly" }
  | { readonly do: "cut"; readonly in: "text" | "call" }
  | { readonly do: "error"; readonly after: string; readonly body: object } // in the middle of the stream
  | {
      readonly do: "status";
      readonly status: number;
      readonly body: object | string | null; // null: as the provider would say it
      readonly headers: Readonly<Record<string, string>>;
    };

export interface Received {
  readonly api: Api;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  readonly refused: string | null; // null: the request was valid
}

export function reply(spoken: Spoken): Play {
  return { do: "reply", spoken };
}

/** Headers, then nothing. */
export function hang(): Play {
  return { do: "hang" };
}

/** Not even headers. */
export function hangBefore(): Play {
  return { do: "hangBefore" };
}

/** A stream of what is no JSON. */
export function garbage(): Play {
  return { do: "garbage" };
}

/** A page for people, as a proxy gives it, with a status of success. */
export function page(): Play {
  return { do: "page" };
}

export function status(
  status: number,
  body: object | string | null = null,
  headers: Readonly<Record<string, string>> = {},
): Play {
  return { do: "status", status, body, headers };
}

/** Another address answers, it says. */
export function redirect(to: string): Play {
  return { do: "redirect", to };
}

/** A request with a picture is refused, as one is of which the provider cannot read the picture; any other is answered. */
export function refusePictures(): Play {
  return { do: "refusePictures" };
}

export function overflow(): Play {
  return { do: "overflow" };
}

export function cutMidWord(): Play {
  return { do: "cut", in: "text" };
}

export function cutMidToolCall(): Play {
  return { do: "cut", in: "call" };
}

/** A clean end without the event that says so. */
export function endEarly(): Play {
  return { do: "endEarly" };
}

/** An error in the stream, after some text. */
export function errorMidway(body: object, after = "Well, "): Play {
  return { do: "error", after, body };
}

const PATHS: Readonly<Record<Api, { readonly base: string; readonly end: RegExp }>> = {
  anthropic: { base: "/anthropic/v1", end: /\/messages$/ },
  openai: { base: "/openai/v1", end: /\/responses$/ },
  google: { base: "/google/v1beta", end: /\/models\/([^/]+):streamGenerateContent$/ },
  "openai-compatible": { base: "/compatible/v1", end: /\/chat\/completions$/ },
};

const CUT: Spoken = { text: "Hello, world", calls: [{ name: "look", arguments: { path: "somewhere" } }] };

export class Standin {
  readonly requests: Received[] = [];
  readonly #server: Server;
  readonly #plays: Play[] = [];
  readonly #issued = new Map<string, string>();
  #otherwise: (received: Received) => Play = () => reply({ text: "ok" });

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Standin> {
    const server = createServer();
    const standin = new Standin(server);
    server.on("request", (request, response) => {
      standin.#receive(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return standin;
  }

  baseUrl(api: Api): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}${PATHS[api].base}`;
  }

  /** What it does with the next requests, one each. After them it says "ok", or what `otherwise` says. */
  play(...plays: readonly Play[]): void {
    this.#plays.push(...plays);
  }

  otherwise(play: (received: Received) => Play): void {
    this.#otherwise = play;
  }

  /** Null: a provider of this protocol would take it. Asked without a connection, for very many of them. */
  refusalOf(api: Api, model: string, body: unknown): string | null {
    return problemOf(api, model, body, this.#issued);
  }

  /** A signature that it will know again. */
  sign(text: string): string {
    const signature = `signed-${this.#issued.size}`;
    this.#issued.set(signature, text);
    return signature;
  }

  /** Ends all connections, also those that hang. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const found = Object.entries(PATHS).find(([, { base, end }]) => path.startsWith(base) && end.test(path));
    if (found === undefined) return answer(response, 404, { error: { message: `there is no ${path}` } });
    const api = found[0] as Api;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const model = PATHS[api].end.exec(path)?.[1] ?? String(body.model);
    const refused = this.refusalOf(api, model, body);
    const received = { api, model, body, headers: request.headers, refused };
    this.requests.push(received);
    if (!hasKey(api, request.headers)) return answer(response, 401, errorBody(api, 401, "invalid x-api-key"));
    if (refused !== null) return answer(response, 400, errorBody(api, 400, refused));
    const play = this.#plays.shift() ?? this.#otherwise(received);
    if (play.do !== "refusePictures") return await this.#act(api, play, response);
    if (hasPicture(body)) return answer(response, 400, pictureBody(api));
    return await this.#act(api, { do: "reply", spoken: { text: "ok" } }, response);
  }

  async #act(
    api: Api,
    play: Exclude<Play, { do: "refusePictures" }>,
    response: ServerResponse,
  ): Promise<void> {
    const speak = (spoken: Spoken): Frame[] => frames(api, spoken, (text) => this.sign(text));
    switch (play.do) {
      case "status":
        return answer(response, play.status, play.body ?? errorBody(api, play.status, "no"), play.headers);
      case "redirect":
        return answer(response, 307, {}, { location: play.to });
      case "overflow":
        return answer(response, 400, overflowBody(api));
      case "hangBefore":
        return undefined;
      case "page":
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<!doctype html><html><title>Sign in</title></html>");
        return undefined;
      default:
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.flushHeaders();
    }
    switch (play.do) {
      case "hang":
        return undefined;
      case "garbage":
        response.end("data: {this is no JSON\n\n");
        return undefined;
      case "reply":
        return say(api, response, speak(play.spoken));
      case "endEarly":
        return say(
          api,
          response,
          speak({ text: "Hello, world" }).filter(({ part }) => part !== "close"),
        );
      case "error": {
        const begun = speak({ text: play.after }).filter(({ part }) => part !== "close");
        return say(api, response, [...begun, { part: "close", data: play.body }]);
      }
      case "cut": {
        const all = speak(CUT);
        const at = all.findIndex(({ part }) => part === play.in);
        await sent(
          response,
          all
            .slice(0, at + 1)
            .map((frame) => written(api, frame))
            .join(""),
        );
        response.socket?.destroy();
        return undefined;
      }
    }
  }
}

function say(api: Api, response: ServerResponse, all: readonly Frame[]): void {
  for (const frame of all) response.write(written(api, frame));
  response.end();
}

function sent(response: ServerResponse, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.write(text, () => resolve());
  return promise;
}

function answer(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const type = typeof body === "string" ? "text/html" : "application/json";
  response.writeHead(status, { "content-type": type, ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

/** However each of the protocols writes it. */
function hasPicture(body: object): boolean {
  return /"type":"image"|"input_image"|"image_url"|"inlineData"/.test(JSON.stringify(body));
}

/** Servers of one's own ask for none. */
function hasKey(api: Api, headers: IncomingHttpHeaders): boolean {
  const names = {
    anthropic: "x-api-key",
    google: "x-goog-api-key",
    openai: "authorization",
    "openai-compatible": "host",
  };
  return (headers[names[api]] ?? "") !== "";
}
