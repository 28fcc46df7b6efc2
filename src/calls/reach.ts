// Which sessions a caller may know of. People may know of all; a session, as far as its agent's visibility goes.

import { Fault } from "../base/fault.ts";
import { mainKey, parseKey, DEFAULT_AGENT, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Caller, System } from "./call.ts";

/** The session that a text names: the caller's own when it names none, a person's main session. */
export function named(caller: Caller, text: string | undefined): SessionKey {
  if (text !== undefined) return parseKey(text);
  return caller.kind === "agent" ? caller.session.key : mainKey(DEFAULT_AGENT);
}

/** The session's row as it is now. not_found when there is none, forbidden when it is not the caller's to see. */
export async function reached(system: System, caller: Caller, key: SessionKey): Promise<Session> {
  const session = await system.store.session(key);
  const isSeen = session !== null && sees(caller, session);
  if (session !== null && isSeen) return session;
  // To whom it is hidden, a session that exists looks like one that does not, except that the rule is named.
  const hidden =
    caller.kind === "agent" ? ` that you may see (tools.visibility is ${visibilityOf(caller)})` : "";
  throw new Fault(caller.kind === "agent" ? "forbidden" : "not_found", `there is no session ${key}${hidden}`);
}

export function sees(caller: Caller, session: Session): boolean {
  if (caller.kind === "person" || session.key === caller.session.key) return true;
  const own = caller.session;
  switch (visibilityOf(caller)) {
    case "self":
      return false;
    case "tree":
      // Main is shown its agent's whole tree: it is where a person looks after everything.
      return own.kind === "main" && own.key === mainKey(own.agent as AgentId)
        ? session.agent === own.agent
        : session.root === own.root;
    case "agent":
      return session.agent === own.agent;
    case "all":
      return true;
  }
}

export function visibilityOf(caller: Extract<Caller, { kind: "agent" }>): "self" | "tree" | "agent" | "all" {
  return caller.agent.tools.visibility;
}

/** not_found, naming those there are. */
export function configured(system: System, agent: string): void {
  const { agents } = system.config;
  if (agents.has(agent as AgentId)) return;
  throw new Fault(
    "not_found",
    `agent ${JSON.stringify(agent)} is not configured; there are: ${[...agents.keys()].join(", ")}`,
  );
}
