// A beat is a letter to an agent's heartbeat session, and what it comes to goes to the clock (timers/). Ids that begin with
// `cause:` are made by sessiond alone.

import type { Letter } from "./letter.ts";

/** An answer that is just this says that nothing needs attention. Nobody is sent it, whoever says it. */
export const HEARTBEAT_OK = "HEARTBEAT_OK";

const BEAT = "cause:heartbeat:";

/** `beat` is when it was due, or what whoever asked for it was told. Neither it nor the id of an agent has a colon. */
export function beatId(agent: string, beat: string): string {
  return `${BEAT}${agent}:${beat}`;
}

/** What comes of a beat, for another session: `what` it is. */
export function afterBeatId(agent: string, beat: string, what: "alert" | "failing"): string {
  return `${beatId(agent, beat)}:${what}`;
}

/** What a beat found, for main. */
export function isAlert({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith(BEAT) && id.endsWith(":alert");
}

export function isBeat({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith(BEAT) && id.split(":").length === 4;
}
