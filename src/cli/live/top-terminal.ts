// `top` on a terminal: pictures one after the other on a screen of their own, and keys about the chosen session. Whatever ends
// it, the terminal is left as it was.

import { emitKeypressEvents } from "node:readline";
import { Fault } from "../../base/fault.ts";
import type { World } from "../../base/world.ts";
import type { Client } from "../client.ts";
import { cut, dim, oneLine, red, type Screen } from "../output.ts";
import { Editor } from "./editor.ts";
import { topFrame, type Picture } from "./frame.ts";
import { Looking } from "./looking.ts";
import { passes } from "../client.ts";

export interface Watching {
  readonly client: Client;
  readonly world: World;
  readonly screen: Screen;
  readonly everyMs: number;
  readonly most: number; //                                   pictures; Infinity: until somebody leaves
  readonly chat: (sessionKey: string) => Promise<void>; //    resolves when whoever opened it has left
}

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HELP = "↑↓ choose · enter open · s steer · n nice · k kill · q quit";

/** A question at the bottom; what is typed goes to `answer`. */
interface Asking {
  readonly question: string;
  readonly editor: Editor | null; //     null: y or n
  readonly answer: (text: string) => Promise<string>;
}

export class TopTerminal {
  readonly #watching: Watching;
  readonly #looking: Looking;
  readonly #over = new AbortController();
  #picture: Picture | null = null;
  #chosen: string | null = null;
  #asking: Asking | null = null;
  #told = ""; //                         what became of the last wish
  #isBad = false; //                     and whether that is a failure
  #isAway = false; //                    a chat has the terminal
  #broken: unknown = null;

  constructor(watching: Watching) {
    this.#watching = watching;
    this.#looking = new Looking(watching.client, watching.world);
  }

