import { isForFlush } from "../context/flush.ts";
import { isUrgent } from "../mail/batch.ts";
import { inForce } from "../sessions/inforce.ts";
import type { Askers } from "./askers.ts";
import type { Place, TurnParts } from "./parts.ts";
import { resultTold } from "./replies.ts";
import type { Standing } from "./standing.ts";
import type { CallParts } from "./toolcalls.ts";

interface Turning extends Pick<CallParts, "stop" | "leaving" | "isSilent"> {
  readonly standing: Standing;
  readonly askers: Askers;
  readonly seq: number; // of the entry that the calls stand in
}

/** What the calls of one step need of their turn. */
export async function callPartsOf(
  { world, processSlots, store, clean }: TurnParts,
  { held, mailbox, agent, span }: Place,
  { standing, askers, seq, stop, leaving, isSilent }: Turning,
): Promise<CallParts> {
  const tools = await standing.tools; // They are there: a model was shown them, or they were waited for.
  return {
    world,
    held,
    span,
    agent,
    class: () => askers.urgency,
    processSlots,
    tools: isSilent ? tools.filter(({ name }) => isForFlush(name)) : tools,
    isSilent,
    putBlob: (bytes) => store.putBlob(bytes),
    clean,
    stop,
    leaving,
    isSteered: () => mailbox.known.some((mail) => isUrgent(mail, inForce(held.row, agent).queueMode)),
    told: (result) =>
      askers.replies.meanwhile(
        `result-${seq}-${result.toolCallId}`,
        resultTold(inForce(held.row, agent).verbose, result),
      ),
  };
}
