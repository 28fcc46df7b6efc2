import { PAGE_ROWS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Page, Store } from "../store/store.ts";
import type { Session } from "./session.ts";

/** All descendants of a session, also of those that have ended: what they spawned may live. Those it names come first. */
export async function below(store: Pick<Store, "sessions">, key: SessionKey): Promise<readonly Session[]> {
  const found: Session[] = [];
  const waiting = [key];
  for (let parent = waiting.shift(); parent !== undefined; parent = waiting.shift()) {
    let cursor: string | null = null;
    do {
      const page: Page<Session> = await store.sessions({ parent, cursor, limit: PAGE_ROWS_MAX });
      found.push(...page.rows);
      waiting.push(...page.rows.map((row) => row.key));
      cursor = page.next;
    } while (cursor !== null);
  }
  return found;
}

/** Whether a session stands above another, by birth. Where one in between was deleted, the root is the next that is known. */
export async function isAbove(store: Pick<Store, "session">, key: SessionKey, of: Session): Promise<boolean> {
  for (let at = of.parent; at !== null;) {
    if (at === key) return true;
    const row: Session | null = await store.session(at);
    at = row === null && at !== of.root ? of.root : (row?.parent ?? null);
  }
  return false;
}

/** Those of them that have not ended, and that nobody has killed yet. */
export async function livingBelow(
  store: Pick<Store, "sessions">,
  key: SessionKey,
): Promise<readonly Session[]> {
  return (await below(store, key)).filter(({ state }) => state.kind !== "ended");
}
