// What comes before every step: orders are obeyed, letters enter the turn, and one that was yielded rests.

import { entering } from "../mail/batch.ts";
import { isAbort } from "../mail/task.ts";
import type { SessionKey } from "../routing/key.ts";
import { inForce } from "../sessions/inforce.ts";
import type { RunState } from "../sessions/session.ts";
import type { Askers } from "./askers.ts";
import type { Place, TurnParts } from "./parts.ts";
import { obeyed, Stopped } from "./stop.ts";
import { brokenNote, restsOn } from "./tasks.ts";

interface Before {
  readonly askers: Askers;
  readonly state: RunState; //     of the session, when letters were taken
  readonly signal: AbortSignal; // with a Stopped
}

/** Between steps, never inside one, a turn sees what others want of it. Throws a Stopped when it is to stop. */
export async function mayGoOn({ held, agent }: Place, steps: number, stopped: AbortSignal): Promise<void> {
  stopped.throwIfAborted();
  const { signal } = await held.look();
  if (signal === "kill") throw new Stopped({ kind: "killed", why: "the session was killed" });
  if (signal === "pause") throw new Stopped({ kind: "paused", why: "the session was paused" });
  const { stepsPerTurn } = agent.limits;
  if (steps >= stepsPerTurn)
    throw new Stopped({ kind: "limit", why: `the turn took ${stepsPerTurn} steps, as many as it may` });
}

/** Throws a Stopped when the turn is to stop, or rests. False: letters came, and it is to be looked once more. */
export async function isReady(
  parts: Pick<TurnParts, "isCircle">,
  place: Place,
  { askers, state, signal }: Before,
): Promise<boolean> {
  const { held, mailbox, agent } = place;
  const awaited = await awaitedBy(place);
  // What it rests on may stand behind any number of letters that have to wait for its end.
  const waiting = await (awaited.length > 0 ? mailbox.all() : mailbox.waiting());
  const order = waiting.find((mail) => isAbort(mail) || askers.isDue(mail));
  if (order) throw new Stopped(obeyed(order));
  signal.throwIfAborted(); // A letter that interrupted meanwhile is not for the turn that it stops.
  const letters = entering(waiting, inForce(held.row, agent).queueMode);
  if (letters.length > 0) await askers.take(letters, [], state);
  if (awaited.length === 0) return true;
  if (letters.length === 0) await rest(parts, place, awaited);
  return false;
}

/** The children that it has yielded for and that have not reported. */
async function awaitedBy({ held }: Place): Promise<readonly SessionKey[]> {
  return restsOn(await held.entries(), held.row.transcript.copied).map(({ key }) => key);
}

/**
 * Two who yield at the same moment, each for the other, both looked before either was seen to wait. So it is looked once
 * more, now that it is written down, and whoever sees it goes on.
 */
async function rest(
  { isCircle }: Pick<TurnParts, "isCircle">,
  { held }: Place,
  awaited: readonly SessionKey[],
): Promise<void> {
  const { key, state } = held.row;
  if (state.kind === "waiting" || !(await isCircle(key, awaited)))
    throw new Stopped({ kind: "yielded", why: "it waits for its children" });
  await held.commit({ entries: [brokenNote(awaited)] });
}
