// Which letters a turn begins with, and which enter one that runs. Pure: what waits, how each wants to be read, the time.

import { TURN_LETTERS_MAX } from "../limits.ts";
import type { Mail, Mode } from "./letter.ts";
import { isReport } from "./task.ts";

/** How a letter is read: as its sender said, or as the session's settings say, or as suits who wrote it. */
export function modeOf(mail: Mail, usual: Mode | null): Mode {
  return mail.mode ?? usual ?? (mail.from.kind === "external_user" ? "steer" : "followup");
}

export interface Reading {
  readonly usual: Mode | null; // as the session or its agent is set; null: as suits who wrote it
  readonly collectMs: number;
  readonly nowMs: number;
}

/** How many times collectMs a collected letter waits at most: somebody who never stops writing is answered too. */
const COLLECT_PATIENCE = 10;

/**
 * The letters of the next turn; or how long to wait until others have come too; or null: nothing waits. The oldest letter
 * decides, so that none is passed over for ever:
 *   followup   it alone
 *   steer      all that steer or interrupt, and reports: had the first come a moment earlier, the others would have entered
 *   report     its turn; and so with a report, whatever its mode
 *   collect    all that are collected, when no new one came for a while
 */
export function nextTurn(
  waiting: readonly Mail[],
  reading: Reading,
): { readonly letters: readonly Mail[] } | { readonly waitMs: number } | null {
  const [oldest] = waiting;
  if (!oldest) return null;
  const mode = modeOf(oldest, reading.usual);
  if (mode === "followup" && !isReport(oldest)) return { letters: [oldest] };
  const urgent = entering(waiting, reading.usual);
  if (mode !== "collect") return { letters: urgent };
  const collected = waiting.filter((mail) => modeOf(mail, reading.usual) === "collect");
  const waitMs = quietIn(collected, reading);
  if (waitMs <= 0 || collected.length >= TURN_LETTERS_MAX)
    return { letters: collected.slice(0, TURN_LETTERS_MAX) };
  return urgent.length > 0 ? { letters: urgent } : { waitMs };
}

/** The letters that enter a turn before its next model call: what is urgent, and reports of children. */
export function entering(waiting: readonly Mail[], usual: Mode | null): readonly Mail[] {
  return waiting.filter((mail) => isUrgent(mail, usual) || isReport(mail)).slice(0, TURN_LETTERS_MAX);
}

/** It is for the turn that runs, and calls of tools that have not begun are not begun before it was read. */
export function isUrgent(mail: Mail, usual: Mode | null): boolean {
  const mode = modeOf(mail, usual);
  return mode === "steer" || mode === "interrupt";
}

function quietIn(collected: readonly Mail[], { collectMs, nowMs }: Reading): number {
  const oldest = collected[0]?.postedAtMs ?? nowMs;
  const newest = collected.at(-1)?.postedAtMs ?? nowMs;
  // A clock that was set back must not make anybody wait longer.
  return Math.min(newest + collectMs - nowMs, oldest + collectMs * COLLECT_PATIENCE - nowMs, collectMs);
}
