// Socket
//
// One WebSocket: calls by JSON-RPC, and subscriptions to streams beside them.
//
//   Owns:      what is under way on one connection.
//   Does not:  decide who may connect (gateway.ts), or what is told (calls/streams.ts).
//
// Invariants
//   W1. A subscription is read only while there is room in the connection. So what waits for a slow client is bounded: by
//       SOCKET_WAITING_BYTES here, and by the follower's bound behind it, which ends the subscription. Who does not read
//       its answers is not listened to meanwhile.
//   W2. A subscription that ends says why, and from where to go on.
//   W3. When the connection is gone, nothing of it goes on but what was committed.

import type { RawData, WebSocket } from "ws";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { alarm } from "../base/waiting.ts";
import type { Person } from "../calls/call.ts";
import type { StreamInput } from "../calls/door.ts";
import type { Streamed, StreamName } from "../calls/streams.ts";
import { CUT_OFF_GRACE_MS, SOCKET_CALLS_MAX, SOCKET_WAITING_BYTES, SUBSCRIPTIONS_MAX } from "./limits.ts";
import { textOf } from "./body.ts";
import { faultOf, type Gate } from "./gate.ts";
import type { Rate } from "./rate.ts";
import { answered, failed, understood, type Answer, type Request } from "./rpc.ts";

const subscribing = z.strictObject({
  stream: z.string(),
  input: z.record(z.string(), z.unknown()).optional(),
});
const unsubscribing = z.strictObject({ subscription: z.string() });

export interface SocketParts {
  readonly gate: Gate;
  readonly socket: WebSocket;
  readonly caller: Person;
  readonly rate: Rate;
}

/** Code 1012: the service restarts; 1008: it is not allowed any more. A client comes back after the first. */
const RESTARTS = 1_012;
const NOT_ALLOWED = 1_008;

export class Socket {
  readonly #parts: SocketParts;
  readonly #gone = new AbortController();
  readonly #subscriptions = new Map<string, Subscription>();
  #calls = 0;
  #named = 0;
  #unread = 0; // answers that wait for room
  #isAlive = true;
  #isOver = false; // True: what still comes is not heard, for whoever sends it may not any more.

