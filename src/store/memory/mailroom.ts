// What a commit does with letters: they are posted once, taken once, and go on when nobody will read them here.

import { Fault } from "../../base/fault.ts";
import { MAILBOX_LETTERS_MAX } from "../../limits.ts";
import type { Mail } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import { forwardTo, isCapped, nobodyReads, sealLetter } from "../letters.ts";
import { checkUntouched, type Of } from "../rules.ts";
import type { Posted } from "../change.ts";
import type { Changing } from "./archiving.ts";
import type { Waiting } from "./tables.ts";

export function post({ tables, atMs, put }: Changing, { to, letter, expect }: Of<"post">): Posted {
  const { id } = letter;
  const { body, print } = sealLetter(letter);
  const known = tables.letter(id, atMs);
  if (known) {
    if (known.print !== print) throw new Fault("conflict", `${id} was posted before with other content`);
    return { id, to: known.to, repeated: true };
  }
  const address = forwardTo(to, (key) => tables.stateOf(key));
  if (!address)
    throw nobodyReads(
      to,
      to.some((key) => tables.sessions.has(key)),
    );
  const waiting = tables.waitingFor(address.to);
  checkUntouched(tables.session(address.to).row, expect ?? null, {
    mail: waiting.length > 0,
    children: false,
  });
  const inFront = waiting.filter(({ row }) => isCapped(row));
  if (isCapped(letter) && inFront.length >= MAILBOX_LETTERS_MAX)
    throw new Fault("mailbox_full", `${MAILBOX_LETTERS_MAX} letters wait for ${address.to} already`);
  const row = { ...(JSON.parse(body) as Mail), id, to: address.to, postedAtMs: atMs };
  put(tables.taken, id, null); // it may have been forgotten, and not yet removed
  put(tables.waiting, id, { n: tables.next(), row, others: address.others, print });
  return { id, to: address.to, repeated: false };
}

export function take({ tables, atMs, put }: Changing, { key, ids }: Of<"take">): void {
  const { n } = tables.session(key);
  for (const id of ids) {
    const letter = tables.waiting.get(id);
    if (letter?.row.to !== key) throw new Fault("stale_writer", `${key} has no waiting letter ${id}`);
    put(tables.waiting, id, null);
    put(tables.taken, id, { to: key, by: n, print: letter.print, atMs });
  }
}

/** Letters whose recipient will not read them go to their next address. Returns how many have none; `to` gets who has them now. */
export function forward({ tables, put }: Changing, letters: readonly Waiting[], to: Set<SessionKey>): number {
  let left = 0;
  for (const letter of letters) {
    const next = forwardTo(letter.others, (key) => tables.stateOf(key));
    if (!next) {
      left += 1;
      continue;
    }
    to.add(next.to);
    const row = { ...letter.row, to: next.to };
    put(tables.waiting, letter.row.id, { ...letter, others: next.others, row });
  }
  return left;
}
