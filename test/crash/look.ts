// What a home shows after a crash: recovered by opening it, then read from the files as a stranger would, and from
// the tables through the store.

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../src/base/log.ts";
import type { World } from "../../src/base/world.ts";
import type { Outgoing } from "../../src/mail/letter.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { Session } from "../../src/sessions/session.ts";
import { LocalStore } from "../../src/store/local/local.ts";
import { packedPath, pathsIn, transcriptPath } from "../../src/store/local/paths.ts";
import type { Archive, Page } from "../../src/store/store.ts";
import type { Timer } from "../../src/timers/timer.ts";
import type { BlobName } from "../../src/transcript/entry.ts";
import { activePath, archiveName, type Account, type Accounts } from "./model.ts";
import { readAsStranger } from "./stranger.ts";

export interface Seen {
  readonly accounts: Accounts;
  /** What is wrong whatever was attempted: a file that cannot be read, a row that disagrees with it. */
  readonly problems: readonly string[];
}

export interface Look {
  readonly world: World;
  readonly log: Log;
  /** True: search is waited for and asked as well. */
  readonly search?: boolean;
}

/** What waits for a time or a door, by the session that it belongs to. */
interface Waiting {
  readonly timers: readonly Timer[];
  readonly outbox: readonly Outgoing[];
}

export async function look(home: string, { world, log, search = false }: Look): Promise<Seen> {
  const problems: string[] = [];
  const died = (fault: { readonly message: string }): void =>
    void problems.push(`the store died: ${fault.message}`);
  const store = await LocalStore.open(home, { world, log, died });
  try {
    const accounts = new Map<SessionKey, Account>();
    const waiting = await whatWaits(store);
    for (const row of await all((cursor) => store.sessions({ cursor, limit: 500 })))
      accounts.set(row.key, await lookAt({ store, home, row, waiting, problems }));
    for (const found of await all((cursor) => store.archives({ cursor, limit: 500 }))) {
      const row = found.session;
      accounts.set(
        archiveName(row.key, found.id),
        await lookAt({ store, home, row, waiting, problems, found }),
      );
    }
    problems.push(...strayFiles(home, accounts));
    for (const { key, id } of [...waiting.timers, ...waiting.outbox])
      if (!accounts.has(key)) problems.push(`${id} has outlived its session, ${key}`);
    if (search) problems.push(...(await searched(store, accounts)));
    return { accounts, problems };
  } finally {
    await store.close();
  }
}

async function whatWaits(store: LocalStore): Promise<Waiting> {
  const dueByMs = Number.MAX_SAFE_INTEGER;
  const timers = await all((cursor) => store.timers({ cursor, limit: 500, dueByMs }));
  const outbox: Outgoing[] = [];
  for (const refused of [false, true])
    outbox.push(...(await all((cursor) => store.outbox({ cursor, limit: 500, refused }))));
  return { timers, outbox };
}

async function lookAt(at: {
  readonly store: LocalStore;
  readonly home: string;
  readonly row: Session;
  readonly waiting: Waiting;
  readonly problems: string[];
  readonly found?: Archive; // it is one
}): Promise<Account> {
  const { store, row, waiting } = at;
  const { key, transcript, state, route, signal, settings, settingsVersion, usage } = row;
  const complain = (what: string): void => void at.problems.push(`${key}: ${what}`);
  const packed = at.found !== undefined && at.found.packedBytes !== null;
  const pathOf = (id: string): string =>
    (packed ? packedPath : transcriptPath)(pathsIn(at.home), row.agent, id);
  const { entries, ids, older, before } = readAsStranger(pathOf, transcript, complain);
  if (at.found === undefined)
    await compareReading(store, transcript.id, {
      since: ids,
      from: activePath(entries, before).map((seq) => ids[seq - before - 1] ?? ""),
      complain,
    });
  for (const { blob } of entries)
    if (blob !== null && !(await isWhole(store, blob))) complain(`blob ${blob.sha256} is not there whole`);
  const letters = at.found ? [] : await all((cursor) => store.mail(key, { cursor, limit: 500 }));
  const mine = (each: { readonly key: SessionKey }): boolean => at.found === undefined && each.key === key;
  return {
    transcript: transcript.id,
    older,
    copied: transcript.copied,
    before,
    entries,
    state,
    route,
    signal,
    settings,
    settingsVersion,
    usage,
    mail: letters.map(({ to: _to, postedAtMs: _at, ...letter }) => letter),
    timers: byId(waiting.timers.filter(mine)),
    outbox: byId(waiting.outbox.filter(mine).map(({ postedAtMs: _at, ...outgoing }) => outgoing)),
  };
}

