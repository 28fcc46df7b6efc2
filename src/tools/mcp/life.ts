// One life of a server
//
// From being started, or connected with, to its end: what is asked of it meanwhile, and what its failures mean. The client
// package is known here and in the two lines, and is loaded when the first life begins.

import type { Client } from "@modelcontextprotocol/client";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { z } from "zod";
import type { Log } from "../../base/log.ts";
import { Redirected } from "../../base/redirect.ts";
import { unlessAborted, unlessLate } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { McpServer } from "../../config/config.ts";
import type { Processes } from "../../sandbox/processes.ts";
import { BROKEN_OFF, HttpLine } from "./http.ts";
import { StdioLine } from "./stdio.ts";
import { shortly, Words, wordsOf } from "./words.ts";

/** The longest that a timer of Node waits: the client's own limit must not come before the agent's. */
const NEVER_MS = 2 ** 31 - 1;

/** How long a process that cannot be written to is given to end. */
const LAST_WORDS_MS_MAX = 1_000;

/** Characters of a server's reason for an error. It may say in detail which arguments are wrong. */
const REASON_CHARS_MAX = 2_000;

/** Pages of a list of tools that are read, and tools that are looked at. A list without an end has one here. */
const PAGES_MAX = 50;
const TOOLS_READ_MAX = 1_000;

type Sdk = typeof import("@modelcontextprotocol/client");

export interface LifeParts {
  readonly world: World;
  readonly log: Log;
  readonly processes: Pick<Processes, "start">;
  readonly server: McpServer;
  /** Its list of tools is another one now. */
  readonly listChanged: () => void;
}

/** A page, as far as it must be right to be read on: each tool is looked at by itself. */
const PAGE = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** What a tool answered. Its blocks are looked at one by one. */
const CALLED = z.object({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.unknown().optional(),
});
export type Called = z.infer<typeof CALLED>;

/**
 * No answer came. What is known of the request:
 *   refused     it was not accepted: nothing was done
 *   forgotten   it was not accepted because the server does not know this life any more: a new one may be begun
 *   unreached   it did not get there: nothing was done, and nothing can be
 *   broken      it may or may not have taken effect; the life is over
 *   unclear     it may or may not have taken effect; the life goes on
 */
export class Unanswered extends Error {
  readonly fate: "refused" | "forgotten" | "unreached" | "broken" | "unclear";

  constructor(fate: Unanswered["fate"], why: string) {
    super(why);
    this.fate = fate;
  }
}

export class Life {
  /** Why it ended. */
  readonly ended: Promise<string>;
  readonly #sdk: Sdk;
  readonly #world: World;
  readonly #client: Client;
  readonly #line: StdioLine | HttpLine;
  readonly #words: Words;

