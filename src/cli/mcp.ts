// `sessiond mcp`: a pipe between the standard streams of a client and the gateway's MCP door. What is said goes through as it
// is, in both directions; the gateway knows the protocol, and keeps nothing of a connection, so the pipe outlives it.
//
// Four things it has to know. Where the gateway is, which may change. Which revision was agreed upon, because over HTTP that is a header. Which request is cancelled,
// because over HTTP that is a connection that ends. And what no gateway answers it answers itself, with what to do.

import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { Fault } from "../base/fault.ts";
import { Secret } from "../base/secret.ts";
import { unlessLate } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import { BROKEN_OFF, HttpLine, type HttpParts } from "../tools/mcp/http.ts";
import type { Where } from "./client.ts";

/** Among the codes that JSON-RPC leaves to implementations. */
const UNREACHED = -32_000;

/** Characters of what somebody else says about a refusal. */
const WORDS_CHARS_MAX = 1_000;

/** `process` has them. */
export interface PipeStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** How long a client that says nothing more may wait for what it asked before: most answers take less, and it can end this any time. */
const LAST_ANSWERS_MS_MAX = 10_000;

/**
 * `find`: where the gateway is now, asked before each message: one that was restarted may be elsewhere. Resolves when the client has
 * gone: its input has ended and what it asked is answered, or its output takes no more. Nothing of it is left open then.
 */
export async function pipe(find: () => Promise<Where>, { stdin, stdout }: PipeStreams): Promise<void> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  const world = new RealWorld();
  const near = new StdioServerTransport(stdin, stdout);
  const gone = Promise.withResolvers<void>();
  const asked = new Asked();
  const back = (message: JSONRPCMessage): void => {
    // After the end of its input the transport writes nothing more, but the client still reads.
    if (stdout.writable) stdout.write(`${JSON.stringify(message)}\n`);
    if (!("method" in message) && message.id !== undefined) asked.answered(message.id);
  };
  const lines = new Lines({
    open: (at, options) => new StreamableHTTPClientTransport(at, options),
    find,
    world,
    hear: back,
  });
  // oxlint-disable unicorn/prefer-add-event-listener -- a transport is no event target
  near.onmessage = (message) => {
    asked.hears(message);
    lines.send(message).catch((error: unknown) => {
      if ("method" in message && "id" in message) back(refusal(message.id, wordsFor(error, lines.origin)));
    });
  };
  near.onclose = () => gone.resolve();
  // oxlint-enable unicorn/prefer-add-event-listener
  await near.start();
  await gone.promise;
  if (stdout.writable) await unlessLate(world, LAST_ANSWERS_MS_MAX, asked.none());
  await lines.close();
}

/** Requests that are not answered yet. */
class Asked {
  readonly #open = new Set<RequestId>();
  #none = Promise.withResolvers<void>();

  hears(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) this.#open.add(message.id);
    const off = message.method === "notifications/cancelled" ? message.params?.["requestId"] : null;
    if (typeof off === "string" || typeof off === "number") this.answered(off);
  }

  answered(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#none.resolve();
  }

  /** Resolves when there is none; to be asked when nothing more is asked. */
  none(): Promise<void> {
    this.#none = Promise.withResolvers<void>();
    if (this.#open.size === 0) this.#none.resolve();
    return this.#none.promise;
  }
}

interface LineParts {
  readonly find: () => Promise<Where>;
  readonly open: HttpParts["open"];
  readonly world: RealWorld;
  readonly hear: (message: JSONRPCMessage) => void;
}

/** The way to the gateway, wherever it is. One that it was reached by before stays until the end: answers may be on it. */
class Lines {
  readonly #parts: LineParts;
  readonly #all: HttpLine[] = [];
  readonly #shaking = new Set<RequestId>(); // requests that begin a connection and are not answered yet
  #where: Where | null = null;
  #version: string | null = null;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(parts: LineParts) {
    this.#parts = parts;
  }

  /** For words; before it was found, none. */
  get origin(): string {
    return this.#where === null ? "" : ` at ${this.#where.url.origin}`;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message && message.method === "initialize" && "id" in message)
      this.#shaking.add(message.id);
    // One after the other: messages go in the order in which they came.
    const look = (): Promise<HttpLine> => this.#line();
    const found = this.#looking.then(look, look);
    this.#looking = found;
    await (await found).send(message);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((line) => line.close()));
  }

  async #line(): Promise<HttpLine> {
    const { find, open, world } = this.#parts;
    const { url, token } = await find();
    const last = this.#all.at(-1);
    if (last !== undefined && this.#where?.url.href === url.href && this.#where.token === token) return last;
    const line = new HttpLine({
      world,
      server: {
        kind: "http",
        name: "sessiond",
        url: new URL("/mcp", url).href,
        headers: token === null ? {} : { authorization: new Secret(`Bearer ${token}`) },
      },
      open,
    });
    this.#where = { url, token };
    this.#all.push(line);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
    line.onmessage = (message) => this.#heard(message);
    await line.start();
    if (this.#version !== null) line.setProtocolVersion(this.#version);
    return line;
  }

  #heard(message: JSONRPCMessage): void {
    if ("result" in message && this.#shaking.delete(message.id)) {
      const { protocolVersion } = message.result;
      if (typeof protocolVersion === "string") {
        this.#version = protocolVersion;
        this.#all.at(-1)?.setProtocolVersion(protocolVersion);
      }
    }
    this.#parts.hear(isBrokenOff(message) ? refusal(message.id, cutOff(this.origin)) : message);
  }
}

type Refused = Extract<JSONRPCMessage, { readonly error: unknown }>;

function isBrokenOff(message: JSONRPCMessage): message is Refused & { readonly id: RequestId } {
  return "error" in message && message.error.data === BROKEN_OFF;
}

function refusal(id: RequestId, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: UNREACHED, message } };
}

function cutOff(at: string): string {
  return (
    `the gateway${at} ended before it had answered: it may or may not have done what was asked. ` +
    "If it was stopped, start it with `sessiond serve`, look, and then ask again"
  );
}

/** An answer that is no success comes as an error with its status and its words. */
function wordsFor(error: unknown, at: string): string {
  if (error instanceof Fault) return error.message;
  const { status, data, cause, message } = error as {
    readonly status?: number;
    readonly data?: { readonly text?: string | null };
    readonly cause?: { readonly code?: string };
    readonly message?: string;
  };
  if (status !== undefined) {
    const said = (data?.text ?? message ?? "").slice(0, WORDS_CHARS_MAX);
    const todo = status === 401 ? "; give the token of this gateway, in SESSIOND_TOKEN" : "";
    return `the gateway${at} refused it with ${status}: ${said}${todo}`;
  }
  const why = cause?.code ?? String(message ?? error).slice(0, WORDS_CHARS_MAX);
  return `the gateway${at} is not reachable (${why}): start it with \`sessiond serve\`, then ask again`;
}
