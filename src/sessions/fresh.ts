// When a conversation begins anew. Pure: the session, what the configuration says, when a person last wrote, the time.

import type { Reset, ResetPolicy, ResetType } from "../config/config.ts";
import { describeKey } from "../routing/key.ts";
import type { Session } from "./session.ts";

const NEVER: Reset = { mode: "none" };

/**
 * What is set for the chat's channel, else for its type, else what is usual. Main and named sessions are meant to last: they
 * begin anew only where their type is set. What is no conversation of people never does: heartbeats, cron jobs, sub-agents,
 * hooks and the sessions of ACP clients.
 */
export function resetFor(session: Pick<Session, "key" | "origin" | "route">, policy: ResetPolicy): Reset {
  const type = typeOf(session);
  if (type === null) return NEVER;
  const own = policy.byType.get(type);
  if (type === "main" || type === "named") return own ?? NEVER;
  const channel = channelOf(session);
  return (channel === null ? undefined : policy.byChannel.get(channel)) ?? own ?? policy.usual;
}

/** Null: it is no conversation of people. */
function typeOf({ key }: Pick<Session, "key">): ResetType | null {
  const { kind, thread } = describeKey(key);
  switch (kind) {
    case "main":
    case "direct":
    case "group":
    case "channel":
      return thread === null ? kind : "thread";
    case "thread":
      return "named";
    case "heartbeat":
    case "subagent":
    case "cron":
    case "hook":
    case "acp":
      return null;
  }
}

/** The key names it, unless several channels share the session: then it is the one that was written from last. Null: none. */
function channelOf({ key, origin, route }: Pick<Session, "key" | "origin" | "route">): string | null {
  const { channel } = describeKey(key);
  return [channel, origin?.channel, route?.channel].find((name) => name) ?? null;
}

/**
 * Whether what a person writes at `nowMs` begins a new conversation. Only what people wrote before counts: `interactedAtMs` is
 * when they last did, 0: never, and then there is no conversation that could be old.
 */
export function isStale(reset: Reset, interactedAtMs: number, nowMs: number): boolean {
  if (interactedAtMs === 0) return false;
  switch (reset.mode) {
    case "none":
      return false;
    case "idle":
      return nowMs - interactedAtMs >= reset.minutes * MINUTE_MS;
    case "daily":
      return interactedAtMs < lastAt(reset.hour, reset.zone, nowMs);
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The last time, up to now, that a clock in the zone came to that hour. */
export function lastAt(hour: number, zone: string, nowMs: number): number {
  const today = Math.floor(shownAt(zone, nowMs) / DAY_MS) * DAY_MS;
  const atMs = whenShown(zone, today + hour * 60 * MINUTE_MS);
  return atMs <= nowMs ? atMs : whenShown(zone, today - DAY_MS + hour * 60 * MINUTE_MS);
}

/**
 * When a clock in the zone first shows a time. One that it shows twice, because it is set back, counts the first time; one that
 * it never shows, because it is set forward over it, counts as the moment in which it is set.
 */
function whenShown(zone: string, shownMs: number): number {
  const offset = (atMs: number): number => shownAt(zone, atMs) - atMs;
  // A clock is set at most once within two days: on either side of that it has one of these two offsets.
  const either = [shownMs - offset(shownMs - DAY_MS), shownMs - offset(shownMs + DAY_MS)];
  const shown = either.filter((atMs) => shownAt(zone, atMs) === shownMs);
  return shown.length > 0 ? Math.min(...shown) : Math.max(...either);
}

/** What a clock in the zone shows, as if it were one of UTC. */
function shownAt(zone: string, atMs: number): number {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return shown + (atMs - Math.floor(atMs / 1_000) * 1_000);
}

/** Making one takes longer than asking it. There are as many as the configuration names zones. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  const known =
    clocks.get(zone) ?? new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", { ...SHOWN, timeZone: zone });
  clocks.set(zone, known);
  return known;
}

const SHOWN = {
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
  hourCycle: "h23",
} as const;
