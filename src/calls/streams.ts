// The table of streams: everything that can be followed. Doors are made from it as they are from the table of calls.
//
// Whoever follows gets, with everything that can be gone on from, a word to come back with: `resume`. Who was cut off, or
// has lost its connection, says it as `from` and misses nothing. Nothing that has such a word is told twice; a row without
// one, as `watch` has them, may be.

import { z } from "zod";
import type { Bus, Event } from "../events/bus.ts";
import { WATCH_PAUSE_MS } from "../limits.ts";
import { WATCH_ROWS } from "./limits.ts";
import { DEFAULT_AGENT, mainKey, parseKey, type SessionKey } from "../routing/key.ts";
import type { Person, Scope, System } from "./call.ts";
import { chat, chatInput, chatted } from "./chat.ts";
import { Pieces } from "./pieces.ts";
import { followFrom, place, placeAfter, placeIn, type Followed } from "./place.ts";
import { reached } from "./reach.ts";
import { row } from "./schemas.ts";
import { sessionKey } from "./setting-shapes.ts";
import { rowOf } from "./views.ts";

/** Something that happened. `resume` is null where nothing can be gone on from: a piece of an answer, a state. */
export interface Streamed<Of = unknown> {
  readonly event: Of;
  readonly resume: string | null;
}

export interface Stream<In extends z.ZodType = z.ZodType, Out extends z.ZodType = z.ZodType> {
  readonly about: string;
  readonly scope: Scope;
  /** Where it is, below /v1; `:name` is that property of the input. */
  readonly http: `GET /${string}`;
  readonly input: In;
  readonly output: Out;
  /** Rejects where the input is wrong. What it resolves with ends when the signal is aborted, or with a Fault. */
  readonly run: (
    system: System,
    listening: Listening,
    input: z.output<In>,
    signal: AbortSignal,
  ) => Promise<AsyncIterable<Streamed<z.input<Out>>>>;
}

/** Who follows, and by what they hear. */
export interface Listening {
  readonly caller: Person;
  readonly bus: Bus;
}

/** Only so that the types of one row agree with each other. */
function stream<In extends z.ZodType, Out extends z.ZodType>(of: Stream<In, Out>): Stream<In, Out> {
  return of;
}

const followed = z.union([
  z.strictObject({
    type: z.literal("entry"),
    key: z.string(),
    seq: z.int(),
    entry: z
      .looseObject({ type: z.string() })
      .describe("As it is in the transcript, without secrets: what `entries` gives."),
  }),
  z.strictObject({
    type: z.literal("state"),
    key: z.string(),
    state: z.looseObject({ kind: z.string() }),
  }),
  z.strictObject({
    type: z.literal("delta"),
    key: z.string(),
    turn: z.string(),
    step: z.int(),
    kind: z.enum(["text", "thinking"]),
    text: z
      .string()
      .describe(
        "A piece of what the model says, whole words, without secrets. The whole comes as an entry, or never.",
      ),
    begins: z
      .literal(true)
      .optional()
      .describe(
        "The first piece of what it says. What came before of the same step is over: the model failed, and is asked again.",
      ),
  }),
]);

const watched = z.union([
  z.strictObject({ type: z.literal("begin") }).describe("From here on nothing is missed."),
  z.strictObject({ type: z.literal("row"), row }),
  z.strictObject({ type: z.literal("gone"), sessionKey: z.string() }),
]);

export const streams = {
  follow: stream({
    about:
      "What happens in a session: every entry of its transcript, its states, and pieces of answers while a model speaks. Secrets " +
      "are taken out, as `entries` does.",
    scope: "read",
    http: "GET /sessions/:sessionKey/events",
    input: z.strictObject({
      sessionKey: sessionKey.optional().describe("The key of a session; without it, main."),
      from: place
        .optional()
        .describe(
          "The last entry you have: 0 for all of them; or the word to come back with. Without it, what happens from now on.",
        ),
    }),
    output: followed,
    run: async (system, { bus }, { sessionKey: of, from }, signal) => {
      const key = of === undefined ? mainKey(DEFAULT_AGENT) : parseKey(of);
      const begin = await beginning(system, key, from ?? null);
      return withResume(followFrom(system.store, bus, begin, signal), begin.bornAtMs);
    },
  }),
  watch: stream({
    about: "Sessions as lists show them, whenever one of them has changed, and those that are gone.",
    scope: "read",
    http: "GET /events",
    input: z.strictObject({
      from: z.string().optional().describe("Where you were. Without it, what changes from now on."),
    }),
    output: watched,
    run: async (system, _listening, { from = null }, signal) => {
      // Asked here, so that who comes with a cursor that is none, or too old, hears it before anything else.
      const { cursor } = await system.store.changesSince(from);
      return watch(system, from ?? cursor, signal);
    },
  }),
  chat: stream({
    about:
      "A web chat as its visitor is shown it: what was said, who types, and pieces of answers. It may begin before the " +
      'first message does. Messages are sent by `receive`, with the channel "web".',
    scope: "read",
    http: "GET /chats/:peer/events",
    input: chatInput,
    output: chatted,
    run: chat,
  }),
};

