// Named children: a stable address instead of a number, so that whoever gives the next task finds the same transcript.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { describeKey, namedKey, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session, ToolScope } from "../sessions/session.ts";
import type { Mail } from "../mail/letter.ts";

export interface Naming {
  readonly sessionKey?: string | undefined; // "thread:<name>", or the whole key
  readonly name?: string | undefined; //       the name alone, in any letters
}

/** Null: it gets no name, and so a key of its own. */
export function namedChild(agent: AgentId, { sessionKey, name }: Naming): SessionKey | null {
  if (sessionKey !== undefined && name !== undefined)
    throw new Fault("bad_input", "name the child by sessionKey or by name, not by both");
  if (name !== undefined) return namedKey(agent, name);
  if (sessionKey === undefined) return null;
  const key = sessionKey.startsWith("agent:") ? parseKey(sessionKey) : shortKey(agent, sessionKey);
  const parts = describeKey(key);
  if (parts.kind !== "thread" && parts.kind !== "subagent")
    throw new Fault("bad_input", `a named child is called "thread:<name>", and ${shown(sessionKey)} is not`);
  if (parts.agent !== agent)
    throw new Fault("bad_input", `${key} is one of agent ${parts.agent}; say agent: "${parts.agent}" too`);
  return key;
}

/** `thread:run` and `thread:Plan B` are what a key cannot hold as it stands: they are names all the same. */
function shortKey(agent: AgentId, text: string): SessionKey {
  try {
    return parseKey(`agent:${agent}:${text}`);
  } catch (error) {
    const name = /^thread:([^:]+)$/.exec(text)?.[1];
    if (name === undefined) throw error;
    return namedKey(agent, name);
  }
}

/** exists: it is there, and nobody asked to go on with it. */
export function mustBeResumed(session: Session, isAsked: boolean): void {
  if (isAsked) return;
  const { key, state } = session;
  const since = new Date(session.updatedAtMs).toISOString();
  throw new Fault(
    "exists",
    `${key} is there already (${state.kind}, last active ${since}); to go on with it, say resumeIfExists: true; ` +
      "or choose another name",
  );
}

/** forbidden: it may more than who wants to use it. What holds a session must hold all that it has others do. */
export function mustBeHeldBy({ key, settings }: Session, scopes: readonly ToolScope[]): void {
  const held = new Set(settings.tools.map((scope) => JSON.stringify(scope)));
  if (scopes.every((scope) => held.has(JSON.stringify(scope)))) return;
  throw new Fault(
    "forbidden",
    `${key} may use tools that you may not: choose another name for a child of your own`,
  );
}

/** Whether a new task waits for others first. */
export function isAtWork({ state, signal }: Session, letters: readonly Mail[]): boolean {
  return letters.length > 0 || signal !== "none" || (state.kind !== "idle" && state.kind !== "ended");
}
