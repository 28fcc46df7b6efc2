// The store for tests and the simulator, and the shortest answer to "what must a store do?"
//
// Everything is in maps. A commit changes them one by one and writes down how to undo it, so that a change
// which is refused takes the ones before it back (S1).

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { FEED_GROUPS_MAX, MAILBOX_LETTERS_MAX, MAIL_ID_KEPT_MS, PAGE_ROWS_MAX } from "../limits.ts";
import type { Mail, Outgoing } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Timer } from "../timers/timer.ts";
import { encodeDraft, encodeHeader, stamp } from "../transcript/codec.ts";
import { entryId, textOf, unstamped, type BlobName, type Draft, type Entry } from "../transcript/entry.ts";
import { contextStart, titleOf } from "../transcript/fold.ts";
import { Leases } from "./leases.ts";
import {
  appendedRow,
  changedRow,
  checkAppend,
  checkChange,
  checkFence,
  forwardTo,
  hasWork,
  headerOf,
  isCapped,
  noSuchEntry,
  nobodyReads,
  openedRow,
  sealLetter,
  shownTitle,
  type Of,
  type RowChange,
} from "./rules.ts";
import type * as S from "./store.ts";

interface Kept extends Mail {
  readonly others: readonly SessionKey[];
  readonly print: string;
  /** Null: it waits. */
  readonly takenAtMs: number | null;
  readonly n: number;
}

export class MemoryStore implements S.Store {
  readonly #world: World;
  readonly #leases = new Leases();
  readonly #rows = new Map<SessionKey, Session>();
  readonly #lines = new Map<string, readonly Entry[]>();
  readonly #mail = new Map<string, Kept>();
  readonly #timers = new Map<string, Timer>();
  readonly #outbox = new Map<string, Outgoing>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #feed: (readonly S.Changed[])[] = [];
  readonly #listeners = new Set<() => void>();
  #groups = 0;
  #posted = 0;
  #closed = false;

  constructor(world: World) {
    this.#world = world;
  }

