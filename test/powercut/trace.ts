// Trace
//
// Runs a program under strace and gives back what it did to the files below one directory.
//
//   Owns:      strace's command line, the scratch directory of a run.
//   Does not:  interpret the trace (follow.ts and what it uses).
//
// Invariants
//   T1. All or nothing: a recording is complete, or record() throws. A program that fails has none either.
//   T2. Nothing of a run stays behind, whatever its outcome.
//   T3. io_uring is refused to the program, since strace does not see what goes through it. libuv opens a ring
//       even when told not to use one, so being told is not enough; when the kernel refuses, it does without.

import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, open, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import { Files } from "./files.ts";
import { Follower } from "./follow.ts";
import { CALLS } from "./calls.ts";
import { Lines } from "./line.ts";
import type { Recording } from "./operation.ts";
import { readTree } from "./tree.ts";

const TRACER = "strace";

/** Bytes of one write that are traced whole. A longer one is an error, and it would be a strange one. */
const STRING_BYTES_MAX = 70_000_000;

/** After this a traced program is taken to hang. The longest campaign runs for a minute or two. */
const PROGRAM_MS_MAX = 900_000;

/** Of what a failed program wrote to standard error, so much is shown. */
const COMPLAINT_CHARS_MAX = 4000;

/** Bytes of the trace read at once: large enough that few lines span two chunks. */
const CHUNK_BYTES = 4 * 1024 * 1024;

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>; // added to the environment of this process
  readonly root: string; // the directory it is watched in; what stands there is taken as durable
}

/** Runs the program to its end. What it writes to standard output is in the recording, as `said`. */
export async function record(program: Program): Promise<Recording> {
  assert(isAbsolute(program.root) && !program.root.endsWith("/"), "the root is given as a whole path");
  const real = await realpath(program.root);
  const files = new Files({ real, given: program.root }, await readTree(real));
  const scratch = await mkdtemp(join(tmpdir(), "powercut-trace-"));
  try {
    const trace = join(scratch, "trace");
    const complaint = await runTraced(program, trace, join(scratch, "said"));
    if (complaint !== null) throw new Error(`the traced program failed: ${complaint}`);

    const follower = new Follower(files, process.cwd());
    const lines = new Lines();
    for await (const chunk of createReadStream(trace, { highWaterMark: CHUNK_BYTES }))
      lines.push(chunk as Buffer, (line) => follower.take(line));
    lines.close();
    return files.recording();
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Why no program can be traced on this machine; null: it can. It is tried, with all that record() needs. */
export async function canTrace(): Promise<string | null> {
  if (process.platform !== "linux") return `strace runs on Linux, and this is ${process.platform}`;
  const scratch = await mkdtemp(join(tmpdir(), "powercut-try-"));
  try {
    const program = { command: process.execPath, args: ["-e", "0"], env: {}, root: scratch };
    const complaint = await runTraced(program, join(scratch, "trace"), join(scratch, "said"));
    if (complaint !== null) return `strace does not work here: ${complaint}`;
    const trace = await readFile(join(scratch, "trace"), "latin1");
    return /execve\(.*= 0\n/.test(trace) ? null : "strace wrote no trace";
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** null when the program ended well, else why not. Standard output goes to a file: to a pipe it could block. */
async function runTraced(program: Program, trace: string, said: string): Promise<string | null> {
  // "?" lets strace pass over calls that this kind of processor does not have.
  const names = Object.keys(CALLS).map((name) => `?${name}`);
  const command = [
    "--follow-forks",
    "--interruptible=waiting", // when it is ended, it ends the program too
    "--quiet=attach,personality",
    "--decode-fds=path",
    "--strings-in-hex=all",
    `--string-limit=${STRING_BYTES_MAX}`,
    `--trace=${names.join(",")}`,
    "--inject=io_uring_setup:error=ENOSYS", // T3
    "--seccomp-bpf", // calls that are not traced run at full speed
    `--output=${trace}`,
    "--",
    program.command,
    ...program.args,
  ];
  const output = await open(said, "w");
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let hangs: NodeJS.Timeout | undefined;
  try {
    const child = spawn(TRACER, command, {
      env: { ...process.env, ...program.env, UV_USE_IO_URING: "0" },
      stdio: ["ignore", output.fd, "pipe"],
    });
    // Not spawn's own timeout: its timer outlives a command that could not be started.
    hangs = setTimeout(() => child.kill(), PROGRAM_MS_MAX);
    let complaint = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-COMPLAINT_CHARS_MAX);
    });
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) =>
      resolve(code === 0 ? null : `it ended with ${code ?? signal}. ${complaint}`),
    );
    return await promise;
  } finally {
    clearTimeout(hangs);
    await output.close();
  }
}
