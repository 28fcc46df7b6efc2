// Client
//
// A running gateway as the command line talks to it. One connection for a call, one for a stream.
//
//   Owns:      where the gateway is, the token on its way there, faults as they come back, coming back after a restart.
//   Does not:  know what calls take and give (types only), or say anything to a person.
//
// Invariants
//   C1. The token goes to the gateway that it is for and nowhere else: redirections are errors, the token of a home is not
//       sent to another machine, and on this one only to an address that somebody named, or to a daemon of this home that is
//       alive: whoever else has taken the port since gets nothing. So it is looked for before every request.
//   C2. A stream that reconnects goes on after the last event that could be gone on from: nothing is missed.

import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { z } from "zod";
import { Fault, isFaultCode, type FaultCode } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Input, Output, StreamInput } from "../calls/door.ts";
import type { StreamName, Streams } from "../calls/streams.ts";
import type { CallName } from "../calls/table.ts";
import { eventsIn } from "./sse.ts";

/** `token` null: none was found; a gateway will say that it wants one. */
export interface Where {
  readonly url: URL;
  readonly token: string | null;
}

export type Env = Readonly<Record<string, string | undefined>>;

export type StreamEvent<Name extends StreamName> = z.output<Streams[Name]["output"]>;

/** The connection broke and is there again. What happened meanwhile follows. */
export interface Reconnected {
  readonly type: "reconnected";
  readonly afterMs: number;
}

/** Streams that a command line follows: pages follow chats. */
type Followed = Exclude<StreamName, "chat">;

/** Where streams are. The table of streams says the same, and a test compares: it is not loaded for a command. */
export const PLACES: Readonly<Record<Followed, string>> = {
  follow: "GET /sessions/:sessionKey/events",
  watch: "GET /events",
};

const MAIN = "agent:main:main";

/** How long a stream that has lost its gateway waits before it tries again. */
const RECONNECT_MS = 500;

/** What passes by itself: the gateway restarts, was not listened to for too long, or has too much to do for the moment. */
const PASSING: ReadonlySet<FaultCode> = new Set([
  "unreachable",
  "closed",
  "too_slow",
  "overloaded",
  "rate_limited",
  "mailbox_full",
]);

/** Whether the same may be tried again after a while. */
export function passes(error: unknown): boolean {
  return error instanceof Fault && PASSING.has(error.code);
}

// ── Finding it ──────────────────────────────────────────────────────────────────────────────────────────────

export function homeOf(env: Env, home?: string): string {
  return home ?? env["SESSIOND_HOME"] ?? join(homedir(), ".sessiond");
}

/** What is typed or in the environment; else what a daemon wrote into its home. Fault unreachable: none runs there (C1). */
export async function findGateway(env: Env, home?: string): Promise<Where> {
  const at = homeOf(env, home);
  const named = env["SESSIOND_URL"];
  const url = urlOf(named ?? (await written(at)));
  const mayHave = named === undefined || isLoopback(url);
  return { url, token: env["SESSIOND_TOKEN"] ?? (mayHave ? await tokenIn(join(at, "token")) : null) };
}

function urlOf(text: string): URL {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new Fault("bad_input", `${JSON.stringify(text)} is no address: write http://host:port`);
  return new URL(text);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** What a daemon wrote down when it started, if it is alive and this user's. */
async function written(home: string): Promise<string> {
  const { url, pid } = recordIn(await contentOf(join(home, "gateway.json")));
  if (typeof url === "string" && typeof pid === "number" && isOurs(pid)) return url;
  throw new Fault(
    "unreachable",
    `no daemon runs on ${home}. Start it with \`npm start\` or \`sessiond serve\`.`,
  );
}

/** Nothing of it: being written, or cut off by a crash. */
function recordIn(text: string | null): { readonly url?: unknown; readonly pid?: unknown } {
  try {
    return { ...(JSON.parse(text ?? "{}") as object) };
  } catch {
    return {};
  }
}

/** Whether a process lives that this user could end: another's is not the one that wrote into this home. */
function isOurs(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid < 1) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Null: there is no such file. */
export async function tokenIn(path: string): Promise<string | null> {
  return (await contentOf(path))?.trim() ?? null;
}

async function contentOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === undefined) throw error;
    throw new Fault("forbidden", `${path} cannot be read (${code})`, { cause: error });
  }
}

// ── Talking to it ───────────────────────────────────────────────────────────────────────────────────────────

interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string | null;
  readonly signal: AbortSignal | undefined;
}

export class Client {
  readonly #world = new RealWorld();
  readonly #find: () => Promise<Where>;
  #where: Where;

  /** `find`: where it is now, asked before each request. A gateway that was restarted may listen at another port. */
  constructor(where: Where, find: () => Promise<Where> = async () => where) {
    this.#where = where;
    this.#find = find;
  }

  /** Where it was when it was last looked for. */
  get where(): Where {
    return this.#where;
  }

