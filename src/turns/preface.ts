import type { Model, Thinking } from "../models/model.ts";
import type { Settings } from "../sessions/session.ts";
import { DEFAULT_SETTINGS } from "../store/opened.ts";
import type { Body, Entry } from "../transcript/entry.ts";
import { isNote } from "../transcript/note.ts";

/**
 * What the transcript has to say before the next answer: that another model speaks now, that it thinks more or less, that
 * settings have changed. Settings are anybody's to change at any time, and only the owner writes; so they are written down
 * with the first answer that they were in force for. The row could be lost: the file has them.
 */
export function preface(
  entries: readonly Entry[],
  now: { readonly model: Model; readonly thinking: Thinking; readonly settings: Settings },
): Body[] {
  const { model, thinking, settings } = now;
  const notes: Body[] = [];
  if (JSON.stringify(settings) !== JSON.stringify(settingsIn(entries)) || isForgotten(entries, "setting"))
    notes.push({ type: "custom", customType: "sessiond/setting", data: settings });
  const before = modelIn(entries);
  if (before !== null && before !== model.id)
    notes.push({ type: "model_change", provider: model.provider, modelId: model.name });
  const isNoted = entries.some(({ type }) => type === "thinking_level_change");
  if (thinkingIn(entries) !== thinking || (!isNoted && isCompacted(entries)))
    notes.push({ type: "thinking_level_change", thinkingLevel: thinking });
  return notes;
}

/** What was noted before the context starts is not known here, and whoever reads the file reads that last: so it is said again. */
function isForgotten(entries: readonly Entry[], what: string): boolean {
  return isCompacted(entries) && !entries.some((entry) => isNote(entry, what));
}

function isCompacted(entries: readonly Entry[]): boolean {
  return entries.some(({ type }) => type === "compaction");
}

function settingsIn(entries: readonly Entry[]): Settings {
  const note = entries.findLast((entry) => isNote(entry, "setting"));
  return note?.type === "custom"
    ? { ...DEFAULT_SETTINGS, ...(note.data as Partial<Settings>) }
    : DEFAULT_SETTINGS;
}

/** Null: nobody has spoken yet. */
function modelIn(entries: readonly Entry[]): string | null {
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.type === "model_change") return `${entry.provider}/${entry.modelId}`;
    if (entry?.type === "message" && entry.message.role === "assistant")
      return `${entry.message.provider}/${entry.message.model}`;
  }
  return null;
}

function thinkingIn(entries: readonly Entry[]): string {
  const note = entries.findLast(({ type }) => type === "thinking_level_change");
  return note?.type === "thinking_level_change" ? note.thinkingLevel : "off";
}
