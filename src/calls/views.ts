// Sessions as people and models are shown them: made from rows, entries, and what this process knows of what runs now.

import type { z } from "zod";
import { redacted } from "../base/redact.ts";
import {
  HISTORY_CALL_CHARS_MAX,
  HISTORY_CALLS_MAX,
  HISTORY_ENTRY_CHARS_MAX,
  LETTERS_COUNTED_MAX,
} from "./limits.ts";
import type { Outgoing } from "../mail/letter.ts";
import type { Model } from "../models/model.ts";
import { waitedForBy } from "../children/waiting.ts";
import { agentOf, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Provenance } from "../routing/provenance.ts";
import { agentFor, inForce, type InForce } from "../sessions/inforce.ts";
import type { RunState, Session } from "../sessions/session.ts";
import { shownTitle } from "../store/rules.ts";
import { textOf, type Block, type Entry, type Gap } from "../transcript/entry.ts";
import { contextTokensOf } from "../transcript/fold.ts";
import { isAllowed } from "../tools/tool.ts";
import type { Failover } from "../turns/spoken.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded } from "../turns/where.ts";
import { limitsOf } from "./bounds.ts";
import type { System } from "./call.ts";

import type { history, outbox, row, status } from "./schemas.ts";
import { A_PERSON } from "./words.ts";

type Row = z.input<typeof row>;
type Told = z.input<typeof history>["entries"][number];

export function rowOf(system: System, session: Session): Row {
  const { usage, state } = session;
  const worker = system.lanes.worker(session.key);
  const model = modelOf(system, session);
  const now = stateNow(system, session);
  return {
    sessionKey: session.key,
    agent: session.agent,
    kind: session.kind,
    parent: session.parent,
    title: redacted(shownTitle(session)),
    labelled: session.settings.label !== null,
    pinned: session.settings.pinned,
    state: now,
    since: sinceOf(state),
    step: state.kind === "running" ? state.step : null,
    outcome: now === "ended" && state.kind === "ended" ? state.outcome : null,
    pausing: now === "running" && session.signal === "pause",
    class: worker?.class ?? null,
    why: now === "idle" ? null : brief(whyOf(system, session, 0, worker?.waitsFor ?? []), WHY_CHARS_MAX),
    model: model.id,
    contextTokens: session.transcript.contextTokens || null,
    windowTokens: model.windowTokens,
    tokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite,
    cost: usage.cost,
    entries: session.transcript.lastSeq,
    bornAt: iso(session.bornAtMs),
    updatedAt: iso(session.updatedAtMs),
  };
}

function sinceOf(state: RunState): string | null {
  if (state.kind === "idle") return null;
  return iso(state.kind === "ended" ? state.atMs : state.sinceMs);
}

/** Who waits for a slot is `queued`: that is not written down, because it would be a commit more for every turn. */
function stateNow(system: System, { key, state, signal }: Session): RunState["kind"] {
  if (system.slots.why(key) !== null) return "queued";
  return state.kind === "idle" && signal === "pause" ? "paused" : state.kind;
}

/** The model in force. One that is not known any more is shown as it was named: the next turn will say so. */
export function modelOf(
  system: System,
  session: Session,
): Pick<Model, "id" | "provider" | "name" | "windowTokens"> {
  const name = nowOf(system, session)?.model ?? session.settings.model ?? "";
  return system.catalog.get(name) ?? { id: name, provider: "", name, windowTokens: 0 };
}

/** Null: its agent is not configured any more. */
function nowOf(system: System, session: Session): InForce | null {
  const agent = system.config.agents.get(session.agent as AgentId);
  return agent ? inForce(session, agent) : null;
}

export async function statusOf(system: System, session: Session): Promise<z.input<typeof status>> {
  const { store, world } = system;
  const now = nowOf(system, session);
  const { settings } = session;
  const [{ tokens, fallback, lastTurn }, waitingLetters, limits] = await Promise.all([
    lastAnswer(system, session),
    store.waiting(session.key, LETTERS_COUNTED_MAX),
    limitsOf(system, session),
  ]);
  const nowMs = world.nowMs();
  return {
    ...rowOf(system, session),
    time: iso(nowMs),
    localTime: new Date(nowMs).toLocaleString("en-GB", { dateStyle: "full", timeStyle: "long" }),
    why: whyOf(system, session, waitingLetters, await waitedForBy(system, session.key)),
    modelFrom: now?.modelFrom ?? "agent",
    fallback,
    lastTurn,
    exec: mayRunPrograms(system, session) ? "not sandboxed" : "off",
    thinking: now?.thinking ?? "off",
    verbose: now?.verbose ?? "off",
    context: { tokens, window: modelOf(system, session).windowTokens },
    usage: { ...session.usage },
    tree: { ...(session.tree ?? session.usage) },
    limits,
    settings,
    settingsVersion: session.settingsVersion,
    waitingLetters,
    route: session.route,
    origin: session.origin,
    root: session.root,
    depth: session.depth,
    transcript: session.transcript.id,
  };
}