  async commit(changes: readonly S.Change[]): Promise<S.Receipt> {
    if (this.#closed) throw new Fault("closed", "the store is closed");
    for (const change of changes) checkChange(change);
    const commit = new Commit();
    try {
      for (const change of changes) this.#apply(change, commit);
    } catch (error) {
      commit.undo();
      throw error;
    }
    this.#forgetOldIds();
    this.#feed.push([...commit.touched].map((key) => this.#changed(key)));
    this.#groups += 1;
    if (this.#feed.length > FEED_GROUPS_MAX) this.#feed.shift();
    for (const listener of this.#listeners) listener();
    return { cursor: String(this.#groups), seqs: commit.seqs, posts: commit.posts };
  }

  #apply(change: S.Change, commit: Commit): void {
    const atMs = this.#world.nowMs();
    switch (change.do) {
      case "open":
        return this.#open(change, commit, atMs);
      case "append":
        return this.#append(change, commit, atMs);
      case "take":
        return this.#take(change, commit, atMs);
      case "post":
        return this.#post(change, commit, atMs);
      case "setTimer": {
        this.#expectTimer(change.timer.id, change.expectDueAtMs);
        this.#row(change.timer.key);
        return commit.put(this.#timers, change.timer.id, change.timer);
      }
      case "clearTimer":
        this.#expectTimer(change.id, change.expectDueAtMs);
        return commit.put(this.#timers, change.id, null);
      case "send":
        this.#row(change.outgoing.key);
        if (this.#outbox.has(change.outgoing.id))
          throw new Fault("conflict", `${change.outgoing.id} is in the outbox already`);
        return commit.put(this.#outbox, change.outgoing.id, {
          ...change.outgoing,
          postedAtMs: atMs,
          refused: null,
        });
      case "settle": {
        const outgoing = this.#outbox.get(change.id);
        if (!outgoing) throw new Fault("not_found", `nothing in the outbox is called ${change.id}`);
        return commit.put(
          this.#outbox,
          change.id,
          change.refused === null ? null : { ...outgoing, refused: change.refused },
        );
      }
      case "delete":
        return this.#delete(this.#row(change.key), commit);
      default:
        return this.#change(change, commit, atMs);
    }
  }

  #change(change: RowChange, commit: Commit, atMs: number): void {
    const row = changedRow(this.#row(change.key), change, this.#leases.fenceOf(change.key), atMs);
    this.#keep(row, commit);
    if (change.do !== "run" || change.state.kind !== "ended") return;
    for (const letter of this.#waiting(change.key)) {
      const next = forwardTo(letter.others, (key) => this.#rows.get(key)?.state.kind ?? null);
      if (next) commit.put(this.#mail, letter.id, { ...letter, ...next });
    }
  }

  #open(change: Of<"open">, commit: Commit, atMs: number): void {
    const existing = this.#rows.get(change.key);
    if (existing && change.ifExists === "refuse") throw new Fault("exists", `${change.key} exists already`);
    if (existing) return;
    if (this.#lines.has(change.transcript))
      throw new Fault("exists", `transcript ${change.transcript} exists already`);
    const parent = change.parent === null ? null : this.#row(change.parent);
    const source = change.copy === null ? null : this.#row(change.copy.of);
    const path = change.copy === null || source === null ? [] : this.#copied(source, change.copy);
    const header = headerOf(change, { parent, source, copied: path.length, atMs });
    const born = openedRow(change, parent, Buffer.byteLength(encodeHeader(header)), atMs);
    const row = { ...born, transcript: { ...born.transcript, copied: path.length } };
    commit.put(this.#lines, change.transcript, []);
    this.#keep(row, commit);
    commit.seqs[change.key] = path.length;
    if (path.length === 0) return;
    const contextSeq = contextStart(path.map((entry, at) => ({ ...entry, seq: at + 1 })));
    this.#write(row, path.map(unstamped), { commit, atMs, rewindTo: null, contextSeq });
  }

  /** A fork takes the path, not the branches, and numbers it anew. */
  #copied(source: Session, copy: NonNullable<Of<"open">["copy"]>): Entry[] {
    const path = this.#path(source).filter(
      (entry) => entry.seq >= copy.fromSeq && entry.seq <= copy.throughSeq,
    );
    if (path.at(-1)?.seq !== copy.throughSeq) throw noSuchEntry(copy.of, copy.throughSeq);
    return path;
  }

  #append(change: Of<"append">, commit: Commit, atMs: number): void {
    const row = this.#row(change.key);
    checkAppend(row, change, this.#leases.fenceOf(change.key));
    const { rewindTo, contextSeq } = change;
    const known =
      rewindTo === null || this.#lines.get(row.transcript.id)?.[rewindTo.seq - 1]?.id === rewindTo.id;
    if (!known) throw noSuchEntry(change.key, rewindTo?.seq ?? 0);
    const fresh = change.entries.map((draft) => ({ id: null, draft }));
    this.#write(row, fresh, { commit, atMs, rewindTo, contextSeq });
  }

  #write(
    row: Session,
    fresh: readonly { readonly id: string | null; readonly draft: Draft }[],
    how: {
      commit: Commit;
      atMs: number;
      rewindTo: { readonly id: string } | null;
      contextSeq: number | null;
    },
  ): void {
    const { transcript } = row;
    const made: Entry[] = [];
    let bytes = 0;
    let parentId = how.rewindTo?.id ?? transcript.leafId;
    for (const [at, { id: given, draft }] of fresh.entries()) {
      const seq = transcript.lastSeq + at + 1;
      const id = given ?? entryId(transcript.id, seq);
      const line = stamp(encodeDraft(draft), id, parentId, seq);
      bytes += Buffer.byteLength(line);
      made.push(JSON.parse(line) as Entry);
      parentId = id;
    }
    how.commit.put(this.#lines, transcript.id, [...(this.#lines.get(transcript.id) ?? []), ...made]);
    const title = fresh.map(({ draft }) => titleOf(draft)).find((found) => found !== null) ?? null;
    const appended = {
      count: made.length,
      bytes,
      leafId: parentId ?? "",
      jumped: how.rewindTo !== null && how.rewindTo.id !== transcript.leafId,
      title,
      contextSeq: how.contextSeq,
    };
    const next = appendedRow(row, appended, how.atMs);
    this.#keep(next, how.commit);
    how.commit.seqs[row.key] = next.transcript.lastSeq;
  }

  #take(change: Of<"take">, commit: Commit, atMs: number): void {
    checkFence(change.key, change.fence, this.#leases.fenceOf(change.key));
    this.#row(change.key);
    for (const id of change.ids) {
      const letter = this.#mail.get(id);
      if (letter?.to !== change.key || letter.takenAtMs !== null) {
        throw new Fault("stale_writer", `${change.key} has no waiting letter ${id}`);
      }
      commit.put(this.#mail, id, { ...letter, content: [], takenAtMs: atMs });
    }
  }

  #post(change: Of<"post">, commit: Commit, atMs: number): void {
    const { letter } = change;
    const { print } = sealLetter(letter);
    const known = this.#mail.get(letter.id);
    if (known) {
      if (known.print !== print)
        throw new Fault("conflict", `${letter.id} was posted before with other content`);
      commit.posts.push({ id: letter.id, to: known.to, repeated: true });
      return;
    }
    const address = forwardTo(change.to, (key) => this.#rows.get(key)?.state.kind ?? null);
    if (!address)
      throw nobodyReads(
        change.to,
        change.to.some((key) => this.#rows.has(key)),
      );
    if (isCapped(letter) && this.#waiting(address.to).filter(isCapped).length >= MAILBOX_LETTERS_MAX) {
      throw new Fault("mailbox_full", `${MAILBOX_LETTERS_MAX} letters wait for ${address.to} already`);
    }
    commit.put(this.#mail, letter.id, {
      ...letter,
      ...address,
      print,
      postedAtMs: atMs,
      takenAtMs: null,
      n: (this.#posted += 1),
    });
    commit.posts.push({ id: letter.id, to: address.to, repeated: false });
  }

  #delete(row: Session, commit: Commit): void {
    commit.put(this.#rows, row.key, null);
    commit.put(this.#lines, row.transcript.id, null);
    for (const [id, letter] of this.#mail) if (letter.to === row.key) commit.put(this.#mail, id, null);
    for (const [id, timer] of this.#timers) if (timer.key === row.key) commit.put(this.#timers, id, null);
    for (const [id, outgoing] of this.#outbox)
      if (outgoing.key === row.key) commit.put(this.#outbox, id, null);
    commit.touched.add(row.key);
  }

  async session(key: SessionKey): Promise<Session | null> {
    return this.#rows.get(key) ?? null;
  }

  async sessions(query: S.SessionQuery): Promise<S.Page<Session>> {
    const prefix = query.titlePrefix?.toLowerCase();
    const rows = [...this.#rows.values()].filter(
      (row) =>
        (query.agent === undefined || row.agent === query.agent) &&
        (query.kind === undefined || row.kind === query.kind) &&
        (query.state === undefined || row.state.kind === query.state) &&
        (query.parent === undefined || row.parent === query.parent) &&
        (query.label === undefined || row.settings.label === query.label) &&
        (prefix === undefined || shownTitle(row).toLowerCase().startsWith(prefix)) &&
        (query.updatedSinceMs === undefined || row.updatedAtMs >= query.updatedSinceMs),
    );
    if (prefix === undefined) rows.sort((a, b) => b.updatedAtMs - a.updatedAtMs);
    else rows.sort((a, b) => (shownTitle(a).toLowerCase() < shownTitle(b).toLowerCase() ? -1 : 1));
    return pageOf(rows, query);
  }

  async *entries(transcript: string, range: S.Range): AsyncIterable<Entry> {
    const row = [...this.#rows.values()].find((each) => each.transcript.id === transcript);
    if (!row) throw new Fault("not_found", `there is no transcript ${transcript}`);
    if ("since" in range) {
      yield* (this.#lines.get(transcript) ?? []).filter((entry) => entry.seq >= range.since);
      return;
    }
    const path = this.#path(row);
    if ("before" in range) {
      yield* path.filter((entry) => range.before === null || entry.seq < range.before).toReversed();
      return;
    }
    const from = range.from === "context" ? row.transcript.contextSeq : range.from;
    yield* path.filter((entry) => entry.seq >= from);
  }

  #path(row: Session): Entry[] {
    const byId = new Map((this.#lines.get(row.transcript.id) ?? []).map((entry) => [entry.id, entry]));
    const path: Entry[] = [];
    for (let entry = byId.get(row.transcript.leafId ?? ""); entry; entry = byId.get(entry.parentId ?? ""))
      path.unshift(entry);
    return path;
  }

  async mail(key: SessionKey, page: S.PageOf): Promise<S.Page<Mail>> {
    const letters = this.#waiting(key).map(
      ({ others: _others, print: _print, takenAtMs: _taken, n: _n, ...letter }) => letter,
    );
    return pageOf(letters, page);
  }

  async outbox(query: S.PageOf & { readonly refused: boolean }): Promise<S.Page<Outgoing>> {
    return pageOf(
      [...this.#outbox.values()].filter((each) => (each.refused !== null) === query.refused),
      query,
    );
  }

  async timers(query: S.PageOf & { readonly dueByMs: number }): Promise<S.Page<Timer>> {
    const due = [...this.#timers.values()].filter((timer) => timer.dueAtMs <= query.dueByMs);
    return pageOf(
      due.toSorted((a, b) => a.dueAtMs - b.dueAtMs),
      query,
    );
  }

  async search(query: S.SearchQuery): Promise<S.Hits> {
    const words = query.text
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word !== "");
    const hits: S.Hits["hits"][number][] = [];
    for (const row of this.#rows.values()) {
      if (query.agent !== undefined && row.agent !== query.agent) continue;
      if (query.key !== undefined && row.key !== query.key) continue;
      for (const entry of this.#lines.get(row.transcript.id) ?? []) {
        const text = textOf(entry).toLowerCase();
        const found = words.length > 0 && words.every((word) => text.includes(word));
        if (found)
          hits.push({
            key: row.key,
            transcript: row.transcript.id,
            seq: entry.seq,
            snippet: textOf(entry).slice(0, 160),
          });
      }
    }
    return { hits: hits.slice(0, query.limit ?? 20), behind: 0 };
  }

  async putBlob(bytes: Uint8Array): Promise<BlobName> {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#blobs.set(sha256, bytes.slice());
    return { sha256, bytes: bytes.length };
  }

  async readBlob(
    sha256: string,
    range: { readonly from: number; readonly bytes: number },
  ): Promise<Uint8Array | null> {
    return this.#blobs.get(sha256)?.slice(range.from, range.from + range.bytes) ?? null;
  }

  async claim(owner: string, leaseMs: number, limit: number): Promise<readonly S.Claim[]> {
    const nowMs = this.#world.nowMs();
    const ready = [...this.#rows.values()].filter(
      (row) => this.#leases.isFree(row.key, nowMs) && hasWork(row, this.#waiting(row.key).length > 0),
    );
    return ready.slice(0, limit).map((row) => this.#leases.claim(owner, row.key, nowMs + leaseMs));
  }

  async renew(owner: string, keys: readonly SessionKey[], leaseMs: number): Promise<readonly S.Claim[]> {
    return this.#leases.renew(owner, keys, this.#world.nowMs() + leaseMs);
  }

  async release(owner: string, keys: readonly SessionKey[]): Promise<void> {
    this.#leases.release(owner, keys);
  }

  async changesSince(
    cursor: string | null,
  ): Promise<{ readonly changes: readonly S.Changed[]; readonly cursor: string }> {
    const seen = cursor === null ? this.#groups : Number(cursor);
    const forgotten = this.#groups - this.#feed.length;
    if (!Number.isInteger(seen) || seen < forgotten)
      throw new Fault("cursor_expired", "the feed does not reach back that far");
    return { changes: this.#feed.slice(seen - forgotten).flat(), cursor: String(this.#groups) };
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #row(key: SessionKey): Session {
    const row = this.#rows.get(key);
    if (!row) throw new Fault("not_found", `there is no session ${key}`);
    return row;
  }

  #keep(row: Session, commit: Commit): void {
    commit.put(this.#rows, row.key, row);
    commit.touched.add(row.key);
  }

  #waiting(key: SessionKey): Kept[] {
    const waiting = [...this.#mail.values()].filter(
      (letter) => letter.to === key && letter.takenAtMs === null,
    );
    return waiting.sort((a, b) => a.n - b.n);
  }

  #expectTimer(id: string, dueAtMs: number | null): void {
    const due = this.#timers.get(id)?.dueAtMs ?? null;
    if (due !== dueAtMs) throw new Fault("stale_writer", `timer ${id} is due at ${due}, not at ${dueAtMs}`);
  }

  #forgetOldIds(): void {
    const before = this.#world.nowMs() - MAIL_ID_KEPT_MS;
    for (const [id, letter] of this.#mail) {
      if (letter.takenAtMs !== null && letter.takenAtMs < before && id.startsWith("ext:"))
        this.#mail.delete(id);
    }
  }

  #changed(key: SessionKey): S.Changed {
    const row = this.#rows.get(key);
    return { key, lastSeq: row?.transcript.lastSeq ?? 0, deleted: row === undefined };
  }
}

/** What one commit did so far, and how to take it back. */
class Commit {
  readonly touched = new Set<SessionKey>();
  readonly seqs: Record<string, number> = {};
  readonly posts: S.Posted[] = [];
  readonly #undo: (() => void)[] = [];

  /** Null removes. */
  put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | null): void {
    const before = map.get(key);
    this.#undo.push(() => (before === undefined ? map.delete(key) : map.set(key, before)));
    if (value === null) map.delete(key);
    else map.set(key, value);
  }

  undo(): void {
    for (const step of this.#undo.reverse()) step();
  }
}

function pageOf<Row>(rows: readonly Row[], page: S.PageOf): S.Page<Row> {
  const from = Number(page.cursor ?? 0);
  const limit = Math.min(page.limit ?? 100, PAGE_ROWS_MAX);
  const next = from + limit < rows.length ? String(from + limit) : null;
  return { rows: rows.slice(from, from + limit), next };
}
