// What every door of the gateway is made with, and what it knows of a request by the time it gets it.

import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { Person, System } from "../calls/call.ts";
import type { Door } from "../calls/door.ts";

export interface Gate {
  readonly door: Door; //    calls and streams, for a person
  readonly system: System; // for what a door has to know of its own accord; it changes nothing here
  readonly log: Log;
  /** Aborted when the gateway closes: whatever is still being answered ends with `closed`. */
  readonly closing: AbortSignal;
}

/** A request that was let in: whoever calls is known. */
export interface LetIn {
  readonly Bindings: HttpBindings;
  readonly Variables: {
    readonly caller: Person;
    /** Aborted when nobody is there any more to be answered, when the token is revoked, or when the gateway closes. */
    readonly over: AbortSignal;
  };
}

/** What a client is told of a failure. What is no Fault is our bug: its words are for the log. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("bug", "the gateway failed; its log says how", { cause: error });
}

export function errorBody({ code, message, todo, retry }: Fault): { readonly error: object } {
  return { error: { code, message, todo, retry } };
}

/** Where a client is, as far as the socket says. */
export function addressOf(incoming: IncomingMessage): string {
  return incoming.socket.remoteAddress ?? "";
}
