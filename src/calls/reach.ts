// Which sessions a caller may know of, and what of them. People may know of all; a session, as far as its agent's visibility goes.

import { Fault } from "../base/fault.ts";
import { redactedIn } from "../base/redact.ts";
import { PAGE_ROWS_MAX, PAGE_SCAN_ROWS_MAX } from "../limits.ts";
import { agentOf, mainKey, parseKey, DEFAULT_AGENT, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { isMatch } from "../store/rules.ts";
import type { Page, SearchQuery, SessionQuery } from "../store/store.ts";
import { isWithin, type Caller, type System } from "./call.ts";
import { iso } from "./views.ts";

/** The session that a text names: the caller's own when it names none, a person's main session. */
export function keyFor(caller: Caller, text: string | undefined): SessionKey {
  if (text !== undefined) return parseKey(text);
  return caller.kind === "agent" ? caller.session.key : mainKey(DEFAULT_AGENT);
}

/** The session's row as it is now. not_found when there is none, forbidden when it is not the caller's to see. */
export async function reached(system: System, caller: Caller, key: SessionKey): Promise<Session> {
  const session = await system.store.session(key);
  const isSeen = session !== null && sees(caller, session);
  if (session !== null && isSeen) return session;
  if (session === null) await mustNotBeArchived(system, caller, key);
  // To whom it is hidden, a session that exists looks like one that does not, except that the rule is named.
  if (caller.kind === "person")
    throw new Fault("not_found", `there is no session ${key}; if the key is right, a message to it opens it`);
  const rule = `that you may see (tools.visibility is ${visibilityOf(caller)})`;
  throw new Fault("forbidden", `there is no session ${key} ${rule}`);
}

/** not_found, with what to do, of a key that has no session but an archive which the caller may see. To others it is not there. */
export async function mustNotBeArchived(system: System, caller: Caller, key: SessionKey): Promise<void> {
  const { store } = system;
  const [archive] = (await store.archives({ key, newest: true, limit: 1 })).rows;
  if (archive === undefined || !sees(caller, archive.session) || (await store.session(key)) !== null) return;
  const since = iso(archive.archivedAtMs).slice(0, 10);
  if (caller.kind === "agent")
    throw new Fault("not_found", `${key} is archived since ${since}; only a person can bring it back`);
  throw new Fault(
    "not_found",
    `${key} is archived since ${since}: \`sessiond restore ${key}\` brings it back`,
    { todo: "bring it back first; `archives` lists what there is of it" },
  );
}

/** Who may ask is answered as it was said. Who may only look gets no more by asking for answers than `entries` gives: no secrets. */
export function isAnswered(caller: Caller): boolean {
  return caller.kind === "agent" || isWithin("operate", caller.scope);
}

/** The same, of something that was said. */
export function saidTo<Said>(caller: Caller, said: Said): Said {
  return isAnswered(caller) ? said : (redactedIn(said) as Said);
}

/** What a caller may see of all sessions. */
type Extent =
  | { readonly of: "all" }
  | { readonly of: "agent"; readonly agent: string }
  | { readonly of: "tree"; readonly root: SessionKey }
  | { readonly of: "self"; readonly session: Session };

function extentOf(caller: Caller): Extent {
  if (caller.kind === "person") return { of: "all" };
  const own = caller.session;
  switch (visibilityOf(caller)) {
    case "self":
      return { of: "self", session: own };
    case "tree":
      // Main is shown its agent's whole tree: it is where a person looks after everything.
      if (own.key === mainKey(own.agent as AgentId)) return { of: "agent", agent: own.agent };
      return { of: "tree", root: own.root };
    case "agent":
      // A child of another agent is a thread of its root: what that agent's people say is not its business.
      if (own.agent !== agentOf(own.root)) return { of: "tree", root: own.root };
      return { of: "agent", agent: own.agent };
    case "all":
      return { of: "all" };
  }
}

/** Whether a caller may see everything of its agent. */
export function seesAgent(caller: Caller): boolean {
  const { of } = extentOf(caller);
  return of === "all" || of === "agent";
}

/** For who does something else when it is not; who cannot go on asks `reached`. */
export function sees(caller: Caller, session: Session): boolean {
  const extent = extentOf(caller);
  switch (extent.of) {
    case "all":
      return true;
    case "agent":
      return session.agent === extent.agent;
    case "tree":
      return session.root === extent.root;
    case "self":
      return session.key === extent.session.key;
  }
}

/**
 * A page of what the caller may see. The store is never asked for more and filtered afterwards: its cursors name the row
 * they stand at, and an empty page would tell that something is hidden behind it.
 */
export async function pageWithin(
  system: System,
  caller: Caller,
  query: SessionQuery,
): Promise<Page<Session>> {
  const extent = extentOf(caller);
  switch (extent.of) {
    case "all":
      return await system.store.sessions(query);
    case "agent":
      if (query.agent !== undefined && query.agent !== extent.agent) return { rows: [], next: null };
      return await system.store.sessions({ ...query, agent: extent.agent });
    case "tree":
      return pageOf(await treeOf(system, extent.root), query);
    case "self":
      return pageOf([(await system.store.session(extent.session.key)) ?? extent.session], query);
  }
}

/**
 * Where a caller may look for words, as the store is asked for it: hits of others, left out afterwards, would take the place of
 * those that the caller may see.
 */
export async function searchableBy(
  system: System,
  caller: Caller,
): Promise<Pick<SearchQuery, "agent" | "keys">> {
  const extent = extentOf(caller);
  switch (extent.of) {
    case "all":
      return {};
    case "agent":
      return { agent: extent.agent };
    case "tree":
      return { keys: (await treeOf(system, extent.root)).map(({ key }) => key) };
    case "self":
      return { keys: [extent.session.key] };
  }
}

/** A root and its descendants, as many as a list may have to look at. */
async function treeOf(system: System, root: SessionKey): Promise<Session[]> {
  const session = await system.store.session(root);
  const tree: Session[] = session ? [session] : [];
  for (let at = 0; at < tree.length && tree.length < PAGE_SCAN_ROWS_MAX; at += 1) {
    const parent = tree[at]?.key;
    if (parent === undefined) break;
    let cursor: string | null = null;
    do {
      const page: Page<Session> = await system.store.sessions({ parent, cursor, limit: PAGE_ROWS_MAX });
      tree.push(...page.rows);
      cursor = page.next;
    } while (cursor !== null && tree.length < PAGE_SCAN_ROWS_MAX);
  }
  return tree;
}

/** The cursor is how many came before. */
function pageOf(sessions: readonly Session[], query: SessionQuery): Page<Session> {
  const { cursor = null, limit = PAGE_ROWS_MAX } = query;
  const from = cursor === null ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0)
    throw new Fault("bad_input", "cursor: it is not one that a list gave you");
  const found = sessions
    .filter((session) => isMatch(session, query))
    .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
  const next = from + limit < found.length ? String(from + limit) : null;
  return { rows: found.slice(from, from + limit), next };
}

function visibilityOf(caller: Extract<Caller, { kind: "agent" }>): "self" | "tree" | "agent" | "all" {
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
