// An answer that comes piece by piece, as server-sent events: with a sign of life when nothing is said for long, and whatever
// goes wrong on the way as the last event.

import { unlessLate } from "../../base/waiting.ts";
import { ALIVE_MS } from "../../limits.ts";
import { eventsOf } from "../sse.ts";
import { problemOf, type Problem } from "./errors.ts";
import type { Asking, Sent } from "./turn.ts";

/** `failed` says how a client is told of what went wrong after the answer had begun. */
export function streamed(
  asking: Asking,
  { sessionKey }: Sent,
  events: AsyncGenerator<string, void>,
  failed: (problem: Problem) => string,
): Response {
  return eventsOf(told(asking, events, failed), { "x-session-key": sessionKey });
}

async function* told(
  { gate, over }: Asking,
  events: AsyncGenerator<string, void>,
  failed: (problem: Problem) => string,
): AsyncGenerator<string, void> {
  try {
    for (let coming = events.next(); ;) {
      const next = await unlessLate(gate.system.world, ALIVE_MS, coming);
      if (next === null) {
        yield ": still here\n\n";
        continue;
      }
      if (next.done === true) return;
      yield next.value;
      coming = events.next();
    }
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status === 500 && !over.aborted) gate.log.error({ err: error }, "a stream failed");
    yield failed(problem);
  } finally {
    await events.return();
  }
}
