// Grammar
//
// The table of keys: which parts, in which order, make a key, and what each order means. key.ts holds the
// invariants; this file is why K3 is true.
//
//   Owns:      the rows, and finding the one that a list of parts fits.
//   Does not:  know agents, short forms or texts (key.ts), nor how a value is encoded (part.ts).

import { Fault } from "../base/fault.ts";
import type { KeyKind, KeyParts } from "./key.ts";
import { decodePart, quote, WORDS } from "./part.ts";

interface Row {
  /** What follows `agent:<agent>:`. `<…>` is a value, `depth-<n>` a number, anything else a word. */
  readonly shape: readonly string[];
  readonly kind: KeyKind;
  readonly chatType: KeyParts["chatType"];
  /** True: `:thread:<id>` or `:topic:<id>` may follow, once. */
  readonly threads: boolean;
}

// Threads belong to places where people talk. Main is one: direct messages may be grouped into it, and a thread
// of such a message is a session of its own. A heartbeat, a sub-agent, a cron job, a hook have no threads.
// A sub-agent of a sub-agent is written by `:subagent:<id>` after either of the two sub-agent rows.
const ROWS: readonly Row[] = [
  { ...row("main", "main"), threads: true },
  row("heartbeat", "heartbeat"),
  chat("direct", "direct:<peer>"),
  chat("direct", "<channel>:direct:<peer>"),
  chat("direct", "<channel>:<account>:direct:<peer>"),
  chat("group", "group:<peer>"),
  chat("group", "<channel>:group:<peer>"),
  chat("channel", "channel:<peer>"),
  chat("channel", "<channel>:channel:<peer>"),
  chat("room", "room:<peer>"),
  chat("room", "<channel>:room:<peer>"),
  row("thread", "thread:<name>"),
  row("subagent", "subagent:<id>"),
  row("subagent", "subagent:depth-<n>:<id>"), // from elsewhere: kept as it is, never made here
  row("cron", "cron:<job>"),
  row("cron", "cron:<job>:run:<run>"),
  row("cron", "cron:run:<job>"), // from elsewhere: kept as it is, never made here
  row("hook", "hook:<id>"),
  row("acp", "acp:<id>"),
];

function row(kind: KeyKind, shape: string): Row {
  return { shape: shape.split(":"), kind, chatType: null, threads: false };
}

function chat(chatType: "direct" | "group" | "channel" | "room", shape: string): Row {
  return { ...row(chatType === "room" ? "channel" : chatType, shape), chatType, threads: true };
}

/** A key has no room for 99 sub-agent segments, so no depth that was ever counted has three digits. */
const DEPTH = /^depth-([1-9][0-9]?)$/;

interface Part {
  readonly text: string;
  readonly value: string | null; // null: a word of the grammar (P2)
}

/** The one meaning of what follows `agent:<agent>:` (K3), or bad_input with the reason. */
export function readParts(texts: readonly string[]): Omit<KeyParts, "agent"> {
  if (texts.includes("")) throw new Fault("bad_input", "a part between two colons or at the end is empty");
  let parts: readonly Part[] = texts.map((text) => ({
    text,
    value: WORDS.has(text) ? null : decodePart(text),
  }));

  const thread = suffix(parts, ["thread", "topic"]);
  if (thread) parts = parts.slice(0, -2);
  const children: Suffix[] = []; // innermost first
  for (let child = suffix(parts, ["subagent"]); child; child = suffix(parts, ["subagent"])) {
    children.push(child);
    parts = parts.slice(0, -2);
  }

  const found = ROWS.find((each) => fits(each, parts));
  if (!found) throw unknownShape(parts);
  if (thread && !found.threads) {
    throw new Fault("bad_input", "only main, direct, group, channel and room keys have threads and topics");
  }
  if (children.length > 0 && found.kind !== "subagent") {
    throw new Fault(
      "bad_input",
      "a sub-agent's key is agent:<agent>:subagent:<id>, whatever its parent's key",
    );
  }

  const at = (token: string): Part | null => parts[found.shape.indexOf(token)] ?? null;
  const counted = Number(DEPTH.exec(at("depth-<n>")?.text ?? "")?.[1] ?? 1);
  return {
    kind: found.kind,
    chatType: found.chatType,
    channel: at("<channel>")?.value ?? null,
    account: at("<account>")?.value ?? null,
    peer: at("<peer>")?.value ?? null,
    thread: thread?.value ?? null,
    topic: thread?.word === "topic",
    name: at("<name>")?.value ?? null,
    id: children[0]?.value ?? at("<id>")?.value ?? null,
    depth: found.kind === "subagent" ? counted + children.length : 0,
    cronJob: at("<job>")?.value ?? null,
    cronRun: at("<run>")?.value ?? null,
    run: found.shape.includes("run"),
  };
}

interface Suffix {
  readonly word: string;
  readonly value: string;
}

/** The last two parts, when they are one of the words and a value, and something precedes them. */
function suffix(parts: readonly Part[], words: readonly string[]): Suffix | null {
  const word = parts.at(-2)?.text ?? "";
  const value = parts.at(-1)?.value ?? null;
  return parts.length > 2 && words.includes(word) && value !== null ? { word, value } : null;
}

function fits(candidate: Row, parts: readonly Part[]): boolean {
  if (candidate.shape.length !== parts.length) return false;
  return parts.every((part, at) => {
    const token = candidate.shape[at] ?? "";
    if (token === "depth-<n>") return DEPTH.test(part.text);
    return token.startsWith("<") ? part.value !== null : part.text === token;
  });
}

/** Names the shapes that begin in the same way, so that the reader sees what is missing or too much. */
function unknownShape(parts: readonly Part[]): Fault {
  const [head] = parts;
  if (!head) return new Fault("bad_input", "after the agent comes what it is for, as in agent:main:main");
  const first = head.value === null ? head.text : "<channel>";
  const shapes = ROWS.filter((each) => each.shape[0] === first).map((each) => each.shape.join(":"));
  if (shapes.length === 0) return new Fault("bad_input", `${quote(head.text)} cannot follow the agent`);
  const spelling = 'inside an id ":" is written %3A, and an id that is a word, such as main, %6Dain';
  return new Fault("bad_input", `${quote(head.text)} can only begin ${shapes.join(", ")}; ${spelling}`);
}
