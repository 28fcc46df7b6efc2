// Which agent a request is for, with which model, and which session it goes to.

import { createHash } from "node:crypto";
import { Fault } from "../../base/fault.ts";
import type { Person } from "../../calls/call.ts";
import {
  agentOf,
  DEFAULT_AGENT,
  directKey,
  hookKey,
  parseKey,
  type AgentId,
  type SessionKey,
} from "../../routing/key.ts";
import type { Gate } from "../gate.ts";
import { Refused } from "./errors.ts";

/** The name under which clients find the agent main, and before a slash any other. */
export const OWN_NAME = "sessiond";

const CHANNEL = "openai";

/** What `model` says. */
export interface Wanted {
  readonly name: string; //          as the client said it
  readonly agent: AgentId | null; // null: it names none, so main, or whose the session is
  readonly model: string | null; //  null: the one in force
}

/** What a request says of its session. */
export interface Naming {
  readonly header: string | undefined; // X-Session-Key
  readonly user: string | null | undefined;
  readonly messageId: string | undefined; // Idempotency-Key
}

export interface Found {
  readonly sessionKey: SessionKey;
  readonly isFresh: boolean; // true: opened for this request alone, so it knows nothing yet
}

export function wantedIn({ system: { config, catalog } }: Gate, name: string): Wanted {
  if (name === OWN_NAME) return { name, agent: null, model: null };
  if (name.startsWith(`${OWN_NAME}/`)) {
    const agent = [...config.agents.keys()].find((id) => name === `${OWN_NAME}/${id}`);
    if (agent !== undefined) return { name, agent, model: null };
    throw noModel(`no agent is called so; there are: ${agentNames([...config.agents.keys()])}`, name);
  }
  try {
    return { name, agent: null, model: catalog.find(name).id };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw noModel(`${error.message}; agents are ${agentNames([...config.agents.keys()])}`, name);
  }
}

function agentNames(agents: readonly AgentId[]): string {
  return [OWN_NAME, ...agents.map((agent) => `${OWN_NAME}/${agent}`)].join(", ");
}

function noModel(why: string, name: string): Refused {
  const message = `model ${JSON.stringify(name.slice(0, 80))}: ${why}`;
  return new Refused("not_found", message, { param: "model", word: "model_not_found" });
}

/** By the header, else by the user, else one of its own. A repeated request finds the one of the first time. */
export function sessionFor(gate: Gate, caller: Person, wanted: Wanted, naming: Naming): Found {
  const { header, user, messageId } = naming;
  if (header !== undefined) return { sessionKey: agreeing(keyIn(header), wanted), isFresh: false };
  const agent = wanted.agent ?? DEFAULT_AGENT;
  if (user != null)
    return { sessionKey: directKey({ agent, channel: CHANNEL, account: null, peer: user }), isFresh: false };
  const id =
    messageId === undefined ? gate.system.world.newId() : digest([caller.principal, wanted.name, messageId]);
  return { sessionKey: hookKey(agent, `${CHANNEL}-${id}`), isFresh: true };
}

function keyIn(header: string): SessionKey {
  try {
    return parseKey(header);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Refused(error.code, `X-Session-Key: ${error.message}`, { param: "X-Session-Key" });
  }
}

/** A session has one agent for ever. */
export function agreeing(key: SessionKey, { name, agent }: Wanted): SessionKey {
  if (agent === null || agent === agentOf(key)) return key;
  throw new Refused(
    "bad_input",
    `model: ${name} is another agent than that of the session ${key}; say ${OWN_NAME}, or name no session`,
    { param: "model" },
  );
}

/** Short, and the same for the same words. */
export function digest(words: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(words)).digest("base64url").slice(0, 22);
}
