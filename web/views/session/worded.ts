import { oneLine } from "../../../src/base/harmless.ts";
import { clock } from "../../parts/clock.ts";

/** Words of the daemon on one line. It says times for machines; people have a clock on the wall. */
export function worded(text: string): string {
  return oneLine(text).replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (iso) =>
    clock(iso, "seconds"),
  );
}

/** Of a session that is paused: the daemon says it with a word of its command line. */
export const PAUSED = "messages wait until it continues";

/** What the daemon cut ends in a mark, not in a count that is longer than what it hides; nor in half a key. */
export function shortened(words: string): string {
  return words.replaceAll(/,? ?(?:agent:[\w:%.-]*)? ?\[… \d+ more characters?\]/g, " …");
}

export interface Said {
  readonly words: string;
  readonly sessionKey: string | null; // null: they are words
}

/** What a session does or waits for, without the times that stand beside it: words, and the sessions that they name. */
export function whyParts(why: string): readonly Said[] {
  const words = oneLine(why)
    .replace(/^step \d+ of a turn since \S+Z: /, "")
    .replace(/ since \d{4}-[\d:.TZ-]+Z/, "")
    .replace(/^paused(?:: letters wait until `cont`|; `cont` goes on)$/, `paused: ${PAUSED}`);
  return worded(shortened(words))
    .split(/\b(agent:[\w:%.-]*\w)/)
    .map((part, at) => ({ words: part, sessionKey: at % 2 === 1 ? part : null }))
    .filter((part) => part.words !== "");
}
