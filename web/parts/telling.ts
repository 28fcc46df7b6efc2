// Telling
//
// Short words about what was done, or was not. They stand for a while (toast.tsx); what went wrong stays until somebody has read it.
//
// Invariants
//   T1. What can be undone is not replaced by something that reads the same: there may be two of it. When there is no room it goes last.
//   T2. Nothing goes away by itself under the hand: while somebody is at one of them, all stay, and have their time again.

import { signal } from "@preact/signals";
import { clean } from "../../src/base/harmless.ts";
import { faultOf, isCalledOff } from "../wire/call.ts";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
  readonly remedy: Remedy | null;
}

/** done: it was. not: nothing was done, and nothing is wrong; or something is to be known. bad: it went wrong. */
export type Tone = "done" | "not" | "bad";

/** What can be done about what was told: Undo, mostly. */
export interface Remedy {
  readonly name: string;
  readonly run: () => void;
}

export const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
const REMEDY_MS = 15_000; // who was surprised needs a moment
const TOASTS_MAX = 4;
let made = 0;

/** The newest that was told. */
export function newest(): number {
  return made;
}

export function tell(text: string, isBad = false, remedy: Remedy | null = null): void {
  show({ text: clean(text), tone: isBad ? "bad" : "done", remedy });
}

/** What was not done, and why; or what is to be minded: it does not look like something that was. */
export function warn(text: string): void {
  show({ text: clean(text), tone: "not", remedy: null });
}

/** What is not so any more. */
export function untell(text: string): void {
  for (const toast of toasts.value) if (toast.text === clean(text)) dismiss(toast);
}

function show(told: Omit<Toast, "id">): void {
  made += 1;
  const toast: Toast = { id: made, ...told };
  const others = toasts.value.filter((each) => !isSaidAgain(each, toast));
  const first = others.length < TOASTS_MAX ? undefined : firstToGo(others);
  toasts.value = [...others.filter((each) => each !== first), toast];
  wait(toast);
}

/** T1 */
function isSaidAgain(before: Toast, now: Toast): boolean {
  return before.text === now.text && before.remedy === null && now.remedy === null;
}

/** T1 */
function firstToGo(crowd: readonly Toast[]): Toast | undefined {
  const plain = crowd.filter(({ remedy }) => remedy === null);
  return plain.find(({ tone }) => tone !== "bad") ?? plain[0] ?? crowd[0];
}

export function dismiss(toast: Toast): void {
  toasts.value = toasts.value.filter((each) => each !== toast);
}

/** T2 */
function wait(toast: Toast): void {
  if (toast.tone === "bad") return;
  const shownMs = toast.remedy === null ? SHOWN_MS : REMEDY_MS;
  setTimeout(() => (isInUse() ? wait(toast) : dismiss(toast)), shownMs);
}

/** Pointed at, or gone to by the keyboard. */
function isInUse(): boolean {
  return document.querySelector(".toasts:is(:hover, :focus-within)") !== null;
}

/** Does something; what is refused is told. Resolves with null then. */
export async function tried<Of>(doing: Promise<Of>, done?: string): Promise<Of | null> {
  try {
    const value = await doing;
    if (done !== undefined) tell(done);
    return value;
  } catch (error) {
    if (isCalledOff(error)) return null;
    const { message, todo } = faultOf(error);
    tell(`${message}. ${todo}`, true);
    return null;
  }
}

/** Does it, or tells why it cannot be done: what is disabled says so to a finger and to a key, too. */
export function unless(why: string | undefined, run: () => void): void {
  if (why === undefined) run();
  else warn(`${why}.`);
}
