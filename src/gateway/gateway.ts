// Gateway
//
// One port: HTTP, server-sent events and WebSockets, all of it made from the tables of calls and streams.
//
//   Owns:      the server, its connections, and how they end.
//   Does not:  open or close sessions (daemon.ts does), or know what a call does.
//
// Invariants
//   G1. Nobody reaches a door without a token, but for the page's own files, /healthz, /readyz, /openapi.json and what is signed (webhooks).
//   G2. While it drains, what looks is answered, and what would change something is refused with `closed`.
//   G3. Closing ends every connection within a bounded time: who follows hears from where to go on.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket as NetSocket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { WebSocketServer } from "ws";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { System } from "../calls/call.ts";
import type { Door } from "../calls/door.ts";
import {
  ALIVE_MS,
  BODY_BYTES_MAX,
  CONNECTIONS_MAX,
  CUT_OFF_GRACE_MS,
  HEADERS_MS_MAX,
  REFUSED_PER_SECOND,
  REQUEST_MS_MAX,
} from "./limits.ts";
import { alarm } from "../base/waiting.ts";
import { callerOf, SPOKEN } from "./auth.ts";
import { faultOf, type Gate } from "./gate.ts";
import { Guard } from "./guard.ts";
import { httpApp, type HttpParts } from "./http.ts";
import { Live } from "./live.ts";
import { mcpDoor } from "./mcp.ts";
import type { Metrics } from "./metrics.ts";
import { openaiDoor } from "./openai/door.ts";
import { listenFault, withoutBrackets } from "./port.ts";
import { Rate } from "./rate.ts";
import { refuse, refusedAddress, refuseUnread } from "./refusal.ts";
import { Socket } from "./socket.ts";
import type { Tokens } from "./tokens.ts";
import { webhookDoor } from "./webhook.ts";

export interface GatewayParts {
  readonly door: Door;
  readonly system: System;
  readonly log: Log;
  readonly tokens: Tokens;
  readonly metrics: Metrics;
  readonly version: string;
}

type Fetch = Parameters<typeof getRequestListener>[0];

const CLOSED = new Fault("closed", "the gateway is stopping; come back after its restart");

