// The official client, over HTTP and through the pipe, with a handshake and without.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as streamText } from "node:stream/consumers";
import { describe, test } from "node:test";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Fault } from "../../src/base/fault.ts";
import { RealWorld } from "../../src/base/world.ts";
import { isWithin, type Call } from "../../src/calls/call.ts";
import { calls } from "../../src/calls/table.ts";
import { MCP_PROGRESS_MS } from "../../src/gateway/limits.ts";
import { afterwards, scratch } from "../fixtures/home.ts";
import { Gate } from "../sessions/stage.ts";
import { connected, ERAS, joined, pipeProgram, piping, served, textOf, TOKENS } from "./mcp-rig.ts";

const KEY = "agent:main:main";

/** In which there is soon something to tell. */
class HastyWorld extends RealWorld {
  override async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await super.sleep(ms === MCP_PROGRESS_MS ? 5 : ms, signal);
  }
}

const table = Object.entries(calls as unknown as Record<string, Call>);
/** Those that people may make. */
const peoples = table.filter(([, { who }]) => who !== "agent");

/** Written down here, and not found out as the door does. */
const READING: ReadonlySet<string> = new Set([
  ...[
    "wait",
    "status",
    "list",
    "history",
    "entries",
    "trace",
    "search",
    "children",
    "outbox",
    "overview",
    "mail",
  ],
  ...[
    "models",
    "config",
    "tokens",
    "whoami",
    "context",
    "result",
    "memory",
    "readMemory",
    "searchMemory",
    "heartbeats",
    "upkeepPlan",
    "archives",
  ],
  ...["jobs", "job", "jobRuns", "jobTimes"],
  "commands",
]);
const DESTRUCTIVE: ReadonlySet<string> = new Set([
  "kill",
  "remove",
  "revokeToken",
  "writeMemory",
  "upkeep",
  "purgeArchive",
  "removeJob",
  "command", // /kill is one
]);

