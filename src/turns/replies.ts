// What leaves a session: the answer of a turn to whoever wrote the letters in it, and, where a session is verbose, what it
// does meanwhile. Everything is a change of the commit that it belongs to, so it is sent if and only if that happened.

import { Fault } from "../base/fault.ts";
import type { SendPolicy, Verbose } from "../config/config.ts";
import { FAILURE_CHARS_MAX, OUTWARD_CHARS_MAX } from "../limits.ts";
import { HEARTBEAT_OK } from "../mail/beat.ts";
import type { Class, Letter, Route } from "../mail/letter.ts";
import { isTimer, reportedBy } from "../mail/task.ts";
import { handedOn } from "../mail/urgency.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Held } from "../sessions/held.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Block, Message } from "../transcript/entry.ts";
import type { TurnEnd } from "../timers/told.ts";

/** An answer that is just this is not sent: the model has nothing to say to anybody. */
export const NO_REPLY = "NO_REPLY";

/** Characters that a tool's arguments and results take in what a verbose session tells. */
const TOLD_CHARS = 200;

/** What of the configuration says where answers may go. */
export interface Doors {
  readonly policy: SendPolicy;
  readonly channels: ReadonlySet<string>; // an answer for another one is refused, and stays visible
}

/** Everything that one turn says to those who wait for it. */
export class Replies {
  readonly #held: Held;
  readonly #doors: Doors;
  readonly #turn: string;
  readonly #class: () => Class;
  readonly #routes = new Map<string, Route>(); // each once
  #hasSent = false;

  constructor(
    held: Held,
    doors: Doors,
    { turn, class: of }: { readonly turn: string; readonly class: () => Class },
  ) {
    this.#class = of;
    this.#held = held;
    this.#doors = doors;
    this.#turn = turn;
  }

  /** There is something to be delivered. */
  get hasSent(): boolean {
    return this.#hasSent;
  }

  /** More letters came into the turn: whoever wrote them hears the answer too. */
  add(routes: readonly Route[]): void {
    for (const route of routes) this.#routes.set(JSON.stringify(route), route);
  }

  /** What a verbose session does meanwhile is for chats. A session that asked is woken once, by the answer. */
  meanwhile(what: string, content: readonly Block[]): Change[] {
    const chats = this.#answered.filter((route) => !isSession(route));
    return chats.flatMap((route, at) => this.#say(route, this.#named(what, at, content), null));
  }

  /** `gone`: why a session that asked does not read its answer any more, by its key. That one is refused, and visible. */
  answer(content: readonly Block[], gone: ReadonlyMap<string, string>): Change[] {
    return this.#answered.flatMap((route, at) =>
      this.#say(route, this.#named("answer", at, content), gone.get(route.to) ?? null),
    );
  }

