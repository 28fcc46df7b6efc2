// A session's row as it is stored: the columns that lists go by, and the rest of the record as JSON without what
// is as it always is. A row is rewritten with every append, so its size is paid for again and again.

import type { KeyKind, SessionKey } from "../../routing/key.ts";
import type { Session, Settings, Usage } from "../../sessions/session.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../opened.ts";
import { hasWork, NOTHING_WAITS, shownTitle } from "../rules.ts";

/** What unpackRow needs; begin a SELECT with it. */
export const ROW = "key, transcript, agent, kind, parent, body";

/** The columns that can change. */
export const COLUMNS = ["state", "label", "title", "fresh", "ready"] as const;

/** What they say, in the order of COLUMNS. */
export function columnsOf(row: Session): readonly (string | number | null)[] {
  return [
    row.state.kind,
    row.settings.label,
    shownTitle(row).toLowerCase(),
    Math.floor(row.updatedAtMs / 1_000),
    hasWork(row, NOTHING_WAITS) ? 1 : 0,
  ];
}

/** Field by field: this runs once for every append, and taking an object apart costs more than naming its parts. */
export function packRow(row: Session): string {
  const { lastSeq, leafId, bytes, contextSeq, firstSeq, jumpSeq, copied } = row.transcript;
  const contextTokens = row.transcript.contextTokens === 0 ? undefined : row.transcript.contextTokens;
  const packed: Packed = {
    depth: row.depth,
    bornAtMs: row.bornAtMs,
    state: row.state,
    route: row.route ?? undefined,
    origin: row.origin ?? undefined,
    tree: row.tree ?? undefined,
    signal: row.signal,
    settingsVersion: row.settingsVersion,
    title: row.title,
    updatedAtMs: row.updatedAtMs,
    tail: { lastSeq, leafId, bytes, contextSeq, contextTokens, firstSeq, jumpSeq, copied },
    interactedAtMs: row.interactedAtMs,
    root: row.root === row.key ? undefined : row.root,
    settings: differing(row.settings, DEFAULT_SETTINGS),
    usage: differing(row.usage, NO_USAGE),
  };
  return JSON.stringify(packed);
}

/** The record that an archive has: a whole one. Those of older versions do not say how large the context was. */
export function recordFrom(text: string): Session {
  const session = JSON.parse(text) as Session;
  return { ...session, transcript: Object.assign({ contextTokens: 0 }, session.transcript) };
}

/** Whether a column may have changed. What did not change is the very same object in both. */
export function isColumnTouched(before: Session, after: Session): boolean {
  return (
    before.state !== after.state ||
    before.settings !== after.settings ||
    before.title !== after.title ||
    before.signal !== after.signal ||
    Math.floor(before.updatedAtMs / 1_000) !== Math.floor(after.updatedAtMs / 1_000)
  );
}

export function unpackRow(found: Record<string, unknown>): Session {
  const {
    tail,
    settings,
    usage,
    route = null,
    origin = null,
    tree = null,
    ...rest
  } = JSON.parse(String(found["body"])) as Packed;
  const key = String(found["key"]) as SessionKey;
  return {
    key,
    agent: String(found["agent"]),
    kind: String(found["kind"]) as KeyKind,
    parent: found["parent"] === null ? null : (String(found["parent"]) as SessionKey),
    ...rest,
    root: rest.root ?? key,
    route,
    origin,
    tree,
    transcript: {
      id: String(found["transcript"]),
      ...tail,
      contextTokens: tail.contextTokens ?? 0,
      firstSeq: tail.firstSeq ?? 1,
    },
    interactedAtMs: rest.interactedAtMs ?? 0,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    usage: { ...NO_USAGE, ...usage },
  };
}

type Packed = Omit<
  Session,
  | "key"
  | "agent"
  | "kind"
  | "parent"
  | "root"
  | "transcript"
  | "settings"
  | "usage"
  | "route"
  | "origin"
  | "tree"
  | "interactedAtMs"
> & {
  // Absent in rows of version 1: nobody has written, and it is all in one file.
  readonly interactedAtMs?: number | undefined;
  readonly root?: SessionKey | undefined; // absent: itself
  // Absent: null.
  readonly route?: Session["route"] | undefined;
  readonly origin?: Session["origin"] | undefined;
  readonly tree?: Usage | undefined;
  readonly tail: Omit<Session["transcript"], "id" | "contextTokens" | "firstSeq"> & {
    readonly contextTokens?: number | undefined; // absent: 0, as in rows of older versions until the next answer
    readonly firstSeq?: number;
  };
  readonly settings: Partial<Settings>;
  readonly usage: Partial<Usage>;
};

function differing<Of extends object>(values: Of, usual: Of): Partial<Of> {
  if (values === usual) return {};
  const few: Partial<Of> = {};
  for (const name in values) if (values[name] !== usual[name]) few[name] = values[name];
  return few;
}
