// Responses: a message to a session and its answer, under an id that the next message can go on from.

import { Fault } from "../../base/fault.ts";
import { parseKey, type SessionKey } from "../../routing/key.ts";
import { problemResponse, Refused, turnProblem, type Problem } from "./errors.ts";
import { messagesIn, saidIn } from "./message.ts";
import { streamed } from "./pieces.ts";
import * as shown from "./response.ts";
import type { Frame } from "./response.ts";
import {
  agreeing,
  digest,
  OWN_NAME,
  sessionFor,
  wantedIn,
  type Found,
  type Naming,
  type Wanted,
} from "./sessions.ts";
import type { ResponsesRequest } from "./shapes.ts";
import { answerTo, found, send, spotName, spotOf, telling, type Asking, type Sent } from "./turn.ts";

type Names = Omit<Naming, "user">;

export async function create(asking: Asking, request: ResponsesRequest, naming: Names): Promise<Response> {
  const wanted = wantedIn(asking.gate, request.model ?? OWN_NAME);
  const sent = await sendFor(asking, request, wanted, naming);
  const frame: Frame = {
    id: shown.responseId(spotOf(sent)),
    createdAt: Math.floor(asking.gate.system.world.nowMs() / 1_000),
    request,
    model: wanted.name,
  };
  if (request.stream === true) {
    const events = new Events();
    const failed = (problem: Problem): string => events.failed(shown.broken(frame, problem));
    return streamed(asking, sent, eventsOf(asking, sent, frame, events), failed);
  }
  const headers = { "x-session-key": sent.sessionKey };
  if (request.background === true) return Response.json(await begunOf(asking, sent, frame), { headers });
  const told = await answerTo(asking, sent);
  if (told.outcome !== "done") return problemResponse(turnProblem(told.outcome, told.reason));
  return Response.json(shown.ended(frame, told), { headers });
}

/**
 * To the session of the response before it, if nothing came after that; else to a fork that ends with it. Whoever is first
 * goes on in the session: the store decides, also between two who ask at once.
 */
async function sendFor(
  asking: Asking,
  request: ResponsesRequest,
  wanted: Wanted,
  naming: Names,
): Promise<Sent> {
  const messages = messagesIn(request.input, request.instructions ?? null);
  const { messageId, header } = naming;
  const sendTo = async ({ sessionKey, isFresh }: Found, after?: number): Promise<Sent> =>
    await send(asking, {
      sessionKey,
      ...saidIn(messages, { param: "input", isFresh }),
      id: messageId,
      model: wanted.model ?? undefined,
      after,
    });
  const before = request.previous_response_id ?? null;
  if (before === null)
    return await sendTo(sessionFor(asking.gate, asking.caller, wanted, { ...naming, user: request.user }));
  if (header !== undefined)
    throw new Refused("bad_input", "previous_response_id names a session already: leave out X-Session-Key", {
      param: "previous_response_id",
    });
  const { key, seq } = await endOf(asking, before, wanted);
  try {
    return await sendTo({ sessionKey: key, isFresh: false }, seq);
  } catch (error) {
    if (!(error instanceof Fault && error.code === "stale_writer")) throw error;
    const id = messageId && digest([before, messageId]);
    return await sendTo({ sessionKey: await forkOf(asking, { key, seq, id }), isFresh: false });
  }
}

/** Of a message that was sent before the turn may be over. */
async function begunOf(asking: Asking, sent: Sent, frame: Frame): Promise<object> {
  if (!sent.repeated) return shown.begun(frame, "queued");
  const { reading, sinceMs } = await found(asking, spotName(spotOf(sent)));
  return shown.kept({ ...frame, createdAt: Math.floor(sinceMs / 1_000) }, reading, asking.caller);
}

export async function retrieve(asking: Asking, id: string): Promise<Response> {
  const { spot, reading, sinceMs } = await found(asking, shown.spotIn(id));
  const frame = shown.frameOf(spot, sinceMs);
  return Response.json(shown.kept(frame, reading, asking.caller), { headers: { "x-session-key": spot.key } });
}

/** The session of that response, and the last entry of its turn. */
async function endOf(
  asking: Asking,
  before: string,
  wanted: Wanted,
): Promise<{ readonly key: SessionKey; readonly seq: number }> {
  const { spot, reading } = await found(asking, shown.spotIn(before)).catch((error: unknown) => {
    if (!(error instanceof Fault && error.code === "not_found")) throw error;
    const param = "previous_response_id";
    throw new Refused("not_found", `${param}: ${error.message}`, {
      param,
      word: "previous_response_not_found",
    });
  });
  agreeing(spot.key, wanted);
  if (reading.end === null)
    throw new Refused("busy", "previous_response_id: that response is not there yet; wait for it", {
      param: "previous_response_id",
    });
  return { key: spot.key, seq: reading.end.seq };
}

/** With an id it is made once: a request that is repeated finds the fork that it went to the first time. */
async function forkOf(
  { gate, caller, over }: Asking,
  { key, seq, id }: { readonly key: SessionKey; readonly seq: number; readonly id: string | undefined },
): Promise<SessionKey> {
  const fork = await gate.door.call("fork", caller, { sessionKey: key, seq, id }, over);
  return parseKey(fork.sessionKey);
}

/** Numbers what a client is told, from 0. */
class Events {
  #count = 0;

  say(type: string, data: object): string {
    const event = { type, ...data, sequence_number: this.#count };
    this.#count += 1;
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  failed(response: object): string {
    return this.say("response.failed", { response });
  }
}

/** The text begins before anything is said: a client sees that somebody is at it. */
async function* eventsOf(
  asking: Asking,
  sent: Sent,
  frame: Frame,
  events: Events,
): AsyncGenerator<string, void> {
  const item_id = shown.itemId(frame);
  const at = { output_index: 0 };
  const part = { item_id, ...at, content_index: 0 };
  yield events.say("response.created", { response: shown.begun(frame, "in_progress") });
  yield events.say("response.in_progress", { response: shown.begun(frame, "in_progress") });
  yield events.say("response.output_item.added", {
    ...at,
    item: shown.outputItem(frame, "in_progress", null),
  });
  yield events.say("response.content_part.added", { ...part, part: shown.outputText("") });
  for await (const piece of telling(asking, sent)) {
    if (typeof piece === "string") {
      yield events.say("response.output_text.delta", { ...part, delta: piece, logprobs: [] });
      continue;
    }
    const { text } = piece;
    const status = shown.statusOf(piece);
    const item = shown.outputItem(frame, status === "completed" ? status : "incomplete", text);
    yield events.say("response.output_text.done", { ...part, text, logprobs: [] });
    yield events.say("response.content_part.done", { ...part, part: shown.outputText(text) });
    yield events.say("response.output_item.done", { ...at, item });
    yield events.say(`response.${status}`, { response: shown.ended(frame, piece) });
  }
}
