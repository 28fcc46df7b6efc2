// Forks: a new session that begins with what another knew at one of its entries, and goes its own way from there.
//
// A fork is a process of its own: another key, another transcript, no letters, nothing used. It never may more than its
// source; one that an agent makes never may more than that agent's session either, and is its child, so that the budget of
// its root holds and its depth is bounded.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { copiedOf } from "../children/copy.ts";
import { ENTRY_LOOKBACK_ENTRIES, FORK_BYTES_MAX, FORK_ENTRIES_MAX, ID_CHARS_MAX } from "../limits.ts";
import {
  agentOf,
  isMadeUp,
  madeUpKey,
  namedKey,
  repeatableKey,
  type AgentId,
  type SessionKey,
} from "../routing/key.ts";
import type { Session, Settings, ToolScope } from "../sessions/session.ts";
import { scopesOf, tighter } from "../sessions/inforce.ts";
import type { Caller, Done, System } from "./call.ts";
import { configured, keyFor, reached } from "./reach.ts";
import { principalOf } from "./send.ts";
import { setInput } from "./setting-shapes.ts";

export const forkInput = z.strictObject({
  sessionKey: z
    .string()
    .optional()
    .describe("The key of the session to fork; without it, your own (a person's: main)."),
  entry: z
    .string()
    .min(1)
    .max(ID_CHARS_MAX)
    .optional()
    .describe("The id of the last entry that the fork has; without it and `seq`, the newest."),
  seq: z.int().min(1).optional().describe("The same by its number. A call without its result is left out."),
  name: z
    .string()
    .min(1)
    .optional()
    .describe("A name for the fork, which becomes a part of its key; without it, one is made up."),
  id: z
    .string()
    .min(1)
    .max(ID_CHARS_MAX)
    .optional()
    .describe(
      "For programs that may ask again: an id of your own in place of a name, with `seq`. The same one gives the same fork.",
    ),
  label: setInput.shape.label,
});

export const forked = z.strictObject({
  sessionKey: z.string().describe("The key of the new session. It waits for a message."),
  from: z.string().describe("The key of the session that was forked."),
  throughSeq: z
    .int()
    .describe(
      "The last entry of that session which was copied; of a fork that was there, the one asked for.",
    ),
  entries: z.int().describe("How many were copied."),
});

type Agent = Extract<Caller, { kind: "agent" }>;

export async function fork(
  system: System,
  caller: Caller,
  { sessionKey, label = null, ...asked }: z.output<typeof forkInput>,
): Promise<Done<z.input<typeof forked>>> {
  mustAgree(asked);
  const { entry, seq } = asked;
  if (caller.kind === "agent") mustBeHigh(caller);
  const source = await reached(system, caller, keyFor(caller, sessionKey));
  configured(system, source.agent);
  if (caller.kind === "agent") mustBeAllowed(caller, source);
  const agent = source.agent as AgentId;
  const key = keyOfFork(system, caller, source, asked);
  const there = await system.store.session(key);
  if (there !== null) return madeBefore(there, source.key, asked);
  const through = entry === undefined ? (seq ?? null) : await seqOf(system, source, entry);
  const copied = await copiedOf(system.store, source, through);
  if (copied === null) throw nothingToCopy(source, through);
  const { copy, ids } = copied;
  const opened = {
    do: "open",
    key,
    transcript: system.world.newId(),
    cwd: system.config.agents.get(agent)?.workspace ?? "",
    parent: caller.kind === "agent" ? caller.session.key : null,
    settings: { ...settingsFor(caller, source, scopesAbove(system, source), ids), label },
    copy,
    ifExists: "refuse",
  } as const;
  const output = { sessionKey: key, from: source.key, throughSeq: copy.throughSeq, entries: ids.size };
  return { changes: [opened], output: () => output };
}

/** Whatever has become of its source since: whoever asks again is told of the fork that there is. */
function madeBefore(
  { key, transcript }: Session,
  from: SessionKey,
  { seq, id }: Asked,
): Done<z.input<typeof forked>> {
  if (id === undefined || seq === undefined)
    throw new Fault("exists", `there is a session ${key}; choose another name, or write to that one`);
  return {
    changes: [],
    output: () => ({ sessionKey: key, from, throughSeq: seq, entries: transcript.copied }),
  };
}

type Asked = Pick<z.output<typeof forkInput>, "entry" | "seq" | "name" | "id">;

function mustAgree({ entry, seq, name, id }: Asked): void {
  if (entry !== undefined && seq !== undefined)
    throw new Fault("bad_input", "fork: name an entry by its id or by its seq, not by both");
  // Whoever asks again would else be told of another newest entry than the one that the fork ends with.
  if (id !== undefined && (name !== undefined || seq === undefined))
    throw new Fault("bad_input", "fork: an id stands in place of a name, and goes with a seq");
}