  async call<Name extends CallName>(
    name: Name,
    input: Input<Name>,
    signal?: AbortSignal,
  ): Promise<Output<Name>> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: input });
    const response = await this.#request({ method: "POST", path: "/rpc", body, signal });
    const answer = await this.#document(response);
    if (typeof answer["error"] === "object" && answer["error"] !== null) throw faultIn(answer["error"]);
    if (answer["result"] === undefined) throw this.#odd(response);
    return answer["result"] as Output<Name>;
  }

  /** Ends when the signal is aborted. Whatever else ends it is a Fault, unless it may reconnect. */
  async *stream<Name extends Followed>(
    name: Name,
    input: StreamInput<Name>,
    { signal, reconnect = false }: { readonly signal: AbortSignal; readonly reconnect?: boolean },
  ): AsyncGenerator<{
    readonly event: StreamEvent<Name> | Reconnected;
    readonly resume: string | null;
  }> {
    const { sessionKey, from } = input as { readonly sessionKey?: string; readonly from?: number | string };
    const path = `/v1${PLACES[name].slice("GET ".length).replace(":sessionKey", encodeURIComponent(sessionKey ?? MAIN))}`;
    let last = from === undefined ? null : String(from);
    if (reconnect && name === "follow") last ??= await this.#end(sessionKey ?? MAIN, signal);
    let lostAtMs: number | null = null;
    while (!signal.aborted) {
      try {
        for await (const { data, id } of this.#events(path, last, signal)) {
          if (lostAtMs !== null)
            yield {
              event: { type: "reconnected", afterMs: this.#world.nowMs() - lostAtMs },
              resume: null,
            };
          lostAtMs = null;
          if (data === null) continue;
          last = id ?? last;
          yield { event: data as StreamEvent<Name>, resume: id };
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!reconnect || !passes(error)) throw error;
        lostAtMs ??= this.#world.nowMs();
        await this.#world.sleep(RECONNECT_MS, signal).catch(() => {}); // it ends with the signal
      }
    }
  }

  /** The last entry there is now: who joins without saying from where comes back to here (C2). */
  async #end(sessionKey: string, signal: AbortSignal): Promise<string> {
    return String((await this.call("status", { sessionKey }, signal)).entries);
  }

  /** First, with `data` null, that it is connected. */
  async *#events(path: string, from: string | null, signal: AbortSignal): AsyncGenerator<Heard> {
    const query = from === null ? "" : `?${new URLSearchParams({ from }).toString()}`;
    const response = await this.#request({ method: "GET", path: path + query, body: null, signal });
    if (response.statusCode !== 200) {
      const { error } = await this.#document(response);
      throw typeof error === "object" && error !== null ? faultIn(error) : this.#odd(response);
    }
    yield { data: null, id: null };
    try {
      for await (const { type, id, data } of eventsIn(response)) {
        const said = JSON.parse(data) as unknown;
        if (type === "error") throw faultIn({ ...(said as object) });
        yield { data: said, id };
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw this.#broke(error);
    } finally {
      response.destroy();
    }
    throw this.#broke(undefined);
  }

  /** No time limit: whoever waits for an answer may wait for an hour. The signal ends it. */
  async #request({ method, path, body, signal }: Request): Promise<IncomingMessage> {
    this.#where = await this.#find(); // C1
    const { url, token } = this.#where;
    const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === null
        ? { accept: "text/event-stream" }
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    // A connection of its own: one that is kept may be a restarted gateway's, and breaks when it is used again.
    const how = { method, headers, agent: false, ...(signal ? { signal } : {}) };
    const sent = request(new URL(path, url), how, resolve);
    sent.on("error", (error) => reject(signal?.aborted ? signal.reason : this.#unreachable(error)));
    sent.on("socket", (socket) => socket.setKeepAlive(true)); // so that a peer that is gone is noticed
    sent.end(body ?? undefined);
    return await promise;
  }

  async #document(response: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
    let text: string;
    try {
      text = await textOf(response);
    } catch (error) {
      throw this.#broke(error);
    }
    try {
      const document = JSON.parse(text) as unknown;
      if (typeof document === "object" && document !== null) return { ...document };
    } catch {
      // Said below: something else answers there.
    }
    throw this.#odd(response);
  }

  #odd({ statusCode }: IncomingMessage): Fault {
    return new Fault(
      "unreachable",
      `what answers at ${this.where.url.origin} is no sessiond (HTTP ${statusCode})`,
    );
  }

  #broke(cause: unknown): Fault {
    return new Fault("unreachable", `the connection to ${this.where.url.origin} broke`, { cause });
  }

  #unreachable(cause: Error): Fault {
    return new Fault(
      "unreachable",
      `no sessiond answers at ${this.where.url.origin}. Start it with \`npm start\` or \`sessiond serve\`.`,
      { cause },
    );
  }
}

interface Heard {
  readonly data: unknown;
  readonly id: string | null;
}

/** As JSON-RPC has it (the code in `data`), or as HTTP has it. */
function faultIn(error: object): Fault {
  const {
    code,
    message,
    data,
    todo: said,
  } = error as {
    code?: unknown;
    message?: unknown;
    data?: { code?: unknown; todo?: unknown } | null;
    todo?: unknown;
  };
  const word = data?.code ?? code;
  const todo = data?.todo ?? said;
  const words = typeof message === "string" ? message : "the gateway refused, and did not say why";
  return isFaultCode(word)
    ? new Fault(word, words, typeof todo === "string" ? { todo } : {})
    : new Fault(
        "bug",
        `the gateway answered ${JSON.stringify(word)}, which this version does not know: ${words}`,
      );
}
