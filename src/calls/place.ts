// Where somebody was who follows a session: the word to come back with. It says when the session was born, because another
// one under the same key counts from 1 again. Files do not matter: the numbers go on in the next.

import { z } from "zod";
import { Fault } from "../base/fault.ts";

/** A seq alone is taken too: it is what entries have. */
export const place = z.union([z.int().min(0), z.string().regex(/^\d{1,15}(?:@[\w-]+)?$/)]);

export function placeAfter(seq: number, bornAtMs: number): string {
  return `${seq}@${bornAtMs}`;
}

/** The seq to go on from. `from` null: from now on. `bornAtMs` null: there is no session yet. */
export function seqAt(
  from: number | string | null,
  of: { readonly name: string; readonly bornAtMs: number | null; readonly lastSeq: number },
): number {
  const { name, lastSeq } = of;
  const [text, born] = String(from ?? lastSeq).split("@");
  if (born !== undefined && born !== String(of.bornAtMs))
    throw new Fault("bad_input", `from: ${name} was removed since, and begins anew; follow it from 0`);
  const seq = Number(text);
  if (Number.isSafeInteger(seq) && seq >= 0 && seq <= lastSeq) return seq;
  throw new Fault("bad_input", `from: ${name} has entries up to ${lastSeq}, so follow from 0 to ${lastSeq}`);
}
