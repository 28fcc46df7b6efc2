// Follower: somebody who watches a session in every life, and goes on where the one before it was cut off. Each entry must
// come once, in order, and not before it is durable.

import { DEFAULT_AGENT, mainKey } from "../src/routing/key.ts";
import type { Home } from "./home.ts";
import type { Life } from "./life.ts";

/** It is there from the first start on. */
const WATCHED = mainKey(DEFAULT_AGENT);

/** Ends with the life. J11. */
export async function watch({ sessions, store }: Life, home: Home): Promise<void> {
  for await (const event of sessions.follow(WATCHED, { from: home.followed })) {
    if (store.isDead) return;
    if (event.type !== "entry") continue;
    if (event.seq !== home.followed + 1)
      home.wrong(`J11 entry ${event.seq} of ${WATCHED} came after ${home.followed}`);
    home.followed = event.seq;
    const row = await home.store.session(WATCHED);
    if ((row?.transcript.lastSeq ?? 0) < event.seq)
      home.wrong(`J11 entry ${event.seq} of ${WATCHED} was seen before it was durable`);
  }
}
