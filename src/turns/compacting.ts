// The older part of a context becomes a summary: one entry, in pi's form. Nothing is deleted; a rewind goes back to before it.
//
// What only entries say (the turn that is open, the letters in it, children that work) is carried by the entry itself, so
// that whoever reads from it on knows all that it needs. What comes in while the summary is made waits in the mailbox, and
// whatever was written stands after the cut: so it is kept.

import type { CompactionDetails, Occasion } from "../context/compaction.ts";
import { cutOf, type Cut } from "../context/cut.ts";
import { insideFlushes, isFlushing, withoutFlushes } from "../context/flush.ts";
import { materialOf, verbatimsOf, type Material, type Shown } from "../context/material.ts";
import type { Reading } from "../context/meter.ts";
import { prunePlan } from "../context/prune.ts";
import type { Room } from "../context/room.ts";
import { bounded, summaryText } from "../context/summary.ts";
import { bytesShown } from "../context/tally.ts";
import { COMPACTED_BYTES_MIN, SUMMARY_BYTES_MIN, SUMMARY_MS_MAX } from "../limits.ts";
import type { Mail } from "../mail/letter.ts";
import type { Tail } from "../sessions/session.ts";
import { entryId, type Body, type Entry } from "../transcript/entry.ts";
import type { Question } from "./ask.ts";
import type { Place, TurnParts } from "./parts.ts";
import { isShared } from "./request.ts";
import { summarised, type Attempts, type Summarised } from "./summarising.ts";
import { restsOn, tasksIn } from "./tasks.ts";
import type { Voices } from "./voices.ts";
import { openTurn } from "./where.ts";

/** Of what a cut saves: the sections of its summary have no more, unless that is very little. */
const SECTIONS_SHARE = 3 / 4;

/** Of a turn's time: what one attempt at a summary has. Two of them leave most of it for the work. */
const SUMMARY_SHARE_OF_TURN = 8;

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
  readonly cut: WorthCut | null; // null: nobody has looked yet
  readonly measured: Measured;
  readonly voices: Voices; //     who writes the summary
  readonly question: Question;
  readonly attempts: Attempts;
}

/** A cut, and the bytes that are saved by it beside those of the sections that are to be written. */
export interface WorthCut extends Cut {
  readonly savedBytes: number;
}

/** Where the context would be cut, without flushes that are over. Null: it would not be worth a summary. */
export function worthCutting(measured: Measured, shown: Showing): WorthCut | null {
  const { reading, room } = measured;
  const entries = withoutFlushes(measured.entries); // An exchange that is not shown is no place to cut at.
  const keepBytes = room.keep / reading.tokensPerByte;
  const cut = cutOf(entries, keepBytes, insideFlushes(measured.entries), shown.shared);
  if (cut === null) return null;
  const kept = entries.slice(cut.at).filter(({ type }) => type !== "compaction"); // An older one goes too.
  const again = Buffer.byteLength(
    summaryText({
      sections: "",
      ...verbatimsOf(entries, cut, shown),
      tasks: tasksIn(measured.entries, shown.copied),
      pinnedBytesMax: pinnedBytes(measured),
    }),
  );
  const savedBytes = bytesShown(entries, shown.shared) - bytesShown(kept, shown.shared) - again;
  return savedBytes < COMPACTED_BYTES_MIN ? null : { ...cut, savedBytes };
}

/** What is to be done before a step: old results leave, or the older part becomes a summary. */
export type Due = { readonly prune: Body } | { readonly cut: WorthCut };

/** Null: nothing is. */
export function dueIn(measured: Measured, shown: Showing): Due | null {
  const { entries, reading, room } = measured;
  if (reading.tokens < room.pruneAt || isFlushing(entries)) return null;
  const prune = prunePlan(entries, room, reading.tokensPerByte, shown.pins);
  if (prune !== null) return { prune };
  const cut = reading.tokens < room.compactAt ? null : worthCutting(measured, shown);
  return cut && { cut };
}

