// What was put away below a session: what archive took along with it, or upkeep before it.

import { PAGE_ROWS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Archive, ArchiveQuery, Page, Store } from "../store/store.ts";

export interface AwayBelow {
  readonly archives: readonly string[]; // their ids, parents first; of each key the newest. One more than `most`: there are more
  readonly taken: number; //               so many have a session in their place now
}

export interface Looked {
  readonly most: number;
  readonly atMs: number | null; // only what was put away in that moment; null: whenever it was
}

/**
 * A conversation before a reset is none that was put away. Below who has a session now is not looked: that one can be asked for. And a
 * key that was given again, below somebody else, is that one's.
 */
export async function awayBelow(
  store: Pick<Store, "session" | "archives">,
  top: SessionKey,
  { most, atMs }: Looked,
): Promise<AwayBelow> {
  const archives: string[] = [];
  const keys = new Set([top]);
  const taken = new Set<SessionKey>();
  for (const parent of keys)
    for await (const { id, key, why, archivedAtMs } of archivesIn(store, { parent, newest: true })) {
      if (keys.has(key) || taken.has(key) || why === "reset") continue;
      if (atMs !== null && archivedAtMs !== atMs) continue;
      const [newest] = (await store.archives({ key, newest: true, limit: 1 })).rows;
      if (newest?.id !== id) continue;
      if ((await store.session(key)) !== null) taken.add(key);
      else {
        keys.add(key);
        archives.push(id);
      }
      if (archives.length > most) return { archives, taken: taken.size };
    }
  return { archives, taken: taken.size };
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
