// Writes docs/formats/config.schema.json. A test says when it is time:
//
//   node src/config/publish.ts

import { writeFile } from "node:fs/promises";
import { configSchema } from "./load.ts";

export const PUBLISHED = new URL("../../docs/formats/config.schema.json", import.meta.url);

/** The width in .oxfmtrc.json. */
const LINE_CHARS_MAX = 110;

/** As the formatter writes it: a list of words is one line where it fits. */
export function publishedText(): string {
  const text = JSON.stringify(configSchema(), null, 2);
  return `${text.replaceAll(/^(.*)\[\s*("[^[\]{}]*")\s*\](,?)$/gm, joined)}\n`;
}

function joined(whole: string, before: string, words: string, after: string): string {
  const line = `${before}[${words.replaceAll(/,\s+/g, ", ")}]${after}`;
  return line.length <= LINE_CHARS_MAX ? line : whole;
}

if (import.meta.main) await writeFile(PUBLISHED, publishedText());
