import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { SessionKey } from "../../routing/key.ts";
import type { Leases } from "../leases.ts";
import { hasWork } from "../rules.ts";
import type { Claim } from "../store.ts";
import type { Rows } from "./rows.ts";
import type { WriterAsk } from "./wire.ts";

/**
 * Who gets which session that has work and no owner. Only sessions with work are looked at, however many there are, and
 * each call begins after the last one that was given out, so that nobody's turn never comes.
 */
export class Claims {
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #ready: StatementSync;
  readonly #withMail: StatementSync;
  #lastReady = ""; // of the keys last given out; empty: begin with the first
  #lastWithMail = "";

  constructor(parts: { database: DatabaseSync; rows: Rows; leases: Leases }) {
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#ready = parts.database.prepare("SELECT min(key) AS key FROM sessions WHERE ready = 1 AND key > ?");
    // One step for each session, however many letters wait for it.
    this.#withMail = parts.database.prepare(
      "SELECT min(recipient) AS key FROM mail WHERE taken_ms IS NULL AND recipient > ?",
    );
  }

  claim(ask: Ask): Claim[] {
    const claims: Claim[] = [];
    this.#lastReady = this.#round(ask, claims, this.#ready, this.#lastReady);
    this.#lastWithMail = this.#round(ask, claims, this.#withMail, this.#lastWithMail);
    return claims;
  }

  /** From after this key to the end and from the beginning up to it. Returns the last key that was given out. */
  #round(ask: Ask, claims: Claim[], next: StatementSync, after: string): string {
    const hasMail = next === this.#withMail;
    let last = after;
    for (const key of inTurn(next, after)) {
      if (claims.length >= ask.limit) break;
      const claimed = this.#one(ask, key, hasMail);
      if (claimed) claims.push(claimed);
      if (claimed) last = key;
    }
    return last;
  }

  #one(ask: Ask, key: SessionKey, hasMail: boolean): Claim | null {
    if (!this.#leases.isFree(key, ask.nowMs)) return null;
    const found = this.#rows.find(key);
    if (!found || !hasWork(found.row, hasMail)) return null;
    return this.#leases.claim(ask.owner, key, ask.nowMs + ask.leaseMs);
  }
}

type Ask = Extract<WriterAsk, { what: "claim" }>;

function* inTurn(next: StatementSync, after: string): Generator<SessionKey> {
  const following = (key: string): string | null => {
    const found = next.get(key)?.["key"];
    return typeof found === "string" ? found : null;
  };
  for (let key = following(after); key !== null; key = following(key)) yield key as SessionKey;
  if (after === "") return;
  for (let key = following(""); key !== null && key <= after; key = following(key)) yield key as SessionKey;
}
