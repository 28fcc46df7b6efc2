// The limits that hold for a session: who set them, and the budgets above it, which hold for it too.

import type { z } from "zod";
import { agentOf, type AgentId } from "../routing/key.ts";
import { boundsOf, type Bound } from "../sessions/budget.ts";
import { agentFor } from "../sessions/inforce.ts";
import type { Session, SessionLimits } from "../sessions/session.ts";
import type { System } from "./call.ts";
import type { limitsInForce } from "./schemas.ts";

type Limits = z.input<typeof limitsInForce>;

const NAMES = ["stepsPerTurn", "turnSeconds", "tokens", "cost"] as const satisfies (keyof SessionLimits)[];

export async function limitsOf(system: System, session: Session): Promise<Limits> {
  const { agents } = system.config;
  const bounds = await boundsOf({ agents, find: (key) => system.store.session(key) }, session);
  const own = bounds.find(({ key }) => key === session.key);
  const { limits: given } = session.settings;
  return {
    ...turnLimits(system, session),
    tokens: finite(own?.tokens),
    cost: finite(own?.cost),
    ofSession: NAMES.filter((name) => given !== null && given[name] !== null),
    above: bounds.filter((bound) => bound !== own).map(aboveOf),
  };
}

function turnLimits({ config }: System, session: Session): Pick<Limits, "stepsPerTurn" | "turnSeconds"> {
  const own = config.agents.get(session.agent as AgentId);
  const root = config.agents.get(agentOf(session.root));
  if (own === undefined || root === undefined) return { stepsPerTurn: null, turnSeconds: null };
  const { stepsPerTurn, turnSeconds } = agentFor(session, own, root).limits;
  return { stepsPerTurn, turnSeconds };
}

function aboveOf({ key, tokens, cost, used }: Bound): Limits["above"][number] {
  return { sessionKey: key, tokens: finite(tokens), cost: finite(cost), used };
}

function finite(most: number | undefined): number | null {
  return most === undefined || most === Infinity ? null : most;
}