  private constructor(sdk: Sdk, parts: LifeParts) {
    const { world, log, server, processes } = parts;
    this.#sdk = sdk;
    this.#world = world;
    this.#words = new Words(server);
    this.#line =
      server.kind === "stdio"
        ? new StdioLine({ world, log, processes, server, parse: sdk.deserializeMessage })
        : new HttpLine({
            world,
            server,
            open: (url, options) => new sdk.StreamableHTTPClientTransport(url, options),
          });
    // It declares nothing, so a server that wants to sample, to elicit or to see roots is refused by the client.
    this.#client = new sdk.Client({ name: "sessiond", version: "0.1.0" }, { capabilities: {} });
    // oxlint-disable unicorn/prefer-add-event-listener -- a client is no event target
    this.#client.onerror = (error) =>
      log.debug(
        { server: server.name, why: this.#words.shortly(wordsOf(error)) },
        "a message of a server is odd",
      );
    this.#client.setNotificationHandler("notifications/tools/list_changed", () => parts.listChanged());
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.#client.onclose = () => resolve(this.#died() ?? "the connection was closed");
    // oxlint-enable unicorn/prefer-add-event-listener
  }

  /** Rejects with why it did not begin, and leaves nothing running then. */
  static async begin(parts: LifeParts, signal: AbortSignal): Promise<Life> {
    const life = new Life(await import("@modelcontextprotocol/client"), parts);
    try {
      signal.throwIfAborted();
      const connected = life.#client.connect(life.#line, { signal, timeout: NEVER_MS });
      await unlessAborted(connected, signal);
      return life;
    } catch (error) {
      const why = signal.aborted ? signal.reason : error;
      const died = life.#died(); // It says more than that the connection was closed.
      await life.close();
      throw new Unanswered("unreached", shortly(died ?? life.#told(why)));
    }
  }

  /** As they came: what is no tool is for the reader to leave out. */
  async list(signal: AbortSignal): Promise<readonly unknown[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const tools: unknown[] = [];
    const seen = new Set<string>();
    let cursor: string | null = null;
    do {
      if (cursor !== null) seen.add(cursor);
      const params: Record<string, unknown> = cursor === null ? {} : { cursor };
      const page: z.infer<typeof PAGE> = await this.#ask({ method: "tools/list", params }, PAGE, signal);
      tools.push(...page.tools.slice(0, TOOLS_READ_MAX - tools.length));
      cursor = page.nextCursor ?? null;
    } while (
      cursor !== null &&
      !seen.has(cursor) &&
      seen.size + 1 < PAGES_MAX &&
      tools.length < TOOLS_READ_MAX
    );
    return tools;
  }

  /** Aborted, it is cancelled at the server too. What the server says to it then is heard by nobody. */
  async call(name: string, given: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Called> {
    return this.#ask({ method: "tools/call", params: { name, arguments: given } }, CALLED, signal);
  }

  async #ask<Out>(
    request: { readonly method: string; readonly params: Record<string, unknown> },
    shape: StandardSchemaV1<unknown, Out>,
    signal: AbortSignal,
  ): Promise<Out> {
    signal.throwIfAborted();
    const hadSession = this.#line instanceof HttpLine && this.#line.sessionId !== undefined;
    try {
      // Not callTool(): it would compile the server's own schemas to check what it answers, and run what it compiled.
      return await this.#client.request(request, shape, { signal, timeout: NEVER_MS });
    } catch (error) {
      signal.throwIfAborted();
      throw await this.#meaning(error, hadSession);
    }
  }

  /** Null: it is no process, or it did not die. */
  #died(): string | null {
    return this.#line instanceof StdioLine ? this.#line.why() : null;
  }

  /** A pipe breaks a moment before its process is known to have died, and the process knows why. */
  async #lastWords(otherwise: string): Promise<string> {
    return this.#died() ?? (await unlessLate(this.#world, LAST_WORDS_MS_MAX, this.ended)) ?? otherwise;
  }

  /** What was thrown holds the server's own words, so it is not handed on itself: these have no secrets in them. */
  #told(error: unknown): string {
    const status = error instanceof this.#sdk.SdkHttpError ? `HTTP ${error.status}: ` : "";
    return `${status}${this.#words.shortly(wordsOf(error), REASON_CHARS_MAX)}`;
  }

  async #meaning(error: unknown, hadSession: boolean): Promise<Error> {
    const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = this.#sdk;
    const why = this.#told(error);
    if (error instanceof ProtocolError)
      return error.data === BROKEN_OFF ? new Unanswered("unclear", why) : new Error(why);
    if (error instanceof Redirected) return new Unanswered("refused", why);
    if (error instanceof SdkHttpError) return new Unanswered(fateOf(error.status, hadSession), why);
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
      return new Unanswered("unclear", "its answer is none that the protocol knows");
    if (this.#line instanceof StdioLine) return new Unanswered("broken", await this.#lastWords(why));
    return new Unanswered(isUnreached(error) ? "unreached" : "broken", why);
  }

  /** Nothing of it runs afterwards. */
  async close(): Promise<void> {
    await this.#line.close();
  }
}

/**
 * A server that does not know a session says 404; some say 400, and some want to be greeted anew after a 401. What was
 * answered with any of the four hundreds was not run, but for 408, which says nothing.
 */
function fateOf(status: number, hadSession: boolean): Unanswered["fate"] {
  if (status < 400 || status >= 500 || status === 408) return "unclear";
  return hadSession && (status === 404 || status === 400 || status === 401) ? "forgotten" : "refused";
}

/** Of what fetch throws: whether not even a connection came about. */
function isUnreached(error: unknown): boolean {
  const { code } = ((error instanceof Error ? error.cause : null) ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && UNREACHED.has(code);
}

const UNREACHED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
