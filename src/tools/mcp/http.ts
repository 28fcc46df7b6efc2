// A server that is an address
//
// The client package speaks streamable HTTP; this stands around it and adds what it leaves open: bounds on what comes
// back, an end for requests whose answer broke off, and for those that nobody waits for any more.
//
//   Owns:      the requests that are open at one address.
//   Does not:  know what the messages mean, or connect again (server.ts).
//
// Invariants
//   H1. A request whose stream ends without an answer is answered here, with an error that is known by its data.
//   H2. A request that was cancelled leaves no connection behind.
//   H3. close() does not reject: the client calls it without looking.
//   H4. What is sent to a server reaches its origin, and no other.

import type {
  JSONRPCMessage,
  RequestId,
  StreamableHTTPClientTransport,
  StreamableHTTPClientTransportOptions,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { redirectIn, Redirected } from "../../base/redirect.ts";
import { unlessLate } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { McpServer } from "../../config/config.ts";

/** Bytes of one answer, as over a pipe. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** How long a server may take to hear that we leave. It forgets us by itself some day. */
const LEAVING_MS_MAX = 1_000;

/** A pause that a server asks for, before a stream is opened again, is not longer than this. */
const REOPEN_MS_MAX = 60_000;

/** The data of the error that stands for an answer which did not come (H1). Compared by identity, so nobody can send it. */
export const BROKEN_OFF = Object.freeze({ brokenOff: true });

/** Among the codes that JSON-RPC leaves to implementations. */
const BROKEN_OFF_CODE = -32_000;

export interface HttpParts {
  readonly world: World;
  readonly server: Extract<McpServer, { kind: "http" }>;
  readonly open: (url: URL, options: StreamableHTTPClientTransportOptions) => StreamableHTTPClientTransport;
}

export class HttpLine implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #world: World;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #open = new Map<RequestId, AbortController>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null; // null: it is open

  constructor({ world, server, open }: HttpParts) {
    this.#world = world;
    const headers = Object.entries(server.headers).map(([name, value]) => [name, value.reveal()] as const);
    this.#inner = open(new URL(server.url), {
      requestInit: { headers: Object.fromEntries(headers) },
      fetch: fetchBounded,
      reconnectionScheduler: (reconnect, delayMs) => this.#later(reconnect, delayMs),
    });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async start(): Promise<void> {
    // oxlint-disable unicorn/prefer-add-event-listener -- a transport is no event target
    this.#inner.onmessage = (message) => {
      if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
      this.onmessage?.(message);
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    // oxlint-enable unicorn/prefer-add-event-listener
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message)) return this.#inner.send(message);
    if (!("id" in message)) return this.#notify(message);
    const { id } = message;
    const given = new AbortController();
    this.#open.set(id, given);
    try {
      await this.#inner.send(message, {
        ...(options?.headers ? { headers: options.headers } : {}),
        requestSignal: given.signal,
        onRequestStreamEnd: () => this.#brokenOff(id),
      });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** H2: a server answers no request that was cancelled, so its stream would stay open. */
  async #notify(message: Extract<JSONRPCMessage, { method: string }>): Promise<void> {
    try {
      await this.#inner.send(message);
    } finally {
      const id = message.method === "notifications/cancelled" ? message.params?.["requestId"] : null;
      if (typeof id === "number" || typeof id === "string") {
        this.#open.get(id)?.abort();
        this.#open.delete(id);
      }
    }
  }

  /** H1. */
  #brokenOff(id: RequestId): void {
    if (!this.#open.delete(id)) return; // It was answered.
    const error = { code: BROKEN_OFF_CODE, message: "the answer broke off", data: BROKEN_OFF };
    this.onmessage?.({ jsonrpc: "2.0", id, error });
  }

  #later(reconnect: () => void, delayMs: number): void {
    const pause = this.#world.sleep(Math.min(delayMs, REOPEN_MS_MAX), this.#closing.signal);
    pause.then(reconnect, () => {}); // Rejects only when it is closed.
  }

  /** H3. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const told = this.#inner.terminateSession().catch(() => {}); // One that is gone has forgotten us already.
    await unlessLate(this.#world, LEAVING_MS_MAX, told);
    this.#closing.abort();
    for (const request of this.#open.values()) request.abort();
    this.#open.clear();
    await this.#inner.close().catch(() => {}); // It only stops what was just stopped.
    this.onclose?.();
  }
}

/** H4. A redirect within the origin is handed on as it came: the client follows it, and a copy does not say from where. */
async function fetchBounded(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: "manual" });
  const elsewhere = redirectIn(response);
  if (elsewhere !== null) {
    if (elsewhere.origin === new URL(url).origin) return response;
    await response.body?.cancel();
    throw new Redirected(elsewhere, "set its url to it");
  }
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  return new Response(body.pipeThrough(bound(isStream)), { status, statusText, headers });
}

/** Of a stream of events each one is bounded, not all of them together: it may be open for days. */
function bound(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, out) {
      const from = isStream
        ? lastEventIn(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
        : null;
      bytes = from === null ? bytes + chunk.length : chunk.length - from;
      if (bytes > ANSWER_BYTES_MAX) throw new Error(`an answer of more than ${ANSWER_BYTES_MAX} bytes`);
      out.enqueue(chunk);
    },
  });
}

/** Null: no event ends here. */
function lastEventIn(chunk: Buffer): number | null {
  const at = Math.max(chunk.lastIndexOf("\n\n"), chunk.lastIndexOf("\n\r\n"));
  return at < 0 ? null : at;
}
