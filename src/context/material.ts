// What a summary is made of: everything about the part that is cut off, as texts that nobody can take for ours.
//
// What must not depend on what a model writes is kept beside the pieces: pinned messages and those of the open turn word for word,
// and what the summary has to name (wanted.ts).

import {
  ASKED_CHARS_MAX,
  ASKED_CHARS_MAX_OF_ALL,
  PIECE_CALL_CHARS_MAX,
  PIECE_CALLS_MAX,
  PIECE_CHARS_MAX,
  PIECE_RESULT_CHARS_MAX,
  SUMMARY_BYTES_USUAL,
} from "./limits.ts";
import type { Provenance } from "../routing/provenance.ts";
import { callsIn, textOf, type Entry, type Message } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { headAndTail, plainName, quoted } from "./clip.ts";
import { detailsOf, type Verbatim } from "./compaction.ts";
import { extentOf, isOpenFrom, turnsIn, type Cut, type Extent } from "./cut.ts";
import { wantedOf, wantedWithin, type Wanted } from "./wanted.ts";

export interface Material {
  /** The sections of the older compaction, or all of what another program wrote; null: there is none. */
  readonly before: string | null;
  /** Bytes of `before` that a question has room for. Null: for all of it. */
  readonly beforeBytesMax: number | null;
  /** What is cut off, one piece per message: harmless text that begins with who said it. */
  readonly pieces: readonly string[];
  readonly pinned: readonly Verbatim[];
  readonly asked: readonly Verbatim[];
  readonly wanted: Wanted;
  /** Bytes of the summary that is asked for. */
  readonly bytesMax: number;
  /** What users said first and last of what is cut off. Null: they said nothing. */
  readonly first: Verbatim | null;
  readonly last: Verbatim | null;
}

export interface Shown {
  readonly pins: ReadonlySet<string>; // ids of entries
  readonly shared: boolean; //           several people speak here
}

export function materialOf(entries: readonly Entry[], cut: Cut, { pins, shared }: Shown): Material {
  const extent = extentOf(entries);
  const { from, older } = extent;
  const gone = entries.slice(from, cut.at).filter(({ type }) => type !== "compaction");
  const before = older === null ? null : (detailsOf(older)?.sections ?? older.summary);
  const said = gone.filter(isUsers);
  const [first, last] = [said[0], said.at(-1)];
  return {
    before: before === null || before.trim() === "" ? null : before,
    beforeBytesMax: null,
    pieces: gone.flatMap((entry) => pieceOf(entry, shared) ?? []),
    ...verbatimsOf(entries, cut, { pins, shared }),
    wanted: wantedOf(gone, before, shared),
    bytesMax: SUMMARY_BYTES_USUAL,
    first: first === undefined ? null : verbatim(first, shared),
    last: last === undefined ? null : verbatim(last, shared),
  };
}

/** What of the part that is cut off stays word for word. */
export function verbatimsOf(
  entries: readonly Entry[],
  cut: Cut,
  { pins, shared }: Shown,
): Pick<Material, "pinned" | "asked"> {
  const extent = extentOf(entries);
  const { from, older } = extent;
  const gone = entries.slice(from, cut.at).filter(({ type }) => type !== "compaction");
  return {
    pinned: pinnedIn(gone, { entries, cut, older, pins, shared }),
    asked: askedIn(entries, cut, extent, shared),
  };
}

/** For a summary of at most so many bytes: what it must name is at most half of it. */
export function sized(material: Material, bytesMax: number): Material {
  return { ...material, bytesMax, wanted: wantedWithin(material.wanted, bytesMax / 2) };
}

// ── Pieces ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Null: nobody was shown anything of it. */
function pieceOf(entry: Entry, shared: boolean): string | null {
  const body = wordsIn(entry);
  if (body === "") return null;
  return `${speakerOf(entry, shared)}:\n${quoted(body)}`;
}

function wordsIn(entry: Entry): string {
  if (entry.type === "custom") return notedIn(entry);
  const isResult = entry.type === "message" && entry.message.role === "toolResult";
  const text = headAndTail(textOf(entry), isResult ? PIECE_RESULT_CHARS_MAX : PIECE_CHARS_MAX);
  const calls = callsIn(entry);
  const called = calls.slice(0, PIECE_CALLS_MAX).map((call) => {
    const given = headAndTail(JSON.stringify(call.arguments ?? {}) ?? "", PIECE_CALL_CHARS_MAX);
    return `[calls ${plainName(call.name)} ${given}]`;
  });
  const more = calls.length > called.length ? [`[and ${calls.length - called.length} more calls]`] : [];
  return [...(text.trim() === "" ? [] : [text]), ...called, ...more].join("\n");
}

