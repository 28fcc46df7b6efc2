// The older part of a context becomes a summary: one entry, in pi's form. Nothing is deleted; a rewind goes back to before it.
//
// What only entries say (the turn that is open, the letters in it, children that work) is carried by the entry itself, so
// that whoever reads from it on knows all that it needs. What comes in while the summary is made waits in the mailbox, and
// whatever was written stands after the cut: so it is kept.

import type { CompactionDetails, Occasion } from "../context/compaction.ts";
import { cutOf, type Cut } from "../context/cut.ts";
import { withoutFlushes } from "../context/flush.ts";
import { materialOf, type Material } from "../context/material.ts";
import { bytesOf, type Reading } from "../context/meter.ts";
import type { Room } from "../context/room.ts";
import { summaryText } from "../context/summary.ts";
import { assemble } from "../context/assemble.ts";
import { COMPACTED_BYTES_MIN, SUMMARY_BYTES_MIN } from "../limits.ts";
import type { Mail } from "../mail/letter.ts";
import type { Tail } from "../sessions/session.ts";
import { entryId, type Body, type Entry } from "../transcript/entry.ts";
import type { Question } from "./ask.ts";
import type { Place, TurnParts } from "./parts.ts";
import { isShared } from "./request.ts";
import { reserved } from "./reserving.ts";
import { summarised, type Attempts, type Summarised } from "./summarising.ts";
import { restsOn, tasksIn } from "./tasks.ts";
import type { Voices } from "./voices.ts";
import { openTurn } from "./where.ts";

/** How large the context is, and how large it may be. */
export interface Measured {
  readonly entries: readonly Entry[];
  readonly reading: Reading;
  readonly room: Room;
  readonly model: string; // in force: whose tokens these are
}

export interface Compacting {
  readonly occasion: Occasion;
  readonly focus: string | null;
  readonly order: Mail | null; // who asked for it; null: nobody did
  readonly measured: Measured;
  readonly voices: Voices; //     who writes the summary
  readonly question: Question;
  readonly attempts: Attempts;
}

/** Where the context would be cut, without flushes that are over. Null: it would not be worth a summary. */
export function worthCutting({ entries: all, reading, room }: Measured, shared: boolean): Cut | null {
  const entries = withoutFlushes(all); // An exchange that is not shown is no place to cut at.
  const keepBytes = room.keep / reading.tokensPerByte;
  const cut = cutOf(entries, keepBytes);
  if (cut === null) return null;
  const bytes = shownBytes(entries, shared) - shownBytes(entries.slice(cut.at), shared);
  return bytes < COMPACTED_BYTES_MIN ? null : cut;
}

/** False: there was nothing to gain. */
export async function compact(parts: TurnParts, place: Place, compacting: Compacting): Promise<boolean> {
  const { held } = place;
  const { measured, occasion, order } = compacting;
  const shared = isShared(held.key);
  const cut = worthCutting(measured, shared);
  if (cut === null) return false;
  const material = materialOf(withoutFlushes(measured.entries), cut, shownOf(place));
  const summary = await summaryOf(parts, place, compacting, material);
  const made = { cut, material, summary, occasion, order: order?.id ?? null };
  const entry = compactionOf(measured, made, held.row.transcript, shared);
  await held.commit({ take: order ? [order.id] : [], entries: [entry], charge: chargeOf(summary) });
  const { truncated } = summary;
  const before = measured.reading.tokens;
  parts.log.info({ key: held.key, occasion, truncated, before }, "a context was compacted");
  return true;
}

/** What a compaction is made of. */
export interface Made extends Pick<CompactionDetails, "occasion" | "order"> {
  readonly cut: Cut;
  readonly material: Material;
  readonly summary: Pick<Summarised, "sections" | "truncated" | "usage">;
}

export function compactionOf(
  measured: Measured,
  { cut, material: { pinned, asked }, summary, occasion, order }: Made,
  { id: transcript, lastSeq, copied }: Pick<Tail, "id" | "lastSeq" | "copied">,
  shared: boolean,
): Body {
  const { entries, reading, model } = measured;
  const shown = withoutFlushes(entries);
  const tasks = tasksIn(entries, copied);
  const { sections, truncated, usage } = summary;
  const open = openTurn(entries);
  const itself = entryId(transcript, lastSeq + 1);
  const body = {
    type: "compaction" as const,
    summary: summaryText({ sections, pinned, asked, tasks, pinnedBytesMax: pinnedBytes(measured) }),
    firstKeptEntryId: shown[cut.at]?.id ?? itself, // itself: it keeps nothing
    tokensBefore: reading.tokens,
  };
  const after = [
    ...shown.slice(cut.at),
    { ...body, id: itself, parentId: null, seq: lastSeq + 1, timestamp: "" },
  ];
  const saved = (shownBytes(entries, shared) - shownBytes(after, shared)) * reading.tokensPerByte;
  const details: CompactionDetails = {
    by: "sessiond",
    occasion,
    sections,
    truncated,
    pinned,
    asked,
    turn: open && { ...open, unsettled: null, resumes: 0, diedAlone: false },
    awaits: restsOn(entries, copied).map(({ id }) => id),
    tasks,
    tokensAfter: Math.max(1, Math.round(reading.tokens - saved)),
    model,
    usage,
    order,
  };
  return { ...body, details };
}

/** With what is reserved of budgets, like every other time that a model is asked. */
export async function summaryOf(
  parts: TurnParts,
  { held }: Pick<Place, "held">,
  {
    measured: { reading, room },
    voices,
    question,
    focus,
    attempts,
  }: Pick<Compacting, "measured" | "voices" | "question" | "focus" | "attempts">,
  material: Material,
): Promise<Summarised> {
  const perByte = reading.tokensPerByte;
  const cutBytes = material.pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const [{ model }] = voices;
  const settle = await reserved(parts.budgets, held, question.signal);
  try {
    return await summarised(
      parts,
      {
        ...question,
        voices,
        material,
        focus,
        bytesMax: Math.max(SUMMARY_BYTES_MIN, Math.min(room.keep / 2 / perByte, cutBytes)),
        roomBytes: Math.min(room.most, model.windowTokens / 2) / perByte,
      },
      attempts,
    );
  } finally {
    settle();
  }
}

export function chargeOf({ usage, modelMs }: Summarised): Record<string, number> {
  const { cost, ...tokens } = usage;
  return { ...tokens, cost: cost?.total ?? 0, modelMs };
}

export function shownOf({ held }: Pick<Place, "held">): { pins: ReadonlySet<string>; shared: boolean } {
  return { pins: new Set(held.row.settings.pins), shared: isShared(held.key) };
}

/** A quarter of what a context may be: pins are for a few messages. */
export function pinnedBytes({ reading, room }: Pick<Measured, "reading" | "room">): number {
  return Math.floor(room.compactAt / 4 / reading.tokensPerByte);
}

function shownBytes(entries: readonly Entry[], shared: boolean): number {
  return assemble(entries, shared).reduce((sum, message) => sum + bytesOf(message), 0);
}
