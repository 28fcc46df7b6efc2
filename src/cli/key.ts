// Keys as people type them: short, wherever it is clear what they mean.
//
// A home may have a hundred thousand sessions, so a short key is first tried as the few keys that it may stand for; only
// the beginning of an id is looked for. What was not looked through whole names nobody: kill and rm take short keys too.

import { Fault } from "../base/fault.ts";
import { instead } from "../base/near.ts";
import { describeKey, parseKey } from "../routing/key.ts";
import { encodePart } from "../routing/part.ts";
import type { Client } from "./client.ts";
import { whole } from "./output.ts";

/** Pages of sessions that are looked through for the beginning of an id, and rows of each. */
const PAGES_MAX = 5;
const PAGE_ROWS = 200;
/** Characters of an id that are a beginning: fewer are often a slip, and fit many. */
const BEGIN_CHARS_MIN = 4;
/** Candidates that an error names. */
const NAMED_MAX = 8;
/** Sessions that a misspelt key is compared with. */
const NEAR_ROWS = 200;

/** Which sessions a text may mean, from what can be asked of the daemon. */
export type Lookup = Pick<Client, "call">;

/**
 * The key of a session that is there. A whole key is passed as it is: whether there is such a session is said by whoever is
 * asked to do something with it. Faults: bad_input when it means several, not_found when it means none.
 */
export async function keyOf(client: Lookup, text: string, signal?: AbortSignal): Promise<string> {
  if (isWhole(text)) return parseKey(text);
  const exact = await existing(client, spellings(text), signal);
  const found = exact.length > 0 ? exact : await alike(client, text, signal);
  const [only, ...others] = [...new Set(found)];
  if (only === undefined) {
    await mustNotBeArchived(client, text, signal);
    throw await notFound(client, text, signal);
  }
  if (others.length > 0) throw ambiguous(text, [only, ...others]);
  return only;
}

/** A whole key, or what looks like the attempt at one: then the words about what is wrong with it are better than a search. */
function isWhole(text: string): boolean {
  return text === "main" || /^agent:/i.test(text);
}

/** The keys that a text may be short for. The agent main, and names, come first. */
export function spellings(text: string): readonly string[] {
  const long = text.replace(/^sub:/, "subagent:");
  const tries = [
    () => `agent:main:${long}`,
    () => `agent:main:thread:${encodePart(text)}`,
    () => `agent:${text}:main`,
    () => `agent:${long}`,
  ];
  return [...new Set(tries.flatMap(parsed))];
}

function parsed(spell: () => string): readonly string[] {
  try {
    return [parseKey(spell())];
  } catch {
    return []; // Not every spelling makes a key of every text.
  }
}

async function existing(
  client: Lookup,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const found = await Promise.all(
    keys.map(async (sessionKey) => {
      try {
        await client.call("history", { sessionKey, limit: 1 }, signal);
        return [sessionKey];
      } catch (error) {
        if (error instanceof Fault && error.code === "not_found") return [];
        throw error;
      }
    }),
  );
  return found.flat();
}

/** Sessions with that label, and sub-agents (or others, if the text says which) whose id begins so: neither goes first. */
async function alike(
  client: Lookup,
  text: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const labelled = await client.call("list", { label: text, limit: NAMED_MAX }, signal);
  const found = labelled.sessions.map(({ sessionKey }) => sessionKey);
  const [kind, begin] = kindIn(text);
  if (begin.length < BEGIN_CHARS_MIN) return found;
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const at: { cursor?: string } = cursor === null ? {} : { cursor };
    const { sessions, next } = await client.call("list", { kind, limit: PAGE_ROWS, ...at }, signal);
    for (const { sessionKey } of sessions) if (tail(sessionKey).startsWith(begin)) found.push(sessionKey);
    if (next === null) return found;
    cursor = next;
  }
  throw new Fault(
    "bad_input",
    `there are more than ${whole(PAGES_MAX * PAGE_ROWS)} ${NAMES[kind]}, too many to say which one ${JSON.stringify(text)} is; write the whole id`,
  );
}

