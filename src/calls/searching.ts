// Finding what was said, in all sessions.

import { z } from "zod";
import { redacted } from "../base/redact.ts";
import { SEARCH_WAIT_MS } from "./limits.ts";
import { parseKey } from "../routing/key.ts";
import { groupsBetween } from "../store/cursor.ts";
import type { Hits, SearchQuery } from "../store/store.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { reached } from "./reach.ts";
import { saidBy, saying } from "./saying.ts";
import { limit } from "./schemas.ts";
import { sessionKey } from "./setting-shapes.ts";

/** Characters of what is searched for: a few words. */
const TEXT_CHARS_MAX = 1_000;

export const words = z
  .string()
  .min(1)
  .max(TEXT_CHARS_MAX)
  .describe("Words, in any order and case; the last may be the beginning of one.");

export const searchInput = z.strictObject({
  text: words,
  agent: z.string().optional().describe("Only in sessions of this agent."),
  sessionKey: sessionKey.optional().describe("Only in this session."),
  limit,
});

const hit = {
  sessionKey,
  seq: z.int().describe("The entry that has the words."),
  snippet: z.string().describe("The words with what stands around them. Secrets are taken out."),
};
const HIT_ORDER = "Newest first within a session; of several, mostly.";

/** As agents are told them, who read many at once: `history` says who said it, and when. */
export const saidHits = z.array(z.strictObject(hit)).describe(HIT_ORDER);

export const behindGroups = z
  .int()
  .describe(
    "Groups of commits that search has not seen yet; those before the question are waited for, a moment. 0: what you see is all there is.",
  );

export const found = z.strictObject({
  hits: z.array(z.strictObject({ ...hit, ...saying })).describe(HIT_ORDER),
  behind: behindGroups,
});

export async function search(
  system: System,
  caller: Caller,
  { text, agent, sessionKey: named, limit: most = 20 }: z.output<typeof searchInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof found>>> {
  const within = named === undefined ? {} : { key: (await reached(system, caller, parseKey(named))).key };
  const of = agent === undefined ? {} : { agent };
  const { hits, behind } = await seen(system, { text, limit: most, ...of, ...within }, signal);
  const told = (await saidBy(system, hits)).map(({ key, seq, at, kind, from, snippet }) => {
    return { sessionKey: key, seq, at, kind, from, snippet: shownSnippet(snippet) };
  });
  return just({ hits: told, behind });
}

/** When search has seen all that was committed before the question; if that takes too long, what it has seen. */
export async function seen({ store, world }: System, query: SearchQuery, signal: AbortSignal): Promise<Hits> {
  const { cursor: asked } = await store.changesSince(null);
  let now = asked;
  const untilMs = world.nowMs() + SEARCH_WAIT_MS;
  for (let pauseMs = PAUSE_MS; ; pauseMs *= 2) {
    const found = await store.search(query);
    if (found.behind <= groupsBetween(asked, now) || world.nowMs() + pauseMs > untilMs) return found;
    await world.sleep(pauseMs, signal);
    ({ cursor: now } = await store.changesSince(null)); // Before the next look: what it is behind may be newer than that.
  }
}

/** Before the second look; before each one after it twice as long. */
const PAUSE_MS = 20;

/**
 * A snippet is cut between words, and a key has several: the rest of one does not look like a key any more. So at a cut the
 * characters up to the next blank go too.
 */
export function shownSnippet(snippet: string): string {
  return redacted(snippet.replace(/^…\S*/, "…").replace(/\S*…$/, "…"));
}
