// `sessiond mcp`: a pipe between the standard streams of a client and the gateway's MCP door. What is said goes through as it
// is, in both directions; the gateway knows the protocol, and keeps nothing of a connection, so the pipe outlives it.
//
// Three things it has to know. Which revision was agreed upon, because over HTTP that is a header. Which request is cancelled,
// because over HTTP that is a connection that ends. And what no gateway answers it answers itself, with what to do.

import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { Secret } from "../base/secret.ts";
import { RealWorld } from "../base/world.ts";
import { BROKEN_OFF, HttpLine } from "../tools/mcp/http.ts";

/** Among the codes that JSON-RPC leaves to implementations. */
const UNREACHED = -32_000;

/** Characters of what somebody else says about a refusal. */
const WORDS_CHARS_MAX = 1_000;

/** `process` has them. */
export interface PipeStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** `url` is the gateway's. Resolves when the client has gone: its input has ended, or its output takes no more. Nothing of it is left open then. */
export async function pipe(url: URL, token: string, { stdin, stdout }: PipeStreams): Promise<void> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  const near = new StdioServerTransport(stdin, stdout);
  const far = new HttpLine({
    world: new RealWorld(),
    server: {
      kind: "http",
      name: "sessiond",
      url: new URL("/mcp", url).href,
      headers: { authorization: new Secret(`Bearer ${token}`) },
    },
    open: (at, options) => new StreamableHTTPClientTransport(at, options),
  });
  const gone = Promise.withResolvers<void>();
  const shaking = new Set<RequestId>(); // requests that begin a connection and are not answered yet
  const back = (message: JSONRPCMessage): void => {
    // It went through, or the client has gone: then the transport is closed.
    void near.send(message).catch(() => {});
  };
  // oxlint-disable unicorn/prefer-add-event-listener -- a transport is no event target
  far.onmessage = (message) => {
    if ("result" in message && shaking.delete(message.id)) {
      const { protocolVersion } = message.result;
      if (typeof protocolVersion === "string") far.setProtocolVersion(protocolVersion);
    }
    back(isBrokenOff(message) ? refusal(message.id, cutOff(url)) : message);
  };
  near.onmessage = (message) => {
    if ("method" in message && message.method === "initialize" && "id" in message) shaking.add(message.id);
    far.send(message).catch((error: unknown) => {
      if ("method" in message && "id" in message) back(refusal(message.id, wordsFor(error, url)));
    });
  };
  near.onclose = () => gone.resolve();
  // oxlint-enable unicorn/prefer-add-event-listener
  await far.start();
  await near.start();
  await gone.promise;
  await far.close();
}

type Refused = Extract<JSONRPCMessage, { readonly error: unknown }>;

function isBrokenOff(message: JSONRPCMessage): message is Refused & { readonly id: RequestId } {
  return "error" in message && message.error.data === BROKEN_OFF;
}

function refusal(id: RequestId, message: string): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: UNREACHED, message } };
}

function cutOff({ origin }: URL): string {
  return (
    `the gateway at ${origin} ended before it had answered: it may or may not have done what was asked. ` +
    "If it was stopped, start it with `sessiond serve`, look, and then ask again"
  );
}

/** An answer that is no success comes as an error with its status and its words. */
function wordsFor(error: unknown, { origin }: URL): string {
  const { status, data, cause, message } = error as {
    readonly status?: number;
    readonly data?: { readonly text?: string | null };
    readonly cause?: { readonly code?: string };
    readonly message?: string;
  };
  if (status !== undefined) {
    const said = (data?.text ?? message ?? "").slice(0, WORDS_CHARS_MAX);
    const todo = status === 401 ? "; give the token of this gateway, in SESSIOND_TOKEN" : "";
    return `the gateway at ${origin} refused it with ${status}: ${said}${todo}`;
  }
  const why = cause?.code ?? String(message ?? error).slice(0, WORDS_CHARS_MAX);
  return `the gateway at ${origin} is not reachable (${why}): start it with \`sessiond serve\`, then ask again`;
}
