// What every change is made of, for callers whose compiler did not look: plain JavaScript, a parsed file, a cast. A
// change of another shape must not reach an engine: there it would be our bug, and would stop the store for everybody.
//
// Looking makes nothing new. A library that hands back a checked copy of every commit was tried: its garbage doubled
// the delays of the main thread under load.

import { Fault } from "../base/fault.ts";
import type { Settings, Usage } from "../sessions/session.ts";
import { isBody } from "../transcript/codec.ts";
import type { Change } from "./store.ts";

/** Null: it fits. Else where it does not, and what belongs there. */
type Check = (value: unknown) => Misfit | null;

/** There is nothing to be shown. */
const NOTHING = Symbol("nothing");

interface Misfit {
  readonly where: string; // "": the value itself
  readonly wants: string;
  readonly found: unknown;
}

const text = is("a text", (value) => typeof value === "string");
const name = is("a text that is not empty", (value) => typeof value === "string" && value !== "");
const number = is("a number", (value) => Number.isFinite(value));
const whole = is("a whole number", (value) => Number.isSafeInteger(value));
const count = is("a whole number from 0 on", (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const yesOrNo = is("true or false", (value) => typeof value === "boolean");
const anything: Check = () => null;

const block = is(
  "a block with its type",
  (value) => typeof (value as { type?: unknown } | null)?.type === "string",
);
const route = record({ channel: text, to: text, thread: orNull(text) });

const settings = someOf({
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
} satisfies Record<keyof Settings, Check>);

const usage = someOf({
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
  mode: oneOf("steer", "followup", "collect", "interrupt"),
  content: listOf(block),
  replyTo: orNull(route),
});

const owned = { do: text, key: name, fence: number };

/** Entries are looked at by themselves, because most of an entry is its writer's affair. */
const SHAPES: Readonly<Record<Change["do"], Check>> = {
  open: record({
    do: text,
    key: name,
    transcript: text,
    cwd: text,
    parent: orNull(name),
    settings,
    copy: orNull(record({ of: name, fromSeq: count, throughSeq: count })),
    ifExists: oneOf("refuse", "keep"),
  }),
  append: record({
    ...owned,
    after: number,
    entries: listOf(anything, 1),
    rewindTo: orNull(record({ id: text, seq: number })),
    contextSeq: orNull(
      is("a whole number from 1 on", (value) => Number.isSafeInteger(value) && Number(value) >= 1),
    ),
  }),
  take: record({ ...owned, ids: listOf(text) }),
  run: record({ ...owned, state }),
  reroute: record({ ...owned, route: orNull(route) }),
  post: record({ do: text, to: listOf(name, 1), letter }),
  signal: record({ do: text, key: name, signal: oneOf("none", "pause", "kill") }),
  set: record({ do: text, key: name, version: orNull(count), settings }),
  charge: record({ do: text, key: name, usage }),
  setTimer: record({
    do: text,
    timer: record({ id: text, key: name, dueAtMs: whole, body: anything }),
    expectDueAtMs: orNull(whole),
  }),
  clearTimer: record({ do: text, id: text, expectDueAtMs: whole }),
  send: record({ do: text, outgoing: record({ id: text, key: name, route, content: listOf(block) }) }),
  settle: record({ do: text, id: text, refused: orNull(text) }),
  delete: record({ do: text, key: name, expect: orNull(record({ transcript: text, lastSeq: count })) }),
};

export function checkShape(change: Change): void {
  const verb: unknown = (change as { readonly do?: unknown } | null)?.do;
  if (typeof verb !== "string" || !Object.hasOwn(SHAPES, verb)) {
    const known = Object.keys(SHAPES).join(", ");
    throw new Fault("bad_input", `${shown(verb)} is no change; \`do\` is one of ${known}`);
  }
  const misfit = SHAPES[change.do](change);
  if (misfit !== null) {
    const found = misfit.found === NOTHING ? "" : `, not ${shown(misfit.found)}`;
    throw new Fault("bad_input", `${verb}: ${misfit.where} is ${misfit.wants}${found}`);
  }
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

function is(wants: string, fits: (value: unknown) => boolean): Check {
  return (value) => (fits(value) ? null : { where: "", wants, found: value });
}

function oneOf(...words: readonly string[]): Check {
  return is(`one of ${words.join(", ")}`, (value) => words.includes(value as string));
}

function orNull(check: Check): Check {
  return (value) => {
    const misfit = value === null ? null : check(value);
    return misfit?.where === "" ? { ...misfit, wants: `${misfit.wants}, or null` } : misfit;
  };
}

function listOf(check: Check, least = 0): Check {
  return (value) => {
    if (!Array.isArray(value)) return { where: "", wants: "a list", found: value };
    if (value.length < least) return { where: "", wants: "a list that is not empty", found: NOTHING };
    for (let at = 0; at < value.length; at += 1) {
      const misfit = check(value[at]);
      if (misfit !== null) return below(`[${at}]`, misfit);
    }
    return null;
  };
}

/** Every field, and no others: one that is unknown is most likely one that is misspelt. */
function record(fields: Readonly<Record<string, Check>>): Check {
  const some = someOf(fields);
  const names = Object.keys(fields);
  return (value) => {
    const misfit = some(value);
    if (misfit !== null) return misfit;
    for (const each of names) {
      if (Object.hasOwn(value as object, each)) continue;
      const missing = fields[each]?.(undefined) ?? null;
      if (missing !== null) return below(each, missing);
    }
    return null;
  };
}

function someOf(fields: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { where: "", wants: "an object", found: value };
    for (const each in value) {
      const check = Object.hasOwn(fields, each) ? fields[each] : undefined;
      if (check === undefined)
        return {
          where: each,
          wants: `no field; there are ${Object.keys(fields).join(", ")}`,
          found: NOTHING,
        };
      const misfit = check((value as Readonly<Record<string, unknown>>)[each]);
      if (misfit !== null) return below(each, misfit);
    }
    return null;
  };
}

/** A record whose other fields go by its `kind`. */
function variant(kinds: Readonly<Record<string, Readonly<Record<string, Check>>>>): Check {
  const kind = oneOf(...Object.keys(kinds));
  const records = new Map(Object.entries(kinds).map(([each, fields]) => [each, record({ kind, ...fields })]));
  return (value) => {
    const found = (value as { readonly kind?: unknown } | null | undefined)?.kind;
    const check = records.get(found as string);
    if (check !== undefined) return check(value);
    const misfit = kind(found);
    return misfit === null ? null : below("kind", misfit);
  };
}

function below(part: string, misfit: Misfit): Misfit {
  const joint = misfit.where === "" || misfit.where.startsWith("[") ? "" : ".";
  return { ...misfit, where: `${part}${joint}${misfit.where}` };
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
}
