// A chat at a terminal: what is heard above, what goes on below it, and the line that is typed at the bottom. Whoever types
// is never kept waiting: messages are sent one after the other, beside everything else.

import { emitKeypressEvents } from "node:readline";
import { Fault } from "../../base/fault.ts";
import { unlessLate } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { Event } from "../../events/bus.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import { passes, type Client, type Reconnected } from "../client.ts";
import { exitBy } from "../command.ts";
import { duration, oneLine, type Screen } from "../output.ts";
import { Area, plainRow } from "./area.ts";
import { Editor, type Wish } from "./editor.ts";
import { liveRows, painted, spinnerAt, TURN_MS } from "./paint.ts";
import { delivered } from "./sending.ts";
import { completionOf, obey, slashIn, type Listed } from "./slash.ts";
import { Talk, yourWords, type Line } from "./talk.ts";

export interface Chatting {
  readonly client: Client;
  readonly world: World;
  readonly screen: Screen;
  readonly sessionKey: string;
  /** The first line, for a terminal so wide. */
  readonly header: (width: number) => string;
  /** What is shown of before; null: the session does not exist before somebody writes to it. */
  readonly past: readonly (Entry | Gap)[] | null;
  /** The last entry that there was. */
  readonly end: number;
}

/** Somebody who presses Ctrl-C again within this time wants to leave. */
const TWICE_MS = 2_000;

/** How often children are asked what they do. */
const LOOK_MS = 1_000;

/** How long somebody who leaves waits for what was typed before and is not sent yet. */
const SENDING_MS_MAX = 5_000;
/** As a command that could not be done now (docs/cli.md). */
const NOT_SENT_EXIT = 75;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

export class ChatTerminal {
  readonly #chatting: Chatting;
  readonly #over = new AbortController();
  readonly #editor = new Editor();
  readonly #area: Area;
  #talk: Talk;
  #isFollowing = false;
  #isToShow = false;
  #sending: Promise<unknown> = Promise.resolve();
  readonly #unsent = new Set<{ readonly text: string }>();
  readonly #givenUp = new AbortController();
  #stoppedAtMs = 0;
  #commands: Listed | null = null; //   null: nobody has asked; then Tab and Enter at once sends what is not complete
  #broken: unknown = null; //          what ended it, if that was nobody's wish
  #startedAt: string | null = null; // of the daemon, so that a restart can be told from a bad connection

