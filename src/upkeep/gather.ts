// What a plan is made from, asked of the store page by page. It is no picture of one moment: what changes meanwhile is
// noticed when the plan is applied, because every step expects what was seen here.

import type { World } from "../base/world.ts";
import type { UpkeepPolicy } from "../config/config.ts";
import { describeKey, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Archive, Holding, Page, Store, Use } from "../store/store.ts";
import { UPKEEP_PAGE_ROWS } from "./limits.ts";
import { planning, type Facts, type Item, type Kept, type Plan } from "./plan.ts";

export interface Gathering {
  readonly world: World;
  readonly store: Pick<Store, "archives" | "holdings" | "use" | "jobs" | "collect">;
  readonly policy: UpkeepPolicy;
  /** Sessions that have a program which runs now. */
  readonly programs: () => ReadonlySet<SessionKey>;
}

/** What a run would do now. Others get the thread between pages and slices. */
export async function gatheredPlan(parts: Gathering, signal: AbortSignal): Promise<[Plan, Use]> {
  const facts = await gathered(parts, signal);
  const slices = planning(facts, parts.policy, parts.world.nowMs());
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return [slice.value, facts.use];
    await parts.world.sleep(0, signal);
  }
}

async function gathered(parts: Gathering, signal: AbortSignal): Promise<Facts> {
  const { store } = parts;
  const use = await store.use();
  const archives = await archivesFor(parts, use, signal);
  const [keepMs, targets] = await jobsIn(parts, signal);
  const blobs = await blobsIn(parts, signal);
  // One that changes while pages are asked for comes again, at the end: then that is its place.
  const items = new Map<SessionKey, Item>();
  for await (const holding of rowsOf((page) => store.holdings(page), signal)) {
    items.delete(holding.session.key);
    items.set(holding.session.key, itemOf(holding));
  }
  const held = new Set([...targets, ...parts.programs()]);
  return { items: [...items.values()], archives, use, keepMs, held, blobs };
}

function itemOf({ session, bytes, waits, children }: Holding): Item {
  const { key, kind, parent, state, signal, settings, updatedAtMs, transcript } = session;
  return {
    key,
    kind,
    parent,
    state: state.kind,
    endedAtMs: state.kind === "ended" ? state.atMs : null,
    job: jobOf(session),
    signal,
    isPinned: settings.pinned,
    updatedAtMs,
    transcript: transcript.id,
    lastSeq: transcript.lastSeq,
    firstSeq: transcript.firstSeq,
    contextSeq: transcript.contextSeq,
    fileBytes: transcript.bytes,
    bytes,
    waits,
    children,
  };
}

function jobOf({ key, kind }: Session): string | null {
  if (kind !== "cron") return null;
  const { run, cronJob } = describeKey(key);
  return run ? cronJob : null;
}

/** Those that are past retention, and those that are not packed; all, when the disk has too much. Oldest first. */
async function archivesFor(
  { store, policy, world }: Gathering,
  use: Use,
  signal: AbortSignal,
): Promise<readonly Kept[]> {
  const isFull = policy.diskMiB > 0 && use.transcripts + use.archives + use.blobs > policy.diskMiB * 2 ** 20;
  const pastMs = policy.archiveDays > 0 ? world.nowMs() - policy.archiveDays * 24 * 60 * 60 * 1_000 : null;
  const found = new Map<string, Kept>();
  if (isFull || pastMs !== null)
    for await (const archive of rowsOf((page) => store.archives(page), signal)) {
      if (!isFull && archive.archivedAtMs > (pastMs ?? 0)) break;
      found.set(archive.id, keptOf(archive));
    }
  for await (const archive of rowsOf((page) => store.archives({ ...page, packed: false }), signal))
    found.set(archive.id, keptOf(archive));
  return [...found.values()];
}

function keptOf({ id, key, archivedAtMs, bytes, packedBytes }: Archive): Kept {
  return { id, key, archivedAtMs, bytes, packedBytes };
}

/** How long runs of each job are kept, and who is written to by one: also by one that is disabled, which may be enabled again. */
async function jobsIn(
  { store }: Gathering,
  signal: AbortSignal,
): Promise<[ReadonlyMap<string, number>, readonly SessionKey[]]> {
  const keepMs = new Map<string, number>();
  const targets: SessionKey[] = [];
  for await (const { id, keepMs: each, target } of rowsOf((page) => store.jobs(page), signal)) {
    keepMs.set(id, each);
    if (target.kind === "session") targets.push(target.key);
  }
  return [keepMs, targets];
}

/** Others get the reader between two parts. */
async function blobsIn({ store, world }: Gathering, signal: AbortSignal): Promise<Facts["blobs"]> {
  let [blobs, bytes] = [0, 0];
  for (let cursor: string | null = null; ;) {
    signal.throwIfAborted();
    const part = await store.collect({ cursor, isDry: true });
    [blobs, bytes] = [blobs + part.blobs, bytes + part.bytes];
    if (part.next === null) return { blobs, bytes };
    cursor = part.next;
    await world.sleep(0, signal);
  }
}

async function* rowsOf<Row>(
  ask: (page: { readonly cursor: string | null; readonly limit: number }) => Promise<Page<Row>>,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  for (let cursor: string | null = null; ;) {
    signal.throwIfAborted();
    const page = await ask({ cursor, limit: UPKEEP_PAGE_ROWS });
    yield* page.rows;
    if (page.next === null) return;
    cursor = page.next;
  }
}
