// A bare write beside a measure: 4 KiB over what is there, synced, in a file of its own, again and again, by a process of its own.
// It needs nothing of a file system but the device, and shares nothing with sessiond: when it is late, the disk was.

import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Run } from "./run.ts";

/** By the clock of the machine, in milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly tookMs: number;
}

const BLOCK = Buffer.alloc(4_096, 1);
const BLOCKS = 256;
const PAUSE_MS = 5;

export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export async function span(work: () => Promise<unknown>): Promise<Span> {
  const fromMs = nowMs();
  await work();
  return { fromMs, tookMs: nowMs() - fromMs };
}

/** The bare writes that were made while the work ran. */
export async function beside(run: Run, work: () => Promise<unknown>): Promise<readonly Span[]> {
  const child = run.scratch.start(new URL(import.meta.url), [join(run.scratch.directory, "bare")]);
  const ended = new Promise<readonly Span[]>((resolve, reject) => {
    child.once("message", (spans) => resolve(spans as readonly Span[]));
    child.once("exit", (code) => reject(new Error(`the bare writer ended with ${code}`)));
  });
  const [spans] = await Promise.all([ended, work().finally(() => child.send("end"))]);
  return spans;
}

async function write(path: string): Promise<void> {
  const spans: Span[] = [];
  let isOver = false;
  process.once("message", () => (isOver = true));
  const file = openSync(path, "w");
  for (let n = 0; n < BLOCKS; n += 1) writeSync(file, BLOCK);
  fsyncSync(file);
  for (let n = 0; !isOver; n += 1) {
    spans.push(await span(async () => overwrite(file, n % BLOCKS)));
    await sleep(PAUSE_MS);
  }
  closeSync(file);
  process.send?.(spans, () => process.disconnect());
}

function overwrite(file: number, block: number): void {
  writeSync(file, BLOCK, 0, BLOCK.length, block * BLOCK.length);
  fdatasyncSync(file);
}

const [, script, path] = process.argv;
if (script === fileURLToPath(import.meta.url) && path !== undefined) await write(path);
