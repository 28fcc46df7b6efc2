// Entry
//
// One line of a transcript, in pi's session format version 3. History is append-only: everything else that
// is known of a session (title, context, usage) is a fold over its entries.
//
//   Owns:      the shape of every kind of line, and of what is written in place of a line that cannot be read.
//   Does not:  read or write bytes (codec.ts, read.ts), decide what a model is shown (context/).
//
// Invariants
//   E1. `seq` counts 1, 2, 3 … without gaps within one transcript, also over its generations.
//   E2. `parentId` is the id of the entry before it, except for the first entry after a rewind.
//   E3. The last line is on the active path: following `parentId` from it gives the conversation.
//   E4. Fields we do not know, and whole entries of a type we do not know, are kept as they came.

import type { Route } from "../mail/letter.ts";
import type { Provenance } from "../routing/provenance.ts";

/** The first line. At most 480 bytes of it, so that readers which look at 512 know what the file is. */
export interface Header {
  readonly type: "session";
  readonly version: 3;
  readonly id: string;
  readonly timestamp: string;
  /** Empty when it did not fit: the key matters more than the folder. */
  readonly cwd: string;
  /** File name of the transcript this one was forked or spawned from. Absent: from none, or it did not fit. */
  readonly parentSession?: string;
  readonly key?: string;
  /** Absent: not ours, or it did not fit; the key names it too. */
  readonly agent?: string;
  /** True: `parentSession` is its parent's, which spawned it. Absent: it has no parent. */
  readonly child?: boolean;
  /** The entries up to this number were copied by a fork; their usage was paid for elsewhere. Absent: none. */
  readonly copied?: number;
  /** File name of the transcript whose history goes on here. Absent: this is the first file of the session. */
  readonly previous?: string;
  /** The number of the first entry. Absent: 1; or it did not fit, and the first entry says it. */
  readonly firstSeq?: number;
}

/** Where a large block really is; its head and tail stay in the entry. */
export interface BlobName {
  readonly sha256: string;
  readonly bytes: number;
}

/** Stands in place of a large value of any shape, such as the details of a tool's result. */
export interface Spilled {
  /** Head and tail of its JSON. */
  readonly spilled: string;
  readonly blob: BlobName;
}

export type Block =
  // Signatures are a provider's own: it wants them back with what it said, and nobody else understands them.
  | {
      readonly type: "text";
      readonly text: string;
      readonly textSignature?: string;
      readonly blob?: BlobName;
    }
  | {
      readonly type: "thinking";
      readonly thinking: string;
      readonly thinkingSignature?: string;
      readonly redacted?: boolean; // true: only the signature says something, and only to its provider
      readonly blob?: BlobName;
    }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string; readonly blob?: BlobName }
  | {
      readonly type: "toolCall";
      readonly id: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      readonly thoughtSignature?: string;
      readonly blob?: BlobName;
    };

export interface MessageUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cost?: { readonly total: number };
}

export type Message =
  | { readonly role: "user"; readonly content: string | readonly Block[]; readonly timestamp: number }
  | {
      readonly role: "assistant";
      readonly content: readonly Block[];
      readonly api: string;
      readonly provider: string;
      readonly model: string;
      readonly usage: MessageUsage;
      readonly stopReason: string;
      readonly errorMessage?: string;
      readonly timestamp: number;
    }
  | {
      readonly role: "toolResult";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly content: readonly Block[];
      readonly isError: boolean;
      readonly details?: unknown;
      readonly timestamp: number;
    };

/**
 * The kinds of entries this version knows. A file may hold others (E4): they come through here with their
 * fields untouched, so a switch over `type` needs a default that lets them pass.
 */