/** A turn that ended without an answer is shown as one. */
function notedIn(entry: Entry): string {
  return assemble([entry], false)
    .map((message) => textOf({ type: "message", message }))
    .join("\n");
}

function speakerOf(entry: Entry, shared: boolean): string {
  switch (entry.type) {
    case "message":
      return roleOf(entry.message, entry.provenance, shared);
    case "branch_summary":
      return "Summary of what was tried before";
    case "custom":
      return "Assistant";
    default:
      return "Note";
  }
}

function roleOf(message: Message, from: Provenance | undefined, shared: boolean): string {
  switch (message.role) {
    case "assistant":
      return "Assistant";
    case "toolResult":
      return `Result of ${plainName(message.toolName)}${message.isError === true ? " (an error)" : ""}`;
    default:
      return userOf(from, shared);
  }
}

function userOf(from: Provenance | undefined, shared: boolean): string {
  switch (from?.kind) {
    case "inter_session":
      return `Session ${plainName(from.source)}`;
    case "internal_system":
      return `sessiond (${plainName(from.cause)})`;
    default:
      return shared && from?.peer ? `User ${JSON.stringify(plainName(from.peer))}` : "User";
  }
}

// ── Word for word ───────────────────────────────────────────────────────────────────────────────────────────

function verbatim(entry: Entry, shared: boolean): Verbatim {
  const text = textOf(entry);
  return { id: entry.id, from: speakerOf(entry, shared), text: text === "" ? wordsIn(entry) : text };
}

function isUsers(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role === "user";
}

interface Pinning {
  readonly entries: readonly Entry[];
  readonly cut: Cut;
  readonly older: Extent["older"];
  readonly pins: ReadonlySet<string>;
  readonly shared: boolean;
}

/** Those that an older compaction carried, and those that are cut off now. Who is still in the context is not said twice. */
function pinnedIn(gone: readonly Entry[], { entries, cut, older, pins, shared }: Pinning): Verbatim[] {
  const kept = new Set(entries.slice(cut.at).map(({ id }) => id));
  const now = gone.filter(({ id }) => pins.has(id) && !kept.has(id)).map((entry) => verbatim(entry, shared));
  const again = new Set(now.map(({ id }) => id));
  const carried = carriedIn(older, "pinned").filter(
    ({ id }) => pins.has(id) && !kept.has(id) && !again.has(id),
  );
  return [...carried, ...now.filter(({ text }) => text !== "")];
}

function carriedIn(older: Extent["older"], what: "pinned" | "asked"): readonly Verbatim[] {
  return detailsOf(older ?? undefined)?.[what] ?? [];
}

/** What users said in the turn that is cut inside of, if it goes on. */
function askedIn(entries: readonly Entry[], cut: Cut, extent: Extent, shared: boolean): readonly Verbatim[] {
  if (!cut.isInsideTurn) return [];
  const start = turnsIn(entries, extent).findLast((at) => at < cut.at);
  if (!isOpenFrom(entries, start ?? extent.from)) return [];
  const said = entries.slice(start ?? extent.from, cut.at).filter(isUsers);
  // Without a beginning it is the turn that the older compaction cut inside of.
  const asked = [...(start === undefined ? carriedIn(extent.older, "asked") : [])];
  const known = new Set(asked.map(({ id }) => id));
  for (const entry of said) if (!known.has(entry.id)) asked.push(verbatim(entry, shared));
  return newest(asked.map((each) => ({ ...each, text: headAndTail(each.text, ASKED_CHARS_MAX) })));
}

/** In their order: people's before those of others, and the later before the earlier, as far as there is room. */
function newest(asked: readonly Verbatim[]): readonly Verbatim[] {
  const people = asked.filter(({ from }) => from.startsWith("User"));
  const others = asked.filter(({ from }) => !from.startsWith("User"));
  const kept = new Set<Verbatim>();
  let room = ASKED_CHARS_MAX_OF_ALL;
  for (const each of [...people.toReversed(), ...others.toReversed()]) {
    if (each.text === "" || each.text.length > room) continue;
    kept.add(each);
    room -= each.text.length;
  }
  return asked.filter((each) => kept.has(each));
}
