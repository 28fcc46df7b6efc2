// Exec
//
// Runs a command for a model. Nothing confines it: it can do what the gateway's user can, and its description says so.
//
//   Owns:      what a command's result looks like, and how long it may take from its start on.
//   Does not:  start or end processes by itself (sandbox/processes.ts), decide which folders are inside, or wait for a slot:
//              whoever calls a tool that runs a program has one for it (turns/toolcalls.ts).
//
// Invariants
//   E1. A call in the foreground returns or rejects only after nothing of its tree is left.

import { z } from "zod";
import { unlessAborted, unlessLate } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Agent } from "../config/config.ts";
import { findProgram } from "../sandbox/launch.ts";
import { Output } from "../sandbox/output.ts";
import { plainEnv, type Ended, type Processes, type Starting } from "../sandbox/processes.ts";
import { Jobs, type Job } from "./background.ts";
import { outcomeOf, processTool } from "./process.ts";
import { tool, type Calling, type Result, type Tool } from "./tool.ts";

export interface ExecParts {
  readonly processes: Processes;
  readonly world: World;
  /** The folder that a path inside the agent's workspace means; rejects when it is not inside. Null: the workspace itself. */
  readonly folderOf: (agent: Agent, path: string | null) => Promise<string>;
}

/** Characters of a command: a script of some thousand lines. */
const COMMAND_CHARS_MAX = 100_000;

/** Characters of what a command is given to read. Longer things are files. */
const INPUT_CHARS_MAX = 1_000_000;

/** The longest that can be asked for: a day. The agent's own limit for tools is mostly much shorter. */
const SECONDS_MAX = 24 * 60 * 60;

/** What is kept of output: enough of the beginning to see what it is about, and more of the end, where errors are. */
const HEAD_CHARS_MAX = 64 * 1024;
const TAIL_CHARS_MAX = 192 * 1024;

/** How long a background process is watched before its first output is told. */
const FIRST_WORDS_MS = 1_000;

/** How long the rest of an output is waited for after its whole tree is gone. It comes at once, or somebody else has the pipe. */
const REST_MS = 500;

const input = z.strictObject({
  command: z.string().min(1).max(COMMAND_CHARS_MAX).describe("What to run, as for a shell."),
  folder: z
    .string()
    .max(4_096)
    .optional()
    .describe("Where to run it, inside the workspace; else in the workspace."),
  seconds: z.number().positive().max(SECONDS_MAX).optional().describe("End it after so many seconds."),
  input: z.string().max(INPUT_CHARS_MAX).optional().describe("What it reads from standard input."),
  background: z
    .boolean()
    .optional()
    .describe("True: leave it running and return at once. See the tool process."),
});
type Input = z.infer<typeof input>;

export function execTools(parts: ExecParts): readonly Tool[] {
  const jobs = new Jobs(parts.processes, parts.world);
  const env = plainEnv(process.env);
  let shell: Promise<readonly string[]> | null = null; // null: nobody has asked yet
  const exec = tool({
    name: "exec",
    description:
      "Runs a shell command in the workspace and returns what it prints. It is not sandboxed: it can do what the user " +
      "can whom the gateway runs as. When it returns, everything that it started is ended; use background: true for " +
      "what should go on.",
    input,
    replay: "never",
    process: true,
    run: async (asked, call) => {
      const { session, agent } = call;
      const cwd = await parts.folderOf(agent, asked.folder ?? null);
      shell ??= findShell(env["PATH"] ?? "");
      const command = [...(await shell), "-c", asked.command];
      const starting: Starting = { command, cwd, env, session: session.key };
      if (asked.background !== true) return await inForeground(parts, { asked, call, starting });
      return await inBackground(parts, jobs, { asked, call, starting });
    },
  });
  return [exec, processTool(jobs, parts.world)];
}

/** Without --norc bash takes our pipes, which are sockets, for a login over a network, and reads the user's .bashrc. */
async function findShell(path: string): Promise<readonly string[]> {
  const bash = await findProgram("bash", path, "/");
  return bash === null ? ["/bin/sh"] : [bash, "--norc"];
}

