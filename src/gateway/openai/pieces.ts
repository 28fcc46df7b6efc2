// An answer that comes piece by piece, as server-sent events: with a sign of life when nothing is said for long, and whatever
// goes wrong on the way as the last event.

import { alive, eventsOf } from "../sse.ts";
import { problemOf, type Problem } from "./errors.ts";
import type { Asking, Sent } from "./turn.ts";

/** `failed` says how a client is told of what went wrong after the answer had begun. */
export function streamed(
  { gate, over }: Asking,
  { sessionKey }: Sent,
  events: AsyncGenerator<string, void>,
  failed: (problem: Problem) => string,
): Response {
  const texts = alive(gate, over, events, (error) => failed(problemOf(error)));
  return eventsOf(texts, { "x-session-key": sessionKey });
}