function mayRunPrograms(system: System, session: Session): boolean {
  const { agents } = system.config;
  const [own, root] = [agents.get(session.agent as AgentId), agents.get(agentOf(session.root))];
  if (own === undefined || root === undefined) return false;
  const { tools } = agentFor(session, own, root);
  return tools.exec && isAllowed("exec", tools);
}

/** `children`: for whom it waits, if that was looked up. */
export function whyOf(
  system: System,
  { key, state, signal }: Session,
  letters: number,
  children: readonly SessionKey[] = [],
): string {
  if (signal === "kill" && state.kind !== "ended") return "is being killed";
  const waits = system.slots.why(key);
  if (waits !== null) return waits;
  const program = system.processSlots.why(key);
  if (program !== null) return `a program that it wants to run ${program}`;
  switch (state.kind) {
    case "running": {
      const doing = system.lanes.worker(key)?.doing;
      const now = doing ? `: ${brief(doing, DOING_CHARS_MAX)}${named(children)}` : "";
      return `step ${state.step} of a turn since ${iso(state.sinceMs)}${now}${signal === "pause" ? "; pauses after it" : ""}`;
    }
    case "paused":
      return `paused since ${iso(state.sinceMs)}; \`cont\` goes on`;
    case "waiting":
      if (state.for === "person") return `waits for a person since ${iso(state.sinceMs)}`;
      return `waits for its children since ${iso(state.sinceMs)}${named(children)}`;
    case "ended":
      return `ended (${state.outcome})${state.reason === null ? "" : `: ${state.reason}`}`;
    case "queued":
    case "idle":
      if (signal === "pause") return "paused: letters wait until `cont`";
      return letters === 0 ? "nothing to do" : `${letters} letter${letters === 1 ? " waits" : "s wait"}`;
  }
}

/** Some of them: there may be hundreds. */
function named(children: readonly SessionKey[]): string {
  if (children.length === 0) return "";
  const more = children.length > NAMED_MAX ? ` and ${children.length - NAMED_MAX} more` : "";
  return `: ${children.slice(0, NAMED_MAX).join(", ")}${more}`;
}

const NAMED_MAX = 5;

/** Characters of what a session does, in a list of many. */
const WHY_CHARS_MAX = 160;

/** Characters of what a turn does now. */
const DOING_CHARS_MAX = 300;

/** Entries from the end that are looked at for the last answer. */
const LAST_ENTRIES_MAX = 100;

/** How large the context is, which a row that an older version wrote does not know; and whether a fallback gave the last answer. */
async function lastAnswer(system: System, { transcript }: Session): Promise<LastAnswer> {
  const newest: (Entry | Gap)[] = [];
  let told = 0;
  if (transcript.leafId === null) return { tokens: 0, fallback: null, lastTurn: null };
  for await (const entry of system.store.entries(transcript.id, { before: null })) {
    newest.push(entry);
    if (told > 0 || newest.length >= LAST_ENTRIES_MAX) break;
    if (entry.type === "gap" || entry.type === "custom") continue; // The answer that a rewind went back to is among these, too.
    told = contextTokensOf(entry) ?? 0;
    if (entry.type === "compaction") break; // What stood before it is gone.
  }
  const note = newest[newest.findIndex(isAnswer) + 1]; // It stands right before the answer.
  const fallback = note === undefined ? null : fallbackIn(note);
  return { tokens: transcript.contextTokens || told, fallback, lastTurn: lastTurnIn(newest) };
}

type LastAnswer = Pick<z.input<typeof status>, "fallback" | "lastTurn"> & { readonly tokens: number };

function lastTurnIn(newest: readonly (Entry | Gap)[]): LastAnswer["lastTurn"] {
  const end = newest.find((entry) => entry.type === "custom" && isNote(entry, "turn-ended"));
  if (end?.type !== "custom") return null;
  const { outcome, reason } = end.data as TurnEnded;
  return { outcome, reason: reason === null ? null : brief(reason), endedAt: end.timestamp };
}

