// Who calls. The token comes in a header, never in an address: addresses are kept in histories and logs.

import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../base/fault.ts";
import type { Person } from "../calls/call.ts";
import type { Tokens } from "./tokens.ts";
import type { Rate } from "./rate.ts";

/** How a browser's WebSocket sends it: it can set no header, only name protocols. */
const PROTOCOL = "bearer.";

/** The protocol that a socket speaks, beside the one that carries its token. */
export const SPOKEN = "sessiond";

export interface AuthParts {
  readonly tokens: Tokens;
  /** Of those who come with a wrong token, by address. */
  readonly refused: Rate;
}

/** Faults unauthorized, and rate_limited for who guesses. */
export function callerOf(
  { tokens, refused }: AuthParts,
  headers: IncomingHttpHeaders,
  address: string,
): Person {
  const token = tokenIn(headers);
  const bearer = token === null ? null : tokens.bearer(token);
  if (bearer !== null) return bearer;
  // Only those who are wrong are slowed down: others at the same address, such as the owner, are not.
  if (!refused.take(address)) throw new Fault("rate_limited", "too many requests with a wrong token");
  throw new Fault(
    "unauthorized",
    token === null ? "a token is needed" : "this token is not known here; it may have been revoked",
  );
}

function tokenIn(headers: IncomingHttpHeaders): string | null {
  const said = /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  if (said !== undefined) return said;
  const protocols = headers["sec-websocket-protocol"]?.split(",").map((each) => each.trim()) ?? [];
  return protocols.find((each) => each.startsWith(PROTOCOL))?.slice(PROTOCOL.length) ?? null;
}
