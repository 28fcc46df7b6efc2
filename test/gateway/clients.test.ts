// Clients of others against a real daemon: MCP over HTTP and over stdio, a webhook in both directions, and the demo.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { calls } from "../../src/calls/table.ts";
import { signatureOf } from "../../src/channels/signature.ts";
import { Receiver, until } from "../channels/stage.ts";
import { afterwards } from "../fixtures/home.ts";
import { CLI, Daemon } from "./daemon.ts";

const MAIN = "agent:main:main";
const SECRET = "a secret of both sides";

async function connected(t: TestContext, transport: Transport): Promise<Client> {
  const client = new Client({ name: "a client", version: "1" });
  afterwards(t, () => client.close());
  await client.connect(transport);
  return client;
}

async function talks(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const peoples = Object.values(calls).filter(({ who }) => who !== "agent");
  assert.equal(tools.length, peoples.length);
  const answer = await client.callTool({
    name: "ask",
    arguments: { sessionKey: MAIN, message: "!say over MCP" },
  });
  assert.equal((answer.structuredContent as { readonly text: string }).text, "over MCP");
  const refused = await client.callTool({
    name: "session_status",
    arguments: { sessionKey: "agent:main:direct:nobody" },
  });
  assert.equal(refused.isError, true);
}

test("an MCP client talks to sessions over HTTP", async (t) => {
  const daemon = await Daemon.start(t);
  const requestInit = { headers: { authorization: `Bearer ${daemon.token}` } };
  await talks(
    await connected(t, new StreamableHTTPClientTransport(new URL(`${daemon.url}/mcp`), { requestInit })),
  );
});

test("an MCP client talks to sessions over `sessiond mcp`", async (t) => {
  const daemon = await Daemon.start(t);
  const env = Object.fromEntries(Object.entries(daemon.env).map(([name, value]) => [name, value ?? ""]));
  await talks(
    await connected(t, new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env })),
  );
});

test("a message of a webhook is answered through it, also when the daemon is killed in between, and never twice unseen", async (t) => {
  const receiver = await Receiver.open(t);
  const daemon = await Daemon.start(t, {
    config: { webhooks: { crm: { secret: SECRET, url: receiver.url } } },
  });
  const body = JSON.stringify({ id: "m-1", peer: "ann", message: "!slow 700\n!say thank you" });
  const post = (): Promise<Response> => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const headers = {
      "x-sessiond-timestamp": timestamp,
      "x-sessiond-signature": signatureOf(SECRET, timestamp, body),
    };
    return daemon.fetch("/hooks/crm", { method: "POST", body, headers, token: null });
  };
  assert.equal((await post()).status, 202);
  await daemon.kill();
  await daemon.begin();
  const again = await post();
  assert.deepEqual(
    [again.status, ((await again.json()) as { readonly repeated: boolean }).repeated],
    [202, true],
  );
  const [answer] = await until(() => receiver.came.length > 0 && receiver.came);
  assert.equal(answer?.said.text, "thank you");
  const sessionKey = "agent:main:crm:direct:ann";
  const { entries } = await daemon.call("history", { sessionKey });
  assert.equal(entries.filter(({ kind }) => kind === "user").length, 1);
  assert.equal(new Set(receiver.came.map(({ said }) => said.id)).size, 1);
});

test("the demo kills a daemon in the middle of three researches, and their answers arrive", async () => {
  const demo = fileURLToPath(new URL("../../examples/demo.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [demo], { timeout: 60_000 });
  for (const words of [
    "KILLED",
    "goes on where it was",
    "Initech charges by use",
    "each once. Nothing was lost.",
  ])
    assert.ok(stdout.includes(words), `${words}: ${stdout}`);
});