type Kind = "subagent" | "thread" | "cron" | "hook" | "acp";

const NAMES: Readonly<Record<Kind, string>> = {
  subagent: "sub-agents",
  thread: "threads",
  cron: "cron sessions",
  hook: "hook sessions",
  acp: "acp sessions",
};

/** Without a word before it, it may be the beginning of an id as they are made: of hexadecimal digits. */
function kindIn(text: string): readonly [kind: Kind, begin: string] {
  const [, word = "", begin = ""] = /^(sub|subagent|thread|cron|hook|acp):([^:]*)$/.exec(text) ?? [];
  if (word === "") return ["subagent", /^[\da-f-]+$/.test(text) ? text : ""];
  return [word === "sub" ? "subagent" : (word as Kind), begin];
}

/** The last part: what tells a sub-agent from the others. */
export function tail(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}

function ambiguous(text: string, keys: readonly string[]): Fault {
  const shown = keys.slice(0, NAMED_MAX).join(", ");
  const more = keys.length > NAMED_MAX ? ` and ${keys.length - NAMED_MAX} more` : "";
  return new Fault("bad_input", `${JSON.stringify(text)} may be ${shown}${more}. Write more of the key.`);
}

/** What is out of the way is not found; the daemon says of it how it comes back. */
async function mustNotBeArchived(
  client: Lookup,
  text: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const sessionKey of spellings(text)) {
    const { archives } = await client.call("archives", { sessionKey, limit: 1 }, signal);
    if (archives.length > 0) await client.call("history", { sessionKey, limit: 1 }, signal);
  }
  const [only, ...others] = await archivedAlike(client, text, signal);
  if (only === undefined) return;
  if (others.length === 0) await client.call("history", { sessionKey: only, limit: 1 }, signal);
  const shown = [only, ...others].slice(0, NAMED_MAX).join(", ");
  throw new Fault("not_found", `${JSON.stringify(text)} may be ${shown}, which are archived.`);
}

/** Of what is out of the way, the keys whose id begins so. None, too, where there is more than can be looked through. */
export async function archivedAlike(
  client: Lookup,
  text: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const [kind, begin] = kindIn(text);
  if (begin.length < BEGIN_CHARS_MIN) return [];
  const found = new Set<string>();
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const at: { cursor?: string } = cursor === null ? {} : { cursor };
    const { archives, next } = await client.call("archives", { limit: PAGE_ROWS, ...at }, signal);
    for (const { sessionKey } of archives)
      if (describeKey(parseKey(sessionKey)).kind === kind && tail(sessionKey).startsWith(begin))
        found.add(sessionKey);
    if (next === null) return [...found];
    cursor = next;
  }
  return [];
}

async function notFound(client: Lookup, text: string, signal: AbortSignal | undefined): Promise<Fault> {
  const { sessions } = await client.call("list", { limit: NEAR_ROWS }, signal);
  // What is typed may be the end of a key that cannot be shortened so: then the key is what was meant.
  const names = sessions.flatMap(({ sessionKey }) =>
    tail(sessionKey) === text ? [] : [tail(sessionKey), sessionKey],
  );
  const whole = sessions.find(({ sessionKey }) => tail(sessionKey) === text)?.sessionKey;
  if (whole !== undefined)
    return new Fault("not_found", `${JSON.stringify(text)} is no short form. Did you mean ${whole}?`);
  const near = instead(text, names);
  const isShort = kindIn(text)[1].length < BEGIN_CHARS_MIN && kindIn(text)[1] !== "";
  const otherwise = isShort
    ? ` The beginning of an id has at least ${BEGIN_CHARS_MIN} characters.`
    : " `sessiond ps` shows what there is.";
  const hint = near.startsWith("did you mean") ? ` D${near.slice(1)}` : otherwise;
  return new Fault("not_found", `there is no session ${JSON.stringify(text)}.${hint}`);
}