  constructor(parts: SocketParts) {
    this.#parts = parts;
    const { socket } = parts;
    socket.on("message", (data) => void this.#hear(data));
    socket.on("pong", () => (this.#isAlive = true));
    socket.on("error", (error) => parts.gate.log.debug({ err: error }, "a socket failed"));
    socket.on("close", () => {
      this.#gone.abort(GONE); // W3
      for (const { over } of this.#subscriptions.values()) over.abort(GONE);
    });
  }

  /** Asks whether somebody is there. Who did not answer since the last time is not. */
  ping(): void {
    const { socket } = this.#parts;
    if (!this.#isAlive) return socket.terminate();
    this.#isAlive = false;
    socket.ping();
  }

  get caller(): Person {
    return this.#parts.caller;
  }

  /** Every subscription hears why, and from where to go on; then the connection is closed. Who does not read is not waited for. */
  async end(why: Fault): Promise<void> {
    this.#isOver = true;
    const { socket, gate } = this.#parts;
    socket.resume(); // that it hears that we close
    const callOff = alarm(gate.system.world, CUT_OFF_GRACE_MS, () => socket.terminate());
    this.#gone.signal.addEventListener("abort", callOff, { once: true });
    const subscriptions = [...this.#subscriptions.values()];
    for (const { over } of subscriptions) over.abort(why);
    await Promise.all(subscriptions.map(({ told }) => told));
    socket.close(why.code === "unauthorized" ? NOT_ALLOWED : RESTARTS, why.message.slice(0, 100));
  }

  async #hear(data: RawData): Promise<void> {
    if (this.#isOver) return;
    const said = heard(data);
    if (!("method" in said)) return await this.#reply(said);
    const answer = await this.#answer(said);
    if (said.id !== undefined) await this.#reply(answer);
  }

  /** W1. */
  async #reply(answer: Answer): Promise<void> {
    const { socket } = this.#parts;
    const sent = this.#say(answer);
    if (socket.bufferedAmount <= SOCKET_WAITING_BYTES || this.#isOver) return await sent;
    this.#unread += 1;
    socket.pause();
    await sent;
    this.#unread -= 1;
    if (this.#unread === 0) socket.resume();
  }

  async #answer(request: Request): Promise<Answer> {
    const { gate, caller, rate } = this.#parts;
    const { id = null, method } = request;
    if (!rate.take(caller.principal))
      return failed(id, -32_000, new Fault("rate_limited", "too many requests"));
    if (this.#calls >= SOCKET_CALLS_MAX) {
      const why = `${SOCKET_CALLS_MAX} calls are under way on this connection; wait for some of them`;
      return failed(id, -32_000, new Fault("overloaded", why));
    }
    this.#calls += 1;
    try {
      if (method === "subscribe") return { jsonrpc: "2.0", id, result: await this.#subscribe(request) };
      if (method === "unsubscribe") return { jsonrpc: "2.0", id, result: this.#unsubscribe(request) };
      return await answered(gate, caller, request, this.#gone.signal);
    } catch (error) {
      const fault = faultOf(error);
      return failed(id, fault.code === "bad_input" ? -32_602 : -32_000, fault);
    } finally {
      this.#calls -= 1;
    }
  }

  async #subscribe({ params }: Request): Promise<object> {
    const { success, data } = subscribing.safeParse(params);
    if (!success) throw new Fault("bad_input", 'subscribe: {"stream": "follow", "input": its input}');
    this.#mustHaveRoom();
    const { gate, caller } = this.#parts;
    const subscription = String((this.#named += 1));
    const over = new AbortController();
    const input = (data.input ?? {}) as StreamInput<StreamName>;
    const stream = await gate.door.stream(data.stream as StreamName, caller, input, over.signal);
    if (this.#subscriptions.size >= SUBSCRIPTIONS_MAX) over.abort(LEFT); // Others were begun meanwhile.
    this.#mustHaveRoom();
    if (this.#gone.signal.aborted) over.abort(GONE); // It closed meanwhile.
    const told = this.#tell(subscription, stream, over.signal).finally(() =>
      this.#subscriptions.delete(subscription),
    );
    this.#subscriptions.set(subscription, { over, told });
    return { subscription };
  }

  #mustHaveRoom(): void {
    if (this.#subscriptions.size < SUBSCRIPTIONS_MAX) return;
    throw new Fault("overloaded", `this connection has ${SUBSCRIPTIONS_MAX} subscriptions; end some of them`);
  }

  #unsubscribe({ params }: Request): object {
    const { success, data } = unsubscribing.safeParse(params);
    if (!success) throw new Fault("bad_input", 'unsubscribe: {"subscription": what subscribe gave}');
    const there = this.#subscriptions.get(data.subscription);
    if (!there) throw new Fault("not_found", `there is no subscription ${shown(data.subscription)}`);
    there.over.abort(LEFT);
    return { subscription: data.subscription };
  }

  /** W1, W2. */
  async #tell(subscription: string, stream: AsyncIterable<Streamed>, over: AbortSignal): Promise<void> {
    let last: string | null = null;
    let why: Fault | null = null;
    const { followed } = this.#parts.gate;
    followed.add(stream);
    try {
      for await (const { event, resume } of stream) {
        last = resume ?? last;
        await this.#notify("event", { subscription, event, resume });
      }
      if (over.reason instanceof Fault) why = over.reason;
    } catch (error) {
      why = faultOf(error);
      if (why.code === "bug") this.#parts.gate.log.error({ err: error }, "a stream failed");
    } finally {
      followed.delete(stream);
    }
    if (this.#gone.signal.aborted) return;
    const error = why && { code: why.code, message: why.message, todo: why.todo, retry: why.retry };
    void this.#notify("ended", { subscription, error, resume: last });
    if (why?.code === "too_slow") this.#cutOff();
  }

  /** Who read too slowly, and does not even read that, is not there. */
  #cutOff(): void {
    const { gate, socket } = this.#parts;
    const callOff = alarm(gate.system.world, CUT_OFF_GRACE_MS, () => {
      if (socket.bufferedAmount > SOCKET_WAITING_BYTES) socket.terminate();
    });
    this.#gone.signal.addEventListener("abort", callOff, { once: true });
  }

  #notify(method: string, params: object): Promise<void> {
    return this.#say({ jsonrpc: "2.0", method, params });
  }

  /** Resolves at once while there is room, else when this is on its way (W1). */
  async #say(message: object): Promise<void> {
    const { socket } = this.#parts;
    if (socket.readyState !== socket.OPEN) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.send(JSON.stringify(message), () => resolve()); // also when it failed: then the socket closes
    if (socket.bufferedAmount > SOCKET_WAITING_BYTES) await promise;
  }
}

interface Subscription {
  readonly over: AbortController;
  readonly told: Promise<void>;
}

const GONE = new Fault("closed", "the client has gone");
const LEFT = new Error("it was unsubscribed");

function heard(data: RawData): Request | Answer {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : data;
  try {
    return understood(textOf(bytes));
  } catch (error) {
    return failed(null, -32_700, faultOf(error));
  }
}
