// The library: sessions as a program uses them. Each method is a call of the table with the usual arguments in front.

import { Fault } from "../base/fault.ts";
import type { Bus, Event } from "../events/bus.ts";
import { parseKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import type { Person, System } from "./call.ts";
import type { Door, Input, Output } from "./door.ts";
import { reached } from "./reach.ts";
import { follow } from "./streams.ts";
import type { CallName } from "./table.ts";

/** What a message may have besides its words. */
type More = Pick<Input<"receive">, "id" | "mode" | "images">;

type Rest<Name extends CallName, Given extends string> = Omit<Input<Name>, Given>;

export class Sessions {
  readonly #system: System;
  readonly #door: Door;
  readonly #bus: Bus;
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;

  constructor(parts: { readonly system: System; readonly door: Door; readonly bus: Bus }) {
    this.#system = parts.system;
    this.#door = parts.door;
    this.#bus = parts.bus;
  }

  /** Any call of the table, by its name. */
  async call<Name extends CallName>(name: Name, input: Input<Name>): Promise<Output<Name>> {
    this.#closing.signal.throwIfAborted();
    return await this.#door.call(name, PROGRAM, input, this.#closing.signal);
  }

  /** Acknowledged when it is durable. The answer comes later: `ask` waits for it, `follow` shows how it comes about. */
  send(
    sessionKey: string,
    message: string,
    more: Rest<"send", "sessionKey" | "message"> = {},
  ): Promise<Output<"send">> {
    return this.call("send", { sessionKey, message, ...more });
  }

  /** A message from a channel, which finds its session by itself. */
  receive(
    envelope: Rest<"receive", "message" | keyof More>,
    message: string,
    more: More = {},
  ): Promise<Output<"receive">> {
    return this.call("receive", { ...envelope, message, ...more });
  }

  /** Sends, and waits until the turn that took the message has ended. */
  ask(
    sessionKey: string,
    message: string,
    more: Rest<"ask", "sessionKey" | "message"> = {},
  ): Promise<Output<"ask">> {
    return this.call("ask", { sessionKey, message, ...more });
  }

  wait(sessionKey: string, id: string, timeoutMs?: number): Promise<Output<"wait">> {
    return this.call("wait", { sessionKey, id, timeoutMs });
  }

  /**
   * Everything that happens in a session after entry `from` (0: from the beginning; without it: from now on), until the
   * signal is aborted or sessions are closed. Each entry comes once and in order. Whoever reads too slowly is cut off with
   * a Fault `too_slow` that says from where to go on.
   */
  async *follow(
    sessionKey: string,
    { from, signal }: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Event, void> {
    const over = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
    const of = { key: parseKey(sessionKey), from: from ?? null };
    yield* await follow(this.#system, this.#bus, of, over);
  }

  /** The entries of a session as they are in its transcript, along its active path; what cannot be read comes as a Gap. */
  async *entries(
    sessionKey: string,
    { from = 1 }: { readonly from?: number } = {},
  ): AsyncGenerator<Entry | Gap, void> {
    const { transcript } = await this.#session(sessionKey);
    yield* this.#system.store.entries(transcript.id, { from });
  }

  async #session(sessionKey: string): Promise<Session> {
    return await reached(this.#system, PROGRAM, parseKey(sessionKey));
  }

  status(sessionKey: string, more: Rest<"status", "sessionKey"> = {}): Promise<Output<"status">> {
    return this.call("status", { sessionKey, ...more });
  }

  list(query: Input<"list"> = {}): Promise<Output<"list">> {
    return this.call("list", query);
  }

  history(sessionKey: string, page: Rest<"history", "sessionKey"> = {}): Promise<Output<"history">> {
    return this.call("history", { sessionKey, ...page });
  }

  /** A page of what an entry keeps, or of a blob that one names; with `grep`, the lines that have a text. */
  result(
    sessionKey: string,
    ref: string,
    more: Rest<"result", "sessionKey" | "ref"> = {},
  ): Promise<Output<"result">> {
    return this.call("result", { sessionKey, ref, ...more });
  }

  /** Where the time and the tokens of a turn went; without `turn`, of the last. */
  trace(sessionKey: string, more: Rest<"trace", "sessionKey"> = {}): Promise<Output<"trace">> {
    return this.call("trace", { sessionKey, ...more });
  }

  /** Words, in what was said in all sessions. */
  search(text: string, more: Rest<"search", "text"> = {}): Promise<Output<"search">> {
    return this.call("search", { text, ...more });
  }

  set(sessionKey: string, settings: Rest<"set", "sessionKey">): Promise<Output<"set">> {
    return this.call("set", { sessionKey, ...settings });
  }

  pin(sessionKey: string, entry: string, pinned = true): Promise<Output<"pin">> {
    return this.call("pin", { sessionKey, entry, pinned });
  }

  /** A new session that begins with what this one knew at an entry; without one, now. */
  fork(sessionKey: string, more: Rest<"fork", "sessionKey"> = {}): Promise<Output<"fork">> {
    return this.call("fork", { sessionKey, ...more });
  }

  /** Gives a task to a child of a session (main's, if `parent` is not named). `wait` with its id waits for its end. */
  spawn(task: string, more: Rest<"spawn", "task"> = {}): Promise<Output<"spawn">> {
    return this.call("spawn", { task, ...more });
  }

  children(sessionKey: string, page: Rest<"children", "sessionKey"> = {}): Promise<Output<"children">> {
    return this.call("children", { sessionKey, ...page });
  }

  steer(sessionKey: string, message: string): Promise<Output<"steer">> {
    return this.call("steer", { sessionKey, message });
  }

  /** Ends it with everything below it. */
  kill(sessionKey: string): Promise<Output<"kill">> {
    return this.call("kill", { sessionKey });
  }

  /** Removes it for good, with everything below it. Fault busy while one of them does something, or has mail. */
  remove(sessionKey: string): Promise<Output<"remove">> {
    return this.call("remove", { sessionKey });
  }

  /** Stops the turn that runs; the session goes on with its next message. */
  abort(sessionKey: string): Promise<Output<"abort">> {
    return this.call("abort", { sessionKey });
  }

  stop(sessionKey: string): Promise<Output<"stop">> {
    return this.call("stop", { sessionKey });
  }

  cont(sessionKey: string): Promise<Output<"cont">> {
    return this.call("cont", { sessionKey });
  }

  outbox(query: Input<"outbox"> = {}): Promise<Output<"outbox">> {
    return this.call("outbox", query);
  }

  /** Turns stop at their next safe point and are gone on with at the next open(). However often, it happens once. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(new Fault("closed", "sessions are closed"));
    const { later, upkeep, lanes, clock, mcp, memory, processes, store, today } = this.#system;
    // One after the other, whatever becomes of the one before: a home that is not let go cannot be opened again.
    const ended = [await settled(later.close()), await settled(today.close())];
    ended.push(await settled(upkeep.close()), await settled(clock.close()));
    ended.push(await settled(lanes.close()));
    this.#bus.close();
    ended.push(await settled(mcp.close()), await settled(processes.killEverything()));
    ended.push(await settled(memory.close()));
    await store.close();
    const failed = ended.find((each) => each.status === "rejected");
    if (failed) throw failed.reason;
  }
}

async function settled(work: Promise<void>): Promise<PromiseSettledResult<void>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}

/** A program that embeds sessions speaks for one person. */
const PROGRAM: Person = { kind: "person", principal: "local", scope: "admin" };
