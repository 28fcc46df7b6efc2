// Tools and a door that leave a trace outside of the store: a line in a file, which a kill does not take back.

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Deliver, Tool, World } from "../../src/index.ts";

/** What a tool did, in the order in which it was done. */
export interface Effect {
  readonly cause: string;
  readonly tool: string;
  readonly what: "begun" | "done";
  readonly atMs: number;
}

/** What a door took. */
export interface Delivery {
  readonly id: string;
  readonly key: string;
  readonly hash: string; // of the content: a repeat is a repeat
}

/** Appends lines, each whole and at once, and waits for the disk. */
export async function openTrace<Of extends Effect | Delivery>(
  path: string,
): Promise<(line: Of) => Promise<void>> {
  const file = await open(path, "a");
  return async (line) => {
    await file.write(`${JSON.stringify(line)}\n`);
    await file.datasync();
  };
}

type Trace = (effect: Effect) => Promise<void>;

const input = z.strictObject({ ms: z.int().min(0).max(1_000), chars: z.int().optional() });

function leaving(name: string, replay: Tool["replay"], trace: Trace): Tool<typeof input> {
  return {
    name,
    description: "Leaves a trace.",
    input,
    replay,
    run: async ({ ms, chars = 4 }, { cause }) => {
      const effect = (what: Effect["what"]): Effect => ({ cause, tool: name, what, atMs: Date.now() });
      await trace(effect("begun"));
      await sleep(ms);
      await trace(effect("done"));
      return "done".padEnd(chars, ".");
    },
  };
}

export function toolsFor(trace: Trace): readonly Tool[] {
  return [leaving("mark", "never", trace), leaving("peek", "safe", trace), leaving("slow", "never", trace)];
}

/** Sometimes it fails, and sometimes it says so of what it took. */
export function doorFor(
  trace: (delivery: Delivery) => Promise<void>,
  dice: World,
  failures: number,
): Deliver {
  return async ({ id, key, content }) => {
    if (dice.random() < failures) throw new Error("the door is shut");
    const hash = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
    await trace({ id, key, hash });
    if (dice.random() < failures) throw new Error("the door fell shut");
  };
}
