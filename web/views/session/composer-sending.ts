// What becomes of what was written: a command is obeyed, anything else goes to the outbox. It stays where it is until somebody has
// it: the outbox, or the daemon that obeyed it.

import { signal } from "@preact/signals";
import { tell } from "../../parts/toast.tsx";
import { call, faultOf } from "../../wire/call.ts";
import type { Status } from "../../wire/events.ts";
import { composed, tooLong } from "./attaching.ts";
import type { Answer } from "./composer-answer.tsx";
import { refuse } from "./composer-refused.tsx";
import { usualMode } from "./composer-pickers.tsx";
import { isCommand, withoutEscape } from "./completing.ts";
import { draftOf, redraft, sent, type Draft } from "./draft.ts";
import { post } from "./outbox.ts";

/** The sessions in which a command is under way: it is obeyed once, however often somebody presses Enter. */
export const obeying = signal<ReadonlySet<string>>(new Set());

export function isEmpty({ text, files, pictures }: Draft): boolean {
  return text.trim() === "" && files.length === 0 && pictures.length === 0;
}

export async function submitted(
  sessionKey: string,
  status: Status | null,
  answered: (answer: Answer | null) => void,
): Promise<void> {
  const draft = draftOf(sessionKey).value;
  if (isEmpty(draft)) return;
  const isPlain = draft.files.length === 0 && draft.pictures.length === 0;
  if (!isPlain || !isCommand(draft.text)) {
    if (sendDraft(sessionKey, status)) answered(null);
    return;
  }
  if (obeying.value.has(sessionKey)) return;
  obeying.value = new Set([...obeying.value, sessionKey]);
  const answer = await obeyed(sessionKey, draft.text.trim());
  obeying.value = new Set([...obeying.value].filter((each) => each !== sessionKey));
  answered(answer);
}

/** All that is written and attached. False: it is too long, and stays. */
function sendDraft(sessionKey: string, status: Status | null): boolean {
  const { text: written, files, pictures, mode, model } = draftOf(sessionKey).value;
  const text = composed(withoutEscape(written.trimEnd()), files);
  const refusal = tooLong(text);
  if (refusal !== null) {
    tell(refusal, true);
    return false;
  }
  sent(sessionKey);
  refuse(sessionKey, []); // What could not come along is settled.
  post({ sessionKey, text, pictures, mode, model, reads: mode ?? usualMode(status) });
  return true;
}

/** Words that were taken for a command. If something else is being written by now, what is attached belongs to that. */
export function sendWords(sessionKey: string, status: Status | null, text: string): boolean {
  const draft = draftOf(sessionKey).value;
  if (draft.text.trim() === text) return sendDraft(sessionKey, status);
  const { mode } = draft;
  post({ sessionKey, text, pictures: [], mode, model: null, reads: mode ?? usualMode(status) });
  return true;
}

/** What was typed goes when it was obeyed, if nothing else was typed meanwhile. */
async function obeyed(sessionKey: string, text: string): Promise<Answer> {
  try {
    const done = await call("command", { sessionKey, text });
    if (!done.isCommand)
      return {
        to: text,
        is: "no command",
        text: `${text} is no command. Type / to see which there are; two slashes at the beginning stand for one.`,
        sessionKey: null,
      };
    if (draftOf(sessionKey).value.text.trim() === text) redraft(sessionKey, { text: "" });
    return { to: text, is: "done", text: done.text, sessionKey: done.sessionKey };
  } catch (error) {
    const { message, todo } = faultOf(error);
    return { to: text, is: "refused", text: `${message}. ${todo}`, sessionKey: null };
  }
}