interface Asked {
  readonly asked: Input;
  readonly call: Calling;
  readonly starting: Starting;
}

async function inForeground(parts: ExecParts, { asked, call, starting }: Asked): Promise<Result> {
  const { world, processes } = parts;
  call.signal.throwIfAborted();
  const sinceMs = world.nowMs();
  const running = await processes.start(starting);
  const output = new Output({ headChars: HEAD_CHARS_MAX, tailChars: TAIL_CHARS_MAX });
  output.read(running.stdout);
  output.read(running.stderr);
  running.stdin.end(asked.input ?? "");
  const { toolSeconds } = call.agent.limits; // The call itself may take a little longer: its end takes a moment.
  const waitMs = Math.min(asked.seconds ?? SECONDS_MAX, toolSeconds) * 1_000;
  const inTime = await unlessAborted(unlessLate(world, waitMs, running.ended), call.signal).catch(() => null);
  const tookMs = world.nowMs() - sinceMs;
  if (inTime === null || inTime.left > 0) await running.kill(); // E1
  call.signal.throwIfAborted();
  const ended = inTime ?? (await unlessLate(world, REST_MS, running.ended)) ?? STUCK;
  await unlessLate(world, REST_MS, output.isRead);
  return resultOf(output.text(), ended, { tookMs, isLate: inTime === null });
}

/** Of one that not even SIGKILL ended: it hangs in the kernel. Who started it is not made to wait for that. */
const STUCK: Ended = {
  exitCode: null,
  signal: "nothing: it cannot be killed",
  cpuMs: 0,
  peakBytes: 0,
  left: 0,
};

function resultOf(
  text: string,
  ended: Ended,
  { tookMs, isLate }: { readonly tookMs: number; readonly isLate: boolean },
): Result {
  const { cpuMs, peakBytes, left, exitCode } = ended;
  const late = isLate ? `ended because it ran longer than ${secondsOf(tookMs)}, ` : "";
  const facts = `[${late}${outcomeOf(ended)}, ${secondsOf(tookMs)}, cpu ${secondsOf(cpuMs)}, ${mebibytesOf(peakBytes)}]`;
  const behind = left > 0 && !isLate ? [`[${leftWords(left)}]`] : [];
  const lines = [text.replace(/\n$/, ""), facts, ...behind].filter((line) => line !== "");
  return { content: lines.join("\n"), isError: isLate || exitCode !== 0, used: { cpuMs, peakBytes } };
}

function leftWords(left: number): string {
  const which =
    left === 1 ? "1 process that it left behind was" : `${left} processes that it left behind were`;
  return `${which} ended; use background: true for what should go on`;
}

function secondsOf(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function mebibytesOf(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}

async function inBackground(parts: ExecParts, jobs: Jobs, { asked, call, starting }: Asked): Promise<Result> {
  const { world, processes } = parts;
  call.signal.throwIfAborted();
  const job = await jobs.start(call.session.key, asked.command, () => processes.start(starting));
  if (typeof job === "string") return { content: job, isError: true };
  if (asked.input !== undefined) job.running.stdin.write(asked.input);
  await unlessAborted(unlessLate(world, FIRST_WORDS_MS, job.running.ended), call.signal).catch(() => null);
  return startedOf(job);
}

/** It is left running also when nobody waits for this result: the session has it in its list. */
function startedOf(job: Job): Result {
  const { ended, output } = job;
  const text = output.since(0, HEAD_CHARS_MAX).text.replace(/\n$/, "");
  const state = ended === null ? "runs in the background" : `ended already: ${outcomeOf(ended)}`;
  const content = [text, `[${job.id} ${state}; read more of it with the tool process]`].filter(
    (line) => line !== "",
  );
  if (ended === null) return { content: content.join("\n") };
  job.isCharged = true;
  const used = { cpuMs: ended.cpuMs, peakBytes: ended.peakBytes };
  return { content: content.join("\n"), isError: ended.exitCode !== 0, used };
}
