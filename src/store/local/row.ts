// A session's row as it is stored: the columns that lists go by, and the rest of the record as JSON without what
// is as it always is. A row is rewritten with every append, so its size is paid for again and again.

import type { KeyKind, SessionKey } from "../../routing/key.ts";
import type { Session, Settings, Usage } from "../../sessions/session.ts";
import { DEFAULT_SETTINGS, hasWork, NO_USAGE, shownTitle } from "../rules.ts";

/** What unpackRow needs; begin a SELECT with it. */
export const ROW = "key, transcript, agent, kind, parent, body";

/** The columns that can change. */
export function columnsOf(row: Session): readonly (string | number | null)[] {
  return [
    row.state.kind,
    row.settings.label,
    shownTitle(row).toLowerCase(),
    Math.floor(row.updatedAtMs / 1_000),
    hasWork(row, false) ? 1 : 0,
  ];
}

export function packRow(row: Session): string {
  const {
    key,
    agent: _agent,
    kind: _kind,
    parent: _parent,
    root,
    transcript,
    settings,
    usage,
    ...rest
  } = row;
  const { id: _id, ...tail } = transcript;
  return JSON.stringify({
    ...rest,
    tail,
    ...(root === key ? {} : { root }),
    settings: differing(settings, DEFAULT_SETTINGS),
    usage: differing(usage, NO_USAGE),
  });
}

export function unpackRow(found: Record<string, unknown>): Session {
  const { tail, settings, usage, ...rest } = JSON.parse(String(found["body"])) as Packed;
  const key = String(found["key"]) as SessionKey;
  return {
    key,
    agent: String(found["agent"]),
    kind: String(found["kind"]) as KeyKind,
    parent: found["parent"] === null ? null : (String(found["parent"]) as SessionKey),
    ...rest,
    root: rest.root ?? key,
    transcript: { id: String(found["transcript"]), ...tail },
    settings: { ...DEFAULT_SETTINGS, ...settings },
    usage: { ...NO_USAGE, ...usage },
  };
}

type Packed = Omit<
  Session,
  "key" | "agent" | "kind" | "parent" | "root" | "transcript" | "settings" | "usage"
> & {
  readonly root?: SessionKey; // absent: itself
  readonly tail: Omit<Session["transcript"], "id">;
  readonly settings: Partial<Settings>;
  readonly usage: Partial<Usage>;
};

function differing<Of extends object>(values: Of, usual: Of): Partial<Of> {
  const few: Partial<Of> = {};
  for (const name in values) if (values[name] !== usual[name]) few[name] = values[name];
  return few;
}
