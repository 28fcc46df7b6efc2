// One commit to the memory engine. It changes the tables one change after the other and writes down how to undo
// each, so that a change which is refused takes the ones before it back (S1).

import { Fault } from "../../base/fault.ts";
import { COMMIT_BYTES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session, Tail } from "../../sessions/session.ts";
import { encodeDraft, stamp } from "../../transcript/codec.ts";
import { blobsOf, entryId, unstamped, type Draft, type Entry } from "../../transcript/entry.ts";
import { contextStart, contextTokensIn, isPersonal, titleOf } from "../../transcript/fold.ts";
import type { Leases } from "../leases.ts";
import { checkRead, companionOf } from "../letters.ts";
import { born, checkParent } from "../opened.ts";
import {
  above,
  appendedRow,
  changedRow,
  chargedAbove,
  checkAppend,
  checkContext,
  checkDue,
  checkFence,
  checkSame,
  checkUntouched,
  checkVersion,
  tell,
  type Of,
  type RowChange,
} from "../rules.ts";
import type { Change, Posted } from "../change.ts";
import type { Changed } from "../store.ts";
import { archive, purge, purgeAll, restore, type Changing } from "./archiving.ts";
import { lookBack, NOTHING, type Before } from "./lookback.ts";
import { forward, post, take } from "./mailroom.ts";
import { rotate } from "./rotating.ts";
import type { Tables } from "./tables.ts";

export class Commit {
  readonly told = new Map<string, Changed>();
  readonly seqs: Record<string, number> = {};
  readonly posts: Posted[] = [];
  readonly forwarded = new Set<SessionKey>();
  /** Blobs that new entries name, and blobs whose session is gone. */
  readonly named: string[] = [];
  readonly orphaned: string[] = [];
  readonly #tables: Tables;
  readonly #leases: Leases;
  readonly #atMs: number;
  readonly #undo: (() => void)[] = [];
  readonly #changing: Changing;
  #bytes = 0;

