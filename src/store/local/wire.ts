// What the main thread and its three threads say to each other. Entries cross as text: a string is cheap to
// hand over, a tree of objects is not, and the main thread is the one that must stay free.

import type { FaultWords } from "../../base/fault.ts";
import { COMMIT_BYTES_MAX, HEADER_BYTES_MAX } from "../../limits.ts";
import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import { encodeDraft, type EncodedDraft } from "../../transcript/codec.ts";
import type { Session } from "../../sessions/session.ts";
import { blobsOf, unstamped, type Draft, type Entry, type Header } from "../../transcript/entry.ts";
import { contextStart, contextTokensIn, isPersonal, openingOf } from "../../transcript/fold.ts";
import { isCapped, sealLetter } from "../letters.ts";
import type { Of } from "../rules.ts";
import type { Change, Receipt, Untouched } from "../change.ts";
import type { Claim } from "../store.ts";
import type { Begun, Counted, Done, Move } from "./moves.ts";
import type { Form } from "./tables.ts";

/** Lines to be, and what the row wants to know of them. */
export interface Lines {
  readonly drafts: readonly (EncodedDraft & { readonly id: string | null })[]; // null: the writer makes one
  readonly opening: string | null; // see openingOf
  readonly contextTokens: number | null; // what the last of them says that speaks of it
  readonly isPersonal: boolean; // a person's message is among them
  readonly blobs: readonly string[];
  readonly bytes: number; // at least so many
}

export type WireChange =
  | (Omit<Of<"open">, "copy"> & {
      readonly copy: {
        readonly of: SessionKey;
        readonly readOf: string | null; //  the transcript it was read of; null: there was none
        readonly lines: Lines;
        readonly contextSeq: number;
        readonly missing: FaultWords | null; // what there was instead of entries to copy
      } | null;
    })
  | (Omit<Of<"append">, "entries"> & {
      readonly lines: Lines;
      readonly readOf: string | null; //       the transcript that a rewind was checked against; null: none
      readonly missing: FaultWords | null; // what there was instead of the entry to go back to
    })
  | (Of<"rotate"> & {
      readonly end: FileEnd | null; //         null: there was no such session
      readonly missing: FaultWords | null; //  what there was instead
    })
  | {
      readonly do: "post";
      readonly to: readonly SessionKey[];
      readonly id: string;
      readonly body: string;
      readonly print: string;
      readonly capped: boolean;
      readonly expect: Untouched | null; //    null: anything may have happened to who gets it
    }
  | Exclude<Change, { readonly do: "open" | "append" | "rotate" | "post" }>;

export type WireOf<Do extends WireChange["do"]> = Extract<WireChange, { readonly do: Do }>;

/** What a history's next file begins with, as it was read. */
export interface FileEnd {
  readonly seen: Pick<Session["transcript"], "id" | "lastSeq">;
  readonly header: Header | null; //           the first line of the file so far; null: it cannot be read
  readonly cut: number; //                     where in that file the copied lines begin
  readonly lines: Uint8Array; //               as they stand there, also those that nobody can read
  readonly blobs: readonly string[]; //        that they name
}

export interface WireCommit {
  readonly id: number;
  readonly atMs: number;
  readonly changes: readonly WireChange[];
}

export type ToWriter =
  | { readonly do: "commits"; readonly commits: readonly WireCommit[] }
  | { readonly do: "ask"; readonly id: number; readonly ask: WriterAsk };

export type WriterAsk =
  | {
      readonly what: "claim";
      readonly owner: string;
      readonly nowMs: number;
      readonly leaseMs: number;
      readonly limit: number;
    }
  | { readonly what: "renew"; readonly claims: readonly Claim[]; readonly untilMs: number }
  | { readonly what: "release"; readonly claims: readonly Claim[] }
  | { readonly what: "hold"; readonly sha256: string; readonly nowMs: number }
  // Upkeep of files: see packing.ts.
  | { readonly what: "move"; readonly archives: readonly string[]; readonly to: Form }
  | { readonly what: "moved"; readonly moves: readonly Done[] }
  | { readonly what: "left"; readonly moves: readonly Pick<Move, "intent" | "archive">[] }
  | { readonly what: "collect"; readonly names: readonly string[]; readonly nowMs: number }
  | { readonly what: "checkpoint" } // everything written so far is in its file, synced, and the journal is empty
  | { readonly what: "close" };

/** What `results` says when it is parsed. */
export type Results = readonly (readonly [id: number, result: Receipt | FaultWords])[];

