// Reports: what the program that is killed says on its standard output, and what the campaign keeps of it.

import type { Input } from "../../src/index.ts";

/** A message, as it was sent; with its id it can be sent again. */
export type Message = { readonly name: string } & (
  | { readonly by: "send"; readonly input: Input<"send"> }
  | { readonly by: "receive"; readonly input: Input<"receive"> }
);

/** One line. Each is written before the next thing happens. */
export type Said<Asked = Message> =
  | { readonly starting: true }
  | { readonly ready: true }
  | { readonly trying: Asked }
  | { readonly acknowledged: string; readonly id: string; readonly key: string }
  | { readonly heard: string; readonly key: string; readonly seq: number } // the answer, and where it ends
  | { readonly wrong: string } // what cannot be, or what the log calls an error
  | { readonly closed: true };

/** Where a letter went that was acknowledged. */
export interface Acknowledged {
  readonly id: string;
  readonly key: string;
}

export class Reports<Asked extends { readonly name: string } = Message> {
  readonly tried = new Map<string, Asked>();
  /** By the name of the message. */
  readonly acknowledged = new Map<string, Acknowledged>();
  readonly heard: { readonly id: string; readonly key: string; readonly seq: number }[] = [];
  readonly problems: string[] = [];

  /** Sent, and nobody knows whether they arrived: whoever sent them sends them again. */
  get unsure(): readonly Asked[] {
    return [...this.tried.values()].filter(({ name }) => !this.acknowledged.has(name));
  }

  /** Whole lines: the last one may have been cut off with its process. */
  hearOutput(output: string): void {
    for (const line of output.split("\n").slice(0, -1)) this.#hear(JSON.parse(line) as Said<Asked>);
  }

  #hear(said: Said<Asked>): void {
    if ("trying" in said) this.tried.set(said.trying.name, said.trying);
    else if ("acknowledged" in said) {
      const known = this.acknowledged.get(said.acknowledged);
      if (known !== undefined && (known.id !== said.id || known.key !== said.key))
        this.problems.push(`${said.acknowledged} was acknowledged twice, as different letters`);
      this.acknowledged.set(said.acknowledged, { id: said.id, key: said.key });
    } else if ("heard" in said) this.heard.push({ id: said.heard, key: said.key, seq: said.seq });
    else if ("wrong" in said) this.problems.push(said.wrong);
  }
}
