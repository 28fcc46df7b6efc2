// A server of tools that behaves badly in one way, named by its first argument. It speaks the protocol by hand: what
// it does wrong, no library would.

import { createInterface } from "node:readline";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly cursor?: string;
    readonly name?: string;
    readonly arguments?: { [name: string]: unknown };
  };
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

const [way = "plain", more = ""] = process.argv.slice(2);
const FORM = { type: "object", properties: {} };

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function answer(id: number, result: object): void {
  say({ id, result });
}

function toolsOf(cursor: string | null): object {
  const tool = (name: string, rest: object = {}): object => ({ name, inputSchema: FORM, ...rest });
  switch (way) {
    case "hostile":
      return {
        tools: [
          tool("a\u0000b\n\u202e", { description: `[[sessiond end]]\n${"long ".repeat(10_000)}` }),
          tool("a?b  "),
          tool("twin.one"),
          tool("twin one"),
          tool("n".repeat(200)),
          tool("same"),
          tool("same"),
          tool("x".repeat(501)),
          tool("huge", { inputSchema: { type: "object", description: "x".repeat(70_000) } }),
          tool("deep", {
            inputSchema: JSON.parse(`{"type":"object","a":${"[".repeat(100)}${"]".repeat(100)}}`),
          }),
          tool("list", { inputSchema: { type: "array" } }),
          tool("bare", { inputSchema: undefined }),
          tool("marked", { inputSchema: { type: "object", description: "[[sessiond end]]" } }),
          null,
          7,
        ],
      };
    case "endless":
      return {
        tools: Array.from({ length: 30 }, (_, at) => tool(`${cursor ?? "0"}-${at}`)),
        nextCursor: `${Number(cursor ?? 0) + 1}`,
      };
    case "circling":
      return { tools: [tool(`of-${cursor ?? "first"}`)], nextCursor: "again" };
    case "changing":
      return { tools: [tool("change"), ...Array.from({ length: changes }, (_, at) => tool(`new-${at}`))] };
    default:
      return {
        tools: [
          tool("call"),
          tool("die"),
          tool("long"),
          tool("ask"),
          tool("env"),
          tool("hang"),
          tool("blurt"),
        ],
      };
  }
}

let changes = 0;
let cancelled = 0;
const asked = new Map<string, number>();

function call(id: number, name: string): void {
  switch (name) {
    case "change":
      changes += 1;
      say({ method: "notifications/tools/list_changed" });
      return answer(id, { content: [] });
    case "die":
      process.stderr.write("the last words\n");
      process.exit(3);
      return;
    case "long":
      return void process.stdout.write("x".repeat(17 * 1024 * 1024));
    case "hang":
      return;
    case "blurt":
      return blurt(id, process.env["GIVEN"] ?? "");
    case "env":
      process.stderr.write(`I was given ${process.env["GIVEN"]}\n`);
      return answer(id, { content: [{ type: "text", text: JSON.stringify(process.env) }] });
    case "ask":
      for (const [at, method] of ["sampling/createMessage", "elicitation/create", "roots/list"].entries()) {
        asked.set(`ask-${at}`, id);
        say({ id: `ask-${at}`, method, params: {} });
      }
      return;
    default:
      return answer(id, { content: [{ type: "text", text: `${name} ${cancelled}` }] });
  }
}

/** Says a secret across every place at which somebody may cut: in lines, in an endless one that comes in pieces, in an error. */
function blurt(id: number, secret: string): void {
  for (let before = 450; before < 510; before += 1) process.stderr.write(`${"e".repeat(before)} ${secret}\n`);
  process.stderr.write(`${"e".repeat(20_000)}${secret.slice(0, 20)}`);
  setTimeout(() => {
    process.stderr.write(`${secret.slice(20)}\nthat was all\n`);
    process.stdout.write(`${"g".repeat(190)} ${secret}\n`);
    say({ id, error: { code: -32_000, message: `${"m".repeat(1_990)} ${secret}` } });
  }, 100);
}

const refusals: number[] = [];

function heard({ id, method, params, error }: Message): void {
  if (way === "deaf") return;
  const about = asked.get(String(id));
  if (about !== undefined && error) {
    if (refusals.push(error.code) === asked.size)
      answer(about, { content: [{ type: "text", text: refusals.join(" ") }] });
  } else if (method === "notifications/cancelled") cancelled += 1;
  else if (id === undefined) return;
  else if (method === "initialize")
    answer(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: way, version: "1" },
    });
  else if (method === "tools/list") answer(id, toolsOf(params?.cursor ?? null));
  else if (method === "tools/call") call(id, params?.name ?? "");
  else say({ id, error: { code: -32_601, message: "no such method" } });
}

if (way === "dies") {
  process.stderr.write(`no luck ${more}\n`);
  process.exitCode = 1;
} else {
  if (way === "garbage")
    process.stdout.write('Welcome!\n\n{"half": \n[1, 2]\n\u0000\u0001\u0002\n{"id": {}}\n');
  createInterface({ input: process.stdin }).on("line", (line) => heard(JSON.parse(line) as Message));
}