/** With an id it is that of whoever asks, for that entry: two people may both have a fork 1. */
function keyOfFork(system: System, caller: Caller, source: Session, asked: Asked): SessionKey {
  const { seq, name, id } = asked;
  const agent = source.agent as AgentId;
  if (id === undefined) return keyCalled(agent, name, { what: "fork", id: system.world.newId() });
  return repeatableKey(agent, [principalOf(caller), source.key, String(seq), id]);
}

/** As somebody calls it, or as nobody does: then upkeep may take it, and so no name that is given may look like that. */
export function keyCalled(
  agent: AgentId,
  name: string | undefined,
  { what, id }: { readonly what: "fork" | "handoff"; readonly id: string },
): SessionKey {
  const key = name === undefined ? madeUpKey(agent, what, id) : namedKey(agent, name);
  if (name !== undefined && isMadeUp(key))
    throw new Fault(
      "bad_input",
      `name: ${shown(name)} looks like one that is made up, and what is called so is not kept for ever; choose another`,
    );
  return key;
}

function mustBeAllowed({ session, agent }: Agent, source: Session): void {
  if (source.agent === session.agent || agent.subagents.agents.includes(source.agent)) return;
  throw new Fault(
    "forbidden",
    `agents.${session.agent}.subagents.agents does not name ${source.agent}, whose session this is`,
  );
}

/** A fork can fork itself: without an end, trees would grow that no configuration allows. */
function mustBeHigh({ session, agent }: Agent): void {
  const { depth } = agent.subagents;
  if (session.depth >= depth)
    throw new Fault(
      "forbidden",
      `${session.key} is ${session.depth} generations below its root, and its agent's subagents.depth is ${depth}`,
    );
}

/** Of an entry that is named by its id. */
export async function seqOf(system: System, { key, transcript }: Session, id: string): Promise<number> {
  let looked = 0;
  for await (const entry of system.store.entries(transcript.id, { before: null })) {
    if (entry.type !== "gap" && entry.id === id) return entry.seq;
    if ((looked += 1) >= ENTRY_LOOKBACK_ENTRIES) break;
  }
  throw new Fault(
    "not_found",
    `${key} has no entry ${shown(id)} among the last ${ENTRY_LOOKBACK_ENTRIES} of its active path; ` +
      `an older one is named by its seq, from 1 to ${transcript.lastSeq}`,
  );
}

function nothingToCopy({ key, transcript }: Session, through: number | null): Fault {
  if (transcript.leafId === null)
    return new Fault("not_found", `nothing was said in ${key} yet`, {
      todo: "write to it first; a message to a new key opens a session",
    });
  const where = through === null ? "" : ` up to entry ${through}`;
  const bounds = `${FORK_ENTRIES_MAX} entries and ${FORK_BYTES_MAX} bytes`;
  return new Fault(
    "not_found",
    `${key} has nothing${where} that a fork could begin with: no turn begins within ${bounds}, or what is there is damaged`,
  );
}

/**
 * Those of the source. Its label is its name, and how it ends is its own affair. Pins stay as far as their entries are
 * there. What an agent makes is also held by what holds the agent's session.
 */
function settingsFor(
  caller: Caller,
  { agent, settings }: Session,
  above: readonly ToolScope[],
  ids: ReadonlySet<string>,
): Omit<Settings, "label" | "pinned" | "oneShot" | "deleteAtEnd"> {
  const { label: _label, pinned: _pinned, oneShot: _oneShot, deleteAtEnd: _deleteAtEnd, ...kept } = settings;
  const pins = kept.pins.filter((id) => ids.has(id));
  if (caller.kind !== "agent") return { ...kept, pins, tools: eachOnce([...kept.tools, ...above]) };
  const own = caller.session.settings;
  const given = caller.agent.id === agent ? [] : scopesOf(caller.agent.tools);
  return {
    ...kept,
    pins,
    nice: Math.max(kept.nice, own.nice),
    sendPolicy: own.sendPolicy === "deny" ? "deny" : kept.sendPolicy,
    tools: eachOnce([...kept.tools, ...above, ...own.tools, ...given]),
    limits: tighter(kept.limits, own.limits),
  };
}

/** What a session begins with that goes on for another, without its entries. */
export function inheritedSettings(system: System, caller: Caller, source: Session): Partial<Settings> {
  return settingsFor(caller, source, scopesAbove(system, source), new Set());
}

/** What held a child of another agent than its root's: the fork has no such root. */
function scopesAbove({ config }: System, { agent, root }: Session): readonly ToolScope[] {
  const policy = agentOf(root) === agent ? undefined : config.agents.get(agentOf(root))?.tools;
  return policy === undefined ? [] : scopesOf(policy);
}

function eachOnce(scopes: readonly ToolScope[]): readonly ToolScope[] {
  return [...new Map(scopes.map((scope) => [JSON.stringify(scope), scope])).values()];
}
