// What of the part that is cut off a summary must name, whoever writes it: a model forgets, and what it forgets is gone from the
// context. Found by simple rules in English; what they miss is left to the model.

import {
  IDENTIFIERS_MAX,
  IDENTIFIERS_BYTES_MAX,
  QUESTIONS_BYTES_MAX,
  QUESTIONS_MAX,
  STANDING_BYTES_MAX,
  STANDING_MAX,
  WANTED_CHARS_MAX,
} from "./limits.ts";
import { defused } from "../routing/envelope.ts";
import { callsIn, textOf, type Entry } from "../transcript/entry.ts";
import { plainName, short } from "./clip.ts";
import { listedIn } from "./sections.ts";

export interface Wanted {
  readonly identifiers: readonly string[]; // files, addresses, issues, hashes: word for word
  readonly questions: readonly string[]; //   that nobody has answered
  readonly standing: readonly string[]; //    what people want from now on
}

/** Standing instructions that are taken from one message: a manual that somebody pastes is full of such sentences. */
const STANDING_PER_MESSAGE = 5;

/** Words of one message that are looked at for identifiers; a file that somebody pastes has more. */
const TOKENS_PER_MESSAGE = 20_000;

/** Characters that are looked at for identifiers, the newest first: more than a window holds, so only a huge file has more. */
const IDENTIFIERS_CHARS_MAX = 2 * 1024 * 1024;

/** Characters of one message that sentences are looked for in. */
const SENTENCES_CHARS = 64 * 1024;

/** `before`: the older summary; what it listed is still wanted. Null: there is none. `shared`: several people speak here. */
export function wantedOf(entries: readonly Entry[], before: string | null, shared: boolean): Wanted {
  return {
    identifiers: identifiersIn(entries, before),
    questions: newest(questionsIn(entries), QUESTIONS_MAX, QUESTIONS_BYTES_MAX),
    standing: newest(standingIn(entries, before, shared), STANDING_MAX, STANDING_BYTES_MAX),
  };
}

/** As much of it as fits: what people want first, then what they wait for. The same is left when it is asked for again. */
export function wantedWithin(wanted: Wanted, bytesMax: number): Wanted {
  let room = bytesMax;
  const fitting = (line: string): boolean => {
    const bytes = Buffer.byteLength(line) + 3; // with what heads and ends a line of a list
    if (bytes > room) return false;
    room -= bytes;
    return true;
  };
  const standing = wanted.standing.toReversed().filter(fitting).toReversed();
  const questions = wanted.questions.filter(fitting);
  return { standing, questions, identifiers: wanted.identifiers.filter(fitting) };
}

/** As many of the last as fit, in their order, each once. */
function newest(lines: readonly string[], most: number, bytesMax: number): readonly string[] {
  const out: string[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const line of lines.toReversed()) {
    if (seen.has(loose(line))) continue;
    bytes += Buffer.byteLength(line) + 3;
    if (out.length === most || bytes > bytesMax) break;
    seen.add(loose(line));
    out.unshift(line);
  }
  return out;
}

