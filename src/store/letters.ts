// Letters: who gets one, which of them wait in a bounded mailbox, and what tells a repeat from another letter: pure functions,
// the same for every engine.

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { Letter } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { bounded } from "./check.ts";
import type { Change } from "./change.ts";

/** The letter as it is kept, and a print of it by which a repeat is told from another letter under the same id. */
export function sealLetter(letter: Letter): { readonly body: string; readonly print: string } {
  const { id, ...rest } = letter;
  const body = bounded(`letter ${id}`, rest);
  return { body, print: createHash("sha256").update(body).digest("base64url") };
}

/** The letter that a change comes with; null: it comes alone. */
export function companionOf(change: Pick<Change, "do">): string | null {
  return (change as { readonly with?: string }).with ?? null;
}

/**
 * People and what sessions send share a bounded mailbox. The system's own letters always find room, and so do reports and
 * answers to what a session sent: there are no more of them than it has sent, and the commit that ends a turn must not fail on them.
 */
export function isCapped({ from }: Letter): boolean {
  if (from.kind === "inter_session") return from.tool !== null && from.tool !== "report";
  return from.kind === "external_user";
}

/** The next address of a letter whose recipient ended, or null when none is left that can read it. */
export function forwardTo(
  others: readonly SessionKey[],
  stateOf: (key: SessionKey) => Session["state"]["kind"] | null,
): { readonly to: SessionKey; readonly others: readonly SessionKey[] } | null {
  for (const [at, key] of others.entries()) {
    const state = stateOf(key);
    if (state !== null && state !== "ended") return { to: key, others: others.slice(at + 1) };
  }
  return null;
}

/** Why a letter reached nobody: a name that is not there, or only sessions that have ended. */
export function nobodyReads(to: readonly SessionKey[], anyExists: boolean): Fault {
  const names = to.join(", ");
  return anyExists
    ? new Fault("ended", `${names}: ended`)
    : new Fault("not_found", `there is no session ${names}`);
}

/** Refuses an end over letters that have no other address (S7): whoever posted them was told that they will be read. */
export function checkRead(key: SessionKey, unread: number): void {
  if (unread > 0) throw new Fault("unread", `letters wait for ${key} that nobody else could read: ${unread}`);
}
