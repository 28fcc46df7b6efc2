// What the tests of the contract share: how a store is opened for them, and one test's corner of it. Most tests
// share a store, which is quicker than opening one each; a corner is an agent that no other test knows.

import assert from "node:assert/strict";
import type { FaultCode } from "../../base/fault.ts";
import type { SimulatedWorld } from "../../base/world.ts";
import type { Letter, Mail, Outgoing } from "../../mail/letter.ts";
import { namedKey, parseAgent, type AgentId, type SessionKey } from "../../routing/key.ts";
import type { RunState, Session } from "../../sessions/session.ts";
import type { Timer } from "../../timers/timer.ts";
import type { Draft, Entry, Gap } from "../../transcript/entry.ts";
import type { Of } from "../rules.ts";
import type { Change, Posted, Receipt } from "../change.ts";
import type { Archive, ArchiveQuery, ArchiveWhy, Changed, Page, PageOf, Range, Store } from "../store.ts";
import { ended, letterOf, said } from "./samples.ts";

/** A store for tests, and what a test may do to it that a caller may not. */
export interface Opened {
  /** The one that is open now: another one after reopen(), where the engine keeps its state elsewhere. */
  readonly store: Store;
  readonly world: SimulatedWorld;
  /** Closes it, and opens it again on the same state. An engine that has no state elsewhere goes on as it is. */
  reopen(): Promise<void>;
  /** Lets it forget what it may forget by now, if it does so only from time to time. */
  sweep(): Promise<void>;
  /** Closes it for good and removes what it left. */
  close(): Promise<void>;
}

export type Open = () => Promise<Opened>;

let corners = 0;

export class Corner {
  readonly agent: AgentId;
  readonly #opened: Opened;

  /** `agent` is given where two stores are to hold the same. */
  constructor(opened: Opened, agent?: AgentId) {
    corners += 1;
    this.agent = agent ?? parseAgent(`corner-${corners}`);
    this.#opened = opened;
  }

  get store(): Store {
    return this.#opened.store;
  }

  get world(): SimulatedWorld {
    return this.#opened.world;
  }

  reopen(): Promise<void> {
    return this.#opened.reopen();
  }

  sweep(): Promise<void> {
    return this.#opened.sweep();
  }

  key(name: string): SessionKey {
    return namedKey(this.agent, name);
  }

  /** An id that is new in the whole store. */
  id(name: string): string {
    return `${this.agent}/${name}`;
  }

  opening(key: SessionKey, more: Partial<Of<"open">> = {}): Of<"open"> {
    return {
      do: "open",
      key,
      transcript: this.world.newId(),
      cwd: "/tmp",
      parent: null,
      settings: {},
      copy: null,
      ifExists: "refuse",
      ...more,
    };
  }

  /** Opens a session under a name of this corner. */
  async open(name: string, more: Partial<Of<"open">> = {}): Promise<SessionKey> {
    const key = more.key ?? this.key(name);
    await this.store.commit([this.opening(key, more)]);
    return key;
  }

  /** Opens a session in which somebody has said these words. */
  async talk(name: string, texts: readonly string[]): Promise<SessionKey> {
    const key = await this.open(name);
    await this.append(key, texts.map(said));
    return key;
  }

  async row(key: SessionKey): Promise<Session> {
    const row = await this.store.session(key);
    assert(row !== null, `${key} is there`);
    return row;
  }

  async transcript(key: SessionKey): Promise<string> {
    return (await this.row(key)).transcript.id;
  }

  /** What the owner of a session that nobody claimed would append now. */
  async appending(
    key: SessionKey,
    entries: readonly Draft[],
    more: Partial<Of<"append">> = {},
  ): Promise<Of<"append">> {
    const after = (await this.row(key)).transcript.lastSeq;
    return { do: "append", key, fence: 0, after, entries, rewindTo: null, contextSeq: null, ...more };
  }

  async append(
    key: SessionKey,
    entries: readonly Draft[],
    more: Partial<Of<"append">> = {},
  ): Promise<Receipt> {
    return await this.store.commit([await this.appending(key, entries, more)]);
  }

  /** Goes back to an entry and says something there. */
  async rewind(key: SessionKey, seq: number, texts: readonly string[]): Promise<void> {
    const entry = (await this.entries(key, { since: 0 })).find((each) => each.seq === seq);
    assert(entry, `${key} has an entry ${seq}`);
    await this.append(key, texts.map(said), { rewindTo: { id: entry.id, seq } });
  }

  async entries(key: SessionKey, range: Range): Promise<Entry[]> {
    return await entriesOf(this.store, await this.transcript(key), range);
  }

  async seqs(key: SessionKey, range: Range): Promise<number[]> {
    return (await this.entries(key, range)).map((entry) => entry.seq);
  }

  async post(
    to: SessionKey | readonly SessionKey[],
    name: string,
    more: Partial<Letter> = {},
  ): Promise<Posted> {
    const receipt = await this.store.commit([this.posting(to, name, more)]);
    const [posted] = receipt.posts;
    assert(posted, "a letter has a receipt");
    return posted;
  }

  posting(to: SessionKey | readonly SessionKey[], name: string, more: Partial<Letter> = {}): Of<"post"> {
    const letter = { ...letterOf(`ext:${this.id(name)}`, name), ...more };
    return { do: "post", to: typeof to === "string" ? [to] : to, letter };
  }

  async mail(key: SessionKey): Promise<Mail[]> {
    return await pages((page) => this.store.mail(key, page));
  }