  constructor(tables: Tables, leases: Leases, atMs: number) {
    this.#tables = tables;
    this.#leases = leases;
    this.#atMs = atMs;
    this.#changing = {
      tables,
      atMs,
      put: (map, key, value) => this.#put(map, key, value),
      bury: (transcript, key) => this.#bury(transcript, key),
    };
  }

  /** Throws the first refusal, and then nothing has happened. */
  apply(changes: readonly Change[]): void {
    // A copy, and what a rewind goes back to, are of the history as it was before this commit.
    const before = changes.map((change) => lookBack(this.#tables, change));
    try {
      for (const [at, change] of changes.entries()) this.#change(change, before[at] ?? NOTHING);
    } catch (error) {
      for (const step of this.#undo.reverse()) step();
      throw error;
    }
  }

  #change(change: Change, before: Before): void {
    const letter = companionOf(change);
    if (letter !== null && this.#tables.letter(letter, this.#atMs) !== null) return;
    switch (change.do) {
      case "open":
        return this.#open(change, before);
      case "append":
        return this.#append(change, before);
      case "take":
        this.#tables.session(change.key);
        checkFence(change.key, change.fence, this.#leases.fenceOf(change.key));
        return take(this.#changing, change);
      case "post":
        this.posts.push(post(this.#changing, change));
        return;
      case "setTimer":
        checkDue(change.timer.id, this.#dueOf(change.timer.id), change.expectDueAtMs);
        this.#tables.session(change.timer.key);
        return this.#put(this.#tables.timers, change.timer.id, {
          ...change.timer,
          body: plain(change.timer.body ?? null),
        });
      case "clearTimer":
        checkDue(change.id, this.#dueOf(change.id), change.expectDueAtMs);
        return this.#put(this.#tables.timers, change.id, null);
      case "setJob":
        checkVersion(change, this.#tables.jobs.get(change.job.id)?.version ?? null);
        return this.#put(this.#tables.jobs, change.job.id, plain(change.job));
      case "clearJob":
        checkVersion(change, this.#tables.jobs.get(change.id)?.version ?? null);
        return this.#put(this.#tables.jobs, change.id, null);
      case "send":
        return this.#send(change);
      case "settle":
        return this.#settle(change);
      case "rotate":
        return this.#rotate(change, before);
      case "archive":
        archive(this.#changing, change);
        this.#undo.push(this.#leases.forget(change.key));
        return tell(this.told, { key: change.key, lastSeq: 0, deleted: true });
      case "restore":
        return this.#restore(change);
      case "purge":
        return purge(this.#changing, change.archive);
      case "delete":
        return this.#delete(change);
      default:
        return this.#row(plain(change));
    }
  }

  #restore(change: Of<"restore">): void {
    const row = restore(this.#changing, change);
    if (change.over !== null) {
      this.#undo.push(this.#leases.forget(row.key));
      tell(this.told, { key: row.key, lastSeq: 0, deleted: true });
    }
    this.#keep(row);
  }

  #row(change: RowChange): void {
    const { row } = this.#tables.session(change.key);
    this.#keep(changedRow(row, change, this.#leases.fenceOf(change.key), this.#atMs));
    if (change.do === "charge")
      for (const ancestor of above(row, (key) => this.#tables.sessions.get(key)?.row ?? null))
        this.#keep(chargedAbove(ancestor, change.usage));
    if (change.do === "run" && change.state.kind === "ended")
      checkRead(change.key, forward(this.#changing, this.#tables.waitingFor(change.key), this.forwarded));
  }

  #open(change: Of<"open">, { copied, of, missing }: Before): void {
    const existing = this.#tables.sessions.has(change.key);
    if (existing && change.ifExists === "refuse") throw new Fault("exists", `${change.key} exists already`);
    if (existing) return;
    this.#tables.checkNew(change.transcript);
    const parent = change.parent === null ? null : this.#tables.session(change.parent).row;
    checkParent(parent);
    const source = change.copy === null ? null : this.#tables.session(change.copy.of).row;
    if (missing !== null) throw missing;
    if (source !== null) this.#checkSame(source, of);
    const { row, header } = born(change, { parent, source, copied: copied.length, atMs: this.#atMs });
    this.#put(this.#tables.lines, change.transcript, []);
    this.#put(this.#tables.headers, change.transcript, header);
    this.#put(this.#tables.sessions, row.key, { n: this.#tables.next(), row });
    this.#keep(row);
    this.seqs[change.key] = 0;
    if (copied.length === 0) return;
    const contextSeq = contextStart(copied.map((entry, at) => ({ ...entry, seq: at + 1 })));
    this.#write(row, copied.map(unstamped), { rewindTo: null, contextSeq, isCopy: true });
  }

  #append(change: Of<"append">, { of, missing }: Before): void {
    const { row } = this.#tables.session(change.key);
    checkAppend(row, change, this.#leases.fenceOf(change.key));
    if (missing !== null) throw missing;
    if (change.rewindTo !== null) this.#checkSame(row, of);
    checkContext(row, change);
    const fresh = change.entries.map((draft) => ({ id: null, draft }));
    const rewindTo = change.rewindTo?.id ?? null;
    this.#write(row, fresh, { rewindTo, contextSeq: change.contextSeq, isCopy: false });
    this.named.push(...change.entries.flatMap(blobsOf));
  }

  #write(
    row: Session,
    fresh: readonly { readonly id: string | null; readonly draft: Draft }[],
    how: { readonly rewindTo: string | null; readonly contextSeq: number | null; readonly isCopy: boolean },
  ): void {
    const { transcript } = row;
    const made: Entry[] = [];
    const before = this.#bytes;
    let leafId = how.rewindTo ?? transcript.leafId;
    for (const [at, { id: given, draft }] of fresh.entries()) {
      const seq = transcript.lastSeq + at + 1;
      const id = given ?? entryId(transcript.id, seq);
      const line = stamp(encodeDraft(draft), id, leafId, seq);
      this.#weigh(Buffer.byteLength(line));
      made.push(JSON.parse(line) as Entry);
      leafId = id;
    }
    const { lines, blobNames } = this.#tables;
    this.#put(lines, transcript.id, [...(lines.get(transcript.id) ?? []), ...made]);
    const names = new Set(blobNames.get(transcript.id)).union(new Set(made.flatMap(blobsOf)));
    this.#put(blobNames, transcript.id, names);
    const appended = {
      count: made.length,
      bytes: this.#bytes - before,
      leafId: leafId ?? "",
      jumped: how.rewindTo !== null && how.rewindTo !== transcript.leafId,
      title: fresh.map(({ draft }) => titleOf(draft)).find((title) => title !== null) ?? null,
      contextSeq: how.contextSeq,
      contextTokens: contextTokensIn(fresh.map(({ draft }) => draft)),
      isPersonal: !how.isCopy && fresh.some(({ draft }) => isPersonal(draft)),
    };
    const next = appendedRow(row, appended, this.#atMs);
    this.#keep(next);
    this.seqs[row.key] = next.transcript.lastSeq;
  }

  /** What was read for a change is of this history; meanwhile the session may be another one of the same key. */
  #checkSame(row: Session, of: Tail | null): void {
    checkSame(row.key, this.#tables.newest(of?.id ?? "") === row.transcript.id);
  }

  #rotate(change: Of<"rotate">, { of }: Before): void {
    const fence = this.#leases.fenceOf(change.key);
    const { row, bytes } = rotate(this.#changing, change, { fence, seen: of });
    this.#weigh(bytes);
    this.#keep(row);
  }

  #send({ outgoing }: Of<"send">): void {
    this.#tables.session(outgoing.key);
    if (this.#tables.outbox.has(outgoing.id))
      throw new Fault("conflict", `${outgoing.id} is in the outbox already`);
    const row = { ...plain(outgoing), postedAtMs: this.#atMs, refused: null };
    this.#put(this.#tables.outbox, outgoing.id, { n: this.#tables.next(), row });
  }

  #settle({ id, refused }: Of<"settle">): void {
    const outgoing = this.#tables.outbox.get(id);
    if (!outgoing) throw new Fault("not_found", `nothing in the outbox is called ${id}`);
    const kept = refused === null ? null : { ...outgoing, row: { ...outgoing.row, refused } };
    this.#put(this.#tables.outbox, id, kept);
  }

  #delete({ key, expect }: Of<"delete">): void {
    const tables = this.#tables;
    const { row } = tables.session(key);
    const { transcript } = row;
    const waiting = tables.waitingFor(key);
    const children = tables.sessions.values().some((each) => each.row.parent === key);
    checkUntouched(row, expect, { mail: waiting.length > 0, children });
    this.#put(tables.sessions, key, null);
    forward(this.#changing, waiting, this.forwarded);
    for (const id of [transcript.id, ...tables.olderOf(transcript.id)]) this.#bury(id, key);
    purgeAll(this.#changing, key);
    for (const letter of tables.waitingFor(key)) this.#put(tables.waiting, letter.row.id, null);
    for (const [id, letter] of tables.taken)
      if (letter.to === key && !id.startsWith("ext:")) this.#put(tables.taken, id, null);
    for (const [id, timer] of tables.timers) if (timer.key === key) this.#put(tables.timers, id, null);
    for (const [id, { row }] of tables.outbox) if (row.key === key) this.#put(tables.outbox, id, null);
    this.#undo.push(this.#leases.forget(key));
    tell(this.told, { key, lastSeq: 0, deleted: true });
  }

  /** One file goes, with what it names. */
  #bury(transcript: string, key: SessionKey): void {
    const { lines, headers, older, blobNames, tombstones } = this.#tables;
    this.orphaned.push(...(blobNames.get(transcript) ?? []));
    for (const map of [lines, headers, older, blobNames] as Map<string, unknown>[])
      this.#put(map, transcript, null);
    this.#put(tombstones, transcript, key);
  }

  #dueOf(timer: string): number | null {
    return this.#tables.timers.get(timer)?.dueAtMs ?? null;
  }

  #weigh(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > COMMIT_BYTES_MAX)
      throw new Fault("bad_input", `more than ${COMMIT_BYTES_MAX} bytes in one commit`);
  }

  #keep(row: Session): void {
    this.#put(this.#tables.sessions, row.key, { ...this.#tables.session(row.key), row });
    tell(this.told, { key: row.key, lastSeq: row.transcript.lastSeq, deleted: false });
  }

  /** Null removes. */
  #put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | null): void {
    const before = map.get(key);
    this.#undo.push(() => (before === undefined ? map.delete(key) : map.set(key, before)));
    if (value === null) map.delete(key);
    else map.set(key, value);
  }
}

/** As it would come back from a disk, and out of reach of whoever handed it in. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
