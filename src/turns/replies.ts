// What leaves a session: the answer of a turn to whoever wrote the letters in it, and, where a session is verbose, what it
// does meanwhile. Everything is a change of the commit that it belongs to, so it is sent if and only if that happened.

import type { SendPolicy, Verbose } from "../config/config.ts";
import type { Route } from "../mail/letter.ts";
import { parseKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/store.ts";
import type { Block, Message } from "../transcript/entry.ts";

/** An answer that is just this is not sent: the model has nothing to say to anybody. */
const NO_REPLY = "NO_REPLY";

/** Characters that a tool's arguments and results take in what a verbose session tells. */
const TOLD_CHARS = 200;

export interface Outward {
  readonly session: Session;
  readonly policy: SendPolicy;
  /** Doors that are there. An answer for another one is refused, and stays visible. */
  readonly channels: ReadonlySet<string>;
  readonly routes: readonly Route[];
}

/** `id` names what is said: said again after a crash it is the same. */
export function sayTo(out: Outward, id: string, content: readonly Block[]): Change[] {
  if (content.length === 0 || isSilent(content)) return [];
  return distinct(out.routes).flatMap((route, at) => sayOn(out, route, `${id}:${at}`, content));
}

function sayOn(out: Outward, route: Route, id: string, content: readonly Block[]): Change[] {
  const { session } = out;
  if (route.channel === "session") {
    const letter = {
      id: `cause:${id}`,
      from: { kind: "inter_session", source: session.key, tool: null },
      class: "delegated",
      mode: null,
      content,
      replyTo: null, // so that two sessions do not thank each other for ever
      origin: null,
    } as const;
    return [{ do: "post", to: [parseKey(route.to)], letter }];
  }
  const send: Change = { do: "send", outgoing: { id, key: session.key, route, content } };
  const refused = whyNot(out, route);
  return refused === null ? [send] : [send, { do: "settle", id, refused }];
}

function whyNot({ session, policy, channels }: Outward, route: Route): string | null {
  const { key, settings } = session;
  const may = maySend(policy, { key, channel: route.channel, override: settings.sendPolicy });
  if (!may.allowed) return may.why;
  return channels.has(route.channel) ? null : `there is no channel ${JSON.stringify(route.channel)}`;
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

function isSilent(content: readonly Block[]): boolean {
  return content.length === 1 && content[0]?.type === "text" && content[0].text.trim() === NO_REPLY;
}

function distinct(routes: readonly Route[]): Route[] {
  return [...new Map(routes.map((route) => [JSON.stringify(route), route])).values()];
}

function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  const cut = line.slice(0, TOLD_CHARS).replace(/[\ud800-\udbff]$/, "");
  return cut.length < line.length ? `${cut}…` : line;
}
