// Parents and children, for tests: how they are spawned by a script, and what is heard of them.

import { Stage } from "./stage.ts";

export const MAIN = "agent:main:main";

/** A line of a script. The task is a script too: its lines are for the child. */
export function spawn(task: string | readonly string[], more: object = {}): string {
  return `!spawn ${JSON.stringify({ task: lines(task), ...more })}`;
}

export function lines(script: string | readonly string[]): string {
  return typeof script === "string" ? script : script.join("\n");
}

/** Another action of the same tool. */
export function act(action: "spawn" | "kill" | "steer" | "list" | "wait", more: object = {}): string {
  return `!call subagents ${JSON.stringify({ action, ...more })}`;
}

export function named(name: string): string {
  return `agent:main:thread:${name}`;
}

export const YIELD = "!call sessions_yield";
export const THEN = "!then";
export const RESULTS = "!results";

/** The reports that a session has read, of one child or of all. */
export async function reports(stage: Stage, key: string, of: string | null = null): Promise<string[]> {
  const begin = of === null ? "Report of " : `Report of ${of}: `;
  return (await stage.letters(key)).filter((text) => text.startsWith(begin));
}

/** The first lines of the reports: of whom, and how it ended. */
export async function endings(stage: Stage, key: string): Promise<string[]> {
  return (await reports(stage, key)).map((text) => text.slice("Report of ".length).split("\n")[0] ?? "");
}

export async function childrenOf(stage: Stage, key: string): Promise<string[]> {
  return (await stage.sessions.children(key, { limit: 200 })).children.map(({ sessionKey }) => sessionKey);
}

/** The only child of a session, as soon as it is there. */
export async function childOf(stage: Stage, key: string): Promise<string> {
  const [child, ...others] = await stage.until(async () => {
    const found = await childrenOf(stage, key);
    return found.length > 0 && found;
  });
  if (child === undefined || others.length > 0) throw new Error(`${key} has more children than one`);
  return child;
}

export async function until(stage: Stage, key: string, state: string): Promise<void> {
  await stage.until(async () => (await stage.sessions.status(key)).state === state);
}

/** Until a session does something, as people are told it: "asks rehearsal/default", "runs gate". */
export async function doing(stage: Stage, key: string, what: RegExp): Promise<void> {
  await stage.until(async () => what.test((await stage.sessions.status(key)).why));
}
