import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { freePort } from "../../../test/fixtures/port.ts";
import { address, Rig, run, textOf, until } from "../../../test/mcp/rig.ts";

const LONG = { duration: 60, steps: 1 };

test("the everything server over HTTP: its tools are ours, its death in a call is the call's error, it comes back", async (test) => {
  const rig = await Rig.open(test);
  const port = await freePort();
  const first = await rig.everythingAt(port);
  const servers = rig.servers(address("web", port));
  const tools = await servers.tools(servers.names);
  assert.equal(textOf(await run(tools, "web__echo", { message: "hello" })), "Echo: hello");
  assert.match(textOf(await run(tools, "web__get-sum", { a: 2, b: 40 })), /\b42\b/);
  const { content } = await run(tools, "web__get-tiny-image");
  assert.ok(Array.isArray(content) && content.some(({ type }) => type === "image"));

  const stop = new AbortController();
  const given = run(tools, "web__trigger-long-running-operation", LONG, stop.signal);
  given.catch(() => {});
  await run(tools, "web__echo", { message: "the call has been sent" });
  stop.abort(new Error("enough"));
  await assert.rejects(given, { message: "enough" });

  const call = run(tools, "web__trigger-long-running-operation", LONG);
  call.catch(() => {});
  await run(tools, "web__echo", { message: "the call has been sent" });
  process.kill(-first.pid, "SIGKILL");
  await first.ended;
  await assert.rejects(call, /^Error: web .*; it may or may not have taken effect$/);
  await assert.rejects(
    run(tools, "web__echo", { message: "?" }),
    /^Error: web cannot be reached \(.*ECONNREFUSED.*\); nothing was done$/,
  );
  await assert.rejects(run(tools, "web__echo", { message: "?" }), /web is down .* started again in 1 s$/);
  assert.deepEqual(await servers.tools(servers.names), tools);
  await rig.everythingAt(port);
  rig.world.push(1_000);
  assert.equal(textOf(await run(tools, "web__echo", { message: "back" })), "Echo: back");
});

test("a server that was started anew and has forgotten us is greeted once more, and nobody notices", async (test) => {
  const rig = await Rig.open(test);
  const port = await freePort();
  const first = await rig.everythingAt(port);
  const servers = rig.servers(address("web", port));
  const tools = await servers.tools(servers.names);
  await first.kill();
  await rig.everythingAt(port);
  assert.equal(textOf(await run(tools, "web__echo", { message: "who are you?" })), "Echo: who are you?");
  assert.deepEqual(rig.warned("why"), []);
});

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly clientInfo?: object };
}

/** A server by hand, which wants a key and does what the name of the tool says. */
class Odd {
  readonly asked: string[] = [];
  readonly clients: unknown[] = [];
  /** Where a request for its address is sent on to; null: nowhere. */
  redirectsTo: string | null = null;
  seen = 0; // requests, with a key or without
  readonly #server: Server;
  sessions = 0;
  hanging = 0; // answers that are open and never end

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(test: TestContext): Promise<Odd> {
    const odd = new Odd();
    odd.#server.listen(0, "127.0.0.1");
    await once(odd.#server, "listening");
    test.after(() => {
      odd.#server.closeAllConnections();
      odd.#server.close();
    });
    return odd;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.seen += 1;
    if (this.redirectsTo !== null && request.url === "/mcp")
      return void response.writeHead(307, { location: this.redirectsTo }).end();
    if (request.headers.authorization !== "Bearer open-sesame")
      return void response.writeHead(401).end("who are you, with your open-sesame?");
    if (request.method !== "POST") return void response.writeHead(405).end();
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { id, method, params } = JSON.parse(body) as Asked;
    const say = (result: object): void =>
      void response
        .writeHead(200, { "content-type": "application/json", "mcp-session-id": `s${this.sessions}` })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    this.asked.push(params?.name ?? method);
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize") {
      this.sessions += 1;
      this.clients.push(params?.clientInfo);
      const serverInfo = { name: "odd", version: "1" };
      return say({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
    }
    if (request.headers["mcp-session-id"] !== `s${this.sessions}`) return void response.writeHead(404).end();
    if (method === "tools/list")
      return say({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: "object" } })) });
    this.#call(params?.name ?? "", response, say);
  }

  #call(name: string, response: ServerResponse, say: (result: object) => void): void {
    const stream = { "content-type": "text/event-stream" };
    switch (name) {
      case "cut":
        response.writeHead(200, stream).write(": there is more to come\n\n");
        return void setImmediate(() => response.destroy());
      case "mute":
        return void response.writeHead(200, stream).end();
      case "hang":
        this.hanging += 1;
        response.on("close", () => (this.hanging -= 1));
        return void response.writeHead(200, stream).write(": wait\n\n");
      case "reset":
        return void response.destroy();
      case "huge":
        return say({ content: [{ type: "text", text: "x".repeat(17 * 1024 * 1024) }] });
      case "endless":
        return void response.writeHead(200, stream).end(`data: ${"x".repeat(17 * 1024 * 1024)}\n\n`);
      case "500":
      case "429":
        return void response.writeHead(Number(name)).end("not now");
      case "html":
        return void response.writeHead(200, { "content-type": "text/html" }).end("<p>");
      default:
        return say({ content: [{ type: "text", text: name }] });
    }
  }
}

