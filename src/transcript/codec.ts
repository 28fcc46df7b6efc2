// Codec
//
// Between one line of text and one Entry. Lines of versions 1 and 2 are lifted to version 3 on the way in;
// version 3 is all that is ever written.
//
//   Owns:      the words of a line.
//   Does not:  know where lines are (read.ts), or who may add one (store/).
//
// Invariants
//   C1. encode ∘ decode keeps every field, also those nobody here knows.
//   C2. A line holds no newline of its own: JSON escapes it. So a newline always ends a line.

import { assert } from "../base/assert.ts";
import { Fault } from "../base/fault.ts";
import { HEADER_BYTES_MAX, NESTING_LEVELS_MAX } from "../limits.ts";
import { entryId, type Body, type Draft, type Entry, type Gap, type Header } from "./entry.ts";

type Raw = Readonly<Record<string, unknown>>;

/**
 * The first line, newline included. When it grows too long the folder goes first, then the parent's name, then
 * the agent, which the key names too, then the first number, which the first entry has too.
 */
export function encodeHeader(header: Header): string {
  const line = headerLine(header);
  assert(line !== null, `a key of at most 256 bytes fits the first line of ${header.id}`);
  return line;
}

/** Null: it does not fit. That is only where it names an earlier file, and that one's id is longer than any of ours. */
export function headerLine(header: Header): string | null {
  const { parentSession: _parentSession, ...alone } = header;
  const { agent: _agent, ...few } = alone;
  const { firstSeq: _firstSeq, ...least } = few;
  const noFolder = { cwd: "" };
  for (const tried of [header, ...[header, alone, few, least].map((each) => ({ ...each, ...noFolder }))]) {
    const line = `${JSON.stringify(tried)}\n`;
    if (Buffer.byteLength(line) <= HEADER_BYTES_MAX) return line;
  }
  return null;
}

/**
 * A draft as text, without its stamp: made where the draft is, so that only a string crosses to the writer. An
 * entry is a draft too, so a stamp that somebody left on it is taken off: in JSON the last of two names wins.
 */
export function encodeDraft(draft: Draft): EncodedDraft {
  const { type, id: _id, parentId: _parentId, seq: _seq, ...rest } = draft as Draft & Partial<Entry>;
  return { type: JSON.stringify(type), rest: jsonOf(rest).slice(1) };
}

/** The JSON of what a tool or a model made, or bad_input where it is nested so deeply that not everyone could read it. */
export function jsonOf(value: unknown): string {
  if (isDeeperThan(NESTING_LEVELS_MAX, value)) {
    throw new Fault(
      "bad_input",
      `nested too deeply: more than ${NESTING_LEVELS_MAX} objects and lists inside each other`,
    );
  }
  try {
    return JSON.stringify(value);
  } catch (error) {
    // A bigint, or a toJSON of its own that fails.
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault("bad_input", `it cannot be written as JSON: ${why}`, { cause: error });
  }
}

/** Ends also where an object holds itself: such a one is deeper than anything. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((each) => isDeeperThan(levels - 1, each));
  for (const name in value) if (isDeeperThan(levels - 1, (value as Raw)[name])) return true;
  return false;
}

export interface EncodedDraft {
  readonly type: string;
  /** Everything after the stamp, up to and with the closing brace. */
  readonly rest: string;
}

/** Puts the stamp on a draft: one line, newline included. */
export function stamp(draft: EncodedDraft, id: string, parentId: string | null, seq: number): string {
  const comma = draft.rest === "}" ? "" : ","; // somebody else's entry may have nothing but its type
  return `{"type":${draft.type},"id":${JSON.stringify(id)},"parentId":${JSON.stringify(parentId)},"seq":${seq}${comma}${draft.rest}\n`;
}

/** Reads lines of one file in their order. Version 1 has no ids, and nobody else's has `seq`: so a decoder counts. */
export class Decoder {
  #version = 3;
  #transcript = "";
  #lines = 0;
  #lastSeq = 0;
  #lastId: string | null = null;

  /**
   * The text of one line without its newline. Never throws: what cannot be read is told as a reason. Every line
   * has to pass through here, bad ones too: each is taken to have been an entry, and has its number.
   */
  line(text: string): Header | Entry | Gap["reason"] {
    this.#lines += 1;
    const raw = parseObject(text);
    const isFirst = this.#lines === 1;
    if (isFirst && isObject(raw) && raw["type"] === "session") return this.#header(raw);
    const entry = isObject(raw) ? checked(this.#lift(raw)) : raw;
    if (typeof entry === "string") {
      if (!isFirst) this.#lastSeq += 1;
      return entry;
    }
    this.#lastSeq = entry.seq;
    this.#lastId = entry.id;
    return entry;
  }

  #header(raw: Raw): Header | Gap["reason"] {
    if (typeof raw["id"] !== "string") return "wrong_shape";
    const version = raw["version"] ?? 1;
    if (version !== 1 && version !== 2 && version !== 3) return "wrong_shape";
    this.#version = version;
    this.#transcript = raw["id"];
    return { ...raw, version: 3 } as unknown as Header;
  }

  /** Version 1: no ids, `firstKeptEntryIndex`. Version 2: the role `hookMessage`. Others' version 3: no `seq`. */
  #lift(raw: Raw): Raw {
    let lifted = raw;
    const seq = raw["seq"] === undefined ? this.#lastSeq + 1 : raw["seq"];
    if (this.#version === 1) {
      // Numbered by line, so that an index kept by version 1 can be turned into an id without looking back.
      const id = entryId(this.#transcript, this.#lines - 1);
      lifted = { ...raw, id, parentId: this.#lastId };
      if (raw["type"] === "compaction" && typeof raw["firstKeptEntryIndex"] === "number") {
        const { firstKeptEntryIndex, ...rest } = lifted as Raw & { readonly firstKeptEntryIndex: number };
        lifted = { ...rest, firstKeptEntryId: entryId(this.#transcript, firstKeptEntryIndex) };
      }
    }
    const message = raw["message"];
    if (this.#version < 3 && isObject(message) && message["role"] === "hookMessage") {
      lifted = { ...lifted, message: { ...message, role: "custom" } };
    }
    return { ...lifted, seq };
  }
}

/** One of our own lines, whose file is known to be of version 3. */
export function decodeLine(text: string): Entry | Gap["reason"] {
  const raw = parseObject(text);
  return isObject(raw) ? checked(raw) : raw;
}

function parseObject(text: string): Raw | Gap["reason"] {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "wrong_shape";
  } catch {
    return "not_json"; // The caller names the line: it alone knows where the bytes are.
  }
}

function isObject(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checked(raw: Raw): Entry | Gap["reason"] {
  return isEntry(raw) ? raw : "wrong_shape";
}

/** Checks what every reader relies on; the rest of an entry is its writer's affair (E4). */
function isEntry(raw: Raw): raw is Entry & Raw {
  const { id, parentId, seq } = raw;
  if (typeof id !== "string") return false;
  if (parentId !== null && typeof parentId !== "string") return false;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) return false;
  return isBody(raw);
}

/** What readers rely on of everything but the stamp. */
export function isBody(raw: unknown): raw is Body {
  if (!isObject(raw)) return false;
  const { type } = raw;
  if (typeof type !== "string") return false;
  if (type === "session" || type === "gap") return false; // words for what is no entry; see Header and Gap
  if (type === "message") return isObject(raw["message"]) && typeof raw["message"]["role"] === "string";
  if (type === "compaction") return typeof raw["summary"] === "string";
  if (type === "custom" || type === "custom_message") return typeof raw["customType"] === "string";
  return true;
}
