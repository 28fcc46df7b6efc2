// Local store
//
// The default engine: SQLite and JSONL files on one machine, no server. This is its face on the main thread,
// which encodes what goes in, decodes what comes out, and never waits for a disk.
//
//   Owns:      the home (owner.ts), and its threads: writer, reader, search, and the packer when it is needed (packing.ts).
//   Does not:  decide what a change means (rules.ts).
//
// Invariants
//   M1. Commits reach the writer in the order they were made, except that a fork, a rewind or a new file is read for first
//       and comes when that is done; its expectations are checked then.
//   M2. If a thread dies, the store is dead: whoever waits hears `outcome_unknown`, and `died` is told why.

import { Fault, faultFrom } from "../../base/fault.ts";
import type { Log } from "../../base/log.ts";
import type { World } from "../../base/world.ts";
import type { Mail, Outgoing } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Job } from "../../timers/job.ts";
import type { Timer } from "../../timers/timer.ts";
import type { BlobName, Entry, Gap } from "../../transcript/entry.ts";
import { checkChanges } from "../check.ts";
import { checkQuestion } from "../shape.ts";
import type { Change, Receipt } from "../change.ts";
import type * as S from "../store.ts";
import { addedUp } from "./addedup.ts";
import { hashOf, readBlob, writeBlob } from "./blobs.ts";
import { Committing } from "./committing.ts";
import type { Stop } from "./history.ts";
import { decoded } from "./lookback.ts";
import { takeHome, type Owner } from "./owner.ts";
import { Packing, startPacker } from "./packing.ts";
import { pathsIn, type Paths } from "./paths.ts";
import type { FromReader, Questions, ToReader } from "./reader.ts";
import { Searching } from "./searching.ts";
import { Thread } from "./thread.ts";
import { asDiskFault } from "./trouble.ts";
import { UnderWay } from "./underway.ts";
import {
  type FromWriter,
  type Notice,
  type Results,
  type ToWriter,
  type WireChange,
  type WriterAnswer,
  type WriterAsk,
} from "./wire.ts";

export interface LocalParts {
  readonly world: World;
  readonly log: Log;
  /** Told once, when the store cannot go on. The process should say why and stop. */
  readonly died: (fault: Fault) => void;
}