/** How sentences are compared: models change marks and white space, and the end of what is long. */
export function loose(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[*_`"'“”‘’…]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

// ── Sentences ───────────────────────────────────────────────────────────────────────────────────────────────

const STANDING =
  /\b(?:always|never|from now on|from here on|going forward|in (?:the )?future|remember (?:that|to)|keep in mind|every time|whenever you|(?:do not|don['’]t) ever|as a rule)\b/i;

/** A word of each of these: a message without any is not looked at sentence by sentence. */
const STANDING_WORD = /always|never|from|forward|future|remember|mind|every|whenever|ever|rule/i;

function sentencesIn(text: string): readonly string[] {
  return text
    .slice(0, SENTENCES_CHARS)
    .split(/\n+|(?<=[.!?])\s+/)
    .map((sentence) => short(defused(sentence).replace(/^[\s>#*•|-]+/, ""), WANTED_CHARS_MAX))
    .filter((sentence) => sentence.length > 2);
}

function standingIn(entries: readonly Entry[], before: string | null, shared: boolean): readonly string[] {
  const listed = before === null ? [] : listedIn(before, "## Standing instructions");
  const found = listed.map((line) => short(defused(line), WANTED_CHARS_MAX));
  for (const entry of entries) {
    if (!isPersons(entry)) continue;
    const text = textOf(entry);
    if (!STANDING_WORD.test(text)) continue;
    const sentences = sentencesIn(text).filter((each) => STANDING.test(each) && !each.endsWith("?"));
    const by = shared ? byOf(entry) : "";
    const signed = (sentence: string): string => short(sentence, WANTED_CHARS_MAX - by.length) + by;
    found.push(...sentences.slice(0, STANDING_PER_MESSAGE).map(signed));
  }
  return found;
}

/** Where several speak, what one of them wants is not what all want. Empty: nobody knows who it is. */
function byOf(entry: Entry): string {
  const from = entry.type === "message" ? entry.provenance : undefined;
  if (from?.kind !== "external_user" || typeof from.peer !== "string") return "";
  return ` (said by ${JSON.stringify(plainName(from.peer))})`;
}

/** A message without provenance was written by a program that has only one user. */
function isPersons(entry: Entry): boolean {
  if (entry.type !== "message" || entry.message.role !== "user") return false;
  return entry.provenance === undefined || entry.provenance.kind === "external_user";
}

/** People's with no words of an answer after them, or those of the last answer with nobody's words after it. */
function questionsIn(entries: readonly Entry[]): readonly string[] {
  const last = entries.findLastIndex((entry) => isAnswer(entry) && textOf(entry).trim() !== "");
  const asked = entries
    .slice(last + 1)
    .filter((entry) => entry.type === "message" && entry.message.role === "user");
  const open = asked.length > 0 ? asked.filter(isPersons) : entries.slice(last, last + 1);
  return open.flatMap((entry) => sentencesIn(textOf(entry)).filter((each) => each.endsWith("?")));
}

function isAnswer(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role === "assistant";
}

// ── Identifiers ─────────────────────────────────────────────────────────────────────────────────────────────

const ADDRESS = /https?:\/\/[^\s<>"'`\\[\]{}|\p{C}]+/gu;

/** Between words. What may stand inside an identifier does not part it. */
const BETWEEN = /[\s"'`<>(){}[\]|,;=*\\]+/;

const KINDS: readonly RegExp[] = [
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, //        UUID
  /^(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}$/, //                   hash
  /^#\d{1,7}$/, //                                            issue or pull request
  /^(?!(?:UTF|SHA|ISO|GPT|RFC|MD|AES)-)[A-Z][A-Z0-9]{1,9}-\d{1,7}$/, // issue of a tracker
  /^(?:~|\.{1,2})?\/[\w.@+~-]+(?:\/[\w.@+~-]+)*\/?$/, //      path from a root
  /^(?:[\w.@+~-]+\/)+[\w@+~-]*\.[A-Za-z]\w{0,7}$/, //         path of a file
  /^[\w@+-][\w.@+-]*\.(?:[cm]?[jt]sx?|json[l5c]?|md|py|rs|go|java|c|cc|h|cpp|hpp|cs|rb|php|sh|sql|toml|ya?ml|html?|css|txt|csv|log|lock|xml|ini|conf|env)$/,
];

/** Those that were named by most messages, and late, first. From the newest message on: where a name is first met is its last. */
function identifiersIn(entries: readonly Entry[], before: string | null): readonly string[] {
  const known = new Map<string, { messages: number; last: number }>();
  const note = (identifier: string, at: number): void => {
    const each = known.get(identifier);
    if (each === undefined) known.set(identifier, { messages: 1, last: at });
    else each.messages += 1;
  };
  let chars = 0;
  for (let at = entries.length; at > 0 && chars < IDENTIFIERS_CHARS_MAX; at -= 1) {
    const texts = textsIn(entries[at - 1] as Entry);
    for (const text of texts) chars += text.length;
    for (const identifier of namedIn(texts)) note(identifier, at / entries.length);
  }
  for (const line of before === null ? [] : listedIn(before, "## Identifiers"))
    for (const identifier of namedIn([line])) note(identifier, 0);
  const score = ({ messages, last }: { messages: number; last: number }): number =>
    Math.min(messages, 8) + 4 * last;
  const ranked = [...known].toSorted(([a, one], [b, other]) => score(other) - score(one) || (a < b ? -1 : 1));
  const out: string[] = [];
  let bytes = 0;
  for (const [identifier] of ranked) {
    bytes += Buffer.byteLength(identifier) + 3;
    if (out.length === IDENTIFIERS_MAX || bytes > IDENTIFIERS_BYTES_MAX) break;
    out.push(identifier);
  }
  return out;
}

/** What people and answers say. What tools return names everything there is. */
function textsIn(entry: Entry): readonly string[] {
  if (entry.type === "custom_message") return [textOf(entry)];
  if (entry.type !== "message" || entry.message.role === "toolResult") return [];
  return [textOf(entry), ...callsIn(entry).flatMap((call) => leavesOf(call.arguments))];
}

/** Texts in arguments, of any depth: not recursive. */
function leavesOf(given: unknown): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [given];
  for (let looked = 0; waiting.length > 0 && looked < TOKENS_PER_MESSAGE; looked += 1) {
    const each = waiting.pop();
    if (typeof each === "string") texts.push(each);
    else if (typeof each === "object" && each !== null) waiting.push(...Object.values(each).slice(0, 1_000));
  }
  return texts;
}

/** Each once. */
function namedIn(texts: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (const text of texts) {
    const rest = text.replaceAll(ADDRESS, (address) => {
      const whole = address.replace(/[.,;:!?)*_]+$/, "");
      if (whole.length <= WANTED_CHARS_MAX) named.add(whole);
      return " ";
    });
    for (const token of rest.split(BETWEEN, TOKENS_PER_MESSAGE)) {
      if (token.length < 2 || token.length > WANTED_CHARS_MAX) continue;
      const bare = token.replace(/[.:!?…]+$/, "").replace(/(?::\d+){1,2}(?:-\d+)?$/, ""); // lines of a file
      if (KINDS.some((kind) => kind.test(bare))) named.add(bare);
    }
  }
  return named;
}
