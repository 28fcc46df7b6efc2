// How pi finds its context in a transcript, told again in a few lines, so that campaigns can ask "would pi still
// read this?" where pi is not installed. test/pi/check.ts compares it with pi itself.
//
//   Owns:      pi's reading of a file of version 3: what it takes for the conversation, and what it would send.
//   Does not:  migrate (versions 1 and 2), or know `context_edit` entries, which sessiond does not write.

import { readFileSync } from "node:fs";

export type Fields = Readonly<Record<string, unknown>>;

export interface PiSees {
  readonly id: string;
  /** From the first entry of the conversation to the last. */
  readonly branch: readonly Fields[];
  /** What its model would be shown. */
  readonly messages: readonly Fields[];
}

/** Null: pi does not take the file for a session. */
export function readLikePi(path: string): PiSees | null {
  const lines = parsedLines(readFileSync(path, "utf8"));
  const header = lines[0];
  if (header?.["type"] !== "session" || typeof header["id"] !== "string") return null;
  const branch = branchOf(lines.filter((line) => line["type"] !== "session"));
  return { id: header["id"], branch, messages: contextOf(branch).flatMap(messagesOf) };
}

/** Bad lines are skipped without a word, and so is `null`. */
function parsedLines(text: string): Fields[] {
  const lines: Fields[] = [];
  for (const line of text.split("\n")) {
    try {
      const value: unknown = JSON.parse(line);
      if (value) lines.push(value as Fields);
    } catch {
      continue;
    }
  }
  return lines;
}

/** The last line is the leaf. A parent that is not there ends the branch, and what came before it is not seen. */
function branchOf(entries: readonly Fields[]): Fields[] {
  const byId = new Map(entries.map((entry) => [entry["id"], entry]));
  const branch: Fields[] = [];
  const seen = new Set<unknown>();
  for (let id = entries.at(-1)?.["id"]; id;) {
    const entry = byId.get(id);
    if (!entry || seen.has(id)) break; // pi itself would go round for ever
    seen.add(id);
    branch.unshift(entry);
    id = entry["parentId"];
  }
  return branch;
}

/** The newest compaction comes first, then what it kept, then what came after it. */
export function contextOf(branch: readonly Fields[]): readonly Fields[] {
  const at = branch.findLastIndex((entry) => entry["type"] === "compaction");
  const compaction = branch[at];
  if (!compaction) return branch;
  const before = branch.slice(0, at);
  const first = before.findIndex((entry) => entry["id"] === compaction["firstKeptEntryId"]);
  const kept = first < 0 ? [] : before.slice(first);
  // An older compaction in the kept part says nothing any more: the newer summary holds it.
  const spoken = kept.filter((entry) => entry["type"] !== "compaction" && roleOf(entry) !== "system");
  return [compaction, ...spoken, ...branch.slice(at + 1)];
}

/** What one entry contributes: nothing, for most types, and for all that pi does not know. */
export function messagesOf(entry: Fields): Fields[] {
  const timestamp = Date.parse(String(entry["timestamp"]));
  const { summary, tokensBefore, fromId, customType, content, display, details } = entry;
  switch (entry["type"]) {
    case "message": {
      const message = entry["message"] as Fields;
      const isBare = /^(?:user|assistant|toolResult)$/.test(String(message["role"])) && !message["content"];
      return [isBare ? { ...message, content: message["content"] ?? [] } : message];
    }
    case "custom_message":
      return [{ role: "custom", customType, content: content ?? [], display, details, timestamp }];
    case "branch_summary":
      return summary ? [{ role: "branchSummary", summary, fromId, timestamp }] : [];
    case "compaction": {
      const system = entry["systemMessage"] as Fields | undefined;
      const told = { role: "compactionSummary", summary, tokensBefore, timestamp };
      return system ? [system, told] : [told];
    }
    default:
      return [];
  }
}

function roleOf(entry: Fields): unknown {
  return entry["type"] === "message" ? (entry["message"] as Fields)["role"] : null;
}
