// Searching the files of the workspace. The main thread only waits: a thread looks (looking.ts), perhaps where ripgrep says.

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import { alarm, CALLED_OFF } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { Processes } from "../../sandbox/processes.ts";
import { PATH_CHARS_MAX } from "../../sandbox/within.ts";
import { tool, type Tool } from "../tool.ts";
import { newFlags, tellToStop } from "./flags.ts";
import { SHOWN_BYTES_MAX } from "./lines.ts";
import type { Looking, Said } from "./looking.ts";
import { whereByRipgrep } from "./ripgrep.ts";

/** Matches, and lines around each, that one call shows. */
const MATCHES_MAX = 200;
const CONTEXT_LINES_MAX = 5;

/** Characters of a pattern or a glob. */
const PATTERN_CHARS_MAX = 1_000;

/** How long a search may take: by then a large tree is read, and an expression that takes for ever is known as such. */
const SEARCH_MS_MAX = 30_000;

/** Megabytes of memory for the thread: it holds a line and a folder's names. */
const THREAD_MEGABYTES_MAX = 256;

const input = z.strictObject({
  pattern: z.string().min(1).max(PATTERN_CHARS_MAX).describe("A regular expression, for one line."),
  path: z
    .string()
    .max(PATH_CHARS_MAX)
    .optional()
    .describe("A folder or file, relative to the workspace, which is the default."),
  glob: z
    .string()
    .min(1)
    .max(PATTERN_CHARS_MAX)
    .optional()
    .describe("Only such files, such as *.ts or src/**/*.md."),
  ignoreCase: z.boolean().optional(),
  literal: z.boolean().optional().describe("True: the pattern is plain text."),
  context: z.int().min(0).max(CONTEXT_LINES_MAX).optional().describe("Lines shown before and after."),
  limit: z.int().min(1).max(MATCHES_MAX).optional().describe("How many matches."),
});

interface Found {
  readonly texts: string[];
  matches: number;
  end: "all" | "cut" | "late"; // late: time was up
}

export function searchWith(world: World, processes: Processes): Tool {
  return tool({
    name: "search",
    description:
      "Search the text files of your workspace, line by line. Leaves out binary files, .git, node_modules and, where ripgrep is installed, what .gitignore names.",
    input,
    replay: "safe",
    process: true, // A thread, and perhaps ripgrep.
    run: async (asked, { agent, session, signal }) => {
      const late = new AbortController();
      const callOff = alarm(world, SEARCH_MS_MAX, () => late.abort(CALLED_OFF));
      try {
        const of = lookingFor(asked, agent.workspace);
        const both = AbortSignal.any([signal, late.signal]);
        const where = await whereByRipgrep(
          processes,
          {
            ...of,
            session: session.key,
            pattern: asked.pattern,
            ignoreCase: asked.ignoreCase ?? false,
            literal: asked.literal ?? false,
          },
          both,
        );
        const found = await lookedAt({ ...of, where }, both);
        signal.throwIfAborted();
        return shown(found);
      } finally {
        callOff();
      }
    },
  });
}

function lookingFor(asked: z.output<typeof input>, workspace: string): Looking {
  const {
    pattern,
    path,
    glob,
    ignoreCase = false,
    literal = false,
    context = 0,
    limit = MATCHES_MAX,
  } = asked;
  return {
    workspace,
    path: path === undefined || path === "" ? "." : path,
    pattern: expressionOf(literal ? RegExp.escape(pattern) : pattern, ignoreCase),
    glob: glob ?? null,
    context,
    limit,
    bytesMax: SHOWN_BYTES_MAX,
    where: null,
    flags: newFlags(),
  };
}

/** Other kinds of expressions have (?i) in front; and escapes that are not needed, which the strict form refuses. */
function expressionOf(pattern: string, ignoreCase: boolean): RegExp {
  const inFront = pattern.startsWith("(?i)");
  const source = inFront ? pattern.slice(4) : pattern;
  const flags = ignoreCase || inFront ? "i" : "";
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // It may be right without the flag.
  }
  try {
    return new RegExp(source, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault("bad_input", `the pattern is wrong: ${why}. For plain text, set literal.`, {
      cause: error,
    });
  }
}

/** Resolves also when time is up or nobody waits any more, with what was found until then. */
async function lookedAt(of: Looking, signal: AbortSignal): Promise<Found> {
  const found: Found = { texts: [], matches: 0, end: "late" };
  if (signal.aborted) return found;
  // Beside this file, in whatever form it runs: .ts in development, .js when built.
  const thread = new Worker(new URL(`./looking${extname(import.meta.url)}`, import.meta.url), {
    name: "sessiond-looking",
    workerData: of,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEGABYTES_MAX },
  });
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  const fail = (why: string): void => (signal.aborted ? resolve() : reject(new Fault("bad_input", why)));
  const stop = (): void => {
    if (tellToStop(of.flags)) resolve();
  };
  signal.addEventListener("abort", stop, { once: true });
  thread.once("error", (error) => fail(`the search failed: ${String(error)}`));
  thread.once("exit", () => resolve());
  thread.on("message", (said: Said) => {
    if (said.say === "failed") return fail(said.why);
    if (said.say === "done") {
      found.end = said.isCut ? "cut" : "all";
      return resolve();
    }
    found.texts.push(said.text);
    found.matches += said.matches;
  });
  try {
    await over;
    return found;
  } finally {
    signal.removeEventListener("abort", stop);
    await thread.terminate();
  }
}

function shown({ texts, matches, end }: Found): string {
  const notes = {
    all: "",
    cut: "There may be more: narrow the pattern, the path or the glob.",
    late: `It took longer than ${SEARCH_MS_MAX / 1_000} s and was ended: use a simpler pattern, or narrow path or glob.`,
  };
  const count = matches === 0 ? "Nothing matches." : `${matches} ${matches === 1 ? "match" : "matches"}.`;
  const note = matches === 0 && end === "late" ? notes.late : `${count} ${notes[end]}`.trimEnd();
  return matches === 0 ? note : `${texts.join("\n\n")}\n\n[${note}]`;
}
