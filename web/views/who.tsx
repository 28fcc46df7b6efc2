// Who is named beside something else: by what they are called, as far as it is known who that is.

import { shortKey } from "../parts/key.ts";
import { hrefOf } from "../state/place.ts";
import { rowNow, useRow } from "../state/rows.ts";
import { calledOf, shortened } from "./named.ts";

const NAME_CHARS = 28;

/** In words that name many: nobody is asked for those that are not known. */
export function whoIs(key: string): string {
  const row = rowNow(key);
  return row === null ? shortKey(key) : shortened(calledOf(row).name, NAME_CHARS);
}

/** One that is not known yet is asked for. */
export function Who({ sessionKey }: { readonly sessionKey: string }) {
  useRow(sessionKey);
  return (
    <a href={hrefOf("session", sessionKey)} title={sessionKey}>
      {whoIs(sessionKey)}
    </a>
  );
}
