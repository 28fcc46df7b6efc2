// What has to be looked at as it was before a commit: the entries that a fork copies, the entry that a rewind goes back to, the
// history that goes on in a new file.

import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Tail } from "../../sessions/session.ts";
import type { Entry } from "../../transcript/entry.ts";
import { sealLetter } from "../letters.ts";
import { noSuchEntry } from "../rules.ts";
import type { Change } from "../change.ts";
import type { Tables } from "./tables.ts";

export interface Before {
  /** The history that it is about; null: there was none. */
  readonly of: Tail | null;
  /** The entries that a fork copies. */
  readonly copied: readonly Entry[];
  /** What was wrong, kept until its turn; null: nothing was. */
  readonly missing: Fault | null;
}

export const NOTHING: Before = { of: null, copied: [], missing: null };

export function lookBack(tables: Tables, change: Change): Before {
  if (change.do === "post") sealLetter(change.letter); // One that is too large is refused before anything is looked at.
  if (change.do === "rotate") return { ...NOTHING, of: tailOf(tables, change.key) };
  if (change.do === "append" && change.rewindTo !== null) {
    const { id, seq } = change.rewindTo;
    const of = tailOf(tables, change.key);
    const found = tables.lines.get(of?.id ?? "")?.find((entry) => entry.seq === seq);
    return { ...NOTHING, of, missing: found?.id === id ? null : noSuchEntry(change.key, seq) };
  }
  if (change.do !== "open" || change.copy === null) return NOTHING;
  const { of, fromSeq, throughSeq } = change.copy;
  const source = tables.sessions.get(of);
  if (!source) return { ...NOTHING, missing: new Fault("not_found", `there is no session ${of}`) };
  const path = tables.path(source.row).filter(({ seq }) => seq >= fromSeq && seq <= throughSeq);
  const missing = path.at(-1)?.seq === throughSeq ? null : noSuchEntry(of, throughSeq);
  return { of: source.row.transcript, copied: path, missing };
}

function tailOf(tables: Tables, key: SessionKey): Tail | null {
  return tables.sessions.get(key)?.row.transcript ?? null;
}
