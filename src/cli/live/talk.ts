// Talk
//
// A conversation as a terminal shows it, folded from what is followed. What is over becomes lines that are written once and
// stay; what goes on now is shown below them and changes.
//
//   Owns:      what was written already, and what is going on.
//   Does not:  write, colour, or ask anybody (terminal.ts, piped.ts).
//
// Invariants
//   K1. Every entry is shown once, however often it is heard: after a broken connection some come again.
//   K2. What a model says is shown as it comes. If what was written down in the end is something else, that is shown whole.
//   K3. Pieces of an answer are shown only if its first was heard: who joins in the middle of one, or was away, is shown it when
//       it is written down. What stood above before is gone on with, if the answer is still the same.
//   K4. Words of others are told apart from those of whoever sits here, by who wrote them.

import { beginsAnew, itemOf, type Item, type ToolCalled } from "../../calls/told.ts";
import type { Event } from "../../events/bus.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import { cutMiddle, duration, many, oneLine } from "../output.ts";
import { Family, type ChildRow } from "./family.ts";

/** What a line is, so that it can be coloured; the text says it too. */
export type Tone = "you" | "other" | "answer" | "good" | "bad" | "fault" | "busy" | "dim";

export interface Line {
  readonly tone: Tone;
  readonly text: string;
}

export interface Talked {
  readonly seq: number;
  readonly isBusy: boolean; //                        a turn is open, or will be: a message from here was not read yet
  readonly outcome: string | null; //                 how the last turn ended; null: none has since this was opened
}

interface Running {
  readonly call: ToolCalled;
  readonly atMs: number;
}

/** Pieces of an answer. `shown` is how much of the text stands above for good: whole lines. */
interface Speech {
  readonly step: string;
  text: string;
  shown: number;
  isThinking: boolean;
}

export class Talk {
  readonly #mine = new Set<string>();
  readonly #running = new Map<string, Running>();
  readonly #family = new Family();
  #speech: Speech | null = null;
  #seq: number;
  #joinedAt: number; //       entries up to this one were there before anybody listened (K3)
  #isBusy = false;
  #outcome: string | null = null;

  /** `seq`: what comes after it is shown. `end`: the last entry that was there when it was joined. */
  constructor(seq: number, end = seq) {
    this.#seq = seq;
    this.#joinedAt = end;
  }

  get now(): Talked {
    return { seq: this.#seq, isBusy: this.#isBusy || this.#mine.size > 0, outcome: this.#outcome };
  }

  /** Children that have not reported. */
  get absent(): readonly string[] {
    return this.#family.absent;
  }

  /** A message that is sent from here: it was shown when it was typed. `id` is the sender's own. */
  mine(id: string): void {
    this.#mine.add(id);
  }

  /** It could not be sent. */
  notMine(id: string): void {
    this.#mine.delete(id);
  }

  /** What children are said to do now. */
  seen(rows: readonly ChildRow[]): void {
    this.#family.seen(rows);
  }

  /** After a broken connection, when `end` was the last entry. A model may have been asked again, or have gone on meanwhile. */
  cameBack(end: number): void {
    this.#joinedAt = end;
    const speech = this.#speech;
    if (speech !== null) speech.text = speech.text.slice(0, speech.shown);
  }

  /** What was said before, along the active path: there a number that is left out is one that somebody went back from. */
  past(entries: readonly (Entry | Gap)[]): readonly Line[] {
    const lines = entries.flatMap((entry) => {
      if (entry.type === "gap") return [damage("something here")];
      this.#seq = Math.max(this.#seq, entry.seq);
      return this.#item(itemOf(entry));
    });
    this.#joinedAt = this.#seq;
    return lines;
  }

  hear(event: Event): readonly Line[] {
    switch (event.type) {
      case "delta":
        return this.#piece(event);
      case "state":
        return this.#stateIs(event.state.kind);
      case "entry":
        if (event.seq <= this.#seq) return []; // K1
        return this.#entry(event);
    }
  }

  #entry({ seq, entry }: Extract<Event, { type: "entry" }>): readonly Line[] {
    const lost = beginsAnew(entry) ? 0 : seq - this.#seq - 1;
    this.#seq = seq;
    const missing = lost === 0 ? [] : [damage(many(lost, "entry", "entries"))];
    return [...missing, ...this.#item(itemOf(entry))];
  }

  #item(item: Item): readonly Line[] {
    switch (item.what) {
      case "letter":
        return this.#letter(item);
      case "answer":
        return this.#answer(item);
      case "result":
        return this.#result(item);
      case "report":
        return this.#family.reported(item.report);
      case "began":
        this.#isBusy = true;
        return [];
      case "ended":
        return this.#ended(item);
      case "note":
        return [{ tone: "dim", text: `  (#${item.seq} ${oneLine(item.text)})` }];
      case "silent":
        this.#speech = null;
        return [];
      case "resumed":
      case "setting":
      case "nothing":
        return [];
    }
  }

  /** K4 */
  #letter({ from, isPerson, mailId, text }: Extract<Item, { what: "letter" }>): readonly Line[] {
    const own = mailId?.slice(mailId.lastIndexOf(":") + 1) ?? "";
    if (this.#mine.delete(own)) return [];
    return isPerson
      ? [{ tone: "you", text: yourWords(text) }]
      : [{ tone: "other", text: `${cutMiddle(oneLine(from), WHO_CELLS)} > ${text}` }];
  }

  #answer({ text, trouble, calls, atMs }: Extract<Item, { what: "answer" }>): readonly Line[] {
    for (const call of calls) {
      if (isSpawn(call)) this.#family.called(call, atMs);
      else this.#running.set(call.id, { call, atMs });
    }
    const lines = this.#spoken(text);
    return trouble === null ? lines : [...lines, { tone: "bad", text: `  (${oneLine(trouble)})` }];
  }

