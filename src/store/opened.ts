// Opened: how a session begins. Its row and the first line of its transcript are made of the same things, and the row knows how
// long that line is: pure functions, the same for every engine.

import { Fault } from "../base/fault.ts";
import { describeKey } from "../routing/key.ts";
import type { Session, Settings, Usage } from "../sessions/session.ts";
import { encodeHeader } from "../transcript/codec.ts";
import type { Header } from "../transcript/entry.ts";
import { NO_TOKENS } from "../transcript/fold.ts";
import type { Of } from "./rules.ts";

export const DEFAULT_SETTINGS: Settings = {
  label: null,
  model: null,
  thinking: null,
  verbose: null,
  sendPolicy: null,
  queueMode: null,
  nice: 0,
  pinned: false,
  pins: [],
  tools: [],
  limits: null,
  oneShot: null,
  deleteAtEnd: false,
};

export const NO_USAGE: Usage = {
  ...NO_TOKENS,
  steps: 0,
  toolCalls: 0,
  modelMs: 0,
  wallMs: 0,
  toolCpuMs: 0,
  toolPeakBytes: 0,
};

/** Nobody is born below one that has ended, or is to die: a kill must reach everybody. */
export function checkParent(parent: Session | null): void {
  if (parent !== null && (parent.state.kind === "ended" || parent.signal === "kill"))
    throw new Fault("ended", `${parent.key} has ended, or is being killed: it has no more children`);
}

/** What a new session comes from. */
interface From {
  readonly parent: Session | null;
  readonly source: Session | null; // whose entries it begins with; null: with none
  readonly copied: number;
  readonly atMs: number;
}

type Opening = Pick<Of<"open">, "key" | "transcript" | "cwd" | "parent" | "settings">;

/** A session as it is opened. What it copies is counted when it is written. */
export function born(
  change: Opening,
  from: From,
): { readonly row: Session; readonly header: Header; readonly line: string } {
  const header = headerOf(change, from);
  const line = encodeHeader(header);
  return { row: rowOf(change, from, Buffer.byteLength(line)), header, line };
}

/** The row of a new session. Its transcript holds the header line and nothing else. */
function rowOf(change: Opening, { parent, copied, atMs }: From, headerBytes: number): Session {
  const { kind, agent } = describeKey(change.key);
  return {
    key: change.key,
    agent,
    kind,
    parent: change.parent,
    root: parent?.root ?? change.key,
    depth: parent === null ? 0 : parent.depth + 1,
    bornAtMs: atMs,
    state: { kind: "idle" },
    route: null,
    origin: null,
    transcript: {
      id: change.transcript,
      lastSeq: 0,
      leafId: null,
      bytes: headerBytes,
      contextSeq: 1,
      contextTokens: 0,
      firstSeq: 1,
      jumpSeq: 0,
      copied,
    },
    signal: "none",
    settings: { ...DEFAULT_SETTINGS, ...change.settings },
    settingsVersion: 1,
    usage: NO_USAGE,
    tree: null,
    title: "",
    updatedAtMs: atMs,
    interactedAtMs: 0,
  };
}

/** The first line of a new transcript. It names the transcript that it came from: its parent's, or the one it copied. */
function headerOf(change: Opening, from: From): Header {
  const origin = from.parent ?? from.source;
  return {
    type: "session",
    version: 3,
    id: change.transcript,
    timestamp: new Date(from.atMs).toISOString(),
    cwd: change.cwd,
    key: change.key,
    agent: describeKey(change.key).agent,
    ...(origin ? { parentSession: `${origin.transcript.id}.jsonl` } : {}),
    ...(from.parent ? { child: true } : {}),
    ...(from.copied > 0 ? { copied: from.copied } : {}),
  };
}
