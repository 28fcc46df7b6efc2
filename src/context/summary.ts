// What a summary says: how a model's is checked and mended, what stands there when no model has written one, and what the entry
// shows in all.

import { SUMMARY_PROBLEMS_MAX, SUMMARY_TASKS_MAX } from "./limits.ts";
import type { Task } from "../turns/tasks.ts";
import { inBytes, LINE_END, oneLine, quoted, short } from "./clip.ts";
import type { Verbatim } from "./compaction.ts";
import type { Material } from "./material.ts";
import { bodiesIn, filled, harmless, SECTIONS, type Bodies, type Filling, type Section } from "./sections.ts";
import { loose, wantedWithin, type Wanted } from "./wanted.ts";

/** Characters of a sentence that are compared: models change the ends of long ones. */
const COMPARED_CHARS = 60;

/** Bytes of a line that a problem names; characters of a reason, and of what was said. */
const NAMED_BYTES = 100;
const REASON_CHARS = 200;
const SAID_CHARS = 240;

/** How the lines begin that stand in place of a summary: the next one does not carry them on. */
const TRUNCATED = "[No summary could be made: ";
const SAID_LAST = "- The last that was said in it: ";

/** Characters of a text without sections that is a summary: less is a refusal, or an excuse. */
const PROSE_CHARS_MIN = 200;

type Line = Filling["firm"][number];

// ── The check ───────────────────────────────────────────────────────────────────────────────────────────────

/** What is wrong with a summary, in words for whoever is asked again, one line each; empty: nothing is. */
export function problemsIn(text: string, material: Material, bytesMax: number): readonly string[] {
  const bodies = bodiesIn(text);
  if (text.trim() === "" || saysNothing(bodies)) return ["it is empty"];
  const problems: string[] = [];
  const whole = bodies.size === 0 ? text : cleaned(text);
  const bytes = Buffer.byteLength(whole);
  if (bytes > bytesMax)
    problems.push(`it has ${bytes} bytes, and at most ${Math.floor(bytesMax)} are allowed`);
  for (const section of SECTIONS)
    if (!bodies.has(section)) problems.push(`the section "${section}" is missing`);
  for (const { section, line } of missingIn(whole, wantedWithin(material.wanted, bytesMax / 2)))
    problems.push(`under "${section}" is missing: ${inBytes(line.slice(2), NAMED_BYTES)}`);
  const named = problems.slice(0, SUMMARY_PROBLEMS_MAX);
  return problems.length === named.length ? named : [...named, `and ${problems.length - named.length} more`];
}

/** What a model wrote as it may be committed: our sections and nothing else, whatever it put before, between and after them. */
export function cleaned(text: string): string {
  const soft = bodiesIn(text);
  const whole = filled({ firm: [], soft }, Infinity);
  if (Buffer.byteLength(whole) <= Buffer.byteLength(text)) return whole;
  return SECTIONS.map((section) => `${section}\n${soft.get(section) ?? ""}`.trimEnd()).join("\n\n"); // It may just fit.
}

/** It has headings, and "none" under each of them. */
function saysNothing(bodies: Bodies): boolean {
  return bodies.size > 0 && [...bodies.values()].every((body) => body === "");
}

/** What is wanted and not there, as lines of a list. */
function missingIn(text: string, wanted: Wanted): readonly Line[] {
  const words = loose(text);
  const isSaid = (line: string): boolean => words.includes(loose(line).slice(0, COMPARED_CHARS).trim());
  return linesOf({
    standing: wanted.standing.filter((line) => !isSaid(line)),
    questions: wanted.questions.filter((line) => !isSaid(line)),
    identifiers: wanted.identifiers.filter((each) => !text.includes(each)),
  });
}

function linesOf({ standing, questions, identifiers }: Wanted): readonly Line[] {
  const under = (section: Section, lines: readonly string[]): readonly Line[] =>
    lines.map((line) => ({ section, line: `- ${line}` }));
  return [
    ...under("## Standing instructions", standing),
    ...under("## Open questions", questions),
    ...under("## Identifiers", identifiers),
  ];
}

// ── Mending ─────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The text with what it lacks, in its sections. Where that is too much, what the model wrote is cut, and what is wanted stays. A
 * text that is no summary (it says nothing, or so little that it may be a refusal) is not made to look like one: it stays as it is.
 */
export function mended(text: string, material: Material, bytesMax: number): string {
  const soft = saidIn(text, material);
  if (soft === null) return text;
  const wanted = wantedWithin(material.wanted, bytesMax / 2);
  const plain = filled({ firm: [], soft }, Infinity);
  const whole = filled({ firm: missingIn(plain, wanted), soft }, Infinity);
  if (Buffer.byteLength(whole) <= bytesMax) return whole;
  const firm = linesOf(wanted);
  return filled({ firm, soft: without(soft, firm) }, bytesMax);
}

/** Section by section; a text that has none, or says hardly anything in them, is what was done. Null: it is no summary. */
function saidIn(text: string, { before, pieces }: Material): Bodies | null {
  const bodies = bodiesIn(text);
  if (saysNothing(bodies)) return null;
  const chars = [...bodies.values()].reduce((sum, body) => sum + body.length, 0);
  if (bodies.size >= SECTIONS.length / 2 || chars >= PROSE_CHARS_MIN) return bodies;
  const prose = text.trim();
  const given = [before ?? "", ...pieces].reduce((sum, each) => sum + each.length, 0);
  if (prose.length < PROSE_CHARS_MIN || prose.length > given) return null; // A model that runs on sums nothing up.
  return new Map([["## Done", harmless(prose.split(LINE_END)).join("\n")]]);
}

