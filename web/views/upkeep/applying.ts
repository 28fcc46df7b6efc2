// A run of upkeep that this page has begun, and how far it is: whoever leaves the view and comes back still sees it.

import { signal } from "@preact/signals";
import type { Fault } from "../../../src/base/fault.ts";
import { call, faultOf } from "../../wire/call.ts";
import type { Run } from "./words.ts";

const WAIT_SECONDS = 1;

/** Null: none was begun. It stays when it is over, until the next. */
export const applying = signal<{
  readonly run: Run | null; //      null: it has not been answered yet
  readonly fault: Fault | null; //  why it is not known how it goes on, or why it was not begun
} | null>(null);

export function isUnderWay(): boolean {
  const now = applying.value;
  return now !== null && now.fault === null && now.run?.isDone !== true;
}

/** `agreed`: what may be erased, as the plan calls it that somebody said yes to. Resolves when it is over, or nobody knows. */
export async function apply(agreed: string | null): Promise<void> {
  if (isUnderWay()) return;
  applying.value = { run: null, fault: null };
  try {
    let run: Run = await call("upkeep", { waitSeconds: 0, agreed });
    applying.value = { run, fault: null };
    while (!run.isDone) {
      run = await call("upkeep", { run: run.run, waitSeconds: WAIT_SECONDS });
      applying.value = { run, fault: null };
    }
  } catch (error) {
    applying.value = { run: applying.value.run, fault: faultOf(error) };
  }
}
