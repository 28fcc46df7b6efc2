// A chat without a terminal: every line that comes in is a message, and its answer is written down plainly. The next line is
// sent when the turn is over that read the one before; so a file of questions is a conversation.

import { createInterface } from "node:readline";
import type { World } from "../../base/world.ts";
import { itemOf, type Item } from "../../calls/told.ts";
import type { Event } from "../../events/bus.ts";
import type { Client } from "../client.ts";
import { clean, json, oneLine, type Screen } from "../output.ts";
import { delivered } from "./sending.ts";

export interface Piped {
  readonly client: Client;
  readonly world: World;
  readonly screen: Screen;
  readonly sessionKey: string;
  /** After which entry it begins; null: the session does not exist before somebody writes to it. */
  readonly from: number | null;
  readonly lines: NodeJS.ReadableStream;
}

/** The message whose turn is waited for. */
interface Awaited {
  readonly id: string;
  isRead: boolean;
  readonly over: (outcome: string) => void;
}

export class PipedChat {
  readonly #piped: Piped;
  #seq: number;
  #awaited: Awaited | null = null;

  constructor(piped: Piped) {
    this.#piped = piped;
    this.#seq = piped.from ?? 0;
  }

  /** How the last turn ended; "done" when nothing was asked. */
  async run(signal: AbortSignal): Promise<string> {
    const leaving = new AbortController();
    const over = AbortSignal.any([signal, leaving.signal]);
    const broke = Promise.withResolvers<never>();
    const follow = (from: number): void => void this.#follow(from, over).catch(broke.reject);
    const { from, lines } = this.#piped;
    let isFollowing = from !== null;
    if (from !== null) follow(from);
    const reading = createInterface({ input: lines, crlfDelay: Infinity });
    const stop = (): void => {
      broke.reject(signal.reason);
      reading.close(); // nobody may have a line for it for hours
    };
    signal.addEventListener("abort", stop, { once: true });
    broke.promise.catch(() => {}); // Mostly nobody waits for it.
    let outcome = "done";
    try {
      for await (const line of reading) {
        signal.throwIfAborted();
        if (line.trim() === "") continue;
        const { seq, ended } = await Promise.race([this.#say(line, over), broke.promise]);
        if (!isFollowing) follow(seq);
        isFollowing = true;
        outcome = await Promise.race([ended, broke.promise]);
      }
    } finally {
      leaving.abort();
    }
    signal.throwIfAborted();
    return outcome;
  }

  async #say(
    message: string,
    signal: AbortSignal,
  ): Promise<{ readonly seq: number; readonly ended: Promise<string> }> {
    const { client, world, screen, sessionKey } = this.#piped;
    const id = world.newId();
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#awaited = { id, isRead: false, over: resolve };
    const trouble = (why: string): void => screen.err(`sessiond: ${clean(why)}\n`);
    const { seq } = await delivered({ client, world }, { sessionKey, message, id }, trouble, signal);
    return { seq, ended: promise };
  }

  async #follow(from: number, signal: AbortSignal): Promise<void> {
    const { client, screen, sessionKey } = this.#piped;
    this.#seq = from;
    for await (const { event } of client.stream(
      "follow",
      { sessionKey, from },
      { signal, reconnect: true },
    )) {
      if (event.type === "entry" && event.seq <= this.#seq) continue;
      if (screen.json) json(screen, event);
      if (event.type === "reconnected") continue;
      this.#hear(event as Event);
    }
  }

  #hear(event: Event): void {
    if (event.type === "state" && event.state.kind === "ended") this.#awaited?.over(event.state.outcome);
    if (event.type !== "entry") return;
    this.#seq = event.seq;
    this.#item(itemOf(event.entry));
  }

  #item(item: Item): void {
    const { screen } = this.#piped;
    const awaited = this.#awaited;
    if (item.what === "letter" && awaited !== null && item.mailId?.endsWith(`:${awaited.id}`))
      awaited.isRead = true;
    if (item.what === "answer" && !screen.json) {
      if (item.text.trim() !== "") screen.out(`${clean(item.text).trimEnd()}\n`);
      if (item.trouble !== null) screen.err(`sessiond: ${oneLine(item.trouble)}\n`);
    }
    if (item.what !== "ended") return;
    const why = item.reason === null ? "" : `: ${oneLine(item.reason)}`;
    if (item.outcome !== "done" && !screen.json)
      screen.err(`sessiond: the turn ended: ${item.outcome}${why}\n`);
    if (awaited?.isRead) awaited.over(item.outcome);
  }
}
