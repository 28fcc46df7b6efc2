// A turn that did not end well: what became of it, why, and what to do, while that is still to be done.

import { oneLine } from "../../../../src/base/harmless.ts";
import type { Row } from "./rows.ts";

/** Characters of a reason: a provider may say anything. */
const REASON_CHARS = 2_000;

interface Ending {
  readonly name: string;
  readonly todo: string; // empty: nothing
}

/** By the outcome of a turn. The reason says what is wrong; this is what a person has here to do about it. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  failed: {
    name: "Failed",
    todo: "What you wrote is kept. Mend what it says, or choose another model below; then say “go on”.",
  },
  overflow: {
    name: "Too long for its model",
    todo: "Compact the context (key c), or choose a model with a larger window below; then say “go on”.",
  },
  timeout: { name: "Out of time", todo: "Say “go on”: a new turn has its time anew." },
  limit: {
    name: "At its limit",
    todo: "Say “go on” for more steps. A budget that is used up is raised first: sessiond limit.",
  },
  interrupted: {
    name: "Given up after restarts",
    todo: "Overview says what failed lately. Say “go on” to try it once more.",
  },
  aborted: { name: "Stopped", todo: "" },
  killed: { name: "Killed", todo: "" },
};

/** When it has ended, it takes no more messages: there is nobody to say anything to. Others begin again with the next. */
export function endsForGood(sessionKey: string): boolean {
  return /^agent:[^:]+:(?:subagent|cron|heartbeat)(?::|$)/.test(sessionKey);
}

export function Ended({
  row: { item, isLast },
  sessionKey,
}: {
  readonly row: Extract<Row, { kind: "ended" }>;
  readonly sessionKey: string;
}) {
  const { name, todo } = ENDINGS[item.outcome] ?? { name: oneLine(item.outcome), todo: "" };
  const reason = item.reason === null ? "" : `: ${oneLine(item.reason.slice(0, REASON_CHARS))}`;
  const isQuiet = item.outcome === "aborted" || item.outcome === "killed";
  return (
    <div class={`ending${isQuiet ? "" : " bad"}`}>
      <p>
        <b>{name}</b>
        {reason}
      </p>
      {isLast && todo !== "" && !endsForGood(sessionKey) && <p class="todo">{todo}</p>}
    </div>
  );
}
