// The store for tests and the simulator, and the shortest answer to "what must a store do?"
//
//   Owns:      the tables (memory/tables.ts), and the feed of what changed.
//   Does not:  know what a change means (rules.ts, memory/commit.ts), survive its process.

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { FEED_GROUPS_MAX } from "../limits.ts";
import type { Mail, Outgoing } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Job } from "../timers/job.ts";
import type { Timer } from "../timers/timer.ts";
import type { BlobName, Entry } from "../transcript/entry.ts";
import { feedCursor, groupFrom } from "./cursor.ts";
import { Leases } from "./leases.ts";
import { Commit } from "./memory/commit.ts";
import { boundedPage, listArchives, listSessions, pageOf, searchEntries } from "./memory/list.ts";
import { Tables } from "./memory/tables.ts";
import { collectBlobs, listHoldings, useOf } from "./memory/upkeep.ts";
import { isArchived, noSuchArchive } from "./archived.ts";
import { checkChanges } from "./check.ts";
import { hasWork } from "./rules.ts";
import { checkQuestion } from "./shape.ts";
import type { Change, Receipt } from "./change.ts";
import type * as S from "./store.ts";

export class MemoryStore implements S.Store {
  readonly #world: World;
  readonly #epoch: string;
  readonly #tables = new Tables();
  readonly #leases = new Leases();
  readonly #feed: (readonly S.Changed[])[] = [];
  readonly #listeners = new Set<() => void>();
  #groups = 0;
  #lastClaimed = 0;
  #closed = false;

  constructor(world: World) {
    this.#world = world;
    this.#epoch = world.newId();
  }