/** Bytes that the sections of a summary may have: less than what they stand for, and the context is smaller with them. */
export function sectionsBytes(
  { reading, room }: Pick<Measured, "reading" | "room">,
  { pieces }: Pick<Material, "pieces">,
  savedBytes: number,
): number {
  const cutBytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const usual = room.keep / 2 / reading.tokensPerByte;
  return Math.max(SUMMARY_BYTES_MIN, Math.min(usual, cutBytes, savedBytes * SECTIONS_SHARE));
}

/** What came of it: nothing, if there was nothing to gain; or why not, where it was only asked for and nothing forces it. */
export type Compacted = "done" | "cut off" | "nothing" | { readonly refused: string };

export async function compact(parts: TurnParts, place: Place, compacting: Compacting): Promise<Compacted> {
  const { held } = place;
  const { measured, occasion, order } = compacting;
  const shared = isShared(held.key);
  const cut = compacting.cut ?? worthCutting(measured, shownOf(place));
  if (cut === null) return "nothing";
  const material = materialOf(withoutFlushes(measured.entries), cut, shownOf(place));
  const summary = await summaryOf(parts, place, { ...compacting, savedBytes: cut.savedBytes }, material);
  const { truncated } = summary;
  const { tokens: before } = measured.reading;
  if (order !== null && truncated !== null && before < measured.room.compactAt) return { refused: truncated };
  const made = { cut, material, summary, occasion, order: order?.id ?? null };
  const entry = compactionOf(measured, made, held.row.transcript, shared);
  await held.commit({ take: order ? [order.id] : [], entries: [entry] });
  parts.log.info({ key: held.key, occasion, truncated, before }, "a context was compacted");
  return truncated === null ? "done" : "cut off";
}

/** What a compaction is made of. */
export interface Made extends Pick<CompactionDetails, "occasion" | "order"> {
  readonly cut: Cut;
  readonly material: Material;
  readonly summary: Summarised;
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
  const { sections, truncated } = summary;
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
  const saved = (bytesShown(entries, shared) - bytesShown(after, shared)) * reading.tokensPerByte;
  const details: CompactionDetails = {
    by: "sessiond",
    occasion,
    sections,
    truncated,
    pinned: bounded(pinned, pinnedBytes(measured)),
    asked,
    turn: open && { ...open, unsettled: null, resumes: 0, diedAlone: false },
    awaits: restsOn(entries, copied).map(({ id }) => id),
    tasks,
    tokensAfter: Math.max(1, Math.round(reading.tokens - saved)),
    model,
    order,
  };
  return { ...body, details };
}

export async function summaryOf(
  parts: TurnParts,
  { agent }: Pick<Place, "agent">,
  {
    measured,
    voices,
    question,
    focus,
    attempts,
    savedBytes,
  }: Pick<Compacting, "measured" | "voices" | "question" | "focus" | "attempts"> &
    Pick<WorthCut, "savedBytes">,
  material: Material,
): Promise<Summarised> {
  const { reading, room } = measured;
  const [{ model }] = voices;
  const summarising = {
    ...question,
    voices,
    material,
    focus,
    bytesMax: sectionsBytes(measured, material, savedBytes),
    roomBytes: Math.min(room.most, model.windowTokens / 2) / reading.tokensPerByte,
    limitMs: Math.min(SUMMARY_MS_MAX, (agent.limits.turnSeconds * 1_000) / SUMMARY_SHARE_OF_TURN),
  };
  return await summarised(parts, summarising, attempts);
}

/** What is to be known of a session to say what it is shown as. */
export type Showing = Shown & Pick<Tail, "copied">;

export function shownOf({ held }: Pick<Place, "held">): Showing {
  const { settings, transcript } = held.row;
  return { pins: new Set(settings.pins), shared: isShared(held.key), copied: transcript.copied };
}

/** A quarter of what a context may be: pins are for a few messages. */
export function pinnedBytes({ reading, room }: Pick<Measured, "reading" | "room">): number {
  return Math.floor(room.compactAt / 4 / reading.tokensPerByte);
}
