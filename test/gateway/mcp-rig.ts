// The MCP door at an address of this machine, with official clients before it.

import { createAdaptorServer } from "@hono/node-server";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Hono } from "hono";
import { Fault } from "../../src/base/fault.ts";
import { openLog } from "../../src/base/log.ts";
import type { Scope } from "../../src/calls/call.ts";
import type { Door } from "../../src/calls/door.ts";
import type { GatewayParts } from "../../src/main.ts";
import { errorBody, type LetIn } from "../../src/gateway/gate.ts";
import { mcpDoor } from "../../src/gateway/mcp.ts";
import { afterwards } from "../fixtures/home.ts";
import { openedWired, person, type Opened } from "../fixtures/wired.ts";

/** What a client says it speaks: with a handshake first, or with each request. */
export const ERAS = ["legacy", "auto"] as const;
export type Era = (typeof ERAS)[number];

/** Tokens, by what they are good for. */
export const TOKENS: Readonly<Record<string, Scope>> = {
  "a-token": "admin",
  "o-token": "operate",
  "r-token": "read",
};

export interface Served extends Opened {
  readonly url: URL;
  readonly server: Server;
  /** What the door logged as its own failure. */
  readonly failures: string[];
  readonly closing: AbortController;
  /** Calls that have begun and not ended. */
  readonly underWay: () => number;
}

/** `port` 0: any that is free. */
export async function served(test: TestContext, parts: GatewayParts = {}, port = 0): Promise<Served> {
  const opened = await openedWired(test, {}, parts);
  const failures: string[] = [];
  const log = openLog("error", { write: (line) => void failures.push(line) });
  const closing = new AbortController();
  const { system } = opened;
  let underWay = 0;
  const call = async (...given: Parameters<Door["call"]>): Promise<unknown> => {
    underWay += 1;
    return await opened.door.call(...given).finally(() => (underWay -= 1));
  };
  const ask: Door["ask"] = async (...given) => {
    underWay += 1;
    return await opened.door.ask(...given).finally(() => (underWay -= 1));
  };
  const door = { call, ask } as unknown as Door;
  const app = new Hono<LetIn>();
  app.onError((error, context) => context.json(errorBody(error as Fault), (error as Fault).status as 401));
  app.use(async (context, next) => {
    const scope = TOKENS[context.req.header("authorization")?.replace("Bearer ", "") ?? ""];
    if (scope === undefined) throw new Fault("unauthorized", "this token is not known");
    const over = new AbortController();
    const { outgoing } = context.env;
    outgoing.once("close", () => over.abort(new Fault("closed", "the client has gone")));
    context.set("caller", person(scope));
    context.set("over", AbortSignal.any([over.signal, closing.signal]));
    await next();
  });
  app.route("/mcp", mcpDoor({ door, system, log, closing: closing.signal, followed: new Set() }, "1.2.3"));
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  afterwards(test, async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { ...opened, url, server, failures, closing, underWay: () => underWay };
}

/** A client over HTTP. */
export async function connected(test: TestContext, url: URL, era: Era, token = "a-token"): Promise<Client> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return await joined(test, new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit }), era);
}

/** A program that is nothing but the pipe. `where`: the gateway's address, or a file that says it. */
export function pipeProgram(
  where: URL | string,
  token = "a-token",
): { readonly program: string; readonly args: readonly string[] } {
  const pipe = new URL("../../src/cli/mcp.ts", import.meta.url).href;
  const at =
    typeof where === "string"
      ? `(await import("node:fs")).readFileSync(${JSON.stringify(where)}, "utf8")`
      : JSON.stringify(where.href);
  const find = `async () => ({ url: new URL(${at}), token: ${JSON.stringify(token)} })`;
  const script = `const { pipe } = await import(${JSON.stringify(pipe)}); await pipe(${find}, process);`;
  return { program: process.execPath, args: ["--input-type=module", "--eval", script] };
}

export function piping(where: URL | string, token?: string): StdioClientTransport {
  const { program, args } = pipeProgram(where, token);
  return new StdioClientTransport({ command: program, args: [...args], stderr: "inherit" });
}

export async function joined(test: TestContext, transport: Transport, era: Era): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: era } });
  afterwards(test, () => client.close());
  await client.connect(transport);
  return client;
}

/** The text of a result. */
export function textOf(result: unknown): string {
  const { content } = result as { readonly content: readonly { readonly text?: string }[] };
  return content.map(({ text }) => text ?? "").join("\n");
}