  /**
   * To the timers that began it: how it ended, also when nobody else hears anything. What comes of that is theirs to say
   * (timers/ended.ts), so no policy keeps it from them. They are told too who else hears `words`, and need not hear it twice.
   */
  ended({ outcome, reason, text }: TurnEnd, words: readonly Block[]): Change[] {
    const { key, transcript } = this.#held.row;
    const isSaid = words.length > 0 && !isSilent(words);
    const answered = isSaid ? this.#answered.filter((route) => !isSession(route)) : [];
    return [...this.#routes.values()].filter(isTimer).map((route, at): Change => {
      const told = {
        outcome,
        reason: reason?.slice(0, FAILURE_CHARS_MAX).toWellFormed() ?? null,
        text: shortText(text, key),
        ...(answered.length === 0 ? {} : { answered }),
      };
      this.#hasSent = true;
      const id = `${transcript.id}:${this.#turn}:ended:${at}`;
      return {
        do: "send",
        outgoing: { id, key, route, content: [{ type: "text", text: JSON.stringify(told) }] },
      };
    });
  }

  /** The tasks that were given in these letters, and by whom. */
  get tasks(): readonly { readonly task: string; readonly giver: SessionKey }[] {
    return [...this.#routes.values()].flatMap((route) => {
      const task = reportedBy(route);
      const giver = keyIn(route);
      return task === null || giver === null ? [] : [{ task, giver }];
    });
  }

  /** Which of the sessions that asked read nothing any more, and why. */
  async gone(find: (key: SessionKey) => Promise<Session | null>): Promise<ReadonlyMap<string, string>> {
    const asked = this.#answered.filter(isSession);
    const rows = await Promise.all(
      asked.map(async (route) => {
        const key = keyIn(route);
        return { to: route.to, row: key === null ? null : await find(key) };
      }),
    );
    const gone = rows.filter(({ row }) => row === null || row.state.kind === "ended");
    return new Map(gone.map(({ to, row }) => [to, `${to} ${row === null ? "is gone" : "has ended"}`]));
  }

  /** What is reported is no answer (reports.ts), unless there is nobody to report to: then it is refused, and visible. */
  get #answered(): readonly Route[] {
    const said = [...this.#routes.values()].filter((route) => !isTimer(route));
    return said.filter((route) => reportedBy(route) === null || keyIn(route) === null);
  }

  /** The same thing has the same id, also when it is said again after a crash. */
  #named(what: string, at: number, content: readonly Block[]): Saying {
    const { key, transcript } = this.#held.row;
    return { id: `${transcript.id}:${this.#turn}:${what}:${at}`, content: shortened(content, key) };
  }

  #say(route: Route, saying: Saying, unread: string | null): Change[] {
    const { id, content } = saying;
    if (content.length === 0 || isSilent(content)) return [];
    const { key } = this.#held;
    const asker = isSession(route) ? keyIn(route) : null;
    if (asker !== null && unread === null)
      return [{ do: "post", to: [asker], letter: answerLetter(key, this.#class(), saying) }];
    const refused = asker === null ? this.#whyNot(route) : unread;
    this.#hasSent ||= refused === null;
    const send: Change = { do: "send", outgoing: { id, key, route, content } };
    return refused === null ? [send] : [send, { do: "settle", id, refused }];
  }

  #whyNot({ channel }: Route): string | null {
    const { key, settings } = this.#held.row;
    const may = maySend(this.#doors.policy, { key, channel, override: settings.sendPolicy });
    if (!may.allowed) return may.why;
    return this.#doors.channels.has(channel) ? null : `there is no channel ${JSON.stringify(channel)}`;
  }
}

interface Saying {
  readonly id: string;
  readonly content: readonly Block[];
}

function isSession({ channel }: Route): boolean {
  return channel === "session";
}

/** Whose address a route is; null: nobody's. A turn must be able to end whatever a letter says, so nothing is thrown. */
function keyIn({ to }: Route): SessionKey | null {
  try {
    return parseKey(to);
  } catch (fault) {
    if (fault instanceof Fault) return null;
    throw fault;
  }
}

/** It asks for no answer itself: two sessions must not thank each other for ever. */
function answerLetter(source: SessionKey, of: Class, { id, content }: Saying): Letter {
  return {
    id: `cause:${id}`,
    from: { kind: "inter_session", source, tool: null },
    class: handedOn(of),
    mode: null,
    content,
    replyTo: null,
    origin: null,
  };
}

/**
 * What a session tells of a step besides its last answer:
 *   off    nothing
 *   on     what the model says before it calls tools, and one line for each call
 *   full   also the beginning of each result
 */
export function stepTold(verbose: Verbose, content: readonly Block[]): Block[] {
  if (verbose === "off") return [];
  const lines = content.flatMap((block) => {
    if (block.type === "text") return [block.text];
    return block.type === "toolCall" ? [`▸ ${block.name} ${brief(JSON.stringify(block.arguments))}`] : [];
  });
  return lines.length === 0 ? [] : [{ type: "text", text: lines.join("\n") }];
}

export function resultTold(verbose: Verbose, result: Extract<Message, { role: "toolResult" }>): Block[] {
  if (verbose !== "full") return [];
  const text = result.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
  return [{ type: "text", text: `${result.isError ? "✗" : "◂"} ${result.toolName} ${brief(text)}` }];
}

/** The words of an answer: thinking and calls are nobody's but the session's own. */
export function wordsOf(content: readonly Block[]): Block[] {
  return content.filter((block) => block.type === "text" && block.text.trim() !== "");
}

/** An answer of any length is kept; what leaves has a bound, because it waits in a mailbox or an outbox. */
function shortened(content: readonly Block[], key: SessionKey): readonly Block[] {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return text.length <= OUTWARD_CHARS_MAX ? content : [{ type: "text", text: shortText(text, key) }];
}

function shortText(text: string, key: SessionKey): string {
  if (text.length <= OUTWARD_CHARS_MAX) return text;
  const head = text.slice(0, OUTWARD_CHARS_MAX).toWellFormed();
  const left = text.length - OUTWARD_CHARS_MAX;
  return `${head}\n[… ${left} more characters, in the transcript of ${key}]`;
}

export function isSilent(content: readonly Block[]): boolean {
  const [only] = content;
  if (content.length !== 1 || only?.type !== "text") return false;
  const text = only.text.trim();
  return text === NO_REPLY || text === HEARTBEAT_OK;
}

function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  const cut = line.slice(0, TOLD_CHARS).replace(/[\ud800-\udbff]$/, "");
  return cut.length < line.length ? `${cut}…` : line;
}