  /** Resolves when whoever looks has left. */
  async run(): Promise<void> {
    const leave = (): void => this.#over.abort();
    const redraw = (): void => this.#draw();
    process.on("SIGTERM", leave).on("SIGHUP", leave).on("SIGINT", leave);
    process.stdout.on("resize", redraw);
    this.#take();
    try {
      await this.#pictures();
    } finally {
      this.#give();
      process.off("SIGTERM", leave).off("SIGHUP", leave).off("SIGINT", leave);
      process.stdout.off("resize", redraw);
    }
    if (this.#broken !== null) throw this.#broken;
  }

  #take(): void {
    const { stdin, stdout } = process;
    emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.on("keypress", this.#pressed).resume();
    stdout.write(ENTER);
  }

  #give(): void {
    const { stdin, stdout } = process;
    stdin.off("keypress", this.#pressed);
    stdout.write(LEAVE);
    stdin.setRawMode(false);
    stdin.pause();
  }

  async #pictures(): Promise<void> {
    const { world, everyMs, most } = this.#watching;
    const { signal } = this.#over;
    let isAwayTold = false;
    for (let shown = 0; shown < most && !signal.aborted;) {
      if (shown > 0) await world.sleep(everyMs, signal).catch(() => {}); // it ends with the signal
      if (signal.aborted) return;
      if (this.#isAway) continue;
      try {
        this.#picture = await this.#looking.next(signal);
        if (isAwayTold) this.#tell("", false); // It is back.
        isAwayTold = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!passes(error) || this.#picture === null) throw error;
        this.#tell((error as Fault).message, true); // It may be restarting: the last picture stays.
        isAwayTold = true;
      }
      if (this.#isAway) continue; // Somebody has opened a chat meanwhile: what nobody saw is not counted.
      this.#draw();
      shown += 1;
    }
  }

  #draw(): void {
    const picture = this.#picture;
    if (picture === null || this.#isAway || this.#over.signal.aborted) return;
    const { screen } = this.#watching;
    const columns = process.stdout.columns || 80; // Some terminals say 0.
    const rows = process.stdout.rows || 24;
    const isThere = picture.rows.some(({ sessionKey }) => sessionKey === this.#chosen);
    if (!isThere) this.#chosen = picture.rows[0]?.sessionKey ?? null;
    const paper = { colour: screen.colour, width: columns, height: rows - 1 };
    const lines = topFrame(picture, this.#chosen, paper);
    const space = Array.from({ length: Math.max(0, rows - 1 - lines.length) }, () => "");
    const all = [...lines.slice(0, rows - 1), ...space].map((line) => `${line}\x1b[0K\r\n`).join("");
    process.stdout.write(`\x1b[H${all}${this.#bottom(columns)}\x1b[0J`);
  }

  #bottom(width: number): string {
    const { screen } = this.#watching;
    const asking = this.#asking;
    if (asking === null) return this.#told === "" ? dim(screen, cut(HELP, width)) : this.#toldIn(width);
    const typed = asking.editor?.text.replaceAll("\n", " ") ?? "";
    const room = Math.max(1, width - asking.question.length - 2);
    return cut(`${asking.question} ${typed.length > room ? `…${typed.slice(1 - room)}` : typed}`, width);
  }

  #toldIn(width: number): string {
    const shown = cut(oneLine(this.#told), width);
    return this.#isBad ? red(this.#watching.screen, shown) : shown;
  }

  #tell(text: string, isBad: boolean): void {
    this.#told = text;
    this.#isBad = isBad;
  }

  readonly #pressed = (
    text: string | undefined,
    {
      name,
      ctrl = false,
      meta = false,
    }: { readonly name?: string; readonly ctrl?: boolean; readonly meta?: boolean },
  ): void => {
    if (this.#asking !== null) this.#answer(this.#asking, { text, name, ctrl, meta });
    else if (name === "q" || (ctrl && (name === "c" || name === "d"))) this.#over.abort();
    else this.#key(name);
    this.#draw();
  };

  #key(name: string | undefined): void {
    this.#told = "";
    const key = this.#chosen;
    if (name === "up" || name === "down") this.#choose(name === "up" ? -1 : 1);
    if (key === null) return;
    const { client } = this.#watching;
    const { signal } = this.#over;
    if (name === "return") this.#open(key).catch((error: unknown) => this.#failed(error));
    if (name === "k")
      this.#asking = {
        question: `kill ${key} and everything below it? (y/n)`,
        editor: null,
        answer: async () => {
          const { killed } = await client.call("kill", { sessionKey: key }, signal);
          return killed.length === 0 ? `${key} had ended` : `killed ${killed.join(", ")}`;
        },
      };
    if (name === "s")
      this.#asking = {
        question: `tell ${key}:`,
        editor: new Editor(),
        answer: async (message) => {
          await client.call("steer", { sessionKey: key, message }, signal);
          return `${key} reads it before its next step`;
        },
      };
    if (name === "n")
      this.#asking = {
        question: `nice of ${key}, from -20 (first) to 19 (last):`,
        editor: new Editor(),
        answer: async (typed) => {
          if (!/^[+-]?\d{1,2}$/.test(typed.trim()))
            throw new Fault("bad_input", "nice is a number from -20 to 19");
          const { settings } = await client.call("set", { sessionKey: key, nice: Number(typed) }, signal);
          return `${key} has nice ${settings.nice}`;
        },
      };
  }

  #answer(asking: Asking, key: Parameters<Editor["press"]>[0]): void {
    if (asking.editor === null) {
      this.#asking = null;
      if (key.name === "y") this.#do(asking, "");
      return;
    }
    if (key.name === "escape") {
      this.#asking = null;
      return;
    }
    const wish = asking.editor.press(key);
    if (wish === null) return;
    this.#asking = null;
    if (wish.do === "send") this.#do(asking, wish.text);
  }

  #do(asking: Asking, text: string): void {
    asking.answer(text).then(
      (told) => {
        this.#tell(told, false);
        this.#draw();
      },
      (error: unknown) => this.#failed(error),
    );
  }

  #choose(by: number): void {
    const rows = this.#picture?.rows ?? [];
    const at = rows.findIndex(({ sessionKey }) => sessionKey === this.#chosen);
    this.#chosen = rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.sessionKey ?? null;
  }

  /** The chat has the terminal until it is left. */
  async #open(key: string): Promise<void> {
    this.#isAway = true;
    this.#give();
    try {
      await this.#watching.chat(key);
    } finally {
      this.#isAway = false;
      if (!this.#over.signal.aborted) this.#take();
    }
    this.#draw();
  }

  #failed(error: unknown): void {
    if (this.#over.signal.aborted) return;
    if (error instanceof Fault) {
      this.#tell(`${error.message} (${error.todo})`, true);
      this.#draw();
      return;
    }
    this.#broken = error;
    this.#over.abort();
  }
}
