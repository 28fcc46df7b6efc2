// What calls come to, in words: for chats, and for the command line.

import { ago, count, duration, many, money, percent, whole } from "../../base/figures.ts";
import { cut, oneLine } from "../../base/harmless.ts";
import type { Output } from "./command.ts";

export function statusLines(status: Output<"status">, nowMs: number): readonly string[] {
  const { usage, tree, context, settings } = status;
  const tokens = (of: typeof usage): number => of.input + of.output + of.cacheRead + of.cacheWrite;
  const below = tokens(tree) - tokens(usage);
  return [
    `${status.sessionKey}${status.title === "" ? "" : ` "${oneLine(status.title)}"`} · ${status.state}`,
    `why      ${oneLine(status.why)}`,
    `model    ${status.model} (${status.modelFrom === "session" ? "set here" : "the agent's"}) · thinking ${status.thinking}`,
    `context  ${percent(context.tokens, context.window)} of ${count(context.window)}`,
    `usage    ${count(tokens(usage))} tokens · ${money(usage.cost)} · ${many(usage.steps, "step")} · ${many(usage.toolCalls, "tool call")}` +
      (below > 0 ? ` (with children ${count(tokens(tree))} · ${money(tree.cost)})` : ""),
    `age      ${duration(nowMs - Date.parse(status.bornAt))} · last ${ago(nowMs - Date.parse(status.updatedAt))} · nice ${settings.nice}` +
      (settings.pinned ? " · pinned" : ""),
  ];
}

/** `faint` is for what matters less. */
export function contextLines(
  about: Output<"context">,
  faint: (text: string) => string = (text) => text,
): readonly string[] {
  const { tokens, window, most, compactAt, parts, pruned, compaction, pins, model } = about;
  const shares: readonly (readonly [string, number])[] = [
    ["system prompt", parts.system],
    ["tools", parts.tools],
    ["summary", parts.summary],
    ["messages", parts.messages],
    ["tool results", parts.toolResults],
  ];
  const lines = [
    `${count(tokens)} tokens, ${percent(tokens, window)} of the ${count(window)} of ${model}; summarised past ${count(compactAt)}`,
    ...shares.map(
      ([name, part]) => `  ${faint(name.padEnd(14))} ${count(part).padStart(7)}  ${bar(part, tokens)}`,
    ),
  ];
  if (tokens > most) lines.push(`  the next request is cut to ${count(most)}, so that it fits`);
  if (pins.length > 0) lines.push(`  ${many(pins.length, "entry", "entries")} pinned`);
  for (const { entry, seq, text } of pins)
    lines.push(`    ${seq === null ? oneLine(entry) : `#${seq}`} ${faint(cut(oneLine(text), PIN_CELLS))}`);
  if (pruned.results > 0)
    lines.push(
      `  ${many(pruned.results, "tool result")} removed from the prompt (${whole(pruned.bytes)} bytes); sessiond result reads them`,
    );
  if (compaction !== null) {
    const why =
      compaction.truncated === null ? "" : `; cut without a summary: ${cut(compaction.truncated, WHY_CELLS)}`;
    lines.push(
      `  compacted at entry ${compaction.seq} from ${count(compaction.tokensBefore)} tokens${oneLine(why)}`,
    );
  }
  return lines;
}

/** Of the words of a pinned entry: beside its number they fit a line. */
const PIN_CELLS = 60;

/** Of why there is no summary. */
const WHY_CELLS = 100;

const BAR_CELLS = 30;

function bar(part: number, of: number): string {
  return "█".repeat(of === 0 ? 0 : Math.round((part / of) * BAR_CELLS));
}

export function compactedWords({ outcome, reason, tokensBefore, tokensAfter }: Output<"compact">): string {
  if (tokensBefore !== null && tokensAfter !== null)
    return `${count(tokensBefore)} tokens became ${count(tokensAfter)}${reason === null ? "" : `; ${reason}`}`;
  return outcome === "done" ? (reason ?? "nothing to do") : `not compacted${yet({ outcome, reason })}`;
}

export function handedWords(done: Output<"handoff">): string {
  const { from, sessionKey, file, outcome } = done;
  if (outcome === "done")
    return `${sessionKey} goes on from ${from}; the state is in ${file} of the workspace`;
  const who = outcome === "unanswered" ? `, and ${sessionKey} goes on from there` : "";
  return `${from} is not handed over${yet(done)}${who}`;
}

export function rewoundWords(done: Output<"rewind">): string {
  return done.outcome === "done" ? `continues from entry ${done.to}` : `has not gone back${yet(done)}`;
}

export function resetWords(done: Output<"reset">): string {
  const { outcome, reason, archive } = done;
  if (outcome !== "done") return `has not begun anew${yet(done)}`;
  if (archive === null) return reason ?? "it is new already";
  return `a new conversation begins; the old one is archive ${archive}`;
}

/** Of what is not done. */
function yet({ outcome, reason }: Pick<Output<"compact">, "outcome" | "reason">): string {
  const why = reason ?? "nobody says why";
  if (outcome !== "unanswered") return ` (${outcome}): ${why}`;
  return ` yet: ${why}; it is done when the session comes to it`;
}