const TOOLS = ["fine", "cut", "mute", "hang", "reset", "huge", "endless", "500", "429", "html"];

test("each failure of a call over HTTP says whether something may have been done, and the server is still there", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  const tools = await servers.tools(servers.names);
  const unknown = /it may or may not have taken effect$/;
  const failures: Readonly<Record<string, RegExp>> = {
    cut: unknown,
    mute: unknown,
    reset: unknown,
    huge: unknown,
    endless: unknown,
    html: unknown,
    500: unknown,
    429: /^Error: odd refused the call \(HTTP 429: .*not now\); nothing was done$/,
  };
  for (const [name, words] of Object.entries(failures)) {
    await assert.rejects(run(tools, `odd__${name}`), words, name);
    rig.world.push(10 * 60_000);
    assert.equal(textOf(await run(tools, "odd__fine")), "fine", name);
    assert.equal(odd.asked.filter((each) => each === name).length, 1, `${name} was asked for once`);
  }
});

test("a session that the server forgot is begun anew, once, before the call is repeated", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  const tools = await servers.tools(servers.names);
  odd.sessions = 7;
  assert.equal(textOf(await run(tools, "odd__fine")), "fine");
  assert.equal(odd.sessions, 8);
  assert.equal(odd.asked.filter((each) => each === "initialize").length, 2);
  assert.deepEqual(servers.status()[0]?.state, "ready");
});

test("without its key a server has no tools; what it says of the key reaches nobody", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "open-sesame" }));
  assert.deepEqual(await servers.tools(servers.names), []);
  assert.match(servers.status()[0]?.why ?? "", /^HTTP 401: .*with your \[secret\]\?$/);
  assert.doesNotMatch(JSON.stringify(rig.logged), /open-sesame/);
});

test("a call that was given up leaves no connection open", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  const tools = await servers.tools(servers.names);
  const stop = new AbortController();
  const calls = Array.from({ length: 8 }, () => run(tools, "odd__hang", {}, stop.signal));
  for (const call of calls) call.catch(() => {});
  await until(() => odd.hanging === 8);
  stop.abort(new Error("enough"));
  for (const call of calls) await assert.rejects(call, { message: "enough" });
  await until(() => odd.asked.filter((each) => each === "notifications/cancelled").length === 8);
  await until(() => odd.hanging === 0);
  assert.equal(servers.status()[0]?.state, "ready");
});

test("a redirect within a server is followed, and one to another address is not: nothing is sent there", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const other = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  odd.redirectsTo = "/mcp/";
  const tools = await servers.tools(servers.names);
  assert.equal(textOf(await run(tools, "odd__fine")), "fine");
  odd.redirectsTo = `http://127.0.0.1:${other.port}/mcp?key=open-sesame`;
  const where = `it redirects to another address, at http://127.0.0.1:${other.port}; set its url to it`;
  await assert.rejects(run(tools, "odd__fine"), {
    message: `odd refused the call (${where}); nothing was done`,
  });
  await servers.close();

  const anew = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  assert.deepEqual(await anew.tools(anew.names), []);
  assert.equal(anew.status()[0]?.why, where);
  assert.equal(other.seen, 0);
});

test("a server is told the version that the package has", async (test) => {
  const rig = await Rig.open(test);
  const odd = await Odd.open(test);
  const servers = rig.servers(address("odd", odd.port, { authorization: "Bearer open-sesame" }));
  await servers.tools(servers.names);
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.deepEqual(odd.clients, [{ name: "sessiond", version }]);
});
