import { PAGE_ROWS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Page, Store } from "../store/store.ts";
import type { Session } from "./session.ts";

/** All descendants of a session, also of those that have ended: what they spawned may live. */
export async function below(store: Pick<Store, "sessions">, key: SessionKey): Promise<readonly Session[]> {
  const found: Session[] = [];
  const waiting = [key];
  for (let parent = waiting.shift(); parent !== undefined; parent = waiting.shift()) {
    const born = await childrenOf(store, parent);
    found.push(...born);
    waiting.push(...born.map((row) => row.key));
  }
  return found;
}

/** Those right below it. */
export async function childrenOf(
  store: Pick<Store, "sessions">,
  parent: SessionKey,
): Promise<readonly Session[]> {
  const found: Session[] = [];
  for (let cursor: string | null = null; ;) {
    const page: Page<Session> = await store.sessions({ parent, cursor, limit: PAGE_ROWS_MAX });
    found.push(...page.rows);
    if (page.next === null) return found;
    cursor = page.next;
  }
}

/** Who stands right above a session. Where a parent was deleted, its root is the next that is known: as the store charges. */
export async function nextAbove(
  find: (key: SessionKey) => Promise<Session | null>,
  { parent, root }: Session,
): Promise<Session | null> {
  if (parent === null) return null;
  return (await find(parent)) ?? (parent === root ? null : await find(root));
}

/** Whether a session stands above another, by birth. */
export async function isAbove(store: Pick<Store, "session">, key: SessionKey, of: Session): Promise<boolean> {
  const find = (each: SessionKey): Promise<Session | null> => store.session(each);
  for (let at = await nextAbove(find, of); at !== null; at = await nextAbove(find, at))
    if (at.key === key) return true;
  return false;
}

/** Those of them that have not ended. */
export async function livingBelow(
  store: Pick<Store, "sessions">,
  key: SessionKey,
): Promise<readonly Session[]> {
  return (await below(store, key)).filter(({ state }) => state.kind !== "ended");
}
