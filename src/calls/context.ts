// What fills a session's context, and what people want done about it: to make it smaller, to hand the work over to a fresh
// session, to go back. Only a session's owner writes its history: the wish is a letter, and its answer is waited for.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { detailsOf } from "../context/compaction.ts";
import { meter, type Frame } from "../context/meter.ts";
import { PRUNED, type Pruned } from "../context/prune.ts";
import { roomOf } from "../context/room.ts";
import { wishLetter, type Wish, type Wishes } from "../mail/wish.ts";
import { parseKey, type AgentId } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { entryId, textOf, type Entry } from "../transcript/entry.ts";
import { isShared } from "../turns/request.ts";
import { isNote } from "../transcript/note.ts";
import type { TurnEnded } from "../turns/where.ts";
import { awaited } from "./asking.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { inheritedSettings, keyCalled, seqOf } from "./fork.ts";
import { configured, keyFor, reached } from "./reach.ts";
import { pointOf } from "./rewinding.ts";
import * as shape from "./context-shapes.ts";
import { brief, modelOf } from "./views.ts";

export const contextCalls = {
  context: call({
    about:
      "What fills the context of a session, in tokens by parts; how large it may grow; what left it (pruned tool results, the " +
      "last compaction).",
    who: "both",
    tool: null,
    scope: "read",
    http: "GET /sessions/:sessionKey/context",
    input: shape.contextInput,
    output: shape.context,
    idempotent: true,
    run: context,
  }),
  compact: call({
    about:
      "Replaces the older part of a session's context by a summary, now. Nothing is deleted: `rewind` goes back to before it. " +
      "A turn that runs does it before its next step.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/compact",
    input: shape.compactInput,
    output: shape.compacted,
    idempotent: false,
    run: compact,
  }),
  handoff: call({
    about:
      "Writes down where a session stands, to a file in its agent's workspace, and opens a fresh session that begins with it. " +
      "The old one stays as it is.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/handoff",
    input: shape.handoffInput,
    output: shape.handedOff,
    idempotent: false,
    run: handoff,
  }),
  rewind: call({
    about:
      "Goes back in a session: the conversation continues from an older entry, also from before a compaction. What came after " +
      "stays in the file. Refused while a turn is under way.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /sessions/:sessionKey/rewind",
    input: shape.rewindInput,
    output: shape.rewound,
    idempotent: false,
    run: rewind,
  }),
} as const;

async function context(
  system: System,
  caller: Caller,
  { sessionKey }: z.output<typeof shape.contextInput>,
): Promise<Done<z.input<typeof shape.context>>> {
  const session = await reached(system, caller, keyFor(caller, sessionKey));
  const { key, agent, transcript } = session;
  const entries: Entry[] = [];
  for await (const entry of system.store.entries(transcript.id, { from: "context" }))
    if (entry.type !== "gap") entries.push(entry);
  const model = modelOf(system, session);
  const policy = system.config.agents.get(agent as AgentId)?.context ?? NO_POLICY;
  const { tokens, parts } = meter(entries, frameIn(entries), model, isShared(key));
  const frame = parts.system + parts.tools;
  const { window, most, compactAt, pruneAt } = roomOf(model.windowTokens, policy, frame);
  return just({
    sessionKey: key,
    model: model.id,
    tokens,
    window,
    most,
    compactAt,
    pruneAt,
    parts,
    pins: session.settings.pins.map((id) => pinIn(entries, transcript.id, id)),
    pruned: prunedIn(entries),
    compaction: compactionIn(entries),
  });
}

/** Characters of a pinned message: so much that it is known again. */
const PIN_CHARS = 80;

/** One that was cut off is kept word for word by the compaction. */
function pinIn(
  entries: readonly Entry[],
  transcript: string,
  id: string,
): z.input<typeof shape.context>["pins"][number] {
  const entry = entries.find((each) => each.id === id);
  const seq = Number(/-(\d{1,15})$/.exec(id)?.[1] ?? 0);
  const kept = entries.flatMap((each) => detailsOf(each)?.pinned ?? []).findLast((each) => each.id === id);
  const text = entry === undefined ? (kept?.text ?? "") : textOf(entry);
  return {
    entry: id,
    seq: entry?.seq ?? (seq > 0 && id === entryId(transcript, seq) ? seq : null),
    text: brief(text, PIN_CHARS),
  };
}

const NO_POLICY = { sizeTokens: null, reserveTokens: null };

/** As the last turn that ended had it; before that nobody knows. */
function frameIn(entries: readonly Entry[]): Frame {
  const end = entries.findLast((entry) => isNote(entry, "turn-ended"));
  const { frame } = (end?.type === "custom" ? (end.data ?? {}) : {}) as Partial<TurnEnded>;
  return { system: counted(frame?.system), tools: counted(frame?.tools) };
}

