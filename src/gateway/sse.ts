// Streams as server-sent events. A client reads as fast as it can: the next event is asked for when there is room for it,
// and who stays behind is cut off by the follower's own bound, with a word to come back with.

import type { ServerResponse } from "node:http";
import type { Context } from "hono";
import { assert } from "../base/assert.ts";
import { Fault } from "../base/fault.ts";
import { CALLED_OFF, unlessLate } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { StreamInput } from "../calls/door.ts";
import type { Streamed, StreamName } from "../calls/streams.ts";
import { ALIVE_MS } from "./limits.ts";
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
  void endOfDeaf(context.env.outgoing as ServerResponse, gate.system.world);
  return eventsOf(told(gate, stream, over));
}

/** Who reads nothing any more, not even signs of life, was cut off long ago by its follower: nobody is there. */
async function endOfDeaf(outgoing: ServerResponse, world: World): Promise<void> {
  const { socket } = outgoing;
  if (socket === null) return; // It has gone already.
  const over = new AbortController(); // The connection may go on to be another request's: that one is not ours to end.
  outgoing.once("close", () => over.abort(CALLED_OFF));
  for (let before = -1; before < socket.bytesWritten && !socket.destroyed;) {
    before = socket.bytesWritten;
    try {
      await world.sleep(3 * ALIVE_MS, over.signal);
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
  gate: Gate,
  stream: AsyncIterable<Streamed>,
  over: AbortSignal,
): AsyncGenerator<string, void> {
  let last: string | null = null;
  const texts = async function* (): AsyncGenerator<string, void> {
    for await (const each of stream) {
      last = each.resume ?? last;
      yield asText(each);
    }
  };
  gate.followed.add(stream);
  try {
    yield ": follows\n\n"; // so that the answer begins now
    yield* alive(gate, over, texts(), (error) => ended(faultOf(error), last));
    if (over.reason instanceof Fault) yield ended(over.reason, last);
  } finally {
    gate.followed.delete(stream);
  }
}

/**
 * What comes, with comments between as signs of life when nothing comes for long, and with whatever goes wrong as the last,
 * in the words of `failed`. What goes wrong by our fault is logged.
 */
export async function* alive(
  { system: { world }, log }: Gate,
  over: AbortSignal,
  texts: AsyncGenerator<string, void>,
  failed: (error: unknown) => string,
): AsyncGenerator<string, void> {
  try {
    for (let coming = texts.next(); ;) {
      const next = await unlessLate(world, ALIVE_MS, coming);
      if (next === null) {
        yield ": still here\n\n";
        continue;
      }
      if (next.done === true) return;
      yield next.value;
      coming = texts.next();
    }
  } catch (error) {
    if (faultOf(error).code === "bug" && !over.aborted) log.error({ err: error }, "a stream failed");
    yield failed(error);
  } finally {
    await texts.return();
  }
}

/** The last event: why there are no more, and how to come back. */
function ended({ code, message, todo, retry }: Fault, resume: string | null): string {
  return `event: error\ndata: ${JSON.stringify({ code, message, todo, retry, resume })}\n\n`;
}

/** JSON has no line ends of its own, so an event is one line of data; and a word to come back with has none either. */
function asText({ event, resume }: Streamed): string {
  const { type } = event as { readonly type: string };
  assert(resume === null || !/[\r\n\0]/.test(resume), "a word to come back with is one line");
  return `event: ${type}\n${resume === null ? "" : `id: ${resume}\n`}data: ${JSON.stringify(event)}\n\n`;
}
