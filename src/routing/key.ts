// Key
//
// The address of a session. Everything that names a session holds a SessionKey, and only this file makes one.
// The format is described for users in docs/formats/keys.md.
//
//   Owns:      the making of keys, the short forms people may type, what a key says about its session.
//   Does not:  choose the key of a message, know which sessions exist, hold the table of shapes (grammar.ts)
//              or the encoding of foreign ids (part.ts).
//
// Invariants
//   K1. A SessionKey is canonical: `agent:<agent>:<part>…`, at most KEY_BYTES_MAX bytes of printable ASCII.
//   K2. Different addresses (row of the table, agent, foreign ids) have different keys. Follows from P1.
//   K3. A key has exactly one reading: it fits one row of the table in grammar.ts. Follows from P2.
//   K4. Nothing is trimmed, lower-cased or guessed. A text is a key, one of the short forms, or bad_input.
//   K5. A key cannot lead out of a directory, neither whole nor part by part. Follows from P3.
//   K6. Refusing a text costs the same whether it has 300 bytes or 10 MB, and shows little of it.

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import { KEY_BYTES_MAX } from "../limits.ts";
import { readParts } from "./grammar.ts";
import { encodePart, quote, WORDS } from "./part.ts";

declare const brand: unique symbol;
export type SessionKey = string & { readonly [brand]: "SessionKey" };
/** The id of an agent. Being one proves that it may be used as a directory's name. */
export type AgentId = string & { readonly [brand]: "AgentId" };

/** "thread" is a named session. A thread of a chat keeps the kind of the chat. */
export type KeyKind =
  | "main"
  | "heartbeat"
  | "direct"
  | "group"
  | "channel"
  | "thread"
  | "subagent"
  | "cron"
  | "hook"
  | "acp";

/** What a key says about its session. All values are decoded: they are the foreign ids as they came. */
export interface KeyParts {
  readonly kind: KeyKind;
  readonly agent: AgentId;

  // Where it is talked to.
  readonly chatType: "direct" | "group" | "channel" | "room" | null; // null: its key is not that of a chat
  readonly channel: string | null; // null: no chat, or one that is not tied to a channel
  readonly account: string | null; // null: the accounts of the channel are not told apart
  readonly peer: string | null; //    the person, group, channel or room; null: no chat
  readonly thread: string | null; //  null: not a thread of another session
  readonly topic: boolean; //         true: the thread is written `:topic:`, as Telegram calls it

  // What it is for.
  readonly name: string | null; //    of a named session; null for every other kind
  readonly id: string | null; //      last value of a subagent, hook or acp key; null for every other kind
  readonly depth: number; //          subagent segments, `depth-<n>` counting n; 0: it is no sub-agent
  readonly cronJob: string | null; // null: not of kind cron
  readonly cronRun: string | null; // null: not a run, or one written `cron:run:<job>`, which names its job only
  readonly run: boolean; //           true: one run of a cron job; false: the job's own session, or no cron
}

/** Whose session a text means that names no agent. With no configuration it is the only agent there is. */
export const DEFAULT_AGENT = "main" as AgentId;

const AGENT = /^[a-z0-9][a-z0-9_-]{0,63}$/;

// ── Text from outside ───────────────────────────────────────────────────────────────────────────────────────

/** The key that a text is or is short for. Everything else is bad_input, with the reason (K4). */
export function parseKey(text: string): SessionKey {
  if (text.length > KEY_BYTES_MAX) throw notKey(text, `it has more than ${KEY_BYTES_MAX} bytes`); // K6
  try {
    return written(text);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw notKey(text, `${fault.message}${didYouMean(text)}`);
  }
}

export function parseAgent(text: string): AgentId {
  if (text.length <= KEY_BYTES_MAX && AGENT.test(text)) return text as AgentId;
  const rule = 'a-z, 0-9, "_" and "-", at most 64 characters, the first a letter or a digit';
  throw new Fault("bad_input", `${quote(text)} is not an agent id (${rule})`);
}

/** Writes the short forms out, then asks the grammar. */
function written(text: string): SessionKey {
  const short = text === "main" || /^(?:cron|group):[^:]*$/.test(text);
  const [prefix, agent, ...rest] = (short ? `agent:${DEFAULT_AGENT}:${text}` : text).split(":");
  const key = [prefix, agent, ...rest.map((part) => (part === "dm" ? "direct" : part))].join(":");
  read(key);
  return key as SessionKey;
}

function notKey(text: string, why: string): Fault {
  return new Fault("bad_input", `${quote(text)} is not a session key: ${why}`);
}

