import { constants } from "node:os";
import { z } from "zod";
import type { World } from "../base/world.ts";
import type { Ended } from "../sandbox/processes.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Job, Jobs } from "./background.ts";
import { tool, type Result, type Tool } from "./tool.ts";

/** Characters of output in one result; more come with the next read. */
const READ_CHARS_MAX = 64 * 1024;

/** Characters of one write, and of what may wait for a process that does not read. */
const WRITE_CHARS_MAX = 1_000_000;
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;

const input = z.strictObject({
  action: z.enum(["list", "read", "write", "kill"]),
  id: z.string().max(64).optional().describe("Which one; needed for all but list."),
  from: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe("For read: where to go on, as the last read said."),
  input: z.string().max(WRITE_CHARS_MAX).optional().describe("For write: what it reads from standard input."),
  end: z.boolean().optional().describe("For write: true closes its standard input afterwards."),
});
type Input = z.infer<typeof input>;

/** A session's own background processes; others do not exist for it. */
export function processTool(jobs: Jobs, world: World): Tool {
  return tool({
    name: "process",
    description:
      "Background processes of this session, started with exec: list them, read what they print, write to their standard " +
      "input, kill them with everything they started. Ended ones are remembered for a while; after a restart of the " +
      "gateway none is left.",
    input,
    replay: "never",
    run: async (asked, { session }): Promise<Result> => {
      const { key } = session;
      if (asked.action === "list") return { content: listOf(jobs, key, world) };
      const job = jobs.of(key).find(({ id }) => id === asked.id);
      if (!job)
        return {
          content: `There is no ${JSON.stringify(asked.id ?? "")}. ${listOf(jobs, key, world)}`,
          isError: true,
        };
      if (asked.action === "write") return write(job, asked);
      if (asked.action === "kill") {
        await job.running.kill();
        await job.running.ended;
      }
      return withUse(job, readOf(jobs, { key, job, from: asked.from ?? 0 }));
    },
  });
}

function listOf(jobs: Jobs, key: SessionKey, world: World): string {
  const lines = jobs.of(key).map((job) => {
    const seconds = Math.round(
      ((job.ended === null ? world.nowMs() : job.endedAtMs) - job.startedAtMs) / 1_000,
    );
    return `${job.id}: ${stateOf(jobs, key, job)}, ${seconds} s: ${job.command}`;
  });
  return lines.length === 0 ? "This session has no background processes." : lines.join("\n");
}

function stateOf(jobs: Jobs, key: SessionKey, job: Job): string {
  if (job.ended === null) return "runs";
  const isAlive = jobs.isAlive(key, job) && job.ended.left > 0;
  return `${outcomeOf(job.ended)}${isAlive ? ", but processes that it left behind go on" : ""}`;
}

function readOf(jobs: Jobs, { key, job, from }: { key: SessionKey; job: Job; from: number }): string {
  const part = job.output.since(from, READ_CHARS_MAX);
  const missing =
    part.from > from ? [`[${part.from - from} characters before this are not kept any more]`] : [];
  const more = job.output.chars > part.to ? `, ${job.output.chars - part.to} more characters are there` : "";
  const facts = `[${job.id}: ${stateOf(jobs, key, job)}; read on from ${part.to}${more}]`;
  return [...missing, part.text.replace(/\n$/, ""), facts].filter((line) => line !== "").join("\n");
}

/** What it used is told once, by the first result after its end: results are what a session is charged by. */
function withUse(job: Job, content: string): Result {
  if (job.ended === null || job.isCharged) return { content };
  job.isCharged = true;
  return { content, used: { cpuMs: job.ended.cpuMs, peakBytes: job.ended.peakBytes } };
}

function write(job: Job, { input: text = "", end }: Input): Result {
  const { stdin } = job.running;
  if (job.ended !== null)
    return { content: `${job.id} has ended (${outcomeOf(job.ended)}): nobody reads.`, isError: true };
  if (!stdin.writable) return { content: `The standard input of ${job.id} is closed.`, isError: true };
  if (stdin.writableLength > UNREAD_BYTES_MAX)
    return {
      content: `${job.id} has not read what it was given before. Nothing was written.`,
      isError: true,
    };
  if (text !== "") stdin.write(text);
  if (end === true) stdin.end();
  return { content: `Written: ${text.length} characters${end === true ? ", and closed" : ""}.` };
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Shells tell a signal as 128 and its number; a program may exit with such a number by itself. */
export function outcomeOf({ exitCode, signal }: Pick<Ended, "exitCode" | "signal">): string {
  if (exitCode === null) return `killed by ${signal ?? "a signal"}`;
  const name = exitCode > 128 ? SIGNALS.get(exitCode - 128) : undefined;
  return name === undefined ? `exit ${exitCode}` : `exit ${exitCode} (${name})`;
}
