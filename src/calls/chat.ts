// Chat
//
// A web chat as its visitor is shown it. It is read from the transcript of the session that the visitor's messages lead to,
// and is what a channel would have been handed: no more, and in the same words.
//
//   Owns:      what of a session is shown to a visitor.
//   Does not:  take messages (`receive`), or decide what may leave (routing/policy.ts, turns/replies.ts).
//
// Invariants
//   V1. Shown are the visitor's own messages and the answers of turns that one of them is in; nobody else's, also where several
//       people share a session. Not thinking, not what sessiond or other sessions wrote; what is said and done before the
//       answer only where the session is verbose.
//   V2. An answer that was refused is not shown. Where nothing may leave, neither are pieces of it, nor that somebody types.
//   V3. Every message comes once, in order; who says the last `resume` it has goes on from there (events/follow.ts).
//   V4. Who may only look is shown no secrets, in messages or in pieces (pieces.ts).

import { z } from "zod";
import type { Bus, Event } from "../events/bus.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import type { Verbose } from "../config/config.ts";
import type { Outgoing, Route } from "../mail/letter.ts";
import { agentOf, DEFAULT_AGENT, parseAgent, type AgentId, type SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import { inForce } from "../sessions/inforce.ts";
import type { Session } from "../sessions/session.ts";
import type { Page } from "../store/store.ts";
import { textOf, type Block, type Entry } from "../transcript/entry.ts";
import { failureWords } from "../turns/ending.ts";
import { isSilent, NO_REPLY, resultTold, stepTold, wordsOf } from "../turns/replies.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded, TurnStarted } from "../turns/where.ts";
import type { Person, System } from "./call.ts";
import { Pieces } from "./pieces.ts";
import { followFrom, place, placeAfter, placeIn, type Place } from "./place.ts";
import { configured, isAnswered, saidTo } from "./reach.ts";
import type { Listening, Streamed } from "./streams.ts";

/** The channel of the web chat. It is always there. */
export const WEB = "web";

export const chatInput = z.strictObject({
  peer: z.string().min(1).describe("The visitor's id, as `receive` is told it."),
  agent: z.string().optional().describe("The agent that is spoken to; without it, main."),
  thread: z.string().nullable().optional(),
  from: place
    .optional()
    .describe(
      "The last `seq` you have: 0 for all of it; or the word to come back with. Without it, what happens from now on.",
    ),
});

export const chatted = z.union([
  z.strictObject({
    type: z.literal("message"),
    from: z.enum(["you", "agent"]),
    id: z.string().describe("Of a message of yours: as `receive` gave it. The same message has the same id."),
    text: z.string(),
    seq: z.int(),
  }),
  z.strictObject({ type: z.literal("typing"), isTyping: z.boolean() }),
  z.strictObject({
    type: z.literal("delta"),
    text: z.string().describe("A piece of what the agent says. The whole comes as a message, or never."),
  }),
]);

type Shown = z.input<typeof chatted>;

/** A chat that does not exist yet begins with its first message. */
export async function chat(
  system: System,
  { caller, bus }: Listening,
  { peer, agent = DEFAULT_AGENT, thread = null, from }: z.output<typeof chatInput>,
  signal: AbortSignal,
): Promise<AsyncIterable<Streamed<Shown>>> {
  const who = { channel: WEB, account: null, chatType: "direct", peer, sender: null, subject: null } as const;
  configured(system, parseAgent(agent));
  const { key, replyTo } = system.routes.of({ ...who, thread, topic: false, agent: parseAgent(agent) });
  const session = await system.store.session(key);
  const at = await placeIn(system.store, { name: "the chat", session }, from ?? null);
  return shown(new View(system, caller, { key, route: replyTo }), bus, { session, at }, signal);
}

async function* shown(
  view: View,
  bus: Bus,
  { session, at }: { readonly session: Session | null; readonly at: Place },
  signal: AbortSignal,
): AsyncGenerator<Streamed<Shown>> {
  // What a turn says depends on what it began with: so the one that runs there is read whole.
  for (const entry of session === null ? [] : await view.turnAt(session, at.seq)) await view.entry(entry);
  if (session?.state.kind === "running" && view.types(true))
    yield passing({ type: "typing", isTyping: true });
  const { key } = view;
  const followed = { key, place: at, bornAtMs: session?.bornAtMs ?? null, look: () => view.look() };
  for await (const event of followFrom(view.store, bus, followed, signal)) yield* view.of(event);
}

/** What is being read: the turn it is in, and what of it concerns the visitor. */
interface Reading {
  readonly turn: string;
  isTheirs: boolean; // a message of theirs is in it, or one that is answered where they are
  steps: number;
  stepSeq: number; //   of what the model said last
  said: readonly Block[];
}

class View {
  readonly key: SessionKey;
  readonly store: System["store"];
  readonly #system: System;
  readonly #caller: Person;
  readonly #route: Route;
  readonly #pieces: Pieces | null; //  V4; null: they are shown as they come
  #reading: Reading | null = null; // null: no turn is open
  #row: Session | null = null; //      as it was looked at last; null: it does not exist
  #isTyping = false;
  readonly #draft = new Draft();
  #refused: { readonly upTo: number; readonly ids: ReadonlySet<string> } = { upTo: -1, ids: new Set() };

  constructor(
    system: System,
    caller: Person,
    { key, route }: { readonly key: SessionKey; readonly route: Route },
  ) {
    this.#system = system;
    this.#caller = caller;
    this.#pieces = isAnswered(caller) ? null : new Pieces();
    this.store = system.store;
    this.#route = route;
    this.key = key;
  }

  /** The session may come into being only later. */
  async look(): Promise<Session | null> {
    this.#row = await this.store.session(this.key);
    return this.#row;
  }

  /** The entries up to `seq` of the turn that is open there, oldest first; none: no turn is. */
  async turnAt(session: Session, seq: number): Promise<readonly Entry[]> {
    this.#row = session;
    const turn: Entry[] = [];
    if (seq === 0) return turn;
    for await (const entry of this.store.entries(session.transcript.id, { before: seq + 1 })) {
      if (entry.type === "gap") continue;
      if (isNote(entry, "turn-ended")) return [];
      turn.push(entry);
      if (isNote(entry, "turn-started")) return turn.toReversed();
    }
    return [];
  }

  async *of(event: Event): AsyncGenerator<Streamed<Shown>> {
    yield* this.#said(event);
    if (event.type === "entry") {
      const message = await this.entry(event.entry);
      if (message !== null)
        yield { event: saidTo(this.#caller, message), resume: await this.#placeAfter(event.entry) };
      if (isNote(event.entry, "turn-ended") && this.types(false))
        yield passing({ type: "typing", isTyping: false });
    } else if (event.type === "state") {
      const isTyping = event.state.kind === "running";
      if (this.types(isTyping)) yield passing({ type: "typing", isTyping: this.#isTyping });
    }
  }

  *#said(event: Event): Generator<Streamed<Shown>> {
    const pieces = this.#pieces?.said(event) ?? (event.type === "delta" ? [event] : []);
    for (const piece of pieces) {
      const text = piece.kind === "text" && this.#mayStream() ? this.#draft.add(piece) : "";
      if (text !== "") yield passing({ type: "delta", text });
    }
  }

  async #placeAfter(entry: Entry): Promise<string | null> {
    const row = this.#row ?? (await this.look()); // It was opened since.
    return row && placeAfter(entry, row.bornAtMs);
  }

  /** True: this is news. */
  types(isTyping: boolean): boolean {
    const now = isTyping && this.#reading?.isTheirs === true && this.#mayLeave();
    const isNews = now !== this.#isTyping;
    this.#isTyping = now;
    return isNews;
  }

  /** What an entry says to the visitor; null: nothing. */
  async entry(entry: Entry): Promise<Extract<Shown, { type: "message" }> | null> {
    const reading = this.#reading;
    if (isNote(entry, "turn-started") && entry.type === "custom") {
      const { turn } = entry.data as TurnStarted;
      this.#reading = { turn, isTheirs: false, steps: 0, stepSeq: 0, said: [] };
      return null;
    }
    if (isNote(entry, "turn-ended") && entry.type === "custom") {
      this.#reading = null;
      const words = lastWords(entry.data as TurnEnded, reading?.said ?? []);
      return reading && (await this.#fromAgent(reading, entry, "answer", words));
    }
    if (entry.type !== "message" || reading === null) return null;
    const { message } = entry;
    switch (message.role) {
      case "user": {
        if (!isSame(entry.replyTo, this.#route)) return null;
        reading.isTheirs = true; // What sessiond wrote is answered here too, but it is no message of theirs.
        if (entry.provenance?.kind !== "external_user") return null;
        return { type: "message", from: "you", id: entry.mailId ?? "", text: textOf(entry), seq: entry.seq };
      }
      case "assistant": {
        reading.steps += 1;
        reading.stepSeq = entry.seq;
        reading.said = message.content;
        if (!message.content.some((block) => block.type === "toolCall")) return null; // it is the answer
        return await this.#fromAgent(
          reading,
          entry,
          `step-${reading.steps}`,
          stepTold(this.#verbose, message.content),
        );
      }
      case "toolResult": {
        const what = `result-${reading.stepSeq}-${message.toolCallId}`;
        return await this.#fromAgent(reading, entry, what, resultTold(this.#verbose, message));
      }
    }
  }

  /** V2. Null: there is nothing in it, or it did not leave. */
  async #fromAgent(
    { turn, isTheirs }: Reading,
    { seq }: Entry,
    what: string,
    content: readonly Block[],
  ): Promise<Extract<Shown, { type: "message" }> | null> {
    if (!isTheirs || content.length === 0 || isSilent(content)) return null;
    if (seq > this.#refused.upTo) await this.#lookAtRefused();
    if (this.#row === null) return null; // it was deleted
    const id = `${this.#row.transcript.id}:${turn}:${what}`; // the outbox counts those who are answered behind it
    if (this.#refused.ids.has(id)) return null;
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return { type: "message", from: "agent", id, text, seq };
  }

  /** What was refused is known up to the last entry: both are one commit (turns/turn.ts, U3). */
  async #lookAtRefused(): Promise<void> {
    await this.look();
    const ids = new Set<string>();
    let cursor: string | null = null;
    do {
      const page: Page<Outgoing> = await this.store.outbox({
        refused: true,
        key: this.key,
        cursor,
        limit: PAGE_ROWS_MAX,
      });
      for (const { id, route } of page.rows)
        if (isSame(route, this.#route)) ids.add(id.slice(0, id.lastIndexOf(":")));
      cursor = page.next;
    } while (cursor !== null);
    this.#refused = { upTo: this.#row?.transcript.lastSeq ?? 0, ids };
  }

  /** As it is now, where it runs here; else as it was when it was last looked at. */
  get #now(): Session | null {
    return this.#system.lanes.worker(this.key)?.session ?? this.#row;
  }

  #mayLeave(): boolean {
    const { key } = this;
    const override = this.#now?.settings.sendPolicy ?? null;
    return maySend(this.#system.config.session.sendPolicy, { key, channel: WEB, override }).allowed;
  }

  /** What was told of it then may have been more or less; nobody wrote down which. */
  get #verbose(): Verbose {
    const agent = this.#system.config.agents.get(agentOf(this.key) as AgentId);
    return agent && this.#now ? inForce(this.#now, agent).verbose : "off";
  }

  /**
   * A piece is shown where all that it may turn out to be is shown: what comes before a tool call looks like an answer until the
   * call is there. So the session is verbose, or its agent has no tools.
   */
  #mayStream(): boolean {
    if (this.#reading?.isTheirs !== true || !this.#mayLeave()) return false;
    const agent = this.#system.config.agents.get(agentOf(this.key) as AgentId);
    return this.#verbose !== "off" || agent?.tools.allow?.length === 0;
  }
}

/** Holds back what may turn out to be no answer at all. */
class Draft {
  #of = "";
  #held: string | null = null; // null: it is one, and is shown as it comes

  /** What can be shown now; empty: nothing yet. */
  add({ turn, step, text, begins }: Extract<Event, { type: "delta" }>): string {
    if (begins || this.#of !== `${turn}:${step}`) [this.#of, this.#held] = [`${turn}:${step}`, ""];
    if (this.#held === null) return text;
    this.#held += text;
    if (NO_REPLY.startsWith(this.#held.trim())) return "";
    const held = this.#held;
    this.#held = null;
    return held;
  }
}

/** As those who wait are told it (turns/turn.ts). */
function lastWords({ outcome, reason }: TurnEnded, said: readonly Block[]): readonly Block[] {
  if (outcome === "done") return wordsOf(said);
  return outcome === "aborted" ? [] : failureWords(reason ?? outcome);
}

function isSame(route: Route | undefined, own: Route): boolean {
  return route?.channel === own.channel && route.to === own.to && route.thread === own.thread;
}

/** It cannot be gone on from. */
function passing(event: Shown): Streamed<Shown> {
  return { event, resume: null };
}