  /** The names under which post() sent the letters that wait. */
  async waiting(key: SessionKey): Promise<string[]> {
    return (await this.mail(key)).map(({ id }) => id.split("/").at(-1) ?? id);
  }

  run(key: SessionKey, state: RunState, fence = 0): Promise<Receipt> {
    return this.store.commit([{ do: "run", key, fence, state }]);
  }

  end(key: SessionKey): Promise<Receipt> {
    return this.run(key, ended(this.world.nowMs()));
  }

  timer(name: string, key: SessionKey, more: Partial<Timer> = {}): Timer {
    return { id: this.id(name), key, dueAtMs: this.world.nowMs() + 1_000, body: { name }, ...more };
  }

  /** Of all timers and outgoing answers only those of this corner: others share the store. */
  async timers(dueByMs = Number.MAX_SAFE_INTEGER): Promise<Timer[]> {
    const all = await pages((page) => this.store.timers({ ...page, dueByMs }));
    return all.filter(({ key }) => key.startsWith(`agent:${this.agent}:`));
  }

  async outbox(refused: boolean): Promise<Outgoing[]> {
    const all = await pages((page) => this.store.outbox({ ...page, refused }));
    return all.filter(({ key }) => key.startsWith(`agent:${this.agent}:`));
  }

  /** All of this corner, oldest first. */
  async archives(query: ArchiveQuery = {}): Promise<Archive[]> {
    return await pages((page) => this.store.archives({ ...query, ...page, agent: this.agent }));
  }

  /** What somebody would commit who has just looked at a session. */
  async archiving(key: SessionKey, why: ArchiveWhy = "asked"): Promise<Of<"archive">> {
    const { id: transcript, lastSeq } = (await this.row(key)).transcript;
    return { do: "archive", key, expect: { transcript, lastSeq }, why };
  }

  /** Puts it out of the way, and returns the archive's id. */
  async archive(key: SessionKey, why: ArchiveWhy = "asked"): Promise<string> {
    const change = await this.archiving(key, why);
    await this.store.commit([change]);
    return change.expect.transcript;
  }

  async restore(archive: string): Promise<void> {
    await this.store.commit([{ do: "restore", archive, over: null }]);
  }

  sending(name: string, key: SessionKey): Of<"send"> {
    const route = { channel: "test", to: "somebody", thread: null };
    return {
      do: "send",
      outgoing: { id: this.id(name), key, route, content: [{ type: "text", text: name }] },
    };
  }

  /** Claims for one owner, of which this corner's matter. */
  async claim(owner: string, leaseMs = 10_000, limit = 100_000): Promise<Map<SessionKey, number>> {
    const claims = await this.store.claim(owner, leaseMs, limit);
    const ours = claims.filter(({ key }) => key.startsWith(`agent:${this.agent}:`));
    return new Map(ours.map(({ key, fence }) => [key, fence]));
  }

  /** The feed from a cursor to its end. */
  async feed(from: string): Promise<{ changes: Changed[]; cursor: string }> {
    const changes: Changed[] = [];
    for (let cursor = from; ;) {
      const page = await this.store.changesSince(cursor);
      changes.push(...page.changes);
      if (page.cursor === cursor) return { changes, cursor };
      cursor = page.cursor;
    }
  }

  async now(): Promise<string> {
    return (await this.store.changesSince(null)).cursor;
  }

  /** Everything that can be read of this corner: two of these are equal when nothing has happened in between. */
  async everything(): Promise<unknown> {
    const rows = await pages((page) => this.store.sessions({ ...page, agent: this.agent }));
    const sessions = [];
    for (const row of rows.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
      const lines = await entriesOf(this.store, row.transcript.id, { since: 0 });
      const path = await entriesOf(this.store, row.transcript.id, { from: 0 });
      sessions.push({ row, lines, path: path.map(({ seq }) => seq), mail: await this.mail(row.key) });
    }
    return {
      sessions,
      archives: (await this.archives()).map(({ packedBytes, ...rest }) => ({
        ...{ ...rest, isPacked: packedBytes !== null }, // how small it becomes is each engine's own
      })),
      timers: await this.timers(),
      outbox: [...(await this.outbox(false)), ...(await this.outbox(true))],
    };
  }
}

// ── Things a test asks ──────────────────────────────────────────────────────────────────────────────────────

export async function entriesOf(store: Store, transcript: string, range: Range): Promise<Entry[]> {
  return (await Array.fromAsync(store.entries(transcript, range))).map(whole);
}

function whole(item: Entry | Gap): Entry {
  assert(item.type !== "gap", `nothing is missing: ${JSON.stringify(item)}`);
  return item;
}

/** All rows of a list. A page may be short while there are more, but not for ever. */
export async function pages<Row>(read: (page: PageOf) => Promise<Page<Row>>, limit?: number): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let turned = 0; turned < 10_000; turned += 1) {
    const page: Page<Row> = await read(limit === undefined ? { cursor } : { cursor, limit });
    rows.push(...page.rows);
    if (page.next === null) return rows;
    cursor = page.next;
  }
  return assert.fail("a list ends");
}

export async function refused(code: FaultCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, { name: "Fault", code });
}

/** Commits that are refused, and leave everything in the corner and in the feed as it was. */
export async function withoutTrace(
  corner: Corner,
  code: FaultCode,
  changes: readonly Change[],
): Promise<void> {
  const before = await corner.everything();
  const cursor = await corner.now();
  await refused(code, corner.store.commit(changes));
  assert.deepEqual(await corner.everything(), before);
  assert.deepEqual(await corner.feed(cursor), { changes: [], cursor });
}