export type WriterAnswer =
  | readonly Claim[]
  | readonly string[]
  | readonly Begun[]
  | readonly Counted[]
  | readonly boolean[]
  | null;

export type FromWriter =
  // As text, which crosses several times faster than a list of small objects.
  | { readonly say: "done"; readonly results: string }
  | { readonly say: "answer"; readonly id: number; readonly answer: WriterAnswer | FaultWords }
  | { readonly say: "notice"; readonly notice: Notice }
  | { readonly say: "dead"; readonly fault: FaultWords };

/** Something a person should hear of, and nobody has to do anything about at once. */
export interface Notice {
  readonly what:
    | "recovered"
    | "foreign_bytes"
    | "missing_bytes"
    | "not_removed"
    | "disk_full"
    | "disk_free"
    | "checkpoint";
  readonly message: string;
  readonly count: number;
}

/** What had to be read before a change could cross. */
export interface Looked {
  /** The entries that a fork copies. */
  readonly copied: readonly Entry[];
  /** The transcript they are of, or in which a rewind found its entry; null: there is no such session. */
  readonly readOf: string | null;
  /** What was wrong: for the writer to say, when everything before it was right. */
  readonly missing: FaultWords | null;
  /** What the next file begins with; null: none is begun. */
  readonly end: FileEnd | null;
}

export const NOTHING_READ: Looked = { copied: [], readOf: null, missing: null, end: null };

/** Makes a change ready to cross. */
export function encodeChange(change: Change, { copied, readOf, missing, end }: Looked): WireChange {
  switch (change.do) {
    case "open": {
      const { copy, ...rest } = change;
      if (copy === null) return { ...rest, copy: null };
      const contextSeq = contextStart(copied.map((entry, at) => ({ ...entry, seq: at + 1 })));
      const lines = encodeLines(copied.map(unstamped));
      return { ...rest, copy: { of: copy.of, readOf, lines, contextSeq, missing } };
    }
    case "append": {
      const { entries, ...rest } = change;
      return { ...rest, lines: encodeLines(entries.map((draft) => ({ id: null, draft }))), readOf, missing };
    }
    case "rotate":
      return { ...change, end, missing };
    case "post": {
      const { body, print } = sealLetter(change.letter);
      return {
        do: "post",
        to: change.to,
        id: change.letter.id,
        body,
        print,
        capped: isCapped(change.letter),
        expect: change.expect ?? null,
      };
    }
    case "setTimer":
    case "setJob":
    case "send":
      // Whatever JSON cannot say is the caller's error, and must not become the writer's.
      return JSON.parse(JSON.stringify(change)) as typeof change;
    default:
      return change;
  }
}

/** What a change weighs while it waits. */
export function bytesOf(change: WireChange): number {
  if (change.do === "rotate") return (change.end?.lines.length ?? 0) + HEADER_BYTES_MAX;
  const lines =
    change.do === "append" ? change.lines : change.do === "open" ? (change.copy?.lines ?? null) : null;
  return lines?.bytes ?? (change.do === "post" ? change.body.length : 0) + STAMP_BYTES;
}

export function tooLarge(bytes: number): Fault {
  return new Fault("bad_input", `${bytes} bytes in one commit, at most ${COMMIT_BYTES_MAX}`);
}

/** What the writer puts before a draft: its names, its number and two ids. A line has to be readable with it. */
const STAMP_BYTES = 128;

function encodeLines(fresh: readonly { readonly id: string | null; readonly draft: Draft }[]): Lines {
  const drafts = fresh.map(({ id, draft }) => ({ ...encodeDraft(draft), id }));
  const chars = drafts.reduce((sum, draft) => sum + draft.rest.length + STAMP_BYTES, 0);
  // A character has at most three bytes: nearly always that is enough to know.
  const bytes =
    chars * 3 <= COMMIT_BYTES_MAX
      ? chars
      : drafts.reduce((sum, draft) => sum + Buffer.byteLength(draft.rest) + STAMP_BYTES, 0);
  if (bytes > COMMIT_BYTES_MAX) throw tooLarge(bytes); // One line of it could be longer than any that is read.
  return {
    drafts,
    bytes,
    opening: fresh.map(({ draft }) => openingOf(draft)).find((opening) => opening !== null) ?? null,
    contextTokens: contextTokensIn(fresh.map(({ draft }) => draft)),
    isPersonal: fresh.some(({ draft }) => isPersonal(draft)),
    blobs: fresh.flatMap(({ draft }) => blobsOf(draft)),
  };
}