/** Every transcript is there in one form, and nothing else is. */
function strayFiles(home: string, accounts: Accounts): string[] {
  const seen: string[] = [];
  const agents = join(home, "agents");
  for (const name of existsSync(agents) ? readdirSync(agents, { recursive: true, encoding: "utf8" }) : [])
    if (/\.jsonl|\.unfinished/.test(name)) seen.push(basename(name).replace(/\.jsonl(?:\.zst)?$/, ""));
  const known = [...accounts.values()].flatMap(({ transcript, older }) => [transcript, ...older]);
  return seen.toSorted().join() === known.toSorted().join()
    ? []
    : [
        `there are files of other transcripts than the state has, or two of one: ${seen.filter((id, n) => !known.includes(id) || seen.indexOf(id) !== n).join(", ")}`,
      ];
}

/** The store reads what the file has, whole and along the active path. */
async function compareReading(
  store: LocalStore,
  transcript: string,
  expected: {
    readonly since: readonly string[];
    readonly from: readonly string[];
    readonly complain: (what: string) => void;
  },
): Promise<void> {
  for (const way of ["since", "from"] as const) {
    const read: string[] = [];
    const range = way === "since" ? { since: 1 } : { from: 1 };
    for await (const item of store.entries(transcript, range))
      read.push(item.type === "gap" ? "gap" : item.id);
    if (read.join() !== expected[way].join())
      expected.complain(`read ${way} 1, the store has other entries than the file`);
  }
}

async function isWhole(store: LocalStore, blob: BlobName): Promise<boolean> {
  const bytes = await store.readBlob(blob.sha256, { from: 0, bytes: blob.bytes + 1 });
  return bytes?.length === blob.bytes;
}

/** Of waiting for search. It is there so that a campaign ends, and promises nothing. */
const SEARCH_TRIES_MAX = 1_000;
const SEARCH_AGAIN_MS = 10;

/** Search catches up, and then finds the last words of every session, and none of one that is gone or archived. */
async function searched(store: LocalStore, accounts: Accounts): Promise<string[]> {
  const problems: string[] = [];
  for (let tries = 0; (await store.search({ text: "catching up" })).behind > 0; tries += 1) {
    if (tries === SEARCH_TRIES_MAX) return ["search does not catch up"];
    await sleep(SEARCH_AGAIN_MS);
  }
  for (const [key, { transcript, entries, before }] of accounts) {
    const text = entries.at(-1)?.text ?? "";
    const { hits } = await store.search({ text, limit: 100 });
    for (const hit of hits)
      if (accounts.get(hit.key)?.transcript !== hit.transcript)
        problems.push(`search finds ${text} in ${hit.key}, transcript ${hit.transcript}, which is gone`);
    if (key.startsWith("archive ")) continue; // found nowhere
    if (
      text !== "" &&
      !hits.some((hit) => hit.transcript === transcript && hit.seq === before + entries.length)
    )
      problems.push(`search does not find ${text} in ${key}`);
  }
  return problems;
}

async function all<Row>(page: (cursor: string | null) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null = null, more = true; more;) {
    const { rows: some, next }: Page<Row> = await page(cursor);
    rows.push(...some);
    cursor = next;
    more = next !== null;
  }
  return rows;
}

function byId<Item extends { readonly id: string }>(items: readonly Item[]): Record<string, Item> {
  return Object.fromEntries(items.map((item) => [item.id, item]));
}
