// A note from its first page to its last. What is replaced is all of it, so all of it must have been read, and of one version.

import { Fault } from "../../../src/base/fault.ts";
import { call } from "../../wire/call.ts";

export interface Whole {
  readonly text: string;
  readonly version: string;
}

const TRIES = 5;

export async function readWhole(agent: string, path: string, signal?: AbortSignal): Promise<Whole> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const whole = await onePass(agent, path, signal);
    if (whole !== null) return whole;
  }
  throw new Fault("busy", `${path} is being written again and again`, { todo: "try again in a moment" });
}

/** Null: somebody wrote while it was read. */
async function onePass(agent: string, path: string, signal?: AbortSignal): Promise<Whole | null> {
  let { text, version, next } = await call("readMemory", { agent, path }, signal);
  while (next !== null) {
    const page = await call("readMemory", { agent, path, ...next }, signal);
    if (page.version !== version) return null;
    text += page.text;
    next = page.next;
  }
  return { text, version };
}
