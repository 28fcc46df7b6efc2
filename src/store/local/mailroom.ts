import { Fault } from "../../base/fault.ts";
import { MAILBOX_LETTERS_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { forwardTo, nobodyReads } from "../letters.ts";
import { checkUntouched, type Of } from "../rules.ts";
import type { Posted } from "../change.ts";
import type { Rows } from "./rows.ts";
import type { Known, Tables, Waiting } from "./tables.ts";
import type { WireOf } from "./wire.ts";

/** What a commit does with letters: they are posted once, taken once, and go on when nobody will read them here. */
export class Mailroom {
  readonly #tables: Tables;
  readonly #rows: Rows;

  constructor(tables: Tables, rows: Rows) {
    this.#tables = tables;
    this.#rows = rows;
  }

  post(change: WireOf<"post">, atMs: number): Posted {
    const known = this.#tables.letter(change.id);
    if (known && this.#isRemembered(change.id, known)) {
      if (known.print !== null && known.print !== change.print)
        throw new Fault("conflict", `${change.id} was posted before with other content`);
      return { id: change.id, to: known.recipient, repeated: true };
    }
    if (known) this.#tables.forgetLetter(change.id);
    const address = forwardTo(change.to, (key) => this.#stateOf(key));
    if (!address)
      throw nobodyReads(
        change.to,
        change.to.some((key) => this.#rows.find(key) !== null),
      );
    const mail = change.expect !== null && this.#tables.waiting(address.to).length > 0;
    checkUntouched(this.#rows.get(address.to).row, change.expect, { mail, children: false });
    if (change.capped && this.#tables.hasWaiting(address.to, MAILBOX_LETTERS_MAX))
      throw new Fault("mailbox_full", `${MAILBOX_LETTERS_MAX} letters wait for ${address.to} already`);
    const { id, capped, print, body } = change;
    this.#tables.post({ id, capped, print, body, atMs, to: address.to, others: address.others });
    return { id, to: address.to, repeated: false };
  }

  /** Whether posting it would be a repeat. */
  isKnown(id: string): boolean {
    const known = this.#tables.letter(id);
    return known !== null && this.#isRemembered(id, known);
  }

  take({ key, ids }: Of<"take">, atMs: number): void {
    const numbered = this.#rows.get(key);
    for (const id of ids) {
      if (!this.#tables.take(numbered, id, atMs))
        throw new Fault("stale_writer", `${key} has no waiting letter ${id}`);
    }
  }

  /** Letters that `gone` will not read go to their next address. Returns how many have none; `to` gets who has them now. */
  forward(gone: SessionKey, letters: readonly Waiting[], to: Set<SessionKey>): number {
    let left = 0;
    for (const letter of letters) {
      const next = forwardTo(letter.others, (key) => (key === gone ? null : this.#stateOf(key)));
      if (next) this.#tables.forward(letter.id, next.to, next.others);
      if (next) to.add(next.to);
      else left += 1;
    }
    return left;
  }

  /** The id of a cause is remembered for its reader's life, also while that is archived; should another session have the key now, it is over. */
  #isRemembered(id: string, { recipient, takenBy }: Known): boolean {
    if (takenBy === null || id.startsWith("ext:")) return true;
    return this.#rows.find(recipient)?.n === takenBy || this.#tables.isArchived(takenBy);
  }

  #stateOf(key: SessionKey): Session["state"]["kind"] | null {
    return this.#rows.find(key)?.row.state.kind ?? null;
  }
}