  constructor(chatting: Chatting) {
    this.#chatting = chatting;
    this.#area = new Area(
      (text) => void process.stdout.write(text),
      () => process.stdout.columns || 80,
    );
    this.#talk = new Talk(chatting.end);
  }

  /** Resolves, with the exit code, when whoever sits there has left and what was typed is sent, or cannot be. */
  async run(): Promise<number> {
    const { past, header } = this.#chatting;
    const { stdin, stdout } = process;
    let exit = 0;
    const leave = (): void => this.#over.abort();
    // In this mode Ctrl-C is a key: a signal is sent by somebody else.
    const told = (name: NodeJS.Signals): void => {
      exit = exitBy(name);
      leave();
    };
    const redraw = (): void => this.#show([]);
    emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.on("keypress", this.#pressed);
    stdin.on("end", leave);
    stdout.on("resize", redraw);
    for (const name of SIGNALS) process.on(name, told);
    stdout.write(PASTE_ON);
    try {
      this.#show([{ tone: "dim", text: header(stdout.columns || 80) }, ...this.#talk.past(past ?? [])]);
      stdin.resume();
      const following = past === null ? [] : [this.#follow(this.#talk.now.seq)];
      const work = [this.#turning(), this.#looking(), ...following];
      for (const each of work) each.catch((error: unknown) => this.#broke(error));
      await ended(this.#over.signal);
    } finally {
      this.#over.abort();
      stdin.off("keypress", this.#pressed).off("end", leave);
      stdout.off("resize", redraw);
      for (const name of SIGNALS) process.off(name, told);
      this.#area.clear();
      stdout.write(PASTE_OFF);
      stdin.setRawMode(false);
      stdin.pause();
    }
    const isSent = await this.#sent();
    if (this.#broken !== null) throw this.#broken;
    return isSent ? exit : NOT_SENT_EXIT;
  }

  /** What is on its way is waited for, for a while; what does not get there is told, so that nobody believes it did. */
  async #sent(): Promise<boolean> {
    const { screen, world } = this.#chatting;
    await unlessLate(world, SENDING_MS_MAX, this.#sending);
    this.#givenUp.abort();
    for (const { text } of this.#unsent) screen.err(`not sent: ${oneLine(text)}\n`);
    return this.#unsent.size === 0;
  }

  readonly #pressed = (text: string | undefined, key: Partial<PressedKey>): void => {
    const { name, ctrl = false, meta = false } = key;
    const wish = this.#editor.press({ text, name, ctrl, meta });
    if (wish !== null) this.#grant(wish);
    this.#showSoon();
  };

  /** Once for all keys that come together: what is pasted comes as thousands. */
  #showSoon(): void {
    if (this.#isToShow) return;
    this.#isToShow = true;
    queueMicrotask(() => {
      this.#isToShow = false;
      if (!this.#over.signal.aborted) this.#show([]);
    });
  }

  #grant(wish: Wish): void {
    if (wish.do === "leave") this.#over.abort();
    else if (wish.do === "interrupt") this.#interrupt();
    else if (wish.do === "complete")
      this.#complete(wish.begun).catch((error: unknown) => this.#failed(error));
    else this.#say(wish.text);
  }

  /** What cannot be gone on with because several words fit is shown. */
  async #complete(begun: string): Promise<void> {
    this.#commands ??= (await this.#chatting.client.call("commands", {}, this.#over.signal)).commands;
    const { more, choices } = completionOf(begun, this.#commands);
    this.#editor.complete(begun, more);
    const isOpen = more === "" && choices.length > 0;
    this.#show(isOpen ? [{ tone: "dim", text: `  ${choices.join("  ")}` }] : []);
  }

  /** Stops the turn; leaves when there is none, or when it is said twice. */
  #interrupt(): void {
    const { client, world, sessionKey } = this.#chatting;
    const isAgain = world.nowMs() - this.#stoppedAtMs < TWICE_MS;
    if (isAgain || !this.#talk.now.isBusy) {
      this.#over.abort();
      return;
    }
    this.#stoppedAtMs = world.nowMs();
    this.#show([{ tone: "dim", text: "  (stopping; Ctrl-C again leaves)" }]);
    // Also when somebody leaves at once: that it stops was wished.
    client.call("abort", { sessionKey }).catch((error: unknown) => this.#failed(error));
  }

  #say(text: string): void {
    const slash = slashIn(text);
    if (slash?.name === "quit" || slash?.name === "exit") {
      this.#over.abort();
      return;
    }
    this.#show([{ tone: "you", text: yourWords(text) }]);
    const work =
      slash === null ? () => this.#send(text.replace(/^\/\//, "/")) : () => this.#obey(slash, text);
    const said = { text };
    this.#unsent.add(said);
    this.#sending = this.#sending.then(async () => {
      try {
        await work();
        this.#unsent.delete(said);
      } catch (error) {
        if (!this.#over.signal.aborted) this.#unsent.delete(said); // It is told above the line that is typed.
        this.#failed(error);
      }
    });
  }

  async #send(message: string): Promise<void> {
    const { client, world, sessionKey } = this.#chatting;
    const id = world.newId();
    this.#talk.mine(id);
    const trouble = (why: string): void =>
      this.#show([{ tone: "dim", text: `  (${why} It is sent as soon as there is one.)` }]);
    try {
      const { seq } = await delivered(
        { client, world },
        { sessionKey, message, id },
        trouble,
        this.#givenUp.signal,
      );
      if (!this.#isFollowing && !this.#over.signal.aborted)
        this.#follow(seq).catch((error: unknown) => this.#broke(error));
    } catch (error) {
      this.#talk.notMine(id);
      throw error;
    }
  }

  async #obey({ name, rest }: { readonly name: string; readonly rest: string }, text: string): Promise<void> {
    const lines = await obey(this.#chatting, name, rest);
    if (lines === null) return await this.#send(text);
    this.#show(lines.map((text) => ({ tone: "dim", text: `  ${text}` })));
  }

  async #follow(from: number): Promise<void> {
    const { client, sessionKey } = this.#chatting;
    this.#isFollowing = true;
    if (from > this.#talk.now.seq) this.#talk = new Talk(from);
    this.#startedAt = await this.#daemonStartedAt();
    const { signal } = this.#over;
    for await (const { event } of client.stream("follow", { sessionKey, from }, { signal, reconnect: true }))
      if (event.type === "reconnected") await this.#cameBack(event);
      else this.#show(this.#talk.hear(event as Event));
  }

  async #cameBack({ afterMs }: Reconnected): Promise<void> {
    this.#talk.cameBack(await this.#end());
    const startedAt = await this.#daemonStartedAt();
    const isSame = startedAt !== null && startedAt === this.#startedAt;
    this.#startedAt = startedAt;
    const what = isSame ? "connection lost for" : "daemon restarted after";
    this.#show([{ tone: "dim", text: `  (${what} ${duration(afterMs)}; nothing lost)` }]);
  }

  /** Infinity: it is gone again, and will come back once more. */
  async #end(): Promise<number> {
    const { client, sessionKey } = this.#chatting;
    const status = client.call("status", { sessionKey }, this.#over.signal);
    return (await this.#unlessAway(status))?.entries ?? Infinity;
  }

  /** Null: it does not say, or is gone again. */
  async #daemonStartedAt(): Promise<string | null> {
    const overview = this.#chatting.client.call("overview", {}, this.#over.signal);
    return (await this.#unlessAway(overview))?.totals.since ?? null;
  }

  /** Null: nobody is there to be asked, or whoever asks has left. */
  async #unlessAway<Value>(asked: Promise<Value>): Promise<Value | null> {
    try {
      return await asked;
    } catch (error) {
      if (passes(error) || this.#over.signal.aborted) return null;
      throw error;
    }
  }

  /** What turns is drawn again while something does. */
  async #turning(): Promise<void> {
    const { world } = this.#chatting;
    while (!this.#over.signal.aborted) {
      await world.sleep(TURN_MS, this.#over.signal).catch(() => {}); // it ends with the signal
      if (!this.#over.signal.aborted && this.#talk.live("").length > 0) this.#show([]);
    }
  }

  /** Asks what children do, while some are at work. */
  async #looking(): Promise<void> {
    const { client, world, sessionKey } = this.#chatting;
    const { signal } = this.#over;
    while (!signal.aborted) {
      await world.sleep(LOOK_MS, signal).catch(() => {}); // it ends with the signal
      if (signal.aborted || this.#talk.absent.length === 0) continue;
      try {
        const { children } = await client.call("children", { sessionKey, limit: 200 }, signal);
        this.#talk.seen(children);
      } catch (error) {
        if (!passes(error) && !signal.aborted) throw error;
      }
    }
  }

  #show(lines: readonly Line[]): void {
    if (this.#over.signal.aborted) return; // the terminal is given back
    const { screen, world } = this.#chatting;
    const width = Math.max(10, (process.stdout.columns || 80) - 1);
    const room = Math.max(3, (process.stdout.rows || 24) - 2);
    const typed = this.#editor.shown(width);
    const live = this.#talk.live(spinnerAt(world.nowMs())).flatMap((line) => liveRows(screen, line, width));
    const below = live.slice(Math.max(0, live.length + typed.rows.length - room));
    this.#area.draw(
      lines.map((line) => painted(screen, line, width)),
      { rows: [...below, ...typed.rows.map(plainRow)], row: below.length + typed.row, column: typed.column },
    );
  }

  /** Of one wish; the chat goes on. */
  #failed(error: unknown): void {
    if (this.#over.signal.aborted) return;
    if (!(error instanceof Fault)) {
      this.#broke(error);
      return;
    }
    const todo = error.code === "bad_input" ? "" : ` (${error.todo})`; // there the message says it
    this.#show([{ tone: "fault", text: `  ${error.message}${todo}` }]);
  }

  /** Nothing can be shown any more: `run` rejects with it. */
  #broke(error: unknown): void {
    if (!this.#over.signal.aborted) this.#broken = error;
    this.#over.abort();
  }
}

interface PressedKey {
  readonly name: string | undefined;
  readonly ctrl: boolean;
  readonly meta: boolean;
}

function ended(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