export class Gateway {
  readonly #parts: GatewayParts;
  readonly #http: HttpParts;
  readonly #server: Server;
  readonly #upgrades = new WebSocketServer({
    noServer: true,
    maxPayload: BODY_BYTES_MAX,
    perMessageDeflate: false, // it costs more memory for a connection than it saves on loopback
    handleProtocols: () => SPOKEN, // never the one that carries the token
  });
  readonly #connections = new Set<NetSocket>(); // all of them: also those that became WebSockets, or nothing yet
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();
  #isDraining = false;

  private constructor(parts: GatewayParts) {
    this.#parts = parts;
    const { door, system, log, tokens, metrics, version } = parts;
    const { world, config } = system;
    const gate: Gate = { door, system, log, closing: this.#closing.signal, followed: new Set() };
    this.#http = {
      gate,
      tokens,
      metrics,
      version,
      guard: new Guard(config.gateway),
      refused: new Rate(world, REFUSED_PER_SECOND),
      rate: new Rate(world, config.gateway.requestsPerSecond),
      live: new Live(),
      isDraining: () => this.#isDraining,
      doors: { "/v1": openaiDoor(gate), "/mcp": mcpDoor(gate, version) },
      openDoors: { "/hooks": webhookDoor(gate) },
    };
    const listener = getRequestListener(httpApp(this.#http).fetch as Fetch, {
      errorHandler: (error) => refusedAddress(log, error),
    });
    this.#server = createServer(
      {
        headersTimeout: HEADERS_MS_MAX,
        requestTimeout: REQUEST_MS_MAX,
        requireHostHeader: false, // so that we say ourselves what is wrong
        connectionsCheckingInterval: 1_000,
        // Whoever would like to speak something else is answered in HTTP, as usual.
        shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
      },
      (incoming, outgoing) => {
        outgoing.once("close", () => this.#answered());
        void listener(incoming, outgoing);
      },
    );
    this.#server.maxConnections = connectionsMax();
    this.#server.on("connection", (connection) => this.#connected(connection));
    this.#server.on("clientError", (error, socket) => refuseUnread(world, error, socket as NetSocket));
    this.#server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    tokens.onRevoked((name) => this.#end(new Fault("unauthorized", "this token was revoked"), name));
  }

  /** Resolves when it can be reached. Fault port_taken when somebody else has the port. */
  static async listen(parts: GatewayParts): Promise<Gateway> {
    const gateway = new Gateway(parts);
    const { host, port } = parts.system.config.gateway;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    gateway.#server.once("error", reject);
    gateway.#server.listen(port, withoutBrackets(host), resolve);
    try {
      await promise;
    } catch (error) {
      throw listenFault(error as NodeJS.ErrnoException, host, port);
    }
    gateway.#server.on("error", (error) => parts.log.error({ err: error }, "the server failed"));
    void gateway.#ping();
    return gateway;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    const { host } = this.#parts.system.config.gateway;
    const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    return `http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}:${port}`;
  }

  /** How many streams are followed now: by server-sent events, and on sockets. */
  get subscribers(): number {
    return this.#http.gate.followed.size;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** G2. */
  drain(): void {
    this.#isDraining = true;
    this.#parts.door.drain();
  }

  /** G3. */
  async close(): Promise<void> {
    this.drain();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    const callOff = alarm(this.#parts.system.world, CUT_OFF_GRACE_MS, () => {
      for (const connection of this.#connections) connection.destroy();
    });
    this.#closing.abort(CLOSED);
    void this.#end(CLOSED, null); // Not waited for: what it ends is a connection, and those are.
    this.#server.closeIdleConnections();
    await closed;
    callOff();
  }

  #connected(connection: NetSocket): void {
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
  }

  /** A connection that waits for another request while we close has waited enough. */
  #answered(): void {
    if (this.#closing.signal.aborted) this.#server.closeIdleConnections();
  }

  /** `principal` null: everybody. */
  async #end(why: Fault, principal: string | null): Promise<void> {
    this.#http.live.end(why, principal);
    const theirs = [...this.#sockets].filter(
      ({ caller }) => principal === null || caller.principal === principal,
    );
    await Promise.all(theirs.map((socket) => socket.end(why)));
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on("error", () => stream.destroy());
    try {
      const { headers, url = "", socket } = request;
      this.#http.guard.check(headers.host, headers.origin);
      if (url.split("?")[0] !== "/ws") throw new Fault("not_found", "sockets are at /ws");
      const caller = callerOf(this.#http, headers, socket.remoteAddress ?? "");
      if (this.#isDraining) throw CLOSED;
      this.#upgrades.handleUpgrade(request, stream, head, (opened) => {
        const { gate, rate } = this.#http;
        const made = new Socket({ gate, socket: opened, caller, rate });
        this.#sockets.add(made);
        opened.once("close", () => this.#sockets.delete(made));
      });
    } catch (error) {
      // After an upgrade nobody but us ends the connection: not the server's limits of time, nor its end.
      stream.once("finish", () => stream.destroy());
      refuse(this.#parts.system.world, stream, faultOf(error));
    }
  }

  async #ping(): Promise<void> {
    const { world } = this.#parts.system;
    while (!this.#closing.signal.aborted) {
      try {
        await world.sleep(ALIVE_MS, this.#closing.signal);
      } catch {
        return; // closing
      }
      for (const socket of this.#sockets) socket.ping();
    }
  }
}

/** Half of the files that the system lets us open: the store needs the others, and does not go on without. */
function connectionsMax(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  const files = Number(userLimits?.open_files?.soft); // NaN: "unlimited", or a system that has no such limit
  return Math.min(CONNECTIONS_MAX, Number.isFinite(files) ? Math.floor(files / 2) : CONNECTIONS_MAX);
}