/** What is said anyhow need not be said twice. */
function without(soft: Bodies, firm: readonly Line[]): Bodies {
  const said = new Set(firm.map(({ line }) => loose(line)));
  const left = (body: string): string =>
    body
      .split("\n")
      .filter((line) => !said.has(loose(line)))
      .join("\n");
  return new Map([...soft].map(([section, body]) => [section, left(body)]));
}

/** Sections that no model has written: what we know of the part that is cut off, and that the rest is not told. */
export function truncationOf(material: Material, why: string, bytesMax: number): string {
  const { before, pieces, first, last } = material;
  const reason = JSON.stringify(short(why, REASON_CHARS).replace(/\.+$/, "")); // Others' words: they stay inside of our brackets.
  const note =
    `${TRUNCATED}${reason}. ${pieces.length} messages are left out here. Nothing of them is lost: ` +
    "sessions_history reads them from the transcript, and read_result what tools returned.]";
  const wanted = linesOf(wantedWithin(material.wanted, bytesMax / 2));
  const said: Line[] = [];
  if (first !== null && before === null)
    said.push({ section: "## Goal", line: `- What was said first: ${saidBy(first)}` });
  if (last !== null) said.push({ section: "## State", line: `${SAID_LAST}${saidBy(last)}` });
  const next: Line = { section: "## Next", line: "- Go on from the messages that follow." };
  const firm: Line[] = [{ section: "## Goal", line: inBytes(note, bytesMax / 4) }, ...wanted, ...said, next];
  return filled({ firm, soft: carried(before, firm) }, bytesMax);
}

function saidBy({ from, text }: Verbatim): string {
  return `${from}: ${JSON.stringify(short(text, SAID_CHARS))}`;
}

/** The older summary, section by section, without what was ours in it. */
function carried(before: string | null, firm: readonly Line[]): Bodies {
  if (before === null) return new Map();
  const bodies = bodiesIn(before);
  if (bodies.size === 0) return new Map([["## Done", quoted(before.trim())]]); // Another program's.
  const theirs = (body: string): string =>
    body
      .split("\n")
      .filter((line) => !line.startsWith(TRUNCATED) && !line.startsWith(SAID_LAST))
      .join("\n");
  return without(new Map([...bodies].map(([section, body]) => [section, theirs(body)])), firm);
}

// ── The entry ───────────────────────────────────────────────────────────────────────────────────────────────

export interface SummaryParts {
  readonly sections: string;
  readonly pinned: readonly Verbatim[];
  readonly asked: readonly Verbatim[];
  readonly tasks: readonly Task[];
  /** Bytes of all pinned messages together, and of all that are being worked on. */
  readonly pinnedBytesMax: number;
}

/** What the entry's `summary` says. Messages stand behind bars, word for word: no line of them looks like one of ours. */
export function summaryText({ sections, pinned, asked, tasks, pinnedBytesMax }: SummaryParts): string {
  const known = new Set(pinned.map(({ id }) => id));
  const others = asked.filter(({ id }) => !known.has(id));
  const parts = [sections.trim()];
  if (pinned.length > 0) parts.push(pinnedText(pinned, pinnedBytesMax));
  if (others.length > 0)
    parts.push("## What is being worked on (word for word)", ...repeated(others, pinnedBytesMax));
  if (tasks.length > 0) parts.push("## Children in flight", rosterOf(tasks));
  return parts.join("\n\n");
}

export function pinnedText(pinned: readonly Verbatim[], bytesMax: number): string {
  return ["## Pinned messages (word for word)", ...repeated(pinned, bytesMax)].join("\n\n");
}

/** No more of each than `summaryText` can show, for whoever shows them later: all of it is in their entries. */
export function bounded(messages: readonly Verbatim[], bytesMax: number): readonly Verbatim[] {
  return shared(messages, bytesMax).map(({ message, room }) => {
    const text = inBytes(message.text, room);
    return text === message.text ? message : { ...message, text, isCut: true };
  });
}

/** Each says whose it is, also when it is cut. */
function repeated(messages: readonly Verbatim[], bytesMax: number): readonly string[] {
  return shared(messages, bytesMax).map(({ message: { id, from, isCut }, bars, room }) => {
    const text = inBytes(bars, room);
    const isWhole = text === bars && isCut !== true;
    const rest = isWhole ? "" : `\n[cut here: sessions_history reads entry ${oneLine(id)} whole]`;
    return `${oneLine(from)} (entry ${oneLine(id)}):\n${text}${rest}`;
  });
}

interface Share {
  readonly message: Verbatim;
  readonly bars: string; // its text as it is shown
  readonly room: number; // bytes of it that are shown
}

/** The short ones whole, and the others cut to equal parts of what is left. */
function shared(messages: readonly Verbatim[], bytesMax: number): readonly Share[] {
  const all = messages.map((message) => {
    const bars = quoted(message.text);
    return { message, bars, bytes: Buffer.byteLength(bars), room: 0 };
  });
  let left = bytesMax;
  for (const [at, each] of all.toSorted((a, b) => a.bytes - b.bytes).entries()) {
    each.room = Math.max(0, Math.floor(left / (all.length - at)));
    left -= Math.min(each.room, each.bytes);
  }
  return all;
}

function rosterOf(tasks: readonly Task[]): string {
  const lines = tasks.slice(0, SUMMARY_TASKS_MAX).map(({ key, givenAtMs, isTold }) => {
    const since = Number.isFinite(givenAtMs) ? `, since ${new Date(givenAtMs).toISOString()}` : "";
    return `- ${oneLine(key)}${since}${isTold ? "" : " (its end is not reported)"}`;
  });
  const more = tasks.length > lines.length ? [`- and ${tasks.length - lines.length} more`] : [];
  return ["Their reports come by themselves.", ...lines, ...more].join("\n");
}
