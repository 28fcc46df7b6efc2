// What Linux tells of its processes in /proc. Every answer may be outdated when it arrives: a process that ended
// meanwhile is null, never an error.

import { existsSync } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";

/** Elsewhere, such as on macOS, there is no /proc: nothing here is asked then, and only process groups are known. */
export const HAS_PROC = process.platform === "linux" && existsSync("/proc/self/fd");

/** In the environment of every process that a launcher starts, and so of all that these start. */
export const MARKER = "SESSIOND_PROCESS";

/** One process. `pid` and `startTicks` together name it: a number is given again, but not with the same start. */
export interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTicks: number; // since the machine started
  readonly cpuMs: number; //      its own, and of the children that it has waited for
  readonly isDead: boolean; //    ended, but nobody has waited for it yet: no signal reaches it, none is needed
}

/** Linux tells times in hundredths of a second, whatever its kernel counts in. */
const TICK_MS = 10;

/** Bytes of a line of stat: a name of 16 characters and some fifty numbers. */
const STAT_BYTES_MAX = 2_048;

/** Null: there is no such process. */
export async function seenOf(pid: number): Promise<Seen | null> {
  const text = await unlessGone(() => beginningOf(`/proc/${pid}/stat`, STAT_BYTES_MAX));
  return text === null ? null : parseStat(pid, text);
}

/** The name stands in parentheses and may have any character in it, so the fields are counted from the last one. */
function parseStat(pid: number, text: string): Seen | null {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const number = (field: number): number => Number(fields[field - 3]); // as proc(5) numbers them; the third is the first here
  const startTicks = number(22);
  if (!Number.isSafeInteger(startTicks)) return null;
  const isZombie = fields[0] === "Z" || fields[0] === "X";
  return {
    pid,
    parent: number(4),
    group: number(5),
    session: number(6),
    startTicks,
    cpuMs: (number(14) + number(15) + number(16) + number(17)) * TICK_MS,
    isDead: isZombie && number(20) <= 1, // Its first thread may be gone while others of it run.
  };
}

/** Null: it has none, or it may not be read. */
export async function markerOf(pid: number): Promise<string | null> {
  const environment = await unlessGone(() => readFile(`/proc/${pid}/environ`, "latin1")); // The kernel bounds it: 6 MiB.
  if (environment === null) return null;
  const from = `\0${environment}`.indexOf(`\0${MARKER}=`);
  return from < 0 ? null : (environment.slice(from + MARKER.length + 1).split("\0", 1)[0] ?? null);
}

export interface Memory {
  readonly bytes: number; //     now
  readonly peakBytes: number; // the most it ever had since it was executed
}

export async function memoryOf(pid: number): Promise<Memory> {
  const text = (await unlessGone(() => beginningOf(`/proc/${pid}/status`, 4_096))) ?? "";
  const bytesOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;
  return { bytes: bytesOf("VmRSS"), peakBytes: bytesOf("VmHWM") };
}

export async function everyPid(): Promise<number[]> {
  return (await readdir("/proc")).filter((name) => /^[1-9]\d*$/.test(name)).map(Number);
}

/** Another one after every start of the machine: a pid of another boot names nobody. */
export async function currentBoot(): Promise<string> {
  return HAS_PROC ? (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim() : "";
}

async function beginningOf(path: string, bytesMax: number): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytesMax), 0, bytesMax, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function unlessGone(reading: () => Promise<string>): Promise<string | null> {
  try {
    return await reading();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return null;
    throw error;
  }
}
