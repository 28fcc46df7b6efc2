import { assert } from "../base/assert.ts";
import type { SessionKey } from "../routing/key.ts";
import type { RunState } from "./session.ts";

type Kind = RunState["kind"];

/** What may follow what. Only one-shot sessions end by themselves; a kill ends any. */
const NEXT: Readonly<Record<Kind, readonly Kind[]>> = {
  idle: ["running", "ended"],
  queued: ["running", "paused", "ended"],
  running: ["running", "idle", "waiting", "paused", "ended"], // running again: the next step
  waiting: ["running", "idle", "queued", "paused", "ended"], // idle: somebody stopped it
  paused: ["running", "idle", "ended"],
  ended: [],
};

/** The only way from one state to another. Another one is our bug, and stops the turn before anything is written. */
export function moved(key: SessionKey, from: RunState, to: RunState): RunState {
  assert(NEXT[from.kind].includes(to.kind), `${key} goes from ${from.kind} to ${to.kind}`);
  return to;
}