export type Streams = typeof streams;
export type StreamName = keyof Streams;

/** As it is, secrets and all: for a program that embeds sessions, and for who is answered. `from` null: from now on. */
export async function follow(
  system: System,
  bus: Bus,
  { key, from }: { readonly key: SessionKey; readonly from: number | null },
  signal: AbortSignal,
): Promise<AsyncGenerator<Event, void>> {
  return followFrom(system.store, bus, await beginning(system, key, from), signal);
}

async function beginning(
  system: System,
  key: SessionKey,
  from: number | string | null,
): Promise<Followed & { readonly bornAtMs: number }> {
  const { store } = system;
  const session = await reached(system, ANYBODY, key);
  const at = await placeIn(store, { name: key, session }, from);
  return { key, bornAtMs: session.bornAtMs, place: at, look: () => store.session(key) };
}

/** People may see every session; which scope they need is looked at before. */
const ANYBODY: Person = { kind: "person", principal: "", scope: "read" };

async function* withResume(
  events: AsyncIterable<Event>,
  bornAtMs: number,
): AsyncGenerator<Streamed<z.input<typeof followed>>> {
  const pieces = new Pieces();
  for await (const event of events)
    for (const told of pieces.of(event))
      yield {
        event: told as z.input<typeof followed>,
        // Of the entry as it is: that is what it is compared with.
        resume: event.type === "entry" && told.type === "entry" ? placeAfter(event.entry, bornAtMs) : null,
      };
}

/** Whoever reads slowly hears of each session less often, and in the end `cursor_expired`: nothing is kept for it. */
async function* watch(
  system: System,
  begin: string,
  signal: AbortSignal,
): AsyncGenerator<Streamed<z.input<typeof watched>>> {
  const { store, world } = system;
  let cursor = begin;
  let hint = Promise.withResolvers<void>();
  const stop = store.watch(() => hint.resolve());
  const over = (): void => hint.resolve();
  signal.addEventListener("abort", over);
  try {
    yield { event: { type: "begin" }, resume: cursor };
    while (!signal.aborted) {
      hint = Promise.withResolvers();
      const { changes, cursor: next } = await store.changesSince(cursor);
      const keys = [...new Map(changes.map(({ key, deleted }) => [key, deleted]))];
      for (const [at, some] of chunksOf(keys).entries()) {
        // Asked for together: a way to the reader and back for each would be most of the time.
        const rows = await Promise.all(some.map(([key, deleted]) => (deleted ? null : store.session(key))));
        for (const [of, [key]] of some.entries()) {
          const session = rows[of] ?? null;
          const event =
            session === null
              ? ({ type: "gone", sessionKey: key } as const)
              : ({ type: "row", row: rowOf(system, session) } as const);
          yield { event, resume: at * WATCH_ROWS + of === keys.length - 1 ? next : null };
        }
      }
      if (next === cursor) await hint.promise;
      cursor = next;
      if (!signal.aborted) await world.sleep(WATCH_PAUSE_MS, signal).catch(() => {});
    }
  } finally {
    stop();
    signal.removeEventListener("abort", over);
  }
}

function chunksOf<Of>(all: readonly Of[]): readonly (readonly Of[])[] {
  return Array.from({ length: Math.ceil(all.length / WATCH_ROWS) }, (_, at) =>
    all.slice(at * WATCH_ROWS, (at + 1) * WATCH_ROWS),
  );
}
