// The MCP door
//
// The calls of the table as tools of the Model Context Protocol, over streamable HTTP. It keeps nothing between two requests:
// each has its token, so whoever comes back after a restart goes on as if nothing had been. Both kinds of client are served,
// those that begin with a handshake and those that say with each request what they speak.
//
//   Owns:      how a call looks as a tool, and how what it came to looks as a result.
//   Does not:  decide who may (the door does), or know any call.
//
// Invariants
//   P1. There is a tool for every call that people may make, and no other.
//   P2. What is refused is a result that says so and what to do, for the model that asked: never an error of the protocol,
//       but for a tool that does not exist.
//   P3. Who does not wait any more ends the waiting, and nothing else: what was sent is on its way.

import type {
  AuthInfo,
  CallToolResult,
  McpHttpHandler,
  Server,
  ServerContext,
  Tool,
} from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { z } from "zod";
import { shown } from "../base/fits.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import { isWithin, type Call, type Person, type Scope } from "../calls/call.ts";
import type { Input } from "../calls/door.ts";
import { calls, type CallName } from "../calls/table.ts";
import { ALIVE_MS, BODY_BYTES_MAX, MCP_PROGRESS_MS } from "./limits.ts";
import { errorBody, faultOf, type Gate, type LetIn } from "./gate.ts";

type Sdk = typeof import("@modelcontextprotocol/server");

/** A call as clients see it. */
interface McpTool {
  readonly call: CallName;
  readonly scope: Scope;
  readonly tool: Tool;
}

const INSTRUCTIONS =
  "Sessions of agents in a sessiond gateway. ask sends a message to a session and waits for the answer; sessions_send does " +
  "not wait, and wait does later. A session's key is its address, such as agent:main:main; sessions_list knows them all.";

/** Something is gone after these, too. */
const ERASING: ReadonlySet<CallName> = new Set(["kill", "writeMemory", "upkeep", "command"]);

/** P1. In the order of the table. */
const TOOLS: readonly McpTool[] = Object.entries(calls as unknown as Record<string, Call>).flatMap(
  ([name, row]) => (row.who === "agent" ? [] : [toolOf(name as CallName, row)]),
);

function toolOf(call: CallName, { tool, about, scope, http, input, idempotent }: Call): McpTool {
  const { $schema: _dialect, ...inputSchema } = z.toJSONSchema(input, { io: "input" });
  const isReading = http?.startsWith("GET ") === true;
  // Something is gone afterwards, or may be: clients ask a person before.
  const isDestructive = http?.startsWith("DELETE ") === true || ERASING.has(call);
  return {
    call,
    scope,
    tool: {
      name: tool ?? call,
      description: about,
      inputSchema: inputSchema as Tool["inputSchema"],
      annotations: {
        readOnlyHint: isReading,
        idempotentHint: isReading || idempotent,
        destructiveHint: isDestructive,
      },
    },
  };
}

/** Who asks, and for how long. */
type Asker = Pick<LetIn["Variables"], "caller" | "over">;

/** `version` is what clients are told of us. */
export function mcpDoor(gate: Gate, version: string): Hono<LetIn> {
  let opened: Promise<McpHttpHandler> | null = null; // null: nobody has come yet, and the package is not loaded
  const app = new Hono<LetIn>();
  app.all("/", async (context) => {
    const { caller, over } = context.var;
    opened ??= open(gate, version).catch((error: unknown) => {
      opened = null; // The next may have more luck.
      throw error;
    });
    const mcp = await opened;
    return await mcp.fetch(context.req.raw, { authInfo: infoOf({ caller, over }) });
  });
  return app;
}

async function open(gate: Gate, version: string): Promise<McpHttpHandler> {
  const sdk = await import("@modelcontextprotocol/server");
  return sdk.createMcpHandler(({ authInfo }) => serverFor(sdk, gate, version, askerIn(authInfo)), {
    responseMode: "sse", // a quiet answer would be taken for a dead one: a stream has signs of life
    keepAliveMs: ALIVE_MS,
    maxRequestBodySize: BODY_BYTES_MAX,
    maxSubscriptions: 0, // the tools do not change while it runs
    onerror: (error) => gate.log.debug({ err: error }, "a request of an MCP client was refused"),
  });
}

/** The package hands on what it is told of a caller. Our token is not among it. */
function infoOf(asker: Asker): AuthInfo {
  const { principal, scope } = asker.caller;
  return { token: "", clientId: principal, scopes: [scope], extra: { asker } };
}

function askerIn(info: AuthInfo | undefined): Asker {
  return info?.extra?.["asker"] as Asker;
}

/** For one request. */
function serverFor(sdk: Sdk, gate: Gate, version: string, asker: Asker): Server {
  const server = new sdk.Server(
    { name: "sessiond", title: "sessiond", version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: toolsFor(asker.caller) }));
  server.setRequestHandler("tools/call", async ({ params }, request) => {
    const found = TOOLS.find(({ tool }) => tool.name === params.name);
    if (!found) {
      const names = toolsFor(asker.caller).map(({ name }) => name);
      throw new sdk.ProtocolError(
        sdk.ProtocolErrorCode.InvalidParams,
        `there is no tool ${shown(params.name)}; there are: ${names.join(", ")}`,
      );
    }
    const off = progressing(gate, request);
    try {
      return await resultOf(gate, asker, found, {
        input: params.arguments ?? {},
        signal: request.mcpReq.signal,
      });
    } finally {
      off();
    }
  });
  return server;
}

function toolsFor({ scope }: Person): Tool[] {
  return TOOLS.filter((each) => isWithin(each.scope, scope)).map(({ tool }) => tool);
}

interface Running {
  readonly input: unknown; // the door looks whether it fits
  readonly signal: AbortSignal;
}

/** P2, P3. By a tool that says that it only reads nothing is changed, whatever else the caller may. */
async function resultOf(
  gate: Gate,
  { caller, over }: Asker,
  { tool, call: name }: McpTool,
  { input, signal }: Running,
): Promise<CallToolResult> {
  const until = AbortSignal.any([signal, over]);
  try {
    const how = tool.annotations?.readOnlyHint === true ? "ask" : "call";
    const output = await gate.door[how](name, caller, input as Input<CallName>, until);
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: { ...output } };
  } catch (error) {
    const fault = faultOf(error);
    if (fault.code === "bug" && !until.aborted) gate.log.error({ err: error, call: name }, "a call failed");
    const text = `${fault.code}: ${fault.message}. What to do: ${fault.todo}.`;
    return { content: [{ type: "text", text }], structuredContent: { ...errorBody(fault) }, isError: true };
  }
}

/** Tells a client that wants to know, now and then, that it is being worked on. Returns how to stop it. */
function progressing({ system: { world } }: Gate, { mcpReq }: ServerContext): () => void {
  const { _meta: meta } = mcpReq;
  const token = meta?.progressToken;
  if (token === undefined) return () => {};
  const off = new AbortController();
  const tell = async (): Promise<void> => {
    for (let progress = 1; ; progress += 1) {
      await world.sleep(MCP_PROGRESS_MS, off.signal);
      const params = { progressToken: token, progress, message: "it is being worked on" };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
  };
  tell().catch(() => {}); // It was stopped, or nobody listens any more.
  return () => off.abort(CALLED_OFF);
}