/** Only letter case is certain enough to propose: in the prefix, in the agent id, then in the grammar's words. */
function didYouMean(text: string): string {
  const [prefix = "", ...rest] = text.split(":");
  const lower = prefix.toLowerCase();
  const agent = lower === "agent" ? rest.splice(0, 1).map((part) => part.toLowerCase()) : [];
  const words = rest.map((part) => (WORDS.has(part.toLowerCase()) ? part.toLowerCase() : part));
  for (const parts of [rest, words]) {
    try {
      const key = written([lower, ...agent, ...parts].join(":"));
      return key.length <= 80 ? `. Did you mean "${key}"?` : ""; // a line of a terminal
    } catch {
      // That spelling is no key either, so there is nothing to propose; the caller reports the first reason.
    }
  }
  return "";
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────

export function describeKey(key: SessionKey): KeyParts {
  return read(key);
}

export function agentOf(key: SessionKey): AgentId {
  return read(key).agent;
}

/** The chat that a thread belongs to; null: it is not a thread of a chat. */
export function chatOf(key: SessionKey): SessionKey | null {
  return isThreaded(key) ? (key.split(":").slice(0, -2).join(":") as SessionKey) : null;
}

export function isThreaded(key: SessionKey): boolean {
  return read(key).thread !== null;
}

export function isCronRun(key: SessionKey): boolean {
  return read(key).run;
}

/** What runs once ends: an unnamed sub-agent, a run of a cron job. Everything else goes on for ever. */
export function isOneShot(key: SessionKey): boolean {
  const { kind, run } = read(key);
  return kind === "subagent" || run;
}

export function isSubagent(key: SessionKey): boolean {
  return read(key).kind === "subagent";
}

const MADE_UP = /^agent:[^:]+:thread:(?:(?:fork|handoff)-[0-9a-f]{8}|fork-[0-9a-f]{32})$/;

/** True: it is called as madeUpKey and repeatableKey call them, so that no person has said by a name that it is to stay. */
export function isMadeUp(key: SessionKey): boolean {
  return MADE_UP.test(key);
}

export function isAcp(key: SessionKey): boolean {
  return read(key).kind === "acp";
}

/** The one reading of a canonical key, or bad_input with the reason. */
function read(text: string): KeyParts {
  const [prefix, agent = "", ...parts] = text.split(":");
  if (prefix !== "agent") {
    throw new Fault(
      "bad_input",
      'it does not begin with "agent:"; only main, cron:<id> and group:<id> need not',
    );
  }
  if (text.length > KEY_BYTES_MAX)
    throw new Fault("bad_input", `written out it has more than ${KEY_BYTES_MAX} bytes`);
  return { agent: parseAgent(agent), ...readParts(parts) };
}

// ── Making ──────────────────────────────────────────────────────────────────────────────────────────────────
// Foreign ids are encoded here; whoever calls hands over what the channel said. An id that is empty, has half a
// character, or makes the key too long is bad_input.

interface Chat {
  readonly agent: AgentId;
  readonly channel: string | null; // null: the same session whatever the channel
  readonly peer: string; //           the person, group, channel or room
}

export function mainKey(agent: AgentId): SessionKey {
  return make(agent, "main");
}

export function heartbeatKey(agent: AgentId): SessionKey {
  return make(agent, "heartbeat");
}

/** `account` null: the accounts of the channel are not told apart. */
export function directKey(direct: Chat & { readonly account: string | null }): SessionKey {
  const { agent, channel, account, peer } = direct;
  if (account === null) return chatKey("direct", direct);
  if (channel === null) throw new Fault("bad_input", `account ${quote(account)} needs its channel`);
  return make(agent, encodePart(channel), encodePart(account), "direct", encodePart(peer));
}

export function groupKey(group: Chat): SessionKey {
  return chatKey("group", group);
}

export function channelKey(channel: Chat): SessionKey {
  return chatKey("channel", channel);
}

export function roomKey(room: Chat): SessionKey {
  return chatKey("room", room);
}

/** A thread of a chat or of main. Of any other key, or of a thread, it is bad_input. */
export function threadKey(base: SessionKey, id: string): SessionKey {
  return parseKey(`${base}:thread:${encodePart(id)}`);
}

/** The same as a thread, in the word of Telegram's forums. */
export function topicKey(base: SessionKey, id: string): SessionKey {
  return parseKey(`${base}:topic:${encodePart(id)}`);
}

export function namedKey(agent: AgentId, name: string): SessionKey {
  return make(agent, "thread", encodePart(name));
}

/** A named session that nobody gave a name. Of `id`, which World made, the end is what no other has. */
export function madeUpKey(agent: AgentId, what: "fork" | "handoff", id: string): SessionKey {
  return namedKey(agent, `${what}-${id.slice(-8)}`);
}

/** The same for a fork that may be asked for again: the same words give the same key, and no others do. */
export function repeatableKey(agent: AgentId, words: readonly string[]): SessionKey {
  const digest = createHash("sha256").update(JSON.stringify(words)).digest("hex");
  return namedKey(agent, `fork-${digest.slice(0, 32)}`);
}

/** Only a sub-agent's key is repeated in its child's: other keys may be long, and the record knows the parent. */
export function subagentKey(parent: SessionKey, id: string): SessionKey {
  const { kind, agent } = read(parent);
  const above = kind === "subagent" ? parent.split(":").slice(2) : [];
  return make(agent, ...above, "subagent", encodePart(id));
}

export function cronKey(agent: AgentId, job: string): SessionKey {
  return make(agent, "cron", encodePart(job));
}

export function cronRunKey(cron: { agent: AgentId; job: string; run: string }): SessionKey {
  return make(cron.agent, "cron", encodePart(cron.job), "run", encodePart(cron.run));
}

export function hookKey(agent: AgentId, id: string): SessionKey {
  return make(agent, "hook", encodePart(id));
}

export function acpKey(agent: AgentId, id: string): SessionKey {
  return make(agent, "acp", encodePart(id));
}

function chatKey(word: "direct" | "group" | "channel" | "room", { agent, channel, peer }: Chat): SessionKey {
  return make(agent, ...(channel === null ? [] : [encodePart(channel)]), word, encodePart(peer));
}

/** Every part is a word of ours or comes from encodePart, so only the length is left to check (K1). */
function make(agent: AgentId, ...parts: readonly string[]): SessionKey {
  const key = `agent:${agent}:${parts.join(":")}`;
  if (key.length > KEY_BYTES_MAX) throw notKey(key, `it has more than ${KEY_BYTES_MAX} bytes`);
  return key as SessionKey;
}
