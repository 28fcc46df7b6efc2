// Deliberately broken copies of the source, which the campaign must catch (docs/decisions/0007).

import { editedSource, type Edit } from "../crash/variants.ts";

/** So long a broken commit stays half done, so that some kill falls into it. */
const HALF = "await new Promise((wake) => setTimeout(wake, 8));";

export const VARIANTS = {
  /** What the model said is durable only after what it asked for has run. */
  "tools-before-intent": [
    {
      file: "src/turns/turn.ts",
      from:
        "    await this.#held.commit({ entries, charge, others: told, state: this.#running() });\n" +
        "    const { lastSeq } = this.#held.row.transcript;\n" +
        "    this.#settle();\n" +
        "    this.#now.calling = calls.map(({ name }) => name);\n" +
        "    await runCalls(await this.#callParts(lastSeq, isSilent), lastSeq, calls);\n",
      to:
        "    const seq = this.#held.row.transcript.lastSeq + entries.length;\n" +
        "    const results = [];\n" +
        "    const later = { row: this.#held.row, commit: async (result) => void results.push(result) };\n" +
        "    await runCalls({ ...(await this.#callParts(seq, isSilent)), held: later }, seq, calls);\n" +
        "    await this.#held.commit({ entries, charge, others: told, state: this.#running() });\n" +
        "    for (const result of results) await this.#held.commit(result);\n",
    },
  ],
  /** Calls that have a result are taken for calls that have none. */
  "result-forgotten": [
    { file: "src/turns/where.ts", from: "!settled.has(id)", to: "!settled.has(`${id} `)" },
  ],
  /** What may not be repeated is run again, as if it were safe. */
  "run-again": [{ file: "src/turns/left.ts", from: '?.replay === "safe"', to: "?.replay !== undefined" }],
  /** A turn that ends before it has seen to the calls which the process before left, leaves them too. */
  "calls-left-open": [{ file: "src/turns/turn.ts", from: "(this.#left?.calls ?? [])", to: "[]" }],
  /** Letters are taken in one commit, and written down in the next. */
  "mail-taken-apart": [
    {
      file: "src/turns/askers.ts",
      from: "    await held.commit({\n      take: ids,\n",
      to: `    await held.commit({ take: ids });\n    ${HALF}\n    await held.commit({\n`,
    },
  ],
  /** The turn has ended, and then its answer is sent. */
  "answer-apart": [
    {
      file: "src/turns/ending.ts",
      from: "      await held.commit({ ...writing, take, others });\n",
      to: `      await held.commit({ ...writing, take });\n      ${HALF}\n      await held.commit({ others });\n`,
    },
  ],
} as const satisfies Record<string, readonly Edit[]>;

export type Variant = keyof typeof VARIANTS;

export function brokenSource(variant: Variant, directory: string): string {
  return editedSource(variant, VARIANTS[variant], directory);
}
