// What can be seen to be wrong with a change before anything is looked up: the same for every engine.

import { Fault } from "../base/fault.ts";
import { anything, listOf, mustFit } from "../base/fits.ts";
import { ID_CHARS_MAX, LABEL_CHARS_MAX, LETTER_BYTES_MAX } from "../limits.ts";
import type { Settings } from "../sessions/session.ts";
import { jsonOf } from "../transcript/codec.ts";
import { checkShape } from "./shape.ts";
import type { Change } from "./change.ts";

/** Looked at where a commit comes in, before any engine does. */
export function checkChanges(changes: readonly Change[]): void {
  mustFit("commit", A_LIST, changes);
  for (const change of changes) checkChange(change);
}

const A_LIST = listOf(anything);

function checkChange(change: Change): void {
  checkShape(change);
  switch (change.do) {
    case "open":
    case "set":
      checkSettings(change.settings);
      break;
    case "append":
      if (change.contextSeq === null && change.entries.some(({ type }) => type === "compaction"))
        throw new Fault("bad_input", `with a compaction, say where the context of ${change.key} starts now`);
      break;
    case "post":
      if (!/^(?:ext|cause):/.test(change.letter.id)) {
        throw new Fault(
          "bad_input",
          `a letter's id begins with "ext:" or "cause:", not ${JSON.stringify(change.letter.id.slice(0, 80))}`,
        );
      }
      checkId(change.letter.id);
      break;
    case "setTimer":
      checkId(change.timer.id);
      bounded(`timer ${change.timer.id}`, change.timer.body);
      break;
    case "setJob":
      checkId(change.job.id);
      bounded(`job ${change.job.id}`, change.job);
      if (change.job.version !== (change.expectVersion ?? 0) + 1)
        throw new Fault(
          "bad_input",
          `job ${change.job.id}: its version is one more than the one that was seen`,
        );
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
}
