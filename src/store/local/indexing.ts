import { SEARCH_TEXT_CHARS_MAX } from "../../limits.ts";
import { textOf } from "../../transcript/entry.ts";
import { readForward, seekSeq } from "../../transcript/read.ts";
import type { Snapshot } from "./spliced.ts";
import type { Words } from "./words.ts";

/** What is read in one stretch: some hundredths of a second. A session that was restored has all its texts to be read at once. */
export const TEXTS_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 * 1024 * 1024;

/** What is left of a stretch. */
export class Budget {
  #texts = TEXTS_AT_ONCE;
  #bytes = BYTES_AT_ONCE;

  get isSpent(): boolean {
    return this.#texts <= 0 || this.#bytes <= 0;
  }

  spend(texts: number, bytes: number): void {
    this.#texts -= texts;
    this.#bytes -= bytes;
  }
}

/** From where the index stands, up to this seq. False: the stretch was over before; the next one goes on there. */
export function addTexts(
  words: Words,
  { row, source }: Pick<Snapshot, "row" | "source">,
  lastSeq: number,
  budget: Budget,
): boolean {
  const { n, ...place } = words.place(row.transcript.id, row);
  let { seq, offset } = place;
  let isWhole = true;
  // The offset is a shortcut; should the file have been made anew, its lines are found by seq.
  if (offset > source.size) offset = seekSeq(source, seq + 1);
  for (const { item, offset: at, bytes } of readForward(source, offset, row.transcript.lastSeq)) {
    const isEntry = item.type !== "gap" && item.type !== "session";
    if (isEntry && item.seq > lastSeq) break;
    isWhole = !budget.isSpent;
    if (!isWhole) break;
    offset = at + bytes;
    const isNew = isEntry && item.seq > seq;
    const text = isNew ? textOf(item).slice(0, SEARCH_TEXT_CHARS_MAX) : "";
    if (isNew) seq = item.seq;
    if (text !== "") words.add(n, seq, text);
    budget.spend(text === "" ? 0 : 1, bytes);
  }
  words.put(n, { seq, offset });
  return isWhole;
}
