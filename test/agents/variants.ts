// Deliberately broken copies of the source, which the campaign must catch (docs/decisions/0007).

import { editedSource, type Edit } from "../crash/variants.ts";

/** So long a broken commit stays half done, so that some kill falls into it. */
const HALF = "await new Promise((wake) => setTimeout(wake, 8));";

/** The same for what seldom happens. */
const LONG = "await new Promise((wake) => setTimeout(wake, 60));";

export const VARIANTS = {
  /** The child has ended, and then its end is reported. */
  "report-apart": [
    {
      file: "src/turns/ending.ts",
      from: "[...answers, ...reports, ...below, ...told];",
      to: "[...answers, ...below, ...told];",
    },
    {
      file: "src/turns/ending.ts",
      from: "      await held.commit({ ...writing, take, others });\n",
      to:
        "      const { afterwards = [], ...first } = writing;\n" +
        "      await held.commit({ ...first, take, others });\n" +
        `      if (reports.length > 0) ${HALF}\n` +
        "      await held.commit({ others: reports, afterwards });\n",
    },
  ],
  /** The child has its task, and then its parent knows of it. */
  "spawn-apart": [
    {
      file: "src/turns/toolcalls.ts",
      from: "    await writing(message, changes);\n",
      to:
        "    if (changes.length > 0) {\n" +
        "      await held.commit({ others: changes });\n" +
        `      ${HALF}\n` +
        "    }\n" +
        "    await writing(message, []);\n",
    },
  ],
  /** The parent knows of a child that is not there yet. */
  "child-later": [
    {
      file: "src/turns/toolcalls.ts",
      from: "    await writing(message, changes);\n",
      to:
        "    await writing(message, []);\n" +
        "    if (changes.length > 0) {\n" +
        `      ${HALF}\n` +
        "      await held.commit({ others: changes }).catch(() => {});\n" +
        "    }\n",
    },
  ],
  /** A child that is gone on with after a crash has forgotten who gave it its task. */
  "giver-forgotten": [
    {
      file: "src/turns/askers.ts",
      from: "this.replies.add(open?.routes ?? []);",
      to: 'this.replies.add((open?.routes ?? []).filter(({ channel }) => channel !== "report"));',
    },
  ],
  /** Whoever is killed has ended, and then its children are killed. */
  "kill-apart": [
    {
      file: "src/turns/ending.ts",
      from: "...reports, ...below, ...told];",
      to: "...reports, ...told];",
    },
    {
      file: "src/turns/ending.ts",
      from: "      mailbox.remove(take);\n",
      to:
        "      mailbox.remove(take);\n" +
        `      if (below.length > 0) ${LONG}\n` +
        "      await held.commit({ others: below }).catch(() => {});\n",
    },
    {
      // A person's kill names all below it too; so that it counts who hands it on, it names one.
      file: "src/calls/children.ts",
      from: "const changes = living.map(",
      to: "const changes = living.slice(0, 1).map(",
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type Variant = keyof typeof VARIANTS;

export function brokenSource(variant: Variant, directory: string): string {
  return editedSource(variant, VARIANTS[variant], directory);
}
