import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { SessionKey } from "../../routing/key.ts";
import type { Leases } from "../leases.ts";
import { hasWork } from "../rules.ts";
import type { Claim } from "../store.ts";
import type { Rows } from "./rows.ts";
import type { WriterAsk } from "./wire.ts";

/** Who gets which session that has work and no owner. Only sessions with work are looked at, however many there are. */
export class Claims {
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #ready: StatementSync;
  readonly #withMail: StatementSync;

  constructor(parts: { database: DatabaseSync; rows: Rows; leases: Leases }) {
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#ready = parts.database.prepare("SELECT key FROM sessions WHERE ready = 1 ORDER BY n");
    this.#withMail = parts.database.prepare(
      "SELECT DISTINCT recipient AS key FROM mail WHERE taken_ms IS NULL",
    );
  }

  claim(ask: Extract<WriterAsk, { what: "claim" }>): Claim[] {
    const claims: Claim[] = [];
    for (const [found, hasMail] of [
      [this.#ready, false],
      [this.#withMail, true],
    ] as const) {
      for (const { key } of found.iterate()) {
        if (claims.length >= ask.limit) break;
        const claimed = this.#one(ask, String(key) as SessionKey, hasMail);
        if (claimed) claims.push(claimed);
      }
    }
    return claims;
  }

  #one(ask: Extract<WriterAsk, { what: "claim" }>, key: SessionKey, hasMail: boolean): Claim | null {
    const found = this.#rows.find(key);
    if (!found || !this.#leases.isFree(key, ask.nowMs) || !hasWork(found.row, hasMail)) return null;
    return this.#leases.claim(ask.owner, key, ask.nowMs + ask.leaseMs);
  }
}
