// What somebody has agreed to: the archives that a plan which they were shown would erase. Between the plan and the word others may
// have come to be due; those were not agreed to. To erase fewer is fine.

import { AGREED_IDS_MAX, AGREED_PLANS_MAX } from "./limits.ts";
import type { Plan } from "./plan.ts";

/** Plans that were shown. One that is forgotten is still known if the plan of now erases exactly the same. */
export class Agreements {
  readonly #erased = new Map<string, ReadonlySet<string>>(); // by what they are called; the newest at the end

  show({ steps, totals, erases }: Plan): void {
    if (erases === null || totals.purge > AGREED_IDS_MAX) return;
    this.#erased.delete(erases);
    this.#erased.set(erases, new Set(steps.flatMap((step) => (step.do === "purge" ? [step.archive] : []))));
    for (const oldest of this.#erased.keys()) {
      if (this.#erased.size <= AGREED_PLANS_MAX) break;
      this.#erased.delete(oldest);
    }
  }

  /** Whether nothing is erased that was not in the plan of that name; null: in that one nothing was. */
  holds({ steps, erases }: Plan, agreed: string | null): boolean {
    if (erases === null || erases === agreed) return true;
    const shown = agreed === null ? undefined : this.#erased.get(agreed);
    return shown !== undefined && steps.every((step) => step.do !== "purge" || shown.has(step.archive));
  }
}
