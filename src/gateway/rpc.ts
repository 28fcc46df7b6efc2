// JSON-RPC 2.0: any call of the table by its name. The same over HTTP and over a socket.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { Person } from "../calls/call.ts";
import type { Input } from "../calls/door.ts";
import { calls, type CallName } from "../calls/table.ts";
import { faultOf, type Gate } from "./gate.ts";

const request = z.strictObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});

export type Request = z.output<typeof request>;

/** Whoever gives no id wants none: then it is made, and not sent. An id of null is one. */
export type Answer = { readonly jsonrpc: "2.0"; readonly id: string | number | null } & (
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data: object } }
);

/** What was said, or the answer to what cannot be understood. */
export function understood(text: string): Request | Answer {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return failed(null, -32_700, new Fault("bad_input", "it is not JSON"));
  }
  const { success, data } = request.safeParse(said);
  if (success) return data;
  const why = Array.isArray(said)
    ? "several requests in one are not taken; send one after the other"
    : 'it is no request: {"jsonrpc": "2.0", "id": …, "method": the name of a call, "params": its input}';
  return failed(idIn(said), -32_600, new Fault("bad_input", why));
}

/** Makes a call, and answers it whatever comes of it. */
export async function answered(
  gate: Gate,
  caller: Person,
  { id = null, method, params = {} }: Request,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    if (!Object.hasOwn(calls, method)) return failed(id, -32_601, unknown(method));
    const name = method as CallName;
    return {
      jsonrpc: "2.0",
      id,
      result: await gate.door.call(name, caller, params as Input<CallName>, signal),
    };
  } catch (error) {
    const fault = faultOf(error);
    if (fault.code === "bug") gate.log.error({ call: method, err: error }, "a call failed");
    return failed(id, fault.code === "bad_input" ? -32_602 : -32_000, fault);
  }
}

export function failed(id: string | number | null, code: number, fault: Fault): Answer {
  const { message, todo, retry } = fault;
  return { jsonrpc: "2.0", id, error: { code, message, data: { code: fault.code, todo, retry } } };
}

function unknown(method: string): Fault {
  return new Fault(
    "not_found",
    `there is no call ${JSON.stringify(method.slice(0, 100))}; there are: ${Object.keys(calls).join(", ")}`,
  );
}

function idIn(said: unknown): string | number | null {
  const { id } = (typeof said === "object" && said !== null ? said : {}) as { readonly id?: unknown };
  return typeof id === "string" || typeof id === "number" ? id : null;
}
