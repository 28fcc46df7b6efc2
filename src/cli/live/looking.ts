// What `top` asks of the gateway for each picture.

import type { World } from "../../base/world.ts";
import type { Client } from "../client.ts";
import { burningFirst, type Picture } from "./frame.ts";
import { Looks } from "./rates.ts";

/** Sessions of a picture: no terminal has so many lines, and what burns is among those that changed last. */
const ROWS_MAX = 200;

export class Looking {
  readonly #client: Client;
  readonly #world: World;
  readonly #looks = new Looks();

  constructor(client: Client, world: World) {
    this.#client = client;
    this.#world = world;
  }

  async next(signal: AbortSignal): Promise<Picture> {
    const [overview, { sessions, next }] = await Promise.all([
      this.#client.call("overview", {}, signal),
      this.#client.call("list", { limit: ROWS_MAX }, signal),
    ]);
    const nowMs = this.#world.nowMs();
    const tokens = new Map(sessions.map(({ sessionKey, tokens }) => [sessionKey, tokens]));
    const rates = this.#looks.next({ atMs: nowMs, totals: overview.totals, tokens });
    return { overview, rows: burningFirst(sessions, rates), isMore: next !== null, rates, nowMs };
  }
}
