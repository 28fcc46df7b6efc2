// The transcripts that contexts are measured on, each with what its provider would count.
//
// A real one is calibrated on what its provider reported: the straight line from bytes of a prompt to its tokens that goes
// through the first call and through the mean of all. So full history costs what was reported, over all calls together.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { assemble } from "../../src/context/assemble.ts";
import { bytesOf, type Frame } from "../../src/context/meter.ts";
import type { Entry, Message, MessageUsage } from "../../src/transcript/entry.ts";
import { FileSource } from "../../src/transcript/lines.ts";
import { readForward } from "../../src/transcript/read.ts";
import { generated, GENERATED_BYTES_A_TOKEN, GENERATED_FRAME, STORY_NAMES } from "./generate.ts";

export interface Told {
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly frame: Frame;
  readonly tokensPerByte: number;
}

/** Of what comes with every request, how much is the system prompt: nobody recorded it, and no figure depends on it. */
const SYSTEM_SHARE = 0.3;

export function generatedOnes(): Told[] {
  const tokensPerByte = 1 / GENERATED_BYTES_A_TOKEN;
  return STORY_NAMES.map((name) => ({
    name: `generated: ${name}`,
    entries: generated(name),
    frame: GENERATED_FRAME,
    tokensPerByte,
  }));
}

/** The first of version 3 in the folder that SESSIOND_TRANSCRIPTS names; null: there is none. */
export function realOne(): Told | null {
  const folder = process.env["SESSIOND_TRANSCRIPTS"] ?? "";
  const names = folder === "" ? [] : readdirSync(folder).filter((name) => name.endsWith("-v3.jsonl"));
  const name = names.toSorted()[0];
  return name === undefined ? null : calibrated(pathOf(join(folder, name)));
}

/** The conversation in a file that another program may have written: from its last entry along `parentId`. */
function pathOf(file: string): Entry[] {
  const source = new FileSource(file);
  try {
    const items = [...readForward(source, 0)].map(({ item }) => item);
    const entries = items.filter((item): item is Entry => item.type !== "gap" && item.type !== "session");
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const path: Entry[] = [];
    for (let at = entries.at(-1); at !== undefined; at = byId.get(at.parentId ?? "")) path.push(at);
    return path.toReversed();
  } finally {
    source.close();
  }
}

/** What the first call was charged beyond its messages is the frame; the rest of all charges is the messages. */
function calibrated(entries: readonly Entry[]): Told {
  const calls = entries.flatMap((entry, at) => {
    const reported = reportedOf(entry);
    return reported === 0 ? [] : [{ bytes: weightOf(assemble(entries.slice(0, at), false)), reported }];
  });
  const [first] = calls;
  if (first === undefined) throw new Error("this transcript has no usage to calibrate on");
  const [tokens, bytes] = [sumOf(calls, ({ reported }) => reported), sumOf(calls, (call) => call.bytes)];
  const tokensPerByte = (tokens - calls.length * first.reported) / (bytes - calls.length * first.bytes);
  const around = first.reported / tokensPerByte - first.bytes;
  if (!(tokensPerByte > 0) || around < 0)
    throw new Error("the usage in this transcript is not of its prompts");
  const frame = { system: around * SYSTEM_SHARE, tools: around * (1 - SYSTEM_SHARE) };
  return { name: "the real transcript", entries, frame, tokensPerByte };
}

/** What a call was charged as input; 0: it is no call, or it was stopped and nobody was told. */
export function reportedOf(entry: Entry): number {
  if (entry.type !== "message" || entry.message.role !== "assistant") return 0;
  const { input, cacheRead, cacheWrite }: MessageUsage = entry.message.usage;
  return input + cacheRead + cacheWrite;
}

export function weightOf(messages: readonly Message[]): number {
  return sumOf(messages, bytesOf);
}

function sumOf<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((sum, each) => sum + of(each), 0);
}
