// A session in the words of a question or a notice: the end of its key, and the beginning of its title.

import { oneLine } from "../../src/base/harmless.ts";
import { shortKey } from "../parts/text.tsx";
import type { Row } from "../wire/events.ts";

export function nameOf({ sessionKey, title }: Pick<Row, "sessionKey" | "title">): string {
  const words = oneLine(title);
  return words === "" ? shortKey(sessionKey) : `${shortKey(sessionKey)} "${cut(words)}"`;
}

function cut(words: string): string {
  return words.length > 60 ? `${words.slice(0, 59).toWellFormed()}…` : words;
}
