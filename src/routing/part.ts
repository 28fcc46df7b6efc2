// Part
//
// One part of a session key: a word of the grammar, or a value that came from somewhere else (a peer, a group,
// a thread, a name), percent-encoded.
//
//   Owns:      the words, the encoding of values, and how strange text is shown in a message.
//   Does not:  know in which order parts make a key (key.ts).
//
// Invariants
//   P1. A value has exactly one encoding, and it decodes to that value: different values, different parts.
//   P2. An encoded value is never a word. So a part alone says whether it is grammar or value.
//   P3. An encoded value is a harmless file name: printable ASCII, not empty, no "/", "\" or ":", not "." or "..".
//   P4. Work and messages are bounded by the bounds below, not by the length of the text.

import { Fault } from "../base/fault.ts";
import { KEY_BYTES_MAX } from "../limits.ts";

/** `dm` is only ever read, as `direct`. It is a word all the same, or a peer of that name could be read as grammar. */
export const WORDS: ReadonlySet<string> = new Set(
  "main heartbeat direct dm group channel room thread topic subagent cron run hook acp".split(" "),
);

/** Bytes that stand for themselves. All others, ":" and "%" among them, are escaped. */
const PLAIN = /^[A-Za-z0-9._~!'()@+-]$/;

/** Characters of refused text in a message, twice at most: the text and the part. Enough to find it again. */
const QUOTE_CHARS_MAX = 40;

/** What a quotation shows as it is: printable ASCII without the quotation mark and the backslash. */
const SHOWN = /^[ !#-[\]-~]$/;

/**
 * The part that stands for a foreign id. Letters keep their case and nothing is composed or decomposed: only
 * the foreign system knows which of its ids are the same.
 */
export function encodePart(foreign: string): string {
  if (foreign === "") throw new Fault("bad_input", "an id in a key has at least one character");
  if (foreign.length > KEY_BYTES_MAX) throw tooLong(foreign);
  if (!foreign.isWellFormed()) {
    // UTF-8 has no bytes for half a surrogate pair; writing U+FFFD instead would join different ids (P1).
    throw new Fault("bad_input", `${quote(foreign)} holds half a character (a lone surrogate)`);
  }
  let part = "";
  for (const byte of Buffer.from(foreign)) {
    const char = String.fromCharCode(byte);
    part += PLAIN.test(char) ? char : escaped(byte);
  }
  if (WORDS.has(part) || part === "." || part === "..") part = escaped(part.charCodeAt(0)) + part.slice(1);
  if (part.length > KEY_BYTES_MAX) throw tooLong(foreign);
  return part;
}

/** The foreign id that a part stands for. Takes the canonical encoding only: P1 holds in both directions. */
export function decodePart(part: string): string {
  if (part.length > KEY_BYTES_MAX) throw tooLong(part);
  const foreign = unescaped(part);
  const canonical = encodePart(foreign);
  if (canonical === part) return foreign;
  const why = WORDS.has(part) ? "is a word of the grammar" : "is not in canonical form";
  throw new Fault("bad_input", `${quote(part)} ${why}; as an id it is written ${quote(canonical)}`);
}

/** Text that nobody has checked, for a message: short, on one line, every unusual character visible. */
export function quote(text: string): string {
  let shown = "";
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charAt(at);
    const piece = SHOWN.test(unit) ? unit : `\\u${hex(text.charCodeAt(at), 4)}`;
    if (shown.length + piece.length > QUOTE_CHARS_MAX) return `"${shown}…"`;
    shown += piece;
  }
  return `"${shown}"`;
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part); // refuses overlong forms, surrogates and stray bytes, as UTF-8 asks
  } catch {
    throw new Fault("bad_input", `${quote(part)} holds a "%" that begins no escape of valid UTF-8`);
  }
}

function escaped(byte: number): string {
  return `%${hex(byte, 2)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).toUpperCase().padStart(digits, "0");
}

function tooLong(text: string): Fault {
  return new Fault(
    "bad_input",
    `${quote(text)} is too long: encoded, a key has at most ${KEY_BYTES_MAX} bytes`,
  );
}