function prunedIn(entries: readonly Entry[]): z.input<typeof shape.context>["pruned"] {
  const notes = entries.flatMap((entry) =>
    entry.type === "custom" && entry.customType === PRUNED ? [(entry.data ?? {}) as Partial<Pruned>] : [],
  );
  const sum = (of: (note: Partial<Pruned>) => unknown): number =>
    notes.reduce((all, note) => all + counted(of(note)), 0);
  return { times: notes.length, results: sum(({ results }) => results), bytes: sum(({ bytes }) => bytes) };
}

/** A file may hold anything in place of a number. */
function counted(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

function compactionIn(entries: readonly Entry[]): z.input<typeof shape.context>["compaction"] {
  const entry = entries.findLast(({ type }) => type === "compaction");
  if (entry?.type !== "compaction") return null;
  const details = detailsOf(entry);
  const { seq, timestamp: at, tokensBefore } = entry;
  return {
    seq,
    at,
    tokensBefore: counted(tokensBefore),
    occasion: details?.occasion ?? null,
    truncated: details?.truncated ?? null,
  };
}

async function compact(
  system: System,
  caller: Caller,
  { sessionKey, focus, timeoutMs }: z.output<typeof shape.compactInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.compacted>>> {
  const session = await writable(system, caller, sessionKey);
  const { letter, coming } = wished(
    system,
    { name: "compact", wish: { focus: focus ?? null }, timeoutMs },
    signal,
  );
  return {
    changes: [{ do: "post", to: [session.key], letter }],
    output: async () => {
      const { outcome, reason, text } = await coming();
      const [tokensBefore, tokensAfter] = text === "" ? [null, null] : (JSON.parse(text) as [number, number]);
      return { sessionKey: session.key, outcome, reason, tokensBefore, tokensAfter };
    },
  };
}

async function handoff(
  system: System,
  caller: Caller,
  { sessionKey, name, focus, message, timeoutMs }: z.output<typeof shape.handoffInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.handedOff>>> {
  const session = await writable(system, caller, sessionKey);
  const own = system.world.newId();
  const key = keyCalled(session.agent as AgentId, name, { what: "handoff", id: own });
  if ((await system.store.session(key)) !== null)
    throw new Fault("exists", `there is a session ${key}; choose another name`);
  const settings = inheritedSettings(system, caller, session);
  const wish = { focus: focus ?? null, key, transcript: own, settings, message: message ?? null };
  const { letter, coming } = wished(system, { name: "handoff", wish, timeoutMs }, signal);
  return {
    changes: [{ do: "post", to: [session.key], letter }],
    output: async () => {
      const { outcome, reason, text } = await coming();
      const file = outcome === "done" ? text : null;
      return { from: session.key, sessionKey: key, file, outcome, reason };
    },
  };
}

async function rewind(
  system: System,
  caller: Caller,
  { sessionKey, entry, seq, timeoutMs }: z.output<typeof shape.rewindInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.rewound>>> {
  if ((entry === undefined) === (seq === undefined))
    throw new Fault("bad_input", "rewind: name the entry to go back to, by its id or by its seq");
  const session = await writable(system, caller, sessionKey);
  if (session.state.kind !== "idle")
    throw new Fault("busy", `${session.key} is in a turn`, {
      todo: "wait until it has ended, or stop it with `abort`; then go back",
    });
  const through = seq ?? (await seqOf(system, session, entry ?? ""));
  const { to, contextSeq, isReturn } = await pointOf(system.store, session, through);
  const wish = { to, contextSeq, isReturn, after: session.transcript.lastSeq };
  const { letter, coming } = wished(system, { name: "rewind", wish, timeoutMs }, signal);
  return {
    changes: [{ do: "post", to: [session.key], letter }],
    output: async () => {
      const { outcome, reason } = await coming();
      if (outcome === "failed") throw new Fault("stale_writer", `rewind: ${reason ?? "it was refused"}`);
      return { sessionKey: session.key, to: to.seq, outcome, reason };
    },
  };
}

/** A session whose owner can do something to its history. */
async function writable(system: System, caller: Caller, sessionKey: string): Promise<Session> {
  const session = await owned(system, caller, sessionKey);
  if (session.transcript.leafId === null)
    throw new Fault("not_found", `nothing was said in ${session.key} yet`, { todo: "write to it first" });
  return session;
}

/** The same, also where nothing was said yet. */
export async function owned(system: System, caller: Caller, sessionKey: string): Promise<Session> {
  const session = await reached(system, caller, parseKey(sessionKey));
  const { key, agent, state, signal } = session;
  configured(system, agent);
  if (state.kind === "ended")
    throw new Fault("ended", `${key} has ended: nothing of it is shown to a model any more`);
  if (state.kind === "paused" || signal === "pause")
    throw new Fault("busy", `${key} is paused`, { todo: "`cont` lets it go on; then it can be done" });
  return session;
}

function wished<Name extends Wish>(
  system: System,
  { name, wish, timeoutMs }: { name: Name; wish: Wishes[Name]; timeoutMs: number | undefined },
  signal: AbortSignal,
) {
  const letter = wishLetter(system.world.newId(), name, wish);
  return { letter, coming: awaited(system, { id: letter.id, timeoutMs }, signal) };
}
