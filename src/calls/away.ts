// What was put away below a session: what archive took along with it, or upkeep before it.

import { PAGE_ROWS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { childrenOf } from "../sessions/below.ts";
import type { Archive, ArchiveQuery, Page, Store } from "../store/store.ts";

export interface AwayBelow {
  readonly archives: readonly Away[]; // parents before their children; of each key the newest
  readonly taken: number; //             so many have a session in their place now
}

export type Away = Pick<Archive, "id" | "archivedAtMs">;

/**
 * However deep, also below who is there. A conversation before a reset is none that was put away; and a key that was given again, below
 * somebody else, is that one's.
 */
export async function awayBelow(
  store: Pick<Store, "session" | "sessions" | "archives">,
  top: SessionKey,
): Promise<AwayBelow> {
  const archives: Away[] = [];
  const keys = new Set([top]);
  let taken = 0;
  for (const parent of keys) {
    for await (const { id, key, why, archivedAtMs } of archivesIn(store, { parent })) {
      if (why === "reset" || key === top) continue;
      const [newest] = (await store.archives({ key, newest: true, limit: 1 })).rows;
      if (newest?.id !== id) continue;
      if ((await store.session(key)) !== null) taken += 1;
      else {
        keys.add(key);
        archives.push({ id, archivedAtMs });
      }
    }
    for (const { key } of await childrenOf(store, parent)) keys.add(key);
  }
  return { archives, taken };
}

/** All that match, page by page. */
export async function* archivesIn(
  store: Pick<Store, "archives">,
  which: Omit<ArchiveQuery, "cursor" | "limit">,
): AsyncGenerator<Archive> {
  for (let cursor: string | null = null; ;) {
    const page: Page<Archive> = await store.archives({ ...which, cursor, limit: PAGE_ROWS_MAX });
    yield* page.rows;
    if (page.next === null) return;
    cursor = page.next;
  }
}
