// What the lives of this campaign say besides what those of turns say: tasks that people gave, and whom they killed.

import type { Input } from "../../src/index.ts";
import { Reports, type Said } from "../turns/reports.ts";

/** With its name as id it can be asked again. */
export type Asked = { readonly name: string } & (
  | { readonly by: "send"; readonly input: Input<"send"> }
  | { readonly by: "spawn"; readonly input: Input<"spawn"> }
);

export type Told = Said<Asked> | { readonly killed: readonly string[] };

export class AgentReports extends Reports<Asked> {
  /** Keys of sessions that a person was told are killed. */
  readonly killed = new Set<string>();

  override hearOutput(output: string): void {
    super.hearOutput(output);
    for (const line of output.split("\n").slice(0, -1)) {
      const said = JSON.parse(line) as Told;
      if ("killed" in said) for (const key of said.killed) this.killed.add(key);
    }
  }
}
