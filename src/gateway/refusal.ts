// Requests that do not even become one: refused on the connection itself, in the same words as all others.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { RequestError } from "@hono/node-server";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { alarm } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { CUT_OFF_GRACE_MS } from "./limits.ts";
import { errorBody, faultOf } from "./gate.ts";

/**
 * There is no response to write to yet: only the connection, and it ends. A client may keep its half of it open for as
 * long as it likes, and this is open to everybody: so after a while the whole of it is ended. Until then what still comes
 * is read and forgotten, else the answer would be lost with it.
 */
export function refuse(world: World, stream: Duplex, fault: Fault, status = fault.status): void {
  const body = JSON.stringify(errorBody(fault));
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? fault.code}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ];
  const callOff = alarm(world, CUT_OFF_GRACE_MS, () => stream.destroy());
  stream.once("close", callOff);
  stream.resume();
  stream.end(lines.join("\r\n"));
}

/** What the parser of HTTP does not take, or waits for in vain. Who was answered before may be in the middle of an answer. */
export function refuseUnread(world: World, error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0 || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return refuse(world, socket, new Fault("too_large", "the headers are too long"), 431);
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return refuse(world, socket, new Fault("bad_input", "the request did not come to an end in time"), 408);
    default:
      return refuse(world, socket, new Fault("bad_input", "this is not HTTP/1.1 as it is written"));
  }
}

/** What has no address that can be read. Whatever else comes here is our bug. */
export function refusedAddress(log: Log, error: unknown): Response {
  const isTheirs = error instanceof RequestError;
  if (!isTheirs) log.error({ err: error }, "a request failed");
  const fault = isTheirs ? new Fault("bad_input", `the address: ${error.message}`) : faultOf(error);
  return Response.json(errorBody(fault), { status: fault.status });
}
