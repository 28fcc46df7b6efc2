import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { SessionKey } from "../../routing/key.ts";
import type { Leases } from "../leases.ts";
import { hasWork, NOTHING_WAITS, type Waits } from "../rules.ts";
import type { Claim } from "../store.ts";
import type { Rows } from "./rows.ts";
import type { WriterAsk } from "./wire.ts";

/** One reason for which sessions have work. */
interface Reason {
  /** The first key after another that has it: one step for each session, however much waits for it. */
  readonly next: StatementSync;
  readonly waits: Waits;
  last: string; // of the keys last given out; empty: begin with the first
}

/**
 * Who gets which session that has work and no owner. Only sessions with work are looked at, however many there are, and
 * each call begins after the last one that was given out, so that everybody's turn comes.
 */
export class Claims {
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #reasons: readonly Reason[];

  constructor({ database, rows, leases }: { database: DatabaseSync; rows: Rows; leases: Leases }) {
    this.#rows = rows;
    this.#leases = leases;
    const reason = (sql: string, waits: Waits): Reason => ({ next: database.prepare(sql), waits, last: "" });
    this.#reasons = [
      reason("SELECT min(key) AS key FROM sessions WHERE ready = 1 AND key > ?", NOTHING_WAITS),
      reason("SELECT min(recipient) AS key FROM mail WHERE taken_ms IS NULL AND recipient > ?", {
        ...NOTHING_WAITS,
        mail: true,
      }),
      reason("SELECT min(key) AS key FROM outbox WHERE refused IS NULL AND key > ?", {
        ...NOTHING_WAITS,
        answers: true,
      }),
    ];
  }

  claim(ask: Ask): Claim[] {
    const claims: Claim[] = [];
    for (const reason of this.#reasons) {
      for (const key of inTurn(reason)) {
        if (claims.length >= ask.limit) return claims;
        const claimed = this.#one(ask, key, reason.waits);
        if (claimed === null) continue;
        claims.push(claimed);
        reason.last = key;
      }
    }
    return claims;
  }

  #one(ask: Ask, key: SessionKey, waits: Waits): Claim | null {
    if (!this.#leases.isFree(key, ask.nowMs)) return null;
    const found = this.#rows.find(key);
    if (!found || !hasWork(found.row, waits)) return null;
    return this.#leases.claim(ask.owner, key, ask.nowMs + ask.leaseMs);
  }
}

type Ask = Extract<WriterAsk, { what: "claim" }>;

/** From after the last one to the end, and from the beginning up to it. */
function* inTurn({ next, last }: Reason): Generator<SessionKey> {
  const following = (key: string): string | null => {
    const found = next.get(key)?.["key"];
    return typeof found === "string" ? found : null;
  };
  for (let key = following(last); key !== null; key = following(key)) yield key as SessionKey;
  if (last === "") return;
  for (let key = following(""); key !== null && key <= last; key = following(key)) yield key as SessionKey;
}
