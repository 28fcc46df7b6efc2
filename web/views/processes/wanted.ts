// Which sessions are wanted: what stands in the address, what the daemon is asked for, and whether a row that came by itself is one
// of them. The three say the same.

import type { Input } from "../../../src/calls/door.ts";
import { KINDS, STATES } from "../../../src/calls/words.ts";
import type { Row } from "../../wire/events.ts";

/** Null: any. */
export interface Wanted {
  readonly agent: string | null;
  readonly kind: (typeof KINDS)[number] | null;
  readonly state: (typeof STATES)[number] | null;
  readonly text: string; // words of the title or the key; "": any
}

/** Words that are not known here are as if they were not there: an address may come from anywhere. */
export function wantedIn(query: Readonly<Record<string, string>>): Wanted {
  return {
    agent: query["agent"] === undefined || query["agent"] === "" ? null : query["agent"],
    kind: KINDS.find((each) => each === query["kind"]) ?? null,
    state: STATES.find((each) => each === query["state"]) ?? null,
    text: query["text"] ?? "",
  };
}

export function queryOf({ agent, kind, state, text }: Wanted): Readonly<Record<string, string>> {
  return { agent: agent ?? "", kind: kind ?? "", state: state ?? "", text };
}

export function isAnything({ agent, kind, state, text }: Wanted): boolean {
  return agent === null && kind === null && state === null && text.trim() === "";
}

/** Who waits for a slot is kept as running: so those are asked for, and sorted out by `isWanted`. */
export function asked({ agent, kind, state, text }: Wanted): Input<"list"> {
  return {
    ...(agent === null ? {} : { agent }),
    ...(kind === null ? {} : { kind }),
    ...(state === null ? {} : { state: state === "queued" ? "running" : state }),
    ...(text.trim() === "" ? {} : { text: text.trim() }),
  };
}

export function isWanted(row: Row, { agent, kind, state, text }: Wanted): boolean {
  if (agent !== null && row.agent !== agent) return false;
  if (kind !== null && row.kind !== kind) return false;
  if (state !== null && row.state !== state) return false;
  if (text === "") return true;
  const shown = `${row.sessionKey}\n${row.title}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => shown.includes(word)); // an empty one, beside a blank, is everywhere
}
