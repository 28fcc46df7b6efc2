// What a child says when it is done with a task: to whoever gave it, in the commit that ends its turn. Status and figures
// are ours, from the outcome; only what follows them is the child's.

import { MESSAGE_TEXT_BYTES_MAX } from "../limits.ts";
import type { Class, Letter } from "../mail/letter.ts";
import { REPORT_TOOL, reportId } from "../mail/task.ts";
import { handedOn } from "../mail/urgency.ts";
import { agentOf, mainKey, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { textOf, type Block, type Body, type Entry } from "../transcript/entry.ts";
import { NO_TOKENS } from "../transcript/fold.ts";
import { spillBlock, type PutBlob } from "../transcript/spill.ts";
import { isNote } from "../transcript/note.ts";
import { openTurn, spentIn, type TurnOutcome } from "./where.ts";

/** How a turn ended that somebody gave the task for. */
export interface Ended {
  readonly key: SessionKey;
  readonly label: string | null;
  readonly outcome: TurnOutcome;
  readonly reason: string | null;
  readonly said: string; //                  the last words; empty: none
  readonly entries: readonly Entry[]; //     of the session
  readonly last: readonly Body[]; //         that the end adds to them
  readonly nowMs: number;
}

/** Words for each outcome. Done is the only one without a reason. */
const WORDS: Readonly<Record<TurnOutcome, string>> = {
  done: "done",
  failed: "failed",
  overflow: "failed",
  aborted: "was stopped",
  killed: "was killed",
  timeout: "ran out of time",
  limit: "came to a limit",
  interrupted: "was given up after restarts",
};

/** The whole of it: what does not fit a letter is a blob, and its beginning and end stay. */
export async function reportContent(ended: Ended, putBlob: PutBlob): Promise<readonly Block[]> {
  const { key, label, outcome, reason, said } = ended;
  const who = label === null ? key : `${label.replaceAll(/\s+/g, " ")} (${key})`;
  const why = reason === null || outcome === "killed" ? "" : `: ${reason.replaceAll(/\s+/g, " ")}`;
  const answer = outcome === "done" ? "Its answer:" : "What it had said:";
  const text = [
    `Report of ${who}: ${WORDS[outcome]}${why}`,
    figures(ended),
    ...(said.trim() === "" ? ["It said nothing."] : [answer, said]),
  ].join("\n");
  const block: Block = { type: "text", text: text.toWellFormed() };
  const written = Buffer.byteLength(JSON.stringify(text));
  return [written <= MESSAGE_TEXT_BYTES_MAX ? block : await spillBlock(block, putBlob)];
}

export function reportLetter(child: SessionKey, task: string, of: Class, content: readonly Block[]): Letter {
  return {
    id: reportId(task),
    from: { kind: "inter_session", source: child, tool: REPORT_TOOL },
    class: handedOn(of),
    mode: "followup", // It enters a turn that runs, but skips nothing and interrupts nothing.
    content,
    replyTo: null,
    origin: null,
  };
}

/**
 * Who is to hear of it: who gave the task, or else the nearest above that one; the child's own parents when all of those are
 * gone, and main at last. The store takes the first that lives.
 */
export async function addresses(
  giver: SessionKey,
  child: Session,
  find: (key: SessionKey) => Promise<Session | null>,
): Promise<readonly SessionKey[]> {
  const found = new Set<SessionKey>([giver]);
  for (const start of [giver, child.parent])
    for (let at = start; at !== null; at = (await find(at))?.parent ?? null) found.add(at);
  for (const key of [child.root, child.key]) found.add(key).add(mainKey(agentOf(key)));
  found.delete(child.key); // One that was resumed by its own descendant.
  return [...found];
}

/** Time, tokens and cost since the turn began, also over restarts, and over compactions that have cut off its beginning. */
function figures({ key, entries, last, nowMs }: Ended): string {
  const turn = openTurn(entries);
  const seconds = Math.max(0, nowMs - (turn?.startedAtMs ?? nowMs)) / 1_000;
  const { input, output, cacheRead, cacheWrite, cost } = spentIn(last, turn?.spent ?? NO_TOKENS);
  const read = input + cacheRead + cacheWrite;
  return `${seconds.toFixed(1)} s · ${read} tokens in, ${output} out · $${cost.toFixed(4)} · ${key}`;
}

/** The last words of the turn that runs: for a child that did not come to its end. */
export function lastWords(entries: readonly Body[]): string {
  const from = entries.findLastIndex((entry) => isNote(entry, "turn-started"));
  for (const entry of entries.slice(from + 1).toReversed()) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    const text = textOf(entry);
    if (text.trim() !== "") return text;
  }
  return "";
}
