// Deliberately broken copies of the source, which these months must show (docs/decisions/0007).

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { editedSource, type Edit } from "../../test/crash/variants.ts";
import type { runMonths } from "./run.ts";

export const MONTHS_VARIANTS = {
  /** An alarm is over, and then what it comes to is committed. */
  "alarm-over-apart": [
    {
      file: "src/timers/clock.ts",
      from: '      await this.#parts.commit([{ do: "clearTimer", id, expectDueAtMs: dueAtMs }, ...changes]); // K1\n',
      to:
        '      await this.#parts.commit([{ do: "clearTimer", id, expectDueAtMs: dueAtMs }]);\n' +
        "      if (changes.length > 0) await this.#parts.commit(changes);\n",
    },
  ],
  /** What is due next is counted from now, and not from what was due. */
  "next-from-now": [
    {
      file: "src/timers/decide.ts",
      from: "  return { job: { ...after(job, newestMs), current: run, counts }, run };\n",
      to: "  return { job: { ...after(job, nowMs), current: run, counts }, run };\n",
    },
  ],
  /** The end of any run is taken for that of the run that goes on. */
  "end-of-any-run": [
    {
      file: "src/timers/decide.ts",
      from: "  const decided = before.current?.id === runId ? over(",
      to: "  const decided = before.current !== null && runId !== null ? over(",
    },
  ],
  /** Several that were missed are counted as one. */
  "missed-are-one": [
    {
      file: "src/timers/decide.ts",
      from: "skipped: job.counts.skipped + count }",
      to: "skipped: job.counts.skipped + Math.sign(count) }",
    },
  ],
  /** What is to leave through a door is not sent. */
  "door-not-told": [
    {
      file: "src/timers/delivering.ts",
      from: "  return refused === null ? [send] : [send,",
      to: "  return refused === null ? [] : [send,",
    },
  ],
  /** The clock of the zone is read as if it never changed. */
  "clocks-never-change": [
    {
      file: "src/timers/schedule.ts",
      from: "kept.get(name) ?? new Cron(expression, { timezone: zone,",
      to: 'kept.get(name) ?? new Cron(expression, { timezone: zone === "Europe/Berlin" ? "+02:00" : zone,',
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type MonthsVariant = keyof typeof MONTHS_VARIANTS;

/** Puts the copy into `directory`, which must be empty, and loads its months. */
export async function brokenMonths(variant: MonthsVariant, directory: string): Promise<typeof runMonths> {
  const source = editedSource(variant, MONTHS_VARIANTS[variant], directory);
  const { runMonths: broken } = (await import(pathToFileURL(join(source, "sim/months/run.ts")).href)) as {
    readonly runMonths: typeof runMonths;
  };
  return broken;
}
