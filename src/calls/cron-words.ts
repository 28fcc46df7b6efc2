// Jobs in words, as people type and read them: in chats, and at the command line, which loads little else of this folder.

import { Fault } from "../base/fault.ts";
import { age, many } from "../base/figures.ts";
import { shown } from "../base/fits.ts";
import { wallTime } from "../base/wall.ts";

/** Of an id where people read it: a job is named by its beginning, too. */
const ID_CHARS = 8;

/** Who reads it, and when. */
export interface Reader {
  readonly nowMs: number;
  readonly zone: string; // by whose clock what has none is told
}

/** Of ISO times, by the clock of the job, which is named; null: it has none, and that of whoever reads is meant. */
export function timesText(
  zone: string | null,
  times: readonly string[],
  reader: Pick<Reader, "zone">,
): string {
  const whose = zone ?? reader.zone;
  return `${times.map((time) => wallTime(Date.parse(time), whose)).join(", ")} ${whose}`;
}

/** "2026-10-05 09:00 Europe/Zurich, in 3h". Null: never. */
export function nextText(
  { next, timezone }: { readonly next: string | null; readonly timezone: string | null },
  reader: Reader,
): string | null {
  return next === null ? null : `${timesText(timezone, [next], reader)}, ${until(next, reader.nowMs)}`;
}

export function until(next: string | null, nowMs: number): string {
  if (next === null) return "–";
  const ms = Date.parse(next) - nowMs;
  return ms < 1_000 ? "now" : `in ${age(nearest(ms))}`;
}

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000] as const;

/** Who says "in 20m" is told 20 minutes, and not 19; an hour and a half are still one hour. */
function nearest(ms: number): number {
  const unit = ms < MINUTE_MS ? SECOND_MS : ms < 24 * HOUR_MS ? MINUTE_MS : HOUR_MS;
  return Math.round(ms / unit) * unit;
}

export function shortId({ id }: { readonly id: string }): string {
  return id.slice(0, ID_CHARS);
}

/** What is due soonest first. */
export function soonestFirst<Of extends { readonly next: string | null }>(jobs: readonly Of[]): Of[] {
  const dueAt = ({ next }: Of): number => (next === null ? Infinity : Date.parse(next));
  return jobs.toSorted((a, b) => dueAt(a) - dueAt(b) || 0); // Of two that are never due the difference is none.
}

/** What became of its times. A run that somebody asked for stands for none of them. */
export function countsText({ ran, skipped, coalesced }: Counted): string {
  const parts = [
    ran === 0 ? "no run by its schedule" : `${many(ran, "run")} by its schedule`,
    ...(skipped > 0 ? [`${many(skipped, "time")} skipped`] : []),
    ...(coalesced > 0 ? [`${many(coalesced, "time")} made up for by another run`] : []),
  ];
  return `${parts.join(", ")}; runs that somebody asked for do not count`;
}

interface Counted {
  readonly ran: number;
  readonly skipped: number;
  readonly coalesced: number;
}

interface RunWords {
  readonly outcome: string | null;
  readonly stands: number;
  readonly note: string | null;
  readonly untold: string | null;
}

/** "done", "skipped ×7". */
export function outcomeText({ outcome, stands }: Pick<RunWords, "outcome" | "stands">): string {
  return `${outcome ?? "goes on"}${stands > 1 ? ` ×${stands}` : ""}`;
}

/** What it said, and what became of that where nobody heard it who should have. */
export function noteText({ note, untold }: Pick<RunWords, "note" | "untold">): string {
  return [note ?? [], untold === null ? [] : `(${untold})`].flat().join(" ");
}

// ── What was typed ──────────────────────────────────────────────────────────────────────────────────────────

/** A span alone: one that is in quotes with other words belongs to them. */
const IS_SPAN = /^(?:\d+[wdhms])+$/i;

/**
 * When, in words that somebody typed, and how many of them say so: a word for how with a span or a time behind it, or all of that in
 * one (it had quotes); an expression is one too. What begins like more of a span may be meant as either, and is asked about.
 */
export function whenIn(words: readonly string[]): { readonly when: Named; readonly taken: number } {
  const [first = "", second = ""] = words;
  const taken = /^(?:every|in|at)$/i.test(first) ? 2 : 1;
  const when = whenSaid(taken === 2 ? `${first} ${second}` : first);
  const next = words[taken] ?? "";
  if (when.cron === undefined && IS_SPAN.test(next))
    throw new Fault(
      "bad_input",
      `is ${next} a part of when, or of the message? Write a span in one word (1h30m), and a message in quotes`,
    );
  return { when, taken };
}

/** Exactly one of them. */
type Named = { readonly [Kind in "at" | "every" | "cron"]?: string };

function whenSaid(text: string): Named {
  const [, how = "", rest = ""] = /^(every|in|at)\s+(\S.*)$/is.exec(text.trim()) ?? [];
  switch (how.toLowerCase()) {
    case "every":
      return { every: rest };
    case "in":
    case "at":
      return { at: rest };
  }
  if (/^@\w+$|\s/.test(text.trim())) return { cron: text.trim() };
  throw new Fault(
    "bad_input",
    `${shown(text.trim())} says no time: say a cron expression in quotes ("0 9 * * 1-5"), @daily, every 15m, in 20m, or at 2026-10-05T09:00`,
  );
}