describe("the MCP door", () => {
  for (const era of ERAS) {
    test(`has every call that the caller may make as a tool, and no other (${era})`, async (t) => {
      const { url } = await served(t);
      for (const [token, scope] of Object.entries(TOKENS)) {
        const client = await connected(t, url, era, token);
        assert.equal(client.getProtocolEra(), era === "auto" ? "modern" : "legacy");
        assert.deepEqual(client.getServerVersion(), {
          name: "sessiond",
          title: "sessiond",
          version: "1.2.3",
        });
        const { tools } = await client.listTools();
        const expected = peoples.filter(([, row]) => isWithin(row.scope, scope));
        assert.deepEqual(
          tools.map(({ name }) => name),
          expected.map(([name, row]) => row.tool ?? name),
        );
        for (const [at, [name, row]] of expected.entries()) {
          const { description, inputSchema, annotations } = tools[at] ?? assert.fail(name);
          assert.equal(description, row.about);
          assert.equal(inputSchema.type, "object", `${name} takes an object`);
          assert.deepEqual(annotations, {
            readOnlyHint: READING.has(name),
            idempotentHint: row.idempotent || READING.has(name),
            destructiveHint: DESTRUCTIVE.has(name),
          });
        }
      }
    });

    test(`changes nothing by a tool that says it only reads (${era})`, async (t) => {
      const { url } = await served(t);
      const client = await connected(t, url, era);
      await client.callTool({ name: "ask", arguments: { sessionKey: KEY, message: "!say hi" } });
      const result = await client.callTool({
        name: "session_status",
        arguments: { sessionKey: KEY, model: "rehearsal/large" },
      });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /forbidden/);
    });

    test(`runs a call, and answers what it came to (${era})`, async (t) => {
      const { url, sessions } = await served(t);
      const client = await connected(t, url, era);
      const result = await client.callTool({
        name: "ask",
        arguments: { sessionKey: KEY, message: "!say hello" },
      });
      const told = result.structuredContent as Record<string, unknown>;
      assert.deepEqual([told["outcome"], told["text"], result.isError], ["done", "hello", undefined]);
      assert.deepEqual(JSON.parse(textOf(result)), told);
      const status = await client.callTool({ name: "session_status", arguments: { sessionKey: KEY } });
      const { entries } = await sessions.status(KEY);
      assert.equal((status.structuredContent as Record<string, unknown>)["entries"], entries);
    });

    test(`says what is wrong and what to do when a call is refused, as a result (${era})`, async (t) => {
      const { url, failures } = await served(t);
      const admin = await connected(t, url, era);
      const reader = await connected(t, url, era, "r-token");
      for (const [client, name, given, code, words] of [
        [admin, "ask", { sessionKey: "no key", message: "x" }, "bad_input", /not a session key/],
        [admin, "ask", { message: 7, mesage: "x" }, "bad_input", /mesage/],
        [admin, "sessions_history", { sessionKey: "agent:main:thread:none" }, "not_found", /none/],
        [reader, "kill", { sessionKey: KEY }, "forbidden", /scope/],
      ] as const) {
        const result = await client.callTool({ name, arguments: given });
        assert.equal(result.isError, true);
        assert.match(textOf(result), new RegExp(`^${code}: `));
        assert.match(textOf(result), words);
        assert.match(textOf(result), /What to do: /);
        const { error } = result.structuredContent as { readonly error: Readonly<Record<string, unknown>> };
        assert.equal(error["code"], code);
      }
      await assert.rejects(
        admin.callTool({ name: "subagents", arguments: {} }),
        /there is no tool "subagents"/,
      );
      await assert.rejects(admin.callTool({ name: "toString", arguments: {} }), /there is no tool/);
      assert.deepEqual(failures, []);
    });

    test(`stops waiting when the client does; what was sent goes on (${era})`, async (t) => {
      const gate = new Gate();
      const { url, underWay } = await served(t, { tools: [gate.tool] });
      const client = await connected(t, url, era);
      const off = new AbortController();
      const message = "!call gate {}\n!then\n!say through";
      const asked = client.callTool(
        { name: "ask", arguments: { sessionKey: KEY, message, id: "mine" } },
        { signal: off.signal },
      );
      await gate.reached();
      assert.equal(underWay(), 1);
      off.abort();
      await assert.rejects(asked);
      // Whoever began with a handshake says so in another request, which is nobody's: then it ends with the connection.
      if (era === "auto") while (underWay() > 0) await new Promise((wake) => setTimeout(wake, 5));
      gate.open();
      const waited = await client.callTool({ name: "wait", arguments: { sessionKey: KEY, id: "mine" } });
      assert.equal((waited.structuredContent as Record<string, unknown>)["text"], "through");
    });

    test(`tells a client that wants to know, again and again, that it is being worked on (${era})`, async (t) => {
      const [one, other] = [new Gate("one"), new Gate("other")];
      const { url } = await served(t, { tools: [one.tool, other.tool], world: new HastyWorld() });
      for (const [gate, client] of [
        [one, await connected(t, url, era)],
        [other, await joined(t, piping(url), era)],
      ] as const) {
        const heard: number[] = [];
        const asked = client.callTool(
          {
            name: "ask",
            arguments: { sessionKey: KEY, message: `!call ${gate.tool.name} {}\n!then\n!say through` },
          },
          { onprogress: ({ progress }) => void heard.push(progress), resetTimeoutOnProgress: true },
        );
        while (heard.length < 3) await new Promise((wake) => setTimeout(wake, 5));
        assert.deepEqual(heard.slice(0, 3), [1, 2, 3]);
        gate.open();
        assert.equal(((await asked).structuredContent as Record<string, unknown>)["text"], "through");
      }
    });

    test(`answers whoever waits with closed when the gateway closes (${era})`, async (t) => {
      const gate = new Gate();
      const { url, closing } = await served(t, { tools: [gate.tool] });
      const client = await connected(t, url, era);
      const asked = client.callTool({
        name: "ask",
        arguments: { sessionKey: KEY, message: "!call gate {}" },
      });
      await gate.reached();
      closing.abort(new Fault("closed", "the gateway is stopping"));
      const result = await asked;
      assert.match(textOf(result), /^closed: /);
      gate.open();
    });

    test(`is the same through the pipe (${era})`, async (t) => {
      const { url } = await served(t);
      const [direct, piped] = [await connected(t, url, era), await joined(t, piping(url), era)];
      assert.deepEqual(piped.getServerVersion(), direct.getServerVersion());
      assert.deepEqual(await piped.listTools(), await direct.listTools());
      const message = { sessionKey: KEY, message: "!say through the pipe" };
      const result = await piped.callTool({ name: "ask", arguments: message });
      assert.equal((result.structuredContent as Record<string, unknown>)["text"], "through the pipe");
      const refused = await piped.callTool({
        name: "ask",
        arguments: { sessionKey: "no key", message: "x" },
      });
      assert.match(textOf(refused), /^bad_input: /);
    });

    test(`hears through the pipe that a client waits no more (${era})`, async (t) => {
      const gate = new Gate();
      const { url, underWay } = await served(t, { tools: [gate.tool] });
      const client = await joined(t, piping(url), era);
      const off = new AbortController();
      const asked = client.callTool(
        { name: "ask", arguments: { sessionKey: KEY, message: "!call gate {}" } },
        { signal: off.signal },
      );
      await gate.reached();
      off.abort();
      await assert.rejects(asked);
      while (underWay() > 0) await new Promise((wake) => setTimeout(wake, 5));
      gate.open();
    });
  }

  test("is behind a pipe that says how to start the gateway when none is there", async (t) => {
    const port = await freePort();
    const url = new URL(`http://127.0.0.1:${port}`);
    const transport = piping(url);
    await assert.rejects(joined(t, transport, "legacy"), /not reachable \(ECONNREFUSED\).*sessiond serve/);
  });

  test("is behind a pipe that outlives the gateway, and works again once it is back", async (t) => {
    const first = await served(t);
    const client = await joined(t, piping(first.url), "legacy");
    await client.listTools();
    first.server.closeAllConnections();
    first.server.close();
    await once(first.server, "close");
    const status = { name: "session_status", arguments: { sessionKey: KEY } };
    await assert.rejects(client.callTool(status), /not reachable .*sessiond serve/);
    await assert.rejects(client.listTools(), /sessiond serve/);
    await served(t, {}, Number(first.url.port));
    assert.equal((await client.callTool(status)).isError, undefined);
  });

  test("is behind a pipe that answers what was asked before its input ended", async (t) => {
    const { url } = await served(t);
    const { program, args } = pipeProgram(url);
    const child = spawn(program, [...args], { stdio: ["pipe", "pipe", "inherit"] });
    afterwards(t, async () => void child.kill("SIGKILL"));
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params })}\n`);
    const said = JSON.parse(await streamText(child.stdout)) as { id: number; result?: object };
    assert.deepEqual([said.id, typeof said.result], [7, "object"]);
  });

  test("is found again by the pipe where the gateway is after a restart", async (t) => {
    const file = join(scratch(t), "where");
    const first = await served(t);
    writeFileSync(file, first.url.href);
    const client = await joined(t, piping(file), "legacy");
    await client.listTools();
    first.server.closeAllConnections();
    first.server.close();
    await once(first.server, "close");
    writeFileSync(file, (await served(t)).url.href);
    assert.ok((await client.listTools()).tools.length > 0);
  });

  test("is behind a pipe that says so when the token is wrong, and when the gateway ends in the middle", async (t) => {
    const gate = new Gate();
    const { url, server } = await served(t, { tools: [gate.tool] });
    await assert.rejects(
      joined(t, piping(url, "wrong"), "legacy"),
      /401.*this token is not known.*SESSIOND_TOKEN/,
    );
    const client = await joined(t, piping(url), "legacy");
    const asked = client.callTool({ name: "ask", arguments: { sessionKey: KEY, message: "!call gate {}" } });
    await gate.reached();
    server.closeAllConnections();
    await assert.rejects(asked, /may or may not have done what was asked/);
    gate.open();
  });
});

/** One that nobody listens at, most likely also a moment later. */
async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
