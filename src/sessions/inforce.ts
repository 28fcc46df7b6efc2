import type { Agent, QueueMode, Verbose } from "../config/config.ts";
import type { Session } from "./session.ts";

/** What holds for a session now. */
export interface InForce {
  readonly model: string; //               an id, or an alias of the configuration
  readonly modelFrom: "session" | "agent"; // who says so
  readonly thinking: string;
  readonly verbose: Verbose;
  readonly queueMode: QueueMode | null; // null: as suits who wrote the letter
}

/** Its own settings, or else its agent's. What may be set is checked where it is set (calls/schemas.ts). */
export function inForce({ settings }: Session, agent: Agent): InForce {
  return {
    model: settings.model ?? agent.model,
    modelFrom: settings.model === null ? "agent" : "session",
    thinking: settings.thinking ?? agent.thinking,
    verbose: (settings.verbose as Verbose | null) ?? agent.verbose,
    queueMode: (settings.queueMode as QueueMode | null) ?? agent.queueMode,
  };
}
