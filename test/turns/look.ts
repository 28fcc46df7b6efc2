// What a folder shows when everything has come to rest: the home, read through the store, and the traces beside it.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  LocalStore,
  openLog,
  RealWorld,
  type Entry,
  type Outgoing,
  type Page,
  type Session,
  type Store,
} from "../../src/index.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { storyOf, type Story } from "./story.ts";
import type { Delivery, Effect } from "./tools.ts";

export interface Seen {
  readonly stories: readonly Story[];
  /** By key, without those that were copied. */
  readonly entries: ReadonlyMap<string, readonly Entry[]>;
  /** Letters that wait, by key. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly outbox: readonly Outgoing[];
  readonly effects: readonly Effect[];
  readonly deliveries: readonly Delivery[];
  readonly problems: readonly string[];
}

export async function look(folder: string): Promise<Seen> {
  const home = join(folder, "home");
  const world = new RealWorld();
  const problems: string[] = [];
  const died = (fault: { readonly message: string }): void => void problems.push(fault.message);
  const store = await LocalStore.open(home, { world, log: openLog("silent"), died });
  const found = await whatIs(store, problems).finally(() => store.close());
  const { findings } = await fsck(home, world.nowMs(), () => {});
  problems.push(...findings.map(({ where, message }) => `J6 fsck: ${where}: ${message}`));
  return {
    ...found,
    problems,
    effects: linesOf<Effect>(join(folder, "effects")),
    deliveries: linesOf<Delivery>(join(folder, "deliveries")),
  };
}

async function whatIs(
  store: Store,
  problems: string[],
): Promise<Pick<Seen, "stories" | "entries" | "waiting" | "outbox">> {
  const stories: Story[] = [];
  const entries = new Map<string, readonly Entry[]>();
  const waiting = new Map<string, number>();
  for (const row of await rowsOf(store)) {
    const own: Entry[] = [];
    for await (const entry of store.entries(row.transcript.id, { from: 1 })) {
      if (entry.type === "gap") problems.push(`J6 ${row.key} has a gap: ${entry.reason}`);
      else if (entry.seq > row.transcript.copied) own.push(entry);
    }
    entries.set(row.key, own);
    stories.push(storyOf(row, own));
    waiting.set(row.key, (await store.mail(row.key, { limit: 500 })).rows.length);
  }
  const outbox: Outgoing[] = [];
  for (const refused of [false, true])
    for (let cursor: string | null | undefined = undefined; cursor !== null;) {
      const page = await store.outbox({ refused, limit: 500, ...(cursor ? { cursor } : {}) });
      outbox.push(...page.rows);
      cursor = page.next;
    }
  return { stories, entries, waiting, outbox };
}

async function rowsOf(store: Store): Promise<readonly Session[]> {
  const rows: Session[] = [];
  for (let cursor: string | null | undefined = undefined; cursor !== null;) {
    const page: Page<Session> = await store.sessions({ limit: 500, cursor: cursor ?? null });
    rows.push(...page.rows);
    cursor = page.next;
  }
  return rows;
}

/** A line that was cut off was never finished: a file is appended to in one piece, so there should be none. */
function linesOf<Of>(path: string): Of[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Of);
}
