// Deliberately broken copies of the source, which the simulator must catch (docs/decisions/0007). A copy is loaded into the
// same process: it has its own modules.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { editedSource, type Edit } from "../test/crash/variants.ts";
import type { Run } from "./campaign.ts";

export const VARIANTS = {
  /** The model is asked again while the results of what it asked for are still on their way to the disk. */
  "result-not-committed-before-next-call": [
    {
      file: "src/turns/toolcalls.ts",
      from: "    await writeResult(parts, call, { result, charge, again });\n",
      to: "    writeResult(parts, call, { result, charge, again }).catch(() => {});\n",
    },
  ],
  /** Letters are taken in one commit, and written down in the next. */
  "mail-taken-before-written": [
    {
      file: "src/turns/askers.ts",
      from: "    await held.commit({\n      take: ids,\n",
      to: "    await held.commit({ take: ids });\n    await held.commit({\n",
    },
  ],
  /** A child's turn has ended, and then whoever gave the task is told. */
  "announced-in-a-second-commit": [
    {
      file: "src/turns/ending.ts",
      from: "      await held.commit({ ...writing, take, others });\n",
      to:
        "      await held.commit({ ...writing, take, others: others.filter((each) => !reports.includes(each)) });\n" +
        "      if (reports.length > 0) await held.commit({ others: reports });\n",
    },
  ],
  /** A summary cuts off the beginning of a turn, and nothing says that it is under way. */
  "compaction-forgets-turn": [
    { file: "src/turns/compacting.ts", from: "    turn: open && {", to: "    turn: null && {" },
  ],
  /** A child is there, and then its parent knows of it. */
  "spawned-apart-from-its-result": [
    {
      file: "src/turns/toolcalls.ts",
      from: "    await writing(message, changes);\n",
      to: "    if (changes.length > 0) await held.commit({ others: changes });\n    await writing(message, []);\n",
    },
  ],
  /** Calls that have a result are taken for calls that have none. */
  "result-forgotten": [
    { file: "src/turns/where.ts", from: "!settled.has(id)", to: "!settled.has(`${id} `)" },
  ],
  /** A letter that arrives while a session works begins a second turn beside the first. */
  "two-turns-in-a-lane": [
    {
      file: "src/scheduler/lanes.ts",
      from: "    if (lane.running !== null || this.#closing.signal.aborted) return;\n",
      to: "    if (this.#closing.signal.aborted) return;\n",
    },
  ],
  /** Who follows is shown what is not durable yet. */
  "told-before-commit": [
    {
      file: "src/sessions/held.ts",
      from: "    await this.#parts.commit(changes);\n",
      to: "    const done = this.#parts.commit(changes);\n",
    },
    {
      file: "src/sessions/held.ts",
      from: "    this.#tell(made, state ?? null);\n",
      to: "    this.#tell(made, state ?? null);\n    await done;\n",
    },
  ],
  /** The turn has ended, and then its answer is sent. */
  "answer-apart": [
    {
      file: "src/turns/ending.ts",
      from: "    const others = [...answers, ...reports, ...below, ...told];\n",
      to: "    const others = [...reports, ...below, ...told];\n",
    },
    {
      file: "src/turns/ending.ts",
      from: "      mailbox.remove(take);\n",
      to: "      mailbox.remove(take);\n      if (answers.length > 0) await held.commit({ others: answers });\n",
    },
  ],
  /** Who waits longest is not looked at: the highest class always goes first. */
  "no-share": [
    {
      file: "src/scheduler/fair.ts",
      from: "    this.#overdueAt = share - CLASSES.length;\n",
      to: "    this.#overdueAt = share * 1_000;\n",
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type Variant = keyof typeof VARIANTS;

/** Puts the copy into `directory`, which must be empty, and loads its simulator. */
export async function brokenRun(variant: Variant, directory: string): Promise<Run> {
  const source = editedSource(variant, VARIANTS[variant], directory);
  const { run } = (await import(pathToFileURL(join(source, "sim/run.ts")).href)) as { readonly run: Run };
  return run;
}