export class LocalStore implements S.Store {
  readonly #parts: LocalParts;
  readonly #paths: Paths;
  readonly #owner: Owner;
  readonly #writer: Thread<ToWriter, FromWriter>;
  readonly #reader: Thread<ToReader, FromReader>;
  readonly #search: Searching;
  readonly #underWay = new UnderWay((commits) => this.#writer.post({ do: "commits", commits }));
  readonly #listeners = new Set<() => void>();
  readonly #committing = new Committing(
    {
      session: (key) => this.session(key),
      lines: (transcript, range) => this.#lines(transcript, range),
      end: (key, keep) => this.#question("end", { key, keep }),
    },
    (changes) => this.#enqueue(changes),
  );
  readonly #packing = new Packing({
    start: () => startPacker(this.#paths.home, (fault) => this.#die(fault)),
    ask: (ask) => this.#ask(ask),
    unnamed: (names) => this.#question("unnamed", { names }),
    tell: (notice) => this.#tell(notice),
    nowMs: () => this.#parts.world.nowMs(),
  });
  #closing: Promise<void> | null = null;
  #ended: Fault | null = null;
  #dead = false;

  /** Takes the home, recovers what an unclean stop left, and is ready when it resolves. */
  static async open(home: string, parts: LocalParts): Promise<LocalStore> {
    const paths = pathsIn(home);
    const owner = takeHome(paths, parts.world.nowMs()); // before anything else of the home is touched (O1)
    if (owner.warning !== null) parts.log.warn({ home }, owner.warning);
    const store = new LocalStore(paths, owner, parts);
    try {
      await store.#writer.ready();
    } catch (error) {
      await store.#letGo();
      throw error;
    }
    store.#search.look(); // what an earlier process left to it
    return store;
  }

  private constructor(paths: Paths, owner: Owner, parts: LocalParts) {
    this.#parts = parts;
    this.#paths = paths;
    this.#owner = owner;
    const died = (fault: Fault): void => this.#die(fault);
    this.#writer = new Thread("writer", paths.home, { hear: (message) => this.#hearWriter(message), died });
    this.#reader = new Thread("reader", paths.home, {
      hear: ({ id, answer }) => this.#reader.settle(id, answer),
      died,
    });
    this.#search = new Searching(paths.home, { log: parts.log, died });
  }

  async commit(changes: readonly Change[]): Promise<Receipt> {
    checkChanges(changes);
    if (changes.some(({ do: what }) => what === "delete" || what === "purge")) this.#packing.forgetWeight();
    return await this.#committing.commit(changes);
  }

  #enqueue(changes: readonly WireChange[]): Promise<Receipt> {
    if (this.#ended) return Promise.reject(this.#ended);
    return this.#underWay.add(changes, this.#parts.world.nowMs());
  }

  #hearWriter(message: FromWriter): void {
    switch (message.say) {
      case "done":
        this.#underWay.settle(JSON.parse(message.results) as Results);
        this.#search.look();
        for (const listener of this.#listeners) listener();
        break;
      case "answer":
        this.#writer.settle(message.id, message.answer);
        break;
      case "notice":
        this.#tell(message.notice);
        break;
      case "dead":
        this.#die(faultFrom(message.fault));
    }
  }

  #tell({ count, what, message }: Notice): void {
    this.#parts.log.warn({ count, what }, message);
  }

  /** M2. Also while it is being closed: whoever waits for that must hear of it too. */
  #die(fault: Fault): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#ended ??= new Fault("closed", `the store stopped: ${fault.message}`);
    this.#underWay.fail(new Fault("outcome_unknown", fault.message));
    for (const thread of this.#threads()) thread.fail(fault);
    this.#parts.log.fatal({ code: fault.code }, fault.message);
    this.#parts.died(fault);
  }

  async session(key: SessionKey): Promise<Session | null> {
    checkQuestion("session", { key });
    return await this.#question("session", { key });
  }

  async sessions(query: S.SessionQuery): Promise<S.Page<Session>> {
    checkQuestion("sessions", query);
    return await this.#question("sessions", query);
  }

  async *entries(transcript: string, range: S.Range): AsyncIterable<Entry | Gap> {
    checkQuestion("entries", { transcript, range });
    for await (const line of this.#lines(transcript, range))
      yield typeof line === "string" ? decoded(line) : line;
  }

  async *#lines(transcript: string, range: S.Range): AsyncIterable<string | Gap> {
    let stop: Stop | null = null;
    do {
      const page: Questions["entries"]["answer"] = await this.#question("entries", {
        transcript,
        range,
        stop,
      });
      yield* page.items;
      stop = page.stop;
    } while (stop !== null);
  }

  async mail(key: SessionKey, page: S.PageOf): Promise<S.Page<Mail>> {
    checkQuestion("mail", { ...page, key });
    return await this.#question("mail", { ...page, key });
  }

  async waiting(key: SessionKey, most: number): Promise<number> {
    checkQuestion("waiting", { key, most });
    return await this.#question("waiting", { key, most });
  }

  async outbox(query: S.OutboxQuery): Promise<S.Page<Outgoing>> {
    checkQuestion("outbox", query);
    return await this.#question("outbox", query);
  }

  async timers(query: S.TimerQuery): Promise<S.Page<Timer>> {
    checkQuestion("timers", query);
    return await this.#question("timers", query);
  }

  async jobs(query: S.JobQuery): Promise<S.Page<Job>> {
    checkQuestion("jobs", query);
    return await this.#question("jobs", query);
  }

  async search(query: S.SearchQuery): Promise<S.Hits> {
    checkQuestion("search", query);
    return await this.#search.find(query);
  }

  async archives(query: S.ArchiveQuery): Promise<S.Page<S.Archive>> {
    checkQuestion("archives", query);
    return await this.#question("archives", query);
  }

  async holdings(page: S.PageOf): Promise<S.Page<S.Holding>> {
    checkQuestion("holdings", page);
    return await this.#question("holdings", page);
  }

  async use(): Promise<S.Use> {
    const sums = await addedUp((what, ask) => this.#question(what, ask));
    return { ...sums, blobs: await this.#packing.blobBytes() };
  }

  async pack(archive: string): Promise<void> {
    checkQuestion("pack", { archive });
    await this.#packing.move(archive, "packed");
  }

  async unpack(archive: string): Promise<void> {
    checkQuestion("unpack", { archive });
    await this.#packing.move(archive, "plain");
  }

  async collect(part: { readonly cursor: string | null; readonly isDry: boolean }): Promise<S.Collected> {
    checkQuestion("collect", part);
    return await this.#packing.collect(part);
  }

  async putBlob(bytes: Uint8Array): Promise<BlobName> {
    checkQuestion("putBlob", { bytes });
    const sha256 = await hashOf(bytes);
    // Held before it is written, so that a session being erased now does not take it along.
    await this.#ask({ what: "hold", sha256, nowMs: this.#parts.world.nowMs() });
    return await writeBlob(this.#paths, sha256, bytes, this.#parts.world.nowMs()).catch(
      asDiskFault("the blob was not kept"),
    );
  }

  async readBlob(
    sha256: string,
    range: { readonly from: number; readonly bytes: number },
  ): Promise<Uint8Array | null> {
    checkQuestion("readBlob", { sha256, range });
    if (this.#ended) throw this.#ended;
    return await readBlob(this.#paths, sha256, range).catch(asDiskFault("the blob cannot be read"));
  }

  async claim(owner: string, leaseMs: number, limit: number): Promise<readonly S.Claim[]> {
    checkQuestion("claim", { owner, leaseMs, limit });
    const nowMs = this.#parts.world.nowMs();
    const given = await this.#ask({ what: "claim", owner, nowMs, leaseMs, limit });
    return (given as readonly S.Claim[] | null) ?? [];
  }

  async renew(claims: readonly S.Claim[], leaseMs: number): Promise<readonly S.Claim[]> {
    checkQuestion("renew", { claims, leaseMs });
    const untilMs = this.#parts.world.nowMs() + leaseMs;
    return ((await this.#ask({ what: "renew", claims, untilMs })) as readonly S.Claim[] | null) ?? [];
  }

  async release(claims: readonly S.Claim[]): Promise<void> {
    checkQuestion("release", { claims });
    await this.#ask({ what: "release", claims });
  }

  async changesSince(
    cursor: string | null,
  ): Promise<{ readonly changes: readonly S.Changed[]; readonly cursor: string }> {
    checkQuestion("changesSince", { cursor });
    return await this.#question("feed", { cursor });
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Everything committed so far is in its file and synced: what a copy of the files needs. */
  async checkpoint(): Promise<void> {
    await this.#ask({ what: "checkpoint" });
  }

  /** However often it is called, it happens once, and all hear when it is done. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#committing.read();
    await this.#packing.close();
    try {
      if (this.#ended) return;
      const closing = this.#ask({ what: "close" });
      this.#ended = new Fault("closed", "the store is closed");
      await closing;
    } finally {
      await this.#letGo();
    }
  }

  async #letGo(): Promise<void> {
    this.#ended ??= new Fault("closed", "the store is closed");
    // One after the other: of two that let go of the database at the same moment neither is the last, and its log would stay.
    for (const thread of this.#threads()) await thread.stop();
    this.#owner.release();
  }

  #threads(): Pick<Thread<unknown, unknown>, "fail" | "stop">[] {
    return [
      this.#writer,
      this.#reader,
      this.#search.thread,
      ...(this.#packing.thread === null ? [] : [this.#packing.thread]),
    ];
  }

  async #ask(ask: WriterAsk): Promise<WriterAnswer> {
    if (this.#ended) throw this.#ended;
    this.#underWay.flush(); // so that a question comes after what was committed before it
    return await this.#writer.ask((id) => ({ do: "ask", id, ask }));
  }

  async #question<What extends keyof Questions>(
    what: What,
    ask: Questions[What]["ask"],
  ): Promise<Questions[What]["answer"]> {
    if (this.#ended) throw this.#ended;
    return await this.#reader.ask((id) => ({ id, what, ask }) as ToReader);
  }
}
