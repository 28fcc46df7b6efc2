// Calls of the daemon, by the names and shapes of its table. What it refuses is thrown as the Fault that it is.

import { Fault, faultFrom, type FaultCode } from "../../src/base/fault.ts";
import type { Input, Output } from "../../src/calls/door.ts";
import type { CallName } from "../../src/calls/table.ts";
import { signOut, token } from "./token.ts";

/** Thrown when nobody is there to answer. What was asked may have happened, or not: ask again with the same id. */
const AWAY = "the daemon does not answer";

let made = 0;

export async function call<Name extends CallName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Output<Name>> {
  const used = token.value;
  made += 1;
  const response = await posted({ jsonrpc: "2.0", id: made, method: name, params: input }, used, signal);
  const said = (await response.json().catch(() => null)) as Said | null;
  if (said?.result !== undefined) return said.result as Output<Name>;
  const refused = said?.error?.data ?? said?.error;
  const fault = faultFrom({
    code: (refused?.code ?? "bug") as FaultCode,
    message: said?.error?.message ?? `the daemon answered ${response.status}`,
  });
  if (fault.code === "unauthorized" && token.value === used) signOut(fault.message);
  throw fault;
}

/** JSON-RPC, or what a request is refused with before it reaches that. */
interface Said {
  readonly result?: unknown;
  readonly error?: {
    readonly code: number | string;
    readonly message: string;
    readonly data?: { readonly code: string };
  };
}

async function posted(body: object, used: string | null, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch("/rpc", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${used ?? ""}` },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Fault("closed", AWAY, { cause: error });
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
