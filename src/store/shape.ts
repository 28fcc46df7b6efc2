// The shapes of what callers hand in. A change or a question of another shape must not reach an engine: there it would
// be our bug, and would stop the store for everybody.

import { Fault } from "../base/fault.ts";
import {
  anything,
  count,
  ifGiven,
  is,
  listOf,
  mustFit,
  name,
  number,
  oneOf,
  orNull,
  record,
  shown,
  text,
  variant,
  whole,
  wholeFrom,
  yesOrNo,
  type Check,
} from "../base/fits.ts";
import type { Origin } from "../routing/route.ts";
import type { SessionLimits, Settings, Usage } from "../sessions/session.ts";
import { isBody } from "../transcript/codec.ts";
import type { Change } from "./change.ts";
import type { ArchiveWhy } from "./store.ts";

const block = is(
  "a block with its type",
  (value) => typeof (value as { type?: unknown } | null)?.type === "string",
);
const route = record({ channel: text, to: text, thread: orNull(text) });

const origin = record({
  channel: text,
  account: orNull(text),
  chatType: oneOf("direct", "group", "channel", "room"),
  peer: text,
  sender: orNull(text),
  thread: orNull(text),
  subject: orNull(text),
} satisfies Record<keyof Origin, Check>);

const settings = record({}, {
  label: orNull(text),
  model: orNull(text),
  thinking: orNull(text),
  verbose: orNull(text),
  sendPolicy: orNull(oneOf("allow", "deny")),
  queueMode: orNull(text),
  nice: is(
    "a whole number from -20 to 19",
    (value) => Number.isInteger(value) && Number(value) >= -20 && Number(value) <= 19,
  ),
  pinned: yesOrNo,
  pins: listOf(text),
  tools: listOf(record({ allow: orNull(listOf(text)), deny: listOf(text) })),
  limits: orNull(
    record({
      stepsPerTurn: orNull(number),
      turnSeconds: orNull(number),
      tokens: orNull(number),
      cost: orNull(number),
    } satisfies Record<keyof SessionLimits, Check>),
  ),
  oneShot: orNull(yesOrNo),
  deleteAtEnd: yesOrNo,
} satisfies Record<keyof Settings, Check>);

const usage = record({}, {
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  cost: number,
  steps: number,
  toolCalls: number,
  modelMs: number,
  wallMs: number,
  toolCpuMs: number,
  toolPeakBytes: number,
} satisfies Record<keyof Usage, Check>);

const state = variant({
  idle: {},
  queued: { sinceMs: count },
  running: { sinceMs: count, turn: text, step: count },
  waiting: { sinceMs: count, for: oneOf("children", "person") },
  paused: { sinceMs: count },
  ended: {
    atMs: count,
    outcome: oneOf("done", "failed", "killed", "timeout", "limit", "interrupted"),
    reason: orNull(text),
  },
});

const provenance = variant({
  external_user: { channel: orNull(text), peer: orNull(text) },
  inter_session: { source: name, tool: orNull(text) },
  internal_system: { cause: text },
});

const letter = record({
  id: text,
  from: provenance,
  class: oneOf("interactive", "delegated", "scheduled", "background"),
  mode: orNull(oneOf("steer", "followup", "collect", "interrupt")),
  content: listOf(block),
  replyTo: orNull(route),
  origin: orNull(origin),
});

const owned = { do: text, key: name, fence: number };
const untouched = record({ transcript: text, lastSeq: count });

const ARCHIVE_WHYS = ["asked", "stale", "cap", "ended", "budget", "reset"] as const satisfies ArchiveWhy[];

/** Entries are looked at by themselves, because most of an entry is its writer's affair. */
const SHAPES: Readonly<Record<Change["do"], Check>> = {
  open: record(
    {
      do: text,
      key: name,
      transcript: text,
      cwd: text,
      parent: orNull(name),
      settings,
      copy: orNull(record({ of: name, fromSeq: count, throughSeq: count })),
      ifExists: oneOf("refuse", "keep"),
    },
    { with: text },
  ),
  append: record({
    ...owned,
    after: number,
    entries: listOf(anything, 1),
    rewindTo: orNull(record({ id: text, seq: number })),
    contextSeq: orNull(wholeFrom(1)),
  }),
  rotate: record({ ...owned, after: number, transcript: text, cwd: text, keep: oneOf("context", "nothing") }),
  take: record({ ...owned, ids: listOf(text) }),
  run: record({ ...owned, state }),
  reroute: record({ ...owned, route: orNull(route), origin: orNull(origin) }),
  post: record({ do: text, to: listOf(name, 1), letter }, { expect: untouched }),
  signal: record({ do: text, key: name, signal: oneOf("none", "pause", "kill") }),
  revive: record({ do: text, key: name }, { with: text }),
  set: record({ do: text, key: name, version: orNull(count), settings }, { with: text }),
  charge: record({ do: text, key: name, usage }),
  setTimer: record({
    do: text,
    timer: record({ id: text, key: name, dueAtMs: whole, body: anything }),
    expectDueAtMs: orNull(whole),
  }),
  clearTimer: record({ do: text, id: text, expectDueAtMs: whole }),
  setJob: record({
    do: text,
    job: is("a job with its id, agent, version and target", isJob),
    expectVersion: orNull(count),
  }),
  clearJob: record({ do: text, id: text, expectVersion: count }),
  send: record({ do: text, outgoing: record({ id: text, key: name, route, content: listOf(block) }) }),
  settle: record({ do: text, id: text, refused: orNull(text) }),
  archive: record({ do: text, key: name, expect: untouched, why: oneOf(...ARCHIVE_WHYS) }),
  restore: record({
    do: text,
    archive: text,
    over: orNull(record({ key: name, transcript: text, lastSeq: count })),
  }),
  purge: record({ do: text, archive: text }),
  delete: record({ do: text, key: name, expect: orNull(untouched) }),
};

