// What can be seen to be wrong with a change before anything is looked up: the same for every engine.

import { Fault } from "../base/fault.ts";
import { ID_CHARS_MAX, LABEL_CHARS_MAX, LETTER_BYTES_MAX } from "../limits.ts";
import type { Settings } from "../sessions/session.ts";
import { jsonOf } from "../transcript/codec.ts";
import type { Change } from "./store.ts";

/** Looked at where a commit comes in, before any engine does. */
export function checkChange(change: Change): void {
  switch (change.do) {
    case "open":
    case "set":
      checkSettings(change.settings);
      break;
    case "append":
      if (change.entries.length === 0)
        throw new Fault("bad_input", `an append to ${change.key} has no entries`);
      if (change.contextSeq === null && change.entries.some(({ type }) => type === "compaction"))
        throw new Fault("bad_input", `with a compaction, say where the context of ${change.key} starts now`);
      break;
    case "post":
      if (change.to.length === 0)
        throw new Fault("bad_input", `letter ${change.letter.id} is addressed to nobody`);
      if (!/^(?:ext|cause):/.test(change.letter.id)) {
        throw new Fault(
          "bad_input",
          `a letter's id begins with "ext:" or "cause:", not ${JSON.stringify(change.letter.id.slice(0, 80))}`,
        );
      }
      checkId(change.letter.id);
      break;
    case "charge":
      for (const [name, amount] of Object.entries(change.usage)) {
        if (!Number.isFinite(amount)) throw new Fault("bad_input", `${name} is an amount, not ${amount}`);
      }
      break;
    case "setTimer":
      checkId(change.timer.id);
      if (!Number.isSafeInteger(change.timer.dueAtMs))
        throw new Fault("bad_input", `a timer is due at a whole millisecond, not ${change.timer.dueAtMs}`);
      bounded(`timer ${change.timer.id}`, change.timer.body);
      break;
    case "send":
      checkId(change.outgoing.id);
      bounded(`answer ${change.outgoing.id}`, change.outgoing.content);
      break;
    default:
  }
}

/** Half a character has no bytes of its own, so two such ids could become one. */
function checkId(id: string): void {
  if (id === "" || id.length > ID_CHARS_MAX || !id.isWellFormed())
    throw new Fault(
      "bad_input",
      `an id has 1 to ${ID_CHARS_MAX} characters, all of them whole: ${JSON.stringify(id.slice(0, 80))}`,
    );
}

/** The JSON of what waits. It is read whole, so it has a bound. */
export function bounded(what: string, content: unknown): string {
  const json = jsonOf(content ?? null);
  if (Buffer.byteLength(json) > LETTER_BYTES_MAX)
    throw new Fault(
      "bad_input",
      `${what} is larger than ${LETTER_BYTES_MAX} bytes; put the large part into a blob`,
    );
  return json;
}

function checkSettings(settings: Partial<Settings>): void {
  const label = settings.label ?? "";
  if ([...label].length > LABEL_CHARS_MAX) {
    throw new Fault(
      "bad_input",
      `a label has at most ${LABEL_CHARS_MAX} characters, this one has ${[...label].length}`,
    );
  }
  const nice = settings.nice ?? 0;
  if (!Number.isInteger(nice) || nice < -20 || nice > 19)
    throw new Fault("bad_input", `nice is a whole number from -20 to 19, not ${nice}`);
}
