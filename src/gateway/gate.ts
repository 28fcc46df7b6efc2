// What every door of the gateway is made with, and what it knows of a request by the time it gets it.

import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import type { HttpBindings } from "@hono/node-server";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { Person, System } from "../calls/call.ts";
import type { Door } from "../calls/door.ts";

export interface Gate {
  readonly door: Door; //    calls and streams, for a person
  readonly system: System; // for what a door has to know of its own accord; it changes nothing here
  readonly log: Log;
  /** Aborted when the gateway closes, for doors that have no `over`: nobody waits for an answer any more. */
  readonly closing: AbortSignal;
  /** The streams that somebody follows now. Whoever hands one on puts it in, and takes it out when it ends. */
  readonly followed: Set<AsyncIterable<unknown>>;
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

export const GONE = new Fault("closed", "the client has gone");

/** The same for a request, and our bugs are logged. Who went before all of its request had come has not found one. */
export function failureIn(log: Log, context: Context<LetIn>, error: unknown): Fault {
  const { incoming } = context.env;
  if (incoming.destroyed && !incoming.complete) return GONE;
  const fault = faultOf(error);
  if (fault.code === "bug") log.error({ err: error, route: routeIn(context) }, "a request failed");
  return fault;
}

/** The pattern that a path fits: paths themselves hold keys, and there are as many as sessions. */
export function routeIn(context: Context<LetIn>): string {
  return context.req.routePath;
}

export function errorBody({ code, message, todo, retry }: Fault): { readonly error: object } {
  return { error: { code, message, todo, retry } };
}

/** Where a client is, as far as the socket says. */
export function addressOf(incoming: IncomingMessage): string {
  return incoming.socket.remoteAddress ?? "";
}