  /** K2. What is left to be shown of an answer that is written down now. */
  #spoken(text: string): readonly Line[] {
    const speech = this.#speech;
    this.#speech = null;
    const shown = speech?.text.slice(0, speech.shown) ?? "";
    if (text.startsWith(shown)) return answerLines(text.slice(shown.length));
    return [
      { tone: "dim", text: "  (what stands above was broken off; the answer is:)" },
      ...answerLines(text),
    ];
  }

  #piece({ turn, step, kind, text }: Extract<Event, { type: "delta" }>): readonly Line[] {
    this.#isBusy = true;
    if (this.#seq <= this.#joinedAt) return []; // K3
    const of = `${turn}/${step}`;
    if (this.#speech?.step !== of) this.#speech = { step: of, text: "", shown: 0, isThinking: false };
    const speech = this.#speech;
    speech.isThinking = kind === "thinking";
    if (kind === "thinking") return [];
    speech.text += text;
    const end = speech.text.lastIndexOf("\n") + 1;
    if (end <= speech.shown) return [];
    const whole = speech.text.slice(speech.shown, end - 1);
    speech.shown = end;
    return whole.split("\n").map((line) => ({ tone: "answer", text: line }));
  }

  #result({ id, isError, text, spawned, atMs }: Extract<Item, { what: "result" }>): readonly Line[] {
    if (spawned !== null) return this.#family.spawned(id, spawned);
    const running = this.#running.get(id) ?? this.#family.refused(id);
    this.#running.delete(id);
    if (running === null) return []; // Its call was made before this was opened.
    const { call } = running;
    if (!isError && isWaiting(call)) return [];
    const why = isError ? `: ${oneLine(text)}` : "";
    const took = duration(Math.max(0, atMs - running.atMs));
    return [
      { tone: isError ? "bad" : "good", text: `  ${isError ? "✗" : "✓"} ${callWords(call)} · ${took}${why}` },
    ];
  }

  #ended({ outcome, reason }: Extract<Item, { what: "ended" }>): readonly Line[] {
    const broken = this.#brokenOff();
    this.#isBusy = false;
    this.#running.clear();
    this.#outcome = outcome;
    if (outcome === "done") return broken;
    const why = reason === null ? "" : `: ${oneLine(reason)}`;
    return [...broken, { tone: outcome === "aborted" ? "dim" : "bad", text: `  (${outcome}${why})` }];
  }

  /** The piece of a line that stood below, of an answer that never came. */
  #brokenOff(): readonly Line[] {
    const speech = this.#speech;
    this.#speech = null;
    const left = speech?.text.slice(speech.shown) ?? "";
    return left === "" ? [] : [{ tone: "answer", text: `${left} …` }];
  }

  #stateIs(kind: string): readonly Line[] {
    if (kind === "running" || kind === "waiting") this.#isBusy = true;
    if (kind === "idle" || kind === "ended") this.#isBusy = false;
    return kind === "ended" ? this.#family.left() : [];
  }

  /** What goes on now, below everything else. `spinner` turns while it does. */
  live(spinner: string): readonly Line[] {
    const speech = this.#speech;
    const lines: Line[] = [];
    const piece = speech?.text.slice(speech.shown) ?? "";
    if (piece !== "") lines.push({ tone: "answer", text: piece });
    else if (speech?.isThinking) lines.push({ tone: "busy", text: `  ${spinner} thinks …` });
    const isTree = this.#family.absent.length > 0; // It says better who is waited for.
    for (const { call } of this.#running.values())
      if (!(isTree && isWaiting(call))) lines.push({ tone: "busy", text: `  ${spinner} ${callWords(call)}` });
    lines.push(...this.#family.live(spinner));
    if (lines.length === 0 && this.now.isBusy) lines.push({ tone: "busy", text: `  ${spinner}` });
    return lines;
  }
}

/** Of who wrote: the key of a run of a job would take the whole line. */
const WHO_CELLS = 32;

function damage(what: string): Line {
  return { tone: "bad", text: `  (damage: ${what} cannot be read; see \`sessiond fsck\`)` };
}

function answerLines(text: string): readonly Line[] {
  return text.trim() === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => ({ tone: "answer", text: line }));
}

function isSpawn({ name, given }: ToolCalled): boolean {
  return name === "sessions_spawn" || (name === "subagents" && given["action"] === "spawn");
}

function isWaiting({ name, given }: ToolCalled): boolean {
  return name === "sessions_yield" || (name === "subagents" && given["action"] !== "spawn");
}

/** As they were typed: lines after the first stand below it. */
export function yourWords(text: string): string {
  return `> ${text.replaceAll("\n", "\n  ")}`;
}

function callWords({ name, about }: ToolCalled): string {
  return about === "" ? name : `${name} ${about}`;
}
