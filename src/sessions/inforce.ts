import type { Agent, QueueMode, TurnLimits, Verbose, Visibility } from "../config/config.ts";
import type { Session, SessionLimits } from "./session.ts";

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

/** The narrowest first. */
const VISIBILITIES: readonly Visibility[] = ["self", "tree", "agent", "all"];

/**
 * The agent as it holds for one session. A sub-agent is a thread of its root: it has the root's workspace, and of tools,
 * sight and time no more than its own agent, its root's agent and whoever spawned it let it have.
 */
export function agentFor({ settings }: Pick<Session, "settings">, own: Agent, root: Agent): Agent {
  const ofRoot = own.id === root.id ? [] : [root.tools];
  const sight = VISIBILITIES.find((each) => [own, root].some(({ tools }) => tools.visibility === each));
  return {
    ...own,
    workspace: root.workspace,
    tools: {
      ...own.tools,
      exec: own.tools.exec && root.tools.exec,
      visibility: sight ?? "self",
      within: [...ofRoot.map(({ allow, deny }) => ({ allow, deny })), ...settings.tools],
    },
    limits: limitsFor(settings.limits, own.limits),
  };
}

function limitsFor(given: SessionLimits | null, own: TurnLimits): TurnLimits {
  if (given === null) return own;
  return {
    ...own,
    stepsPerTurn: Math.min(given.stepsPerTurn ?? Infinity, own.stepsPerTurn),
    turnSeconds: Math.min(given.turnSeconds ?? Infinity, own.turnSeconds),
  };
}
