// Tasks that were given, as the transcripts of those say who gave them; and as people were told.

import type { Call, Story } from "../turns/story.ts";
import type { Gone } from "./look.ts";
import type { AgentReports } from "./reports.ts";

export interface Task {
  readonly giver: string;
  readonly child: string;
  readonly isTold: boolean; // whether somebody hears of its end
}

/** By the id of the letter that the child was given. */
export type Tasks = ReadonlyMap<string, Task>;

/** A spawn without a result that says so gave nothing. */
export function tasksOf(stories: readonly Story[], reports: AgentReports): Tasks {
  const tasks = new Map<string, Task>();
  for (const { row, turns } of stories)
    for (const call of turns.flatMap(({ calls }) => calls)) {
      const [result] = call.results;
      if (!isCall(call, "spawn") || result?.isError !== false) continue;
      const { id, sessionKey: child } = JSON.parse(result.text) as { id: string; sessionKey: string };
      tasks.set(id, { giver: row.key, child, isTold: isToldIn(result.details) });
    }
  for (const [name, { id, key: child }] of reports.acknowledged) {
    const asked = reports.tried.get(name);
    if (asked?.by === "spawn") tasks.set(id, { giver: asked.input.parent ?? "", child, isTold: true });
  }
  return tasks;
}

/** Words for an agent, by the id of their letter: to whom. */
export function steersOf(stories: readonly Story[]): ReadonlyMap<string, string> {
  const calls = stories.flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
  const steers = calls.filter((call) => isCall(call, "steer") && call.results[0]?.isError === false);
  return new Map(steers.map(({ cause, arguments: given }) => [cause, String(given["sessionKey"])]));
}

function isCall({ name, arguments: given }: Call, action: "spawn" | "steer"): boolean {
  return name === `sessions_${action}` || (name === "subagents" && given["action"] === action);
}

/** Who stands above whom, by birth. */
export class Family {
  readonly #stories: ReadonlyMap<string, Story>;
  readonly #gone: ReadonlySet<string>; // keys
  readonly #transcripts: ReadonlySet<string>;

  constructor(stories: ReadonlyMap<string, Story>, gone: readonly Gone[]) {
    this.#stories = stories;
    this.#gone = new Set(gone.map(({ key }) => key));
    this.#transcripts = new Set(gone.map(({ transcript }) => transcript));
  }

  /** Nearest first, up to the first that is gone: what stood above that one nobody knows. */
  above(key: string): readonly string[] {
    const found: string[] = [];
    for (let at = this.#stories.get(key)?.row.parent ?? null; at !== null;) {
      found.push(at);
      at = this.#stories.get(at)?.row.parent ?? null;
    }
    return found;
  }

  isGone(key: string): boolean {
    return this.#gone.has(key) && !this.#stories.has(key);
  }

  /** Whether what has this id came of a call in a transcript that is gone. */
  isOfGone(cause: string): boolean {
    return this.#transcripts.has(/^cause:call:([^:]+):/.exec(cause)?.[1] ?? "");
  }
}

function isToldIn(details: unknown): boolean {
  return (
    (details as { readonly spawned?: { readonly isTold?: boolean } } | undefined)?.spawned?.isTold === true
  );
}