function isAnswer(entry: Entry | Gap): boolean {
  return entry.type === "message" && entry.message.role === "assistant";
}

function fallbackIn(entry: Entry | Gap): LastAnswer["fallback"] {
  if (entry.type !== "custom" || !isNote(entry, "failover")) return null;
  const { spoke, passedOver } = entry.data as Failover;
  return { spoke, passedOver: passedOver.map(({ model, why }) => ({ model, why })) };
}

/** A page of history, newest part first asked for, told oldest first; bounded in entries and in characters. */
export async function historyOf(
  system: System,
  session: Session,
  {
    before,
    limit,
    bytes,
  }: { readonly before: number | null; readonly limit: number; readonly bytes: number },
): Promise<z.input<typeof history>> {
  const entries: Told[] = [];
  let room = bytes;
  let next: number | null = null;
  for await (const entry of system.store.entries(session.transcript.id, { before })) {
    if (entries.length >= limit) {
      next = entries.at(-1)?.seq ?? null;
      break;
    }
    const told = toldOf(entry, entries.at(-1)?.seq ?? before ?? session.transcript.lastSeq + 1);
    if (told === null) continue;
    room -= Buffer.byteLength(JSON.stringify(told));
    if (room < 0 && entries.length > 0) {
      next = entries.at(-1)?.seq ?? null;
      break;
    }
    entries.push(told);
  }
  return { sessionKey: session.key, entries: entries.reverse(), next };
}

/** Null: a note of ours that says nothing to a reader of the conversation. `after` is the seq that came after it. */
function toldOf(entry: Entry | Gap, after: number): Told | null {
  const nothing = { from: null, calls: [], isError: false };
  if (entry.type === "gap") {
    const text = `[${entry.bytes} bytes that cannot be read: ${entry.reason}]`;
    return { ...nothing, seq: Math.max(0, after - 1), id: "", at: "", kind: "gap", text, isError: true };
  }
  if (entry.type === "custom" || isSilent(entry)) return null;
  const base = { ...nothing, seq: entry.seq, id: entry.id, at: entry.timestamp, text: brief(textOf(entry)) };
  if (entry.type !== "message") return { ...base, kind: entry.type };
  const { message } = entry;
  switch (message.role) {
    case "assistant":
      return {
        ...base,
        kind: "assistant",
        text: base.text === "" ? brief(message.errorMessage ?? "") : base.text, // why there is no answer
        calls: message.content.flatMap(callOf).slice(0, HISTORY_CALLS_MAX),
        isError: message.stopReason === "error",
      };
    case "toolResult":
      return { ...base, kind: "toolResult", from: message.toolName, isError: message.isError };
    default:
      return { ...base, kind: "user", from: writerOf(entry.provenance) };
  }
}

/** Of a memory flush: it was said to nobody. */
function isSilent(entry: Entry): boolean {
  if (entry.type === "custom_message") return entry.display === false;
  return entry.type === "message" && entry.silent === true;
}

function callOf(block: Block): Told["calls"] {
  return block.type === "toolCall"
    ? [{ name: block.name, arguments: brief(JSON.stringify(block.arguments), HISTORY_CALL_CHARS_MAX) }]
    : [];
}

/** Who wrote a letter, in words; null: nobody wrote down who. */
export function writerOf(from: Provenance | undefined): string | null {
  if (from === undefined) return null;
  switch (from.kind) {
    case "external_user":
      return [from.channel, from.peer].filter((part) => part !== null).join(":") || A_PERSON;
    case "inter_session":
      return from.source;
    case "internal_system":
      return `sessiond: ${from.cause}`;
  }
}

/** The beginning of a text, without secrets. */
export function brief(text: string, most = HISTORY_ENTRY_CHARS_MAX): string {
  // Cut before secrets are looked for, with room to spare: so that neither costs more than what is shown.
  const start = redacted(text.slice(0, most + 512))
    .slice(0, most)
    .toWellFormed();
  return text.length <= most ? start : `${start} [… ${text.length - most} more characters]`;
}

export function answerOf(outgoing: Outgoing): z.input<typeof outbox>["answers"][number] {
  const { id, key, route, content, postedAtMs, refused } = outgoing;
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return { id, sessionKey: key, route, text: brief(text), postedAt: iso(postedAtMs), refused };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
