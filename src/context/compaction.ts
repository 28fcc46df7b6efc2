// What a compaction entry of ours keeps beside its summary: everything of the part it cut off that must not depend on what a
// model wrote. Readers of pi's format find `summary`, `firstKeptEntryId` and `tokensBefore`, and pass the rest over.

import type { Route } from "../mail/letter.ts";
import { CLASSES } from "../mail/urgency.ts";
import type { Body, Entry } from "../transcript/entry.ts";
import type { TokenUsage } from "../transcript/fold.ts";
import type { Task } from "../turns/tasks.ts";
import type { OpenTurn } from "../turns/where.ts";

/** Why the context was made smaller: it reached its size, the model refused it, or somebody asked for it. */
export type Occasion = "size" | "overflow" | "asked";

/** A message that stays as it was said. */
export interface Verbatim {
  readonly id: string; //   of its entry
  readonly from: string; // who said it, in words
  readonly text: string;
  /** Only its beginning is here: the rest is in its entry. Absent: it is whole. */
  readonly isCut?: true;
}

export interface CompactionDetails {
  readonly by: "sessiond";
  readonly occasion: Occasion;
  /** The sections, without what is added to them below: what the next summary goes on from. */
  readonly sections: string;
  /** Why no model's summary stands here; null: one does. */
  readonly truncated: string | null;
  /** Pinned messages that were cut off, and those of the open turn: what is being worked on. */
  readonly pinned: readonly Verbatim[];
  readonly asked: readonly Verbatim[];
  /** The turn that was under way; null: none was. What it rests on is in `awaits`. */
  readonly turn: OpenTurn | null;
  readonly awaits: readonly string[];
  /** Given to children and not heard of, all of them. */
  readonly tasks: readonly Task[];
  /** About, as the model in force would count them, `<provider>/<name>`. */
  readonly tokensAfter: number;
  readonly model: string;
  /** The letter that asked for it; null: nobody did. */
  readonly order: string | null;
}

/** Null: another program wrote it, or it is no compaction. What is there is of its kind, whatever the file says. */
export function detailsOf(entry: Body | Entry | undefined): CompactionDetails | null {
  if (entry?.type !== "compaction") return null;
  let details = read.get(entry);
  if (details === undefined) read.set(entry, (details = checked(entry)));
  return details;
}

/** An entry never changes, so what it says is looked at once. */
const read = new WeakMap<Compaction, CompactionDetails | null>();

// ── What a file may hold ────────────────────────────────────────────────────────────────────────────────────
//
// A file can be brought here from elsewhere, and anybody can write "sessiond" into it. Every step of a session, and the end of
// its turns, reads this: so what is not of its kind is left out, and nothing that reads it has to ask.

type Compaction = Extract<Body, { type: "compaction" }>;
type Raw = Readonly<Record<string, unknown>>;

function checked(entry: Compaction): CompactionDetails | null {
  const { details } = entry;
  if (!isObject(details) || details["by"] !== "sessiond") return null;
  const { occasion, sections, truncated, tokensAfter, model, order } = details;
  return {
    by: "sessiond",
    occasion: OCCASIONS.find((each) => each === occasion) ?? "size",
    sections: typeof sections === "string" ? sections : entry.summary,
    truncated: typeof truncated === "string" ? truncated : null,
    pinned: listOf(details["pinned"], isVerbatim),
    asked: listOf(details["asked"], isVerbatim),
    turn: turnIn(details["turn"]),
    awaits: listOf(details["awaits"], isText),
    tasks: listOf(details["tasks"], isTask).map((task) => ({ ...task, givenAtMs: task.givenAtMs ?? NaN })),
    tokensAfter: amount(tokensAfter),
    model: typeof model === "string" ? model : "",
    order: typeof order === "string" ? order : null,
  };
}

const OCCASIONS: readonly Occasion[] = ["size", "overflow", "asked"];

/** Null: it says nothing that a turn could go on from. */
function turnIn(value: unknown): OpenTurn | null {
  if (!isObject(value)) return null;
  const { turn, class: urgency, steps, startedAtMs, spent } = value;
  const known = CLASSES.find((each) => each === urgency);
  if (typeof turn !== "string" || known === undefined || !isAmount(steps)) return null;
  return {
    turn,
    class: known,
    steps,
    resumes: 0, // It stood well when it was written, or it would not have been.
    diedAlone: false,
    letters: listOf(value["letters"], isText),
    routes: listOf(value["routes"], isRoute),
    unsettled: null,
    startedAtMs: isAmount(startedAtMs) ? startedAtMs : null,
    spent: tokensIn(spent),
  };
}

function tokensIn(value: unknown): TokenUsage {
  const { input, output, cacheRead, cacheWrite, cost } = isObject(value) ? value : {};
  return {
    input: amount(input),
    output: amount(output),
    cacheRead: amount(cacheRead),
    cacheWrite: amount(cacheWrite),
    cost: amount(cost),
  };
}

function listOf<Each>(value: unknown, is: (each: unknown) => each is Each): readonly Each[] {
  return Array.isArray(value) ? value.filter(is) : [];
}

function isVerbatim(value: unknown): value is Verbatim {
  return isObject(value) && isText(value["id"]) && isText(value["from"]) && isText(value["text"]);
}

/** JSON has no word for a time that nobody knows but null. */
function isTask(value: unknown): value is Omit<Task, "givenAtMs"> & { readonly givenAtMs: number | null } {
  if (!isObject(value) || !isText(value["id"]) || !isText(value["key"])) return false;
  const { givenAtMs, isTold } = value;
  return typeof isTold === "boolean" && (givenAtMs === null || isAmount(givenAtMs));
}

/** Where an answer goes, as a door can be told. */
export function isRoute(value: unknown): value is Route {
  if (!isObject(value) || !isText(value["channel"]) || !isText(value["to"])) return false;
  return value["thread"] === null || isText(value["thread"]);
}

function isObject(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** A number of something, or a time: more than any of these is neither. */
function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= MOST;
}

/** The last millisecond that a Date can say. */
const MOST = 8.64e15;

function amount(value: unknown): number {
  return isAmount(value) ? value : 0;
}
