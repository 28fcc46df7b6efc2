// What a session is called, wherever the page shows one: this is decided here and nowhere else.
//
// A label is what somebody called it. Else main and the heartbeat are called by what they are, since a conversation that never ends is
// not about its first words; a named session by its name; every other by the first words that a person wrote; one to which nobody wrote
// by the end of its key.

import { cut, oneLine } from "../../src/base/harmless.ts";
import { shortKey } from "../parts/key.ts";
import type { Row } from "../wire/events.ts";

export type Known = Pick<Row, "sessionKey" | "agent" | "kind" | "title" | "labelled">;

export interface Called {
  readonly name: string;
  readonly key: string; //   what tells it from others of that name; "": the name does
  readonly words: string; // the first that were written to it, where it is not called by them; "": none
}

export function calledOf(row: Known): Called {
  const title = oneLine(row.title);
  const own = ownName(row);
  const key = own ?? shortKey(row.sessionKey);
  if (own !== null && !(row.labelled && title !== "")) return { name: own, key: "", words: title };
  return title === "" ? { name: key, key: "", words: "" } : { name: title, key, words: "" };
}

/** What its key calls it; null: nothing that a person would say. */
function ownName({ sessionKey, agent, kind }: Known): string | null {
  if (kind === "main" || kind === "heartbeat") return agent === "main" ? kind : `${agent} ${kind}`;
  const [, name] = kind === "thread" ? (/^agent:[^:]+:thread:([^:]+)$/.exec(sessionKey) ?? []) : [];
  if (name === undefined) return null;
  // Those that are made up for a fork which may be asked for again are longer than anybody reads.
  const [, beginning] = /^(fork-[0-9a-f]{8})[0-9a-f]{24}$/.exec(name) ?? [];
  return beginning ?? decoded(name);
}

function decoded(part: string): string {
  try {
    return oneLine(decodeURIComponent(part));
  } catch {
    return part; // The daemon makes none like this; an address may have one.
  }
}

const NAME_CHARS = 60;

/** Most are short, or begin with plain letters: to measure every letter of every line would be much. */
export function shortened(name: string, most = NAME_CHARS): string {
  if (name.length <= most) return name;
  const beginning = name.slice(0, most - 1);
  return /^[ -~]*$/.test(beginning) ? `${beginning}…` : cut(name, most);
}

/** In a question or a notice: so that nobody mistakes it, with the end of its key. */
export function nameOf(row: Known): string {
  const { name, key } = calledOf(row);
  return key === "" ? shortened(name) : `"${shortened(name)}" (${key})`;
}

/** What a fork of it is called. */
export function forkName(row: Known): string {
  return `fork of ${shortened(calledOf(row).name.replace(/^fork of /, ""))}`;
}