export type Body =
  | {
      readonly type: "message";
      readonly message: Message;
      /** On user messages only: who wrote it, the letter it came in, and where the answer goes if not just here. */
      readonly provenance?: Provenance;
      readonly mailId?: string;
      readonly replyTo?: Route;
      /** It was said to nobody: of a memory flush. Absent: people may be shown it. */
      readonly silent?: true;
    }
  | { readonly type: "model_change"; readonly provider: string; readonly modelId: string }
  | { readonly type: "thinking_level_change"; readonly thinkingLevel: string }
  | {
      readonly type: "compaction";
      readonly summary: string;
      readonly firstKeptEntryId: string;
      readonly tokensBefore: number;
      readonly details?: unknown;
    }
  | {
      readonly type: "branch_summary";
      readonly fromId: string;
      readonly summary: string;
      readonly details?: unknown;
    }
  | { readonly type: "label"; readonly targetId: string; readonly label?: string }
  | { readonly type: "session_info"; readonly name?: string }
  | {
      readonly type: "custom_message";
      readonly customType: string;
      readonly content: string | readonly Block[];
      readonly display: boolean;
      readonly details?: unknown;
    }
  // What is only ours: `customType` begins with "sessiond/".
  | { readonly type: "custom"; readonly customType: string; readonly data?: unknown };

/** What a writer hands in: the store adds the rest of the stamp, because only it knows what is last. */
export type Draft = Body & { readonly timestamp: string };

export type Entry = Draft & {
  readonly id: string;
  /** Null: the first entry of the conversation. */
  readonly parentId: string | null;
  readonly seq: number;
};

/**
 * Stands where a line could not be read. The bytes stay in the file; people are shown a gap, and every
 * reader hears of it.
 */
export interface Gap {
  readonly type: "gap";
  readonly reason: "not_json" | "wrong_shape" | "wrong_seq" | "too_long" | "missing";
  /** Where the bytes are, and how many. */
  readonly offset: number;
  readonly bytes: number;
}

/** Unique within a transcript and among its forks, made without dice or a look-up: whose it is, and its number. */
export function entryId(transcript: string, seq: number): string {
  return `${transcript.slice(-8)}-${seq}`;
}

/** A copied entry keeps its id, by which others refer to it, and gets a new number and parent. */
export function unstamped(entry: Entry): { readonly id: string; readonly draft: Draft } {
  const { id, parentId: _parentId, seq: _seq, ...draft } = entry;
  return { id, draft: draft as Draft };
}

/** The blobs that an entry names, so that nobody collects them while it exists. */
export function blobsOf(body: Body): string[] {
  const naming: { readonly blob?: BlobName }[] = blocksIn(contentOf(body));
  if (body.type === "message" && body.message.role === "toolResult" && isSpilled(body.message.details))
    naming.push(body.message.details);
  return naming.flatMap(({ blob }) => (isBlobName(blob) ? [blob.sha256] : []));
}

export function isSpilled(value: unknown): value is Spilled {
  if (typeof value !== "object" || value === null) return false;
  const { spilled, blob, ...others } = value as Partial<Spilled>;
  return typeof spilled === "string" && isBlobName(blob) && Object.keys(others).length === 0;
}

/** A tool may return anything under this name, and the name becomes a path: so only what is a hash is one. */
export function isBlobName(blob: BlobName | null | undefined): blob is BlobName {
  return typeof blob?.sha256 === "string" && /^[0-9a-f]{64}$/.test(blob.sha256);
}

/** The text of an entry as a person would search for it; empty when it has none. */
export function textOf(body: Body): string {
  return body.type === "compaction" || body.type === "branch_summary"
    ? plain(body.summary)
    : plain(contentOf(body));
}

function contentOf(body: Body): unknown {
  if (body.type === "message") return body.message.content;
  return body.type === "custom_message" ? body.content : null;
}

function plain(content: unknown): string {
  if (typeof content === "string") return content;
  return blocksIn(content)
    .flatMap((block) => (block.type === "text" && typeof block.text === "string" ? [block.text] : []))
    .join("\n");
}

/** The calls of an answer; of anything else none. */
export function callsIn(body: Body): readonly Extract<Block, { type: "toolCall" }>[] {
  if (body.type !== "message" || body.message.role !== "assistant") return [];
  return blocksIn(body.message.content).filter((block) => block.type === "toolCall");
}

/** Nobody checked what others wrote inside a message, so only what looks like a block is taken for one. */
function blocksIn(content: unknown): Block[] {
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is Block => typeof block === "object" && block !== null);
}