/** What a store goes by. The rest is for whoever fires it. */
function isJob(value: unknown): boolean {
  const { id, agent, version, target } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { kind, key } = (target ?? {}) as Readonly<Record<string, unknown>>;
  const isAimed = kind === "fresh" || (kind === "session" && typeof key === "string");
  return typeof id === "string" && typeof agent === "string" && Number.isSafeInteger(version) && isAimed;
}

export function checkShape(change: Change): void {
  const verb: unknown = (change as { readonly do?: unknown } | null)?.do;
  if (typeof verb !== "string" || !Object.hasOwn(SHAPES, verb)) {
    const known = Object.keys(SHAPES).join(", ");
    throw new Fault("bad_input", `${shown(verb)} is no change; \`do\` is one of ${known}`);
  }
  mustFit(verb, SHAPES[change.do], change);
  if (change.do === "append") for (const [at, entry] of change.entries.entries()) checkDraft(entry, at);
}

/** Whatever is acknowledged can be read again: so it has what readers rely on. */
function checkDraft(entry: unknown, at: number): void {
  const wrong = (why: string): Fault =>
    new Fault("bad_input", `append: entries[${at}] ${why}; see docs/formats/transcript.md`);
  if (!isBody(entry)) throw wrong("is no entry");
  if (typeof (entry as { readonly timestamp?: unknown }).timestamp !== "string")
    throw wrong("has no timestamp");
  if (entry.type !== "message" || !SPEAKERS.has(entry.message.role)) return;
  const content: unknown = entry.message.content;
  if (typeof content !== "string" && !Array.isArray(content)) throw wrong("has neither a text nor blocks");
}

/** Roles of ours. A file may hold others, whose messages are their writer's affair. */
const SPEAKERS: ReadonlySet<string> = new Set(["user", "assistant", "toolResult"]);

const limit = ifGiven(is("a number", (value) => typeof value === "number"));
const page = { cursor: ifGiven(orNull(text)), limit };
const time = is("a time in milliseconds", (value) => typeof value === "number" && !Number.isNaN(value));
const claims = listOf(record({ key: name, fence: number }));
const seq = is("a number", (value) => typeof value === "number");

const range: Check = (value) => {
  const asked = (value ?? {}) as Readonly<Record<string, unknown>>;
  if ("since" in asked) return record({ since: seq, through: ifGiven(seq) })(value);
  if ("before" in asked) return record({ before: orNull(seq) })(value);
  return record({ from: asked["from"] === "context" ? anything : seq })(value);
};

/** What each question is asked with, by the name of the store's verb. */
const QUESTIONS = {
  session: record({ key: text }),
  sessions: record({
    agent: ifGiven(text),
    kind: ifGiven(text),
    state: ifGiven(text),
    parent: ifGiven(text),
    label: ifGiven(text),
    titlePrefix: ifGiven(text),
    text: ifGiven(text),
    updatedSinceMs: ifGiven(time),
    ...page,
  }),
  entries: record({ transcript: text, range }),
  mail: record({ key: text, ...page }),
  waiting: record({ key: text, most: number }),
  outbox: record({ refused: yesOrNo, key: ifGiven(text), ...page }),
  timers: record({ dueByMs: time, id: ifGiven(text), ...page }),
  jobs: record({ agent: ifGiven(text), id: ifGiven(text), ...page }),
  archives: record({
    agent: ifGiven(text),
    key: ifGiven(text),
    parent: ifGiven(text),
    id: ifGiven(text),
    idPrefix: ifGiven(text),
    packed: ifGiven(yesOrNo),
    newest: ifGiven(yesOrNo),
    ...page,
  }),
  holdings: record({ ...page }),
  pack: record({ archive: text }),
  unpack: record({ archive: text }),
  collect: record({ cursor: orNull(text), isDry: yesOrNo }),
  search: record({ text, agent: ifGiven(text), key: ifGiven(text), keys: ifGiven(listOf(text)), limit }),
  putBlob: record({ bytes: is("a Uint8Array", (value) => value instanceof Uint8Array) }),
  readBlob: record({ sha256: text, range: record({ from: number, bytes: number }) }),
  claim: record({ owner: text, leaseMs: number, limit: number }),
  renew: record({ claims, leaseMs: number }),
  release: record({ claims }),
  changesSince: record({ cursor: orNull(text) }),
} satisfies Record<string, Check>;

export function checkQuestion(what: keyof typeof QUESTIONS, asked: unknown): void {
  mustFit(what, QUESTIONS[what], asked);
}
