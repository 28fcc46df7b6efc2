// Which sessions go, for which reason, and after whom. Part of the plan (plan.ts).

import { isMadeUp, type SessionKey } from "../routing/key.ts";
import { PLAN_SLICE_ITEMS } from "./limits.ts";
import type { ArchiveStep, Facts, Item, Step } from "./plan.ts";

/** Why a session is never archived by upkeep; null: it may be. Who has children that stay, stays too (U2). */
export function protection(item: Item, held: Facts["held"]): string | null {
  if (item.kind === "main" || item.kind === "heartbeat") return `it is the ${item.kind} session of its agent`;
  if (item.kind === "thread" && !isMadeUp(item.key)) return "it is named";
  if (item.state !== "idle" && item.state !== "ended") return `it is ${item.state}`;
  if (item.state === "idle" && item.signal !== "none") return `it is to ${item.signal}`;
  if (item.isPinned) return "it is pinned";
  if (item.waits) return "a letter, an answer or a timer of it waits";
  return held.has(item.key) ? "a program of it runs, or a job writes to it" : null;
}

export type Due = (item: Item) => boolean;

/** Which sessions go, and who is left. */
export class Going {
  readonly #facts: Facts;
  readonly #steps: Step[];
  readonly #gone = new Set<SessionKey>();
  /** That everybody was asked for already. */
  readonly #reasons: { readonly why: ArchiveStep["why"]; readonly isDue: Due }[] = [];
  /** Of sessions with children: where they stand, and how many of their children stay (U2). */
  readonly #places = new Map<SessionKey, number>();
  readonly #staying = new Map<SessionKey, number>();

  constructor(facts: Facts, steps: Step[]) {
    this.#facts = facts;
    this.#steps = steps;
  }

  get left(): number {
    return this.#facts.items.length - this.#gone.size;
  }

  /** What the store counted and what is seen need not agree, when something changed meanwhile: the larger number holds. */
  *begin(): Generator<undefined> {
    const { items } = this.#facts;
    yield* inSlices(items, ({ parent }) => {
      if (parent !== null) this.#staying.set(parent, (this.#staying.get(parent) ?? 0) + 1);
    });
    yield* inSlices(items, ({ key, children }, at) => {
      const seen = this.#staying.get(key) ?? 0;
      if (seen === 0 && children === 0) return;
      this.#places.set(key, at);
      this.#staying.set(key, Math.max(seen, children));
    });
  }

  /**
   * Those that are due, in order, until it is enough. Whoever only its children kept goes right after the last of them: also
   * who was due before, for another reason.
   */
  *take(why: ArchiveStep["why"], isDue: Due, isEnough: () => boolean = () => false): Generator<undefined> {
    const { items } = this.#facts;
    const reason = { why, isDue: (item: Item): boolean => !isEnough() && isDue(item) };
    for (let place = 0; place < items.length && !isEnough(); place += 1) {
      if (place % PLAN_SLICE_ITEMS === 0) yield;
      const passed = (at: number) => (at <= place ? [...this.#reasons, reason] : this.#reasons);
      for (let at: number | undefined = place; at !== undefined;) {
        const item: Item | undefined = items[at];
        if (item === undefined || !this.#mayGo(item)) break;
        const found = at === place ? [reason] : passed(at);
        const first = found.find((each) => each.isDue(item));
        if (first === undefined) break;
        this.#go(item, first.why);
        at = item.parent === null ? undefined : this.#places.get(item.parent);
      }
    }
    this.#reasons.push(reason);
  }

  /** Every session that stays and can read a letter: one that ended, or is paused, has it later. */
  *rotate(bytesMax: number): Generator<undefined> {
    yield* inSlices(this.#facts.items, (item) => {
      const { key, state, signal, fileBytes, transcript, firstSeq, contextSeq } = item;
      if (fileBytes <= bytesMax || contextSeq <= firstSeq || this.#gone.has(key)) return;
      if (state === "ended" || state === "paused" || signal !== "none") return;
      this.#steps.push({ do: "rotate", key, bytes: fileBytes, transcript, contextSeq });
    });
  }

  #mayGo(item: Item): boolean {
    if (this.#gone.has(item.key) || (this.#staying.get(item.key) ?? 0) > 0) return false;
    return protection(item, this.#facts.held) === null;
  }

  #go({ key, job, parent, bytes, transcript, lastSeq }: Item, why: ArchiveStep["why"]): void {
    this.#gone.add(key);
    const isOfJob = why === "ended" && job !== null && this.#facts.keepMs.has(job);
    const isWished = isOfJob && !this.#places.has(key); // Children go by the policy, and before it (U2).
    if (parent !== null) this.#staying.set(parent, (this.#staying.get(parent) ?? 1) - 1);
    this.#steps.push({ do: "archive", key, why, isWished, bytes, transcript, lastSeq });
  }
}

/** Each of them, with a stop after so many that others may have the thread. */
export function* inSlices<Each>(
  all: readonly Each[],
  look: (each: Each, at: number) => void,
): Generator<undefined> {
  for (const [at, each] of all.entries()) {
    if (at % PLAN_SLICE_ITEMS === 0) yield;
    look(each, at);
  }
}
