// Socket
//
// Everything that is followed, over one WebSocket. It comes back by itself: each stream goes on from the last word that it was
// given, so whoever listens misses nothing and hears nothing twice, over a lost connection and over a restart of the daemon.
//
//   Owns:      the connection, and where each stream is.
//   Does not:  know what is followed.

import { signal } from "@preact/signals";
import { Fault, faultFrom, type FaultCode } from "../../src/base/fault.ts";
import type { StreamInput } from "../../src/calls/door.ts";
import type { StreamEvent } from "./events.ts";
import type { StreamName } from "../../src/calls/streams.ts";
import { call } from "./call.ts";
import { refused, taken, token } from "./token.ts";

/** away: it is tried again by itself. */
export const connection = signal<"connecting" | "open" | "away">("connecting");

/** How often the connection was made: who shows what cannot be gone on from (pieces of an answer) throws it away when this grows. */
export const connections = signal(0);

export interface Listener<Name extends StreamName> {
  readonly event: (event: StreamEvent<Name>) => void;
  /** It cannot be gone on with from where it was (it was forgotten, or is another session now): begin anew, or give up. */
  readonly lost: (why: Fault) => void;
}

interface Stream {
  readonly name: StreamName;
  readonly input: object;
  readonly listener: Listener<StreamName>;
  from: string | number | undefined; // undefined: nothing has come yet
}

const FIRST_PAUSE_MS = 200;
const PAUSE_MS_MAX = 5_000;
/** A connection may be dead without anybody saying so: after so much silence it is asked for a word, and waited for so long. */
const SILENCE_MS = 25_000;
const PATIENCE_MS = 5_000;

const streams = new Set<Stream>();
const bySubscription = new Map<string, Stream>();
const asked = new Map<number, Stream>(); // by the id of the request: not answered yet
const early = new Map<string, Heard[]>(); // events that came before the answer which names their subscription
let socket: WebSocket | null = null;
let pauseMs = FIRST_PAUSE_MS;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;
let named = 0;

/** Returns how to stop it. `input.from`, if it is given, is where it begins. */
export function follow<Name extends StreamName>(
  name: Name,
  input: StreamInput<Name>,
  listener: Listener<Name>,
): () => void {
  const { from, ...rest } = input as { readonly from?: string | number };
  const stream: Stream = { name, input: rest, listener: listener as unknown as Listener<StreamName>, from };
  streams.add(stream);
  if (socket?.readyState === WebSocket.OPEN) subscribe(stream);
  return () => {
    streams.delete(stream);
    for (const [id, each] of bySubscription) if (each === stream) say("unsubscribe", { subscription: id });
  };
}

/** Called once, when there is a token; and again with another. */
export function connect(): void {
  clearTimeout(retry);
  forget();
  const before = socket;
  socket = null; // What it still says, also that it is closed, is not heard.
  before?.close();
  const used = token.value;
  if (used === null) return;
  connection.value = connections.value === 0 ? "connecting" : "away";
  const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
  const made = opened(address, used);
  if (made === null)
    return refused(used, "a token of these characters cannot be sent by a page; make another one");
  socket = made;
  made.addEventListener("open", () => {
    if (socket !== made) return;
    pauseMs = FIRST_PAUSE_MS;
    connection.value = "open";
    connections.value += 1;
    taken(used);
    listen();
    for (const stream of streams) subscribe(stream);
  });
  made.addEventListener("message", ({ data }) => {
    if (socket !== made) return;
    listen();
    hear(JSON.parse(String(data)) as Heard);
  });
  made.addEventListener("close", () => {
    if (socket === made) void away();
  });
}

/** Null: no socket can be asked for with such a token. */
function opened(address: string, bearer: string): WebSocket | null {
  try {
    return new WebSocket(address, ["sessiond", `bearer.${bearer}`]);
  } catch {
    return null;
  }
}

/** Of one connection: the next has other names for everything. */
function forget(): void {
  bySubscription.clear();
  asked.clear();
  early.clear();
  clearTimeout(silence);
}

/** A page that is looked at again, or a machine that is back in a network, does not wait for its next try, or for silence. */
export function hurry(): void {
  if (connection.value === "away") connect();
  else probe();
}

function listen(): void {
  clearTimeout(silence);
  silence = setTimeout(probe, SILENCE_MS);
}

/** Whatever is heard then will do. */
function probe(): void {
  if (say("commands", {}) === null) return;
  clearTimeout(silence);
  silence = setTimeout(connect, PATIENCE_MS);
}

async function away(): Promise<void> {
  socket = null;
  connection.value = "away";
  forget();
  const wasMs = pauseMs;
  pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
  clearTimeout(retry);
  retry = setTimeout(connect, wasMs * (0.75 + Math.random() / 2));
  // A browser does not tell why a socket was refused. If it is because of the token, this call says so, and signs out.
  await call("commands", {}).catch(() => {});
}

interface Heard {
  readonly id?: number;
  readonly result?: { readonly subscription?: string };
  readonly error?: { readonly message: string; readonly data: { readonly code: FaultCode } };
  readonly method?: "event" | "ended";
  readonly params?: {
    readonly subscription: string;
    readonly event?: unknown;
    readonly resume: string | null;
    readonly error?: { readonly code: FaultCode; readonly message: string } | null;
  };
}

function hear(heard: Heard): void {
  const { id, result, error, method, params } = heard;
  if (id !== undefined) return answered(id, result?.subscription, error);
  if (params === undefined) return;
  const stream = bySubscription.get(params.subscription);
  if (!stream && asked.size > 0)
    return void early.set(params.subscription, [...(early.get(params.subscription) ?? []), heard]);
  if (method === "ended") bySubscription.delete(params.subscription);
  if (!stream || !streams.has(stream)) return; // Who has stopped it hears nothing more until it has ended.
  if (params.resume !== null) stream.from = params.resume;
  if (method === "event") return stream.listener.event(params.event as never);
  const why = params.error ? faultFrom(params.error) : null;
  if (why?.code === "unauthorized") return; // It goes on with the next token.
  // Who was too slow, or whose daemon stops, goes on from where it was; the rest cannot.
  if (why === null || why.retry || why.code === "closed") subscribe(stream);
  else lose(stream, why);
}

function answered(id: number, subscription: string | undefined, error: Heard["error"]): void {
  const stream = asked.get(id);
  asked.delete(id);
  if (!stream) return;
  if (error) return declined(stream, faultFrom({ code: error.data.code, message: error.message }));
  if (subscription === undefined) return;
  bySubscription.set(subscription, stream);
  const before = early.get(subscription) ?? [];
  early.delete(subscription);
  for (const each of before) hear(each);
  if (!streams.has(stream)) say("unsubscribe", { subscription });
}

/** What may be taken later is said again later, if the connection is still this one. */
function declined(stream: Stream, why: Fault): void {
  if (!why.retry) return lose(stream, why);
  const one = socket;
  setTimeout(() => {
    if (socket === one && streams.has(stream)) subscribe(stream);
  }, PAUSE_MS_MAX);
}

function lose(stream: Stream, why: Fault): void {
  if (!streams.delete(stream)) return;
  stream.listener.lost(why);
}

function subscribe(stream: Stream): void {
  const input = stream.from === undefined ? stream.input : { ...stream.input, from: stream.from };
  const id = say("subscribe", { stream: stream.name, input });
  if (id !== null) asked.set(id, stream);
}

/** Null: there is no connection. When there is one again, all of it is said anew. */
function say(method: string, params: object): number | null {
  if (socket?.readyState !== WebSocket.OPEN) return null;
  named += 1;
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: named, method, params }));
  return named;
}
