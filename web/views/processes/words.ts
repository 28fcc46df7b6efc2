// What a line says in few words, of what the daemon says in more.

import { many } from "../../../src/base/figures.ts";
import { clean, oneLine } from "../../../src/base/harmless.ts";
import { withKeys } from "../../parts/key.ts";
import type { Row } from "../../wire/events.ts";

/** Which model it asks stands beside it. */
function doing(words: string): string {
  return words
    .replace(/^step \d+ of a turn(?:: )?/, "")
    .replace(/^asks [^\s/]+\/[^\s,;]+/, "asks its model")
    .replace(/(?:^|; )pauses after it$/, "");
}

/** Without its provider: that is in the title of the cell. */
export function modelName(id: string): string {
  return clean(id.slice(id.indexOf("/") + 1));
}

/** Without what the state says already; of those that wait for many children, for how many. Keys are said as `say` says them. */
export function whyIn({ why, state }: Pick<Row, "why" | "state">, say: (key: string) => string): string {
  if (why === null || state === "idle") return "";
  const words = oneLine(why)
    .replace(/ since \d{4}-[\d:T.-]+Z/, "")
    .replace(/ ?\[… \d+ more characters\]$/, "…");
  if (state === "running") return withKeys(doing(words), say);
  if (state === "paused") return ""; // That it goes on when somebody says so is what the word means.
  if (state === "ended") return withKeys(words.replace(/^ended \((\w+)\)(?:: )?/, ""), say);
  const [, names, more = "0"] =
    /^waits for its children: ([^\s…]+(?:, [^\s…]+)*)(?: and (\d+) more)?$/.exec(words) ?? [];
  if (names === undefined) return withKeys(words, say);
  return `for ${many(names.split(", ").length + Number(more), "child", "children")}`;
}
