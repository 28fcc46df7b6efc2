// Streams as server-sent events. A client reads as fast as it can: the next event is asked for when there is room for it,
// and who stays behind is cut off by the follower's own bound, with a word to come back with.

import type { Socket } from "node:net";
import type { Context } from "hono";
import { Fault } from "../base/fault.ts";
import { unlessLate } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { StreamInput } from "../calls/door.ts";
import type { Streamed, StreamName } from "../calls/streams.ts";
import { ALIVE_MS } from "../limits.ts";
import { faultOf, type Gate, type LetIn } from "./gate.ts";

/** Wrong input is refused as in any call; after that, what goes wrong is the last event. */
export async function eventStream(
  gate: Gate,
  context: Context<LetIn>,
  name: StreamName,
  input: unknown,
): Promise<Response> {
  const { caller, over } = context.var;
  const stream = await gate.door.stream(name, caller, input as StreamInput<StreamName>, over);
  void endOfDeaf(context.env.incoming.socket, gate.system.world, over);
  return eventsOf(told(stream, gate.system.world, over));
}

/** Who reads nothing any more, not even signs of life, was cut off long ago by its follower: nobody is there. */
async function endOfDeaf(socket: Socket, world: World, over: AbortSignal): Promise<void> {
  for (let before = -1; before < socket.bytesWritten && !socket.destroyed;) {
    before = socket.bytesWritten;
    try {
      await world.sleep(3 * ALIVE_MS, over);
    } catch {
      return; // It is over.
    }
  }
  socket.destroy();
}

/** Texts that are whole events or comments, as an answer that comes piece by piece. */
export function eventsOf(
  texts: AsyncGenerator<string, void>,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = new Headers(more);
  headers.set("content-type", "text/event-stream; charset=utf-8");
  headers.set("cache-control", "no-store");
  headers.set("x-accel-buffering", "no"); // a proxy that collects first would hold up what happens now
  return new Response(bodyOf(texts), { headers });
}

function bodyOf(texts: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { value, done } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        await texts.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
}

async function* told(
  stream: AsyncIterable<Streamed>,
  world: World,
  over: AbortSignal,
): AsyncGenerator<string, void> {
  let last: string | null = null;
  const events = stream[Symbol.asyncIterator]();
  yield ": follows\n\n"; // so that the answer begins now
  try {
    for (let coming = events.next(); ;) {
      const next = await unlessLate(world, ALIVE_MS, coming);
      if (next === null) {
        yield ": still here\n\n";
        continue;
      }
      if (next.done === true) break;
      const { event, resume } = next.value;
      last = resume ?? last;
      yield asText(event, resume);
      coming = events.next();
    }
    if (over.reason instanceof Fault) yield ended(over.reason, last);
  } catch (error) {
    yield ended(faultOf(error), last);
  } finally {
    await events.return?.();
  }
}

/** The last event: why there are no more, and how to come back. */
function ended({ code, message, todo, retry }: Fault, resume: string | null): string {
  return `event: error\ndata: ${JSON.stringify({ code, message, todo, retry, resume })}\n\n`;
}

/** JSON has no line ends of its own, so an event is one line of data. */
function asText(event: unknown, resume: string | null): string {
  const { type } = event as { readonly type: string };
  return `event: ${type}\n${resume === null ? "" : `id: ${resume}\n`}data: ${JSON.stringify(event)}\n\n`;
}
