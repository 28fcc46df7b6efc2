import { oneLine } from "../../../src/base/harmless.ts";
import { clock } from "../../parts/clock.ts";

/** Words of the daemon on one line. It says times for machines; people have a clock on the wall. */
export function worded(text: string): string {
  return oneLine(text).replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (iso) =>
    clock(iso, "seconds"),
  );
}

export interface Said {
  readonly words: string;
  readonly sessionKey: string | null; // null: they are words
}

/** What a session does or waits for, without the times that stand beside it: words, and the sessions that they name. */
export function whyParts(why: string): readonly Said[] {
  const words = oneLine(why)
    .replace(/^step \d+ of a turn since \S+Z: /, "")
    .replace(/ since \d{4}-[\d:.TZ-]+Z/, "");
  return worded(words)
    .split(/\b(agent:[\w:%.-]*\w)/)
    .map((part, at) => ({ words: part, sessionKey: at % 2 === 1 ? part : null }))
    .filter((part) => part.words !== "");
}
