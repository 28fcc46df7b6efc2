// What a form was refused with, sorted by the fields that it names: what is wrong is told where it is to be mended. Pure.
//
//   addJob: timeout: a span such as 90s, 15m, 1h30m or 2d, not "soon"     of the field timeout
//   spawn: limits.cost: a number above 0, not -1                          of the one that is named `limits`, too

import type { Fault } from "../../src/base/fault.ts";

/** A field, and how else refusals call it: another property of the call, or the code of a Fault. */
export interface Called {
  readonly name: string;
  readonly named?: readonly string[];
}

export interface Refused {
  readonly at: ReadonlyMap<string, string>; // by the name of the field
  readonly rest: string | null; //             what names none; null: nothing
}

export const NOTHING_REFUSED: Refused = { at: new Map(), rest: null };

/** "timeout: …", "limits.cost: …", "nice is …". */
const NAMES = /^(\w+)(?:[.[][^\s:]*)?(?:: | is )/;

export function refusedIn(
  { code, message, todo }: Pick<Fault, "code" | "message" | "todo">,
  fields: readonly Called[],
): Refused {
  const meant = new Map(
    fields.flatMap(({ name, named = [] }) => [name, ...named].map((each) => [each, name])),
  );
  const withAdvice = (text: string): string => `${text} (${todo})`;
  const byCode = meant.get(code);
  if (byCode !== undefined) return { at: new Map([[byCode, withAdvice(message)]]), rest: null };
  const at = new Map<string | null, string>();
  let field: string | null = null;
  for (const [first, piece] of piecesOf(message, meant)) {
    if (first !== null) field = first;
    const before = at.get(field);
    at.set(field, before === undefined ? piece : `${before}; ${piece}`);
  }
  // Of a form with one field nothing else can be wrong with what was given.
  const [only, ...others] = fields;
  const whole = at.get(null);
  const isOfOnly = only !== undefined && others.length === 0 && at.size === 1 && code === "bad_input";
  const rest = isOfOnly ? undefined : whole;
  if (isOfOnly && whole !== undefined) at.set(only.name, whole);
  at.delete(null);
  // That the input is to be corrected is plain where it stands at the field.
  const told = [...at].map(
    ([name, text]) => [name ?? "", code === "bad_input" ? text : withAdvice(text)] as const,
  );
  return { at: new Map(told), rest: rest === undefined ? null : withAdvice(rest) };
}

type Piece = readonly [field: string | null, words: string];

/** Several are told in one line; of each, the field that it begins with, and the words behind that. */
function piecesOf(message: string, meant: ReadonlyMap<string, string>): readonly Piece[] {
  const [, ofCall = message] = /^[a-z]\w*: (.*)$/s.exec(message) ?? [];
  const isOfCall = fieldIn(message, meant) === null && fieldIn(ofCall, meant) !== null;
  return (isOfCall ? ofCall : message).split("; ").map((piece): Piece => {
    const field = fieldIn(piece, meant);
    return field === null ? [null, piece] : [field, piece.replace(NAMES, "")];
  });
}

function fieldIn(words: string, meant: ReadonlyMap<string, string>): string | null {
  return meant.get(NAMES.exec(words)?.[1] ?? "") ?? null;
}