  async commit(changes: readonly Change[]): Promise<Receipt> {
    this.#checkOpen();
    checkChanges(changes);
    const nowMs = this.#world.nowMs();
    const commit = new Commit(this.#tables, this.#leases, nowMs);
    commit.apply(changes);
    for (const sha256 of commit.named) this.#tables.release(sha256);
    for (const sha256 of commit.orphaned) this.#tables.collect(sha256, nowMs);
    this.#feed.push([...commit.told.values()]);
    this.#groups += 1;
    if (this.#feed.length > FEED_GROUPS_MAX) this.#feed.shift();
    for (const listener of this.#listeners) listener();
    const { seqs, posts, forwarded } = commit;
    return { cursor: feedCursor(this.#epoch, this.#groups), seqs, posts, forwarded: [...forwarded] };
  }

  async session(key: SessionKey): Promise<Session | null> {
    this.#checkOpen();
    checkQuestion("session", { key });
    return this.#tables.sessions.get(key)?.row ?? null;
  }

  async sessions(query: S.SessionQuery): Promise<S.Page<Session>> {
    this.#checkOpen();
    checkQuestion("sessions", query);
    const { rows, next } = listSessions(this.#tables.sessions.values(), query);
    return { rows: rows.map(({ row }) => row), next };
  }

  async *entries(transcript: string, range: S.Range): AsyncIterable<Entry> {
    this.#checkOpen();
    checkQuestion("entries", { transcript, range });
    const id = this.#tables.newest(transcript);
    const row = this.#tables.sessions.values().find((each) => each.row.transcript.id === id)?.row;
    const archive = this.#tables.archives.get(id);
    if (archive) throw isArchived(transcript, archive);
    if (!row) throw new Fault("not_found", `there is no transcript ${transcript}`);
    if ("since" in range) {
      const { since, through = Infinity } = range;
      yield* (this.#tables.lines.get(id) ?? []).filter(({ seq }) => seq >= since && seq <= through);
      return;
    }
    const path = this.#tables.path(row);
    if ("before" in range) {
      yield* path.filter((entry) => range.before === null || entry.seq < range.before).toReversed();
      return;
    }
    const from = range.from === "context" ? row.transcript.contextSeq : range.from;
    yield* path.filter((entry) => entry.seq >= from);
  }

  async mail(key: SessionKey, page: S.PageOf): Promise<S.Page<Mail>> {
    this.#checkOpen();
    checkQuestion("mail", { ...page, key });
    return boundedPage(this.#tables.waitingFor(key), page);
  }

  async waiting(key: SessionKey, most: number): Promise<number> {
    this.#checkOpen();
    checkQuestion("waiting", { key, most });
    return Math.min(most, this.#tables.waitingFor(key).length);
  }

  async outbox(query: S.OutboxQuery): Promise<S.Page<Outgoing>> {
    this.#checkOpen();
    checkQuestion("outbox", query);
    const some = [...this.#tables.outbox.values()].filter(
      ({ row }) =>
        (row.refused !== null) === query.refused && (query.key === undefined || row.key === query.key),
    );
    return boundedPage(some, query);
  }

  async timers(query: S.TimerQuery): Promise<S.Page<Timer>> {
    this.#checkOpen();
    checkQuestion("timers", query);
    const due = [...this.#tables.timers.values()].filter(
      ({ id, dueAtMs }) => dueAtMs <= query.dueByMs && (query.id === undefined || id === query.id),
    );
    return pageOf(due, query, { placeOf: ({ dueAtMs, id }) => [dueAtMs, id] as const, like: [0, ""] });
  }

  async jobs(query: S.JobQuery): Promise<S.Page<Job>> {
    this.#checkOpen();
    checkQuestion("jobs", query);
    const some = [...this.#tables.jobs.values()].filter(
      ({ id, agent }) =>
        (query.id === undefined || id === query.id) && (query.agent === undefined || agent === query.agent),
    );
    return pageOf(some, query, { placeOf: ({ id }) => [id, 0] as const, like: ["", 0] });
  }

  async search(query: S.SearchQuery): Promise<S.Hits> {
    this.#checkOpen();
    checkQuestion("search", query);
    const { sessions, lines } = this.#tables;
    const all = [...sessions.values()].map(({ row }) => ({ row, lines: lines.get(row.transcript.id) ?? [] }));
    return searchEntries(all, query);
  }

  async archives(query: S.ArchiveQuery): Promise<S.Page<S.Archive>> {
    this.#checkOpen();
    checkQuestion("archives", query);
    return listArchives(this.#tables.archives.values(), query);
  }

  async holdings(page: S.PageOf): Promise<S.Page<S.Holding>> {
    this.#checkOpen();
    checkQuestion("holdings", page);
    return listHoldings(this.#tables, page);
  }

  async use(): Promise<S.Use> {
    this.#checkOpen();
    return useOf(this.#tables);
  }

  async pack(archive: string): Promise<void> {
    this.#move("pack", archive);
  }

  async unpack(archive: string): Promise<void> {
    this.#move("unpack", archive);
  }

  /** Here it is only remembered: nothing becomes smaller. */
  #move(way: "pack" | "unpack", id: string): void {
    this.#checkOpen();
    checkQuestion(way, { archive: id });
    const found = this.#tables.archives.get(id);
    if (!found) throw noSuchArchive(id);
    this.#tables.archives.set(id, { ...found, packedBytes: way === "pack" ? found.bytes : null });
  }

  async collect(part: { readonly cursor: string | null; readonly isDry: boolean }): Promise<S.Collected> {
    this.#checkOpen();
    checkQuestion("collect", part);
    return collectBlobs(this.#tables, part, this.#world.nowMs());
  }

  async putBlob(bytes: Uint8Array): Promise<BlobName> {
    this.#checkOpen();
    checkQuestion("putBlob", { bytes });
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#tables.hold(sha256, this.#world.nowMs());
    this.#tables.blobs.set(sha256, bytes.slice());
    return { sha256, bytes: bytes.length };
  }

  async readBlob(
    sha256: string,
    range: { readonly from: number; readonly bytes: number },
  ): Promise<Uint8Array | null> {
    this.#checkOpen();
    checkQuestion("readBlob", { sha256, range });
    return this.#tables.blobs.get(sha256)?.slice(range.from, range.from + range.bytes) ?? null;
  }

  async claim(owner: string, leaseMs: number, limit: number): Promise<readonly S.Claim[]> {
    this.#checkOpen();
    checkQuestion("claim", { owner, leaseMs, limit });
    const nowMs = this.#world.nowMs();
    const mail = new Set(this.#tables.waiting.values().map(({ row }) => row.to));
    const undelivered = this.#tables.outbox.values().filter(({ row }) => row.refused === null);
    const answers = new Set(undelivered.map(({ row }) => row.key));
    const ready = [...this.#tables.sessions.values()]
      .filter(({ row }) => this.#leases.isFree(row.key, nowMs))
      .filter(({ row }) => hasWork(row, { mail: mail.has(row.key), answers: answers.has(row.key) }))
      .sort((a, b) => a.n - b.n);
    // From after the one that was given out last, so that everybody's turn comes.
    const inTurn = [...ready.filter(({ n }) => n > this.#lastClaimed), ...ready].slice(0, ready.length);
    const given = inTurn.slice(0, Math.max(0, limit));
    this.#lastClaimed = given.at(-1)?.n ?? this.#lastClaimed;
    return given.map(({ row }) => this.#leases.claim(owner, row.key, nowMs + leaseMs));
  }

  async renew(claims: readonly S.Claim[], leaseMs: number): Promise<readonly S.Claim[]> {
    this.#checkOpen();
    checkQuestion("renew", { claims, leaseMs });
    return this.#leases.renew(claims, this.#world.nowMs() + leaseMs);
  }

  async release(claims: readonly S.Claim[]): Promise<void> {
    this.#checkOpen();
    checkQuestion("release", { claims });
    this.#leases.release(claims);
  }

  async changesSince(
    cursor: string | null,
  ): Promise<{ readonly changes: readonly S.Changed[]; readonly cursor: string }> {
    this.#checkOpen();
    checkQuestion("changesSince", { cursor });
    const seen = cursor === null ? this.#groups : groupFrom(cursor, this.#epoch);
    const forgotten = this.#groups - this.#feed.length;
    if (seen < forgotten || seen > this.#groups)
      throw new Fault("cursor_expired", "the feed does not reach back that far");
    return {
      changes: this.#feed.slice(seen - forgotten).flat(),
      cursor: feedCursor(this.#epoch, this.#groups),
    };
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #checkOpen(): void {
    if (this.#closed) throw new Fault("closed", "the store is closed");
  }
}
