// Calls of the daemon, by the names and shapes of its table. What it refuses is thrown as the Fault that it is.

import { Fault, isFaultCode } from "../../src/base/fault.ts";
import type { Input, Output } from "../../src/calls/door.ts";
import type { CallName } from "../../src/calls/table.ts";
import { refused, token } from "./token.ts";

/** Thrown when nobody is there to answer. What was asked may have happened, or not: ask again with the same id. */
const AWAY = "the daemon does not answer";

let made = 0;

export async function call<Name extends CallName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Output<Name>> {
  const used = token.value;
  if (used === null) throw new Fault("unauthorized", "nobody is signed in");
  made += 1;
  const { status, said } = await posted(
    { jsonrpc: "2.0", id: made, method: name, params: input },
    used,
    signal,
  );
  if (said?.result !== undefined) return said.result as Output<Name>;
  const why = said?.error?.data ?? said?.error;
  const code = isFaultCode(why?.code) ? why.code : "bug"; // A page may be older than its daemon.
  const advice = typeof why?.todo === "string" ? { todo: why.todo } : {};
  const fault = new Fault(code, said?.error?.message ?? `the daemon answered ${status}`, advice);
  if (fault.code === "unauthorized") refused(used, fault.message);
  throw fault;
}

/** JSON-RPC, or what a request is refused with before it reaches that. */
interface Said {
  readonly result?: unknown;
  readonly error?: {
    readonly code: number | string;
    readonly message: string;
    readonly todo?: string;
    readonly data?: { readonly code: string; readonly todo?: string };
  };
}

/** `said` null: it was not JSON, as from a proxy. A connection that is lost in the middle of an answer is one that gave none. */
async function posted(
  body: object,
  used: string,
  signal?: AbortSignal,
): Promise<{ readonly status: number; readonly said: Said | null }> {
  try {
    const response = await fetch("/rpc", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${used}` },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.status, said: parsed(await response.text()) };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Fault("unreachable", AWAY, { cause: error, todo: "it is tried again when the daemon is back" });
  }
}

function parsed(text: string): Said | null {
  try {
    return JSON.parse(text) as Said;
  } catch {
    return null;
  }
}

/** What went wrong, for people. What is no Fault is a bug of the page. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("bug", `the page failed: ${error instanceof Error ? error.message : String(error)}`);
}

/** Whoever asked has gone on to something else: nothing to tell anybody. */
export function isCalledOff(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
