// What the rehearsal says when it is asked for sections: a summary, in the form that a real model would be asked for. It knows no
// heading by name; what it writes is in the request alone (R1).

import { textOf, type Message } from "../transcript/entry.ts";
import type { Request } from "./model.ts";

const QUOTE_CHARS_MAX = 80;

/** How many headings make a request one for sections: one may stand in any prompt. */
const HEADINGS_MIN = 2;

/**
 * Null: no sections are asked for. That is: the system prompt has several headings, and there are no tools to work with. Each
 * heading is answered with the lines that the newest user text lists under it, or else with a quote of what it was shown.
 */
export function sectionsSaid(request: Request, introduction: string): string | null {
  if (request.tools.length > 0) return null;
  const headings = [...new Set(request.system.split("\n").filter(isHeading))];
  if (headings.length < HEADINGS_MIN) return null;
  const newest = request.messages.findLast(({ role }) => role === "user");
  const lines = newest === undefined ? [] : plain(newest).split("\n");
  const shown = lines.filter((line) => line.startsWith("| ") && line.trim().length > 1);
  const sections = headings.map((heading, at) => {
    const listed = listedUnder(heading, lines);
    const first = at === 0 ? [`${introduction}: the summary of ${lines.length} lines.`] : [];
    const said = listed.length > 0 ? listed : [quoteAt(shown, at / (headings.length - 1))];
    return [heading, ...first, ...said].join("\n");
  });
  return sections.join("\n\n");
}

function isHeading(line: string): boolean {
  return /^## \S/.test(line);
}

/** Lines of lists that stand directly under the heading, wherever it stands. */
function listedUnder(heading: string, lines: readonly string[]): readonly string[] {
  const listed = new Set<string>();
  let isUnder = false;
  for (const line of lines) {
    isUnder = line === heading || (isUnder && line.startsWith("- "));
    if (isUnder && line !== heading) listed.add(line);
  }
  return [...listed];
}

/** From the beginning (0) to the end (1) of what was quoted to it. */
function quoteAt(shown: readonly string[], share: number): string {
  const line = shown[Math.round(share * (shown.length - 1))];
  if (line === undefined) return "- none";
  const text = line.slice(2).trim();
  return `- ${JSON.stringify(
    Array.from(text.slice(0, QUOTE_CHARS_MAX * 2))
      .slice(0, QUOTE_CHARS_MAX)
      .join(""),
  )}`;
}

function plain(message: Message): string {
  return textOf({ type: "message", message });
}
