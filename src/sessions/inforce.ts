import type { Agent, QueueMode, ToolPolicy, TurnLimits, Verbose, Visibility } from "../config/config.ts";
import type { Session, SessionLimits, ToolScope } from "./session.ts";

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
  const ofRoot = own.id === root.id ? [] : scopesOf(root.tools);
  const sight = VISIBILITIES.find((each) => [own, root].some(({ tools }) => tools.visibility === each));
  return {
    ...own,
    workspace: root.workspace,
    tools: {
      ...own.tools,
      exec: own.tools.exec && root.tools.exec,
      visibility: sight ?? "self",
      within: [...ofRoot, ...settings.tools],
    },
    limits: limitsFor(settings.limits, own.id === root.id ? own.limits : lesser(own.limits, root.limits)),
  };
}

/** A policy as scopes, for those of another agent who are not to have more than it allows. */
export function scopesOf({ allow, deny, exec, within }: ToolPolicy): readonly ToolScope[] {
  const programs = exec ? [] : ["exec", "process"];
  return [{ allow, deny: [...deny, ...programs] }, ...within];
}

function lesser(one: TurnLimits, other: TurnLimits): TurnLimits {
  return {
    ...one,
    stepsPerTurn: Math.min(one.stepsPerTurn, other.stepsPerTurn),
    turnSeconds: Math.min(one.turnSeconds, other.turnSeconds),
    toolSeconds: Math.min(one.toolSeconds, other.toolSeconds),
  };
}

/** People may set more than the configuration says; what an agent gives is no more than it has (children/spawn.ts). */
function limitsFor(given: SessionLimits | null, own: TurnLimits): TurnLimits {
  if (given === null) return own;
  return {
    ...own,
    stepsPerTurn: given.stepsPerTurn ?? own.stepsPerTurn,
    turnSeconds: given.turnSeconds ?? own.turnSeconds,
  };
}

/** Of two limits the smaller. Null: as the agent's configuration says. */
export function tighter(a: SessionLimits | null, b: SessionLimits | null): SessionLimits | null {
  if (a === null || b === null) return a ?? b;
  const least = (name: keyof SessionLimits): number | null => {
    const [one, other] = [a[name], b[name]];
    return one === null || other === null ? (one ?? other) : Math.min(one, other);
  };
  return {
    stepsPerTurn: least("stepsPerTurn"),
    turnSeconds: least("turnSeconds"),
    tokens: least("tokens"),
    cost: least("cost"),
  };
}
