// Lanes
//
// One lane for each session that this process owns: what is to be done in a session is done there, one thing after the
// other. It finds sessions with work, claims them, keeps the claims alive, and lets go of sessions that are idle.
//
//   Owns:      the claims of this process, and whether something runs in a session.
//   Does not:  know what a turn is (turns/), or decide whose step is next (slots.ts).
//
// Invariants
//   L1. At most one work() of a session runs at any instant, in any process: holding the claim is the write lock.
//   L2. Whoever is poked while it works, works again afterwards: no letter that arrives meanwhile is overlooked.
//   L3. Work that throws frees the lane, is logged, and is tried again later. It never stops other lanes.
//   L4. A session without work costs nothing here, but for the last HOT_SESSIONS_MAX of them.
//   L5. What another process left, or what no hint told of, is found by asking the store again.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { HOT_SESSIONS_MAX, LEASE_MS, LEASE_RENEWED_MS, PAGE_ROWS_MAX } from "../limits.ts";
import type { Mail } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Signal } from "../sessions/session.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Claim, Store } from "../store/store.ts";

/** What a lane runs. */
export interface Worker {
  /** All that is to be done in the session now. */
  work(): Promise<void>;
  /** A letter was posted to it. */
  arrive(mail: Mail): void;
  /** It has letters that were another's. */
  forwarded(): void;
  /** A setting or a signal of it changed. `signal`: the wish that was sent; null: none was. */
  changed(signal: Signal | null): void;
  /** Something is under way that outlasts work(): the session is not to be let go yet. */
  readonly isBusy: boolean;
  /** Stop at the next safe point; work() returns then. What was going on is gone on with by whoever has it next. */
  leave(): Promise<void>;
}

export interface LaneParts<Of extends Worker> {
  readonly store: Store;
  readonly world: World;
  readonly log: Log;
  /** Null: the session is gone. */
  readonly begin: (claim: Claim) => Promise<Of | null>;
}

interface Lane<Of extends Worker> {
  readonly claim: Claim;
  worker: Of | null; //            null: it is being made
  poked: boolean;
  running: Promise<void> | null; //    null: idle
  idleSinceMs: number;
  failures: number;
  isLost: boolean; //              another claim of the session is in force: this one's work is not begun again
}

/** The first pause after work that threw; doubled each time, up to some minutes. */
const FAILED_PAUSE_MS = 1_000;

export class Lanes<Of extends Worker> {
  readonly #parts: LaneParts<Of>;
  readonly #owner: string;
  readonly #lanes = new Map<SessionKey, Lane<Of>>();
  readonly #idle = new Map<SessionKey, Lane<Of>>(); // longest idle first
  readonly #closing = new AbortController();
  #claiming: "no" | "yes" | "and again" = "no";
  #claims: Promise<void> = Promise.resolve();
  #tending: Promise<void> = Promise.resolve();

  constructor(parts: LaneParts<Of>) {
    this.#parts = parts;
    this.#owner = parts.world.newId();
  }

  /** From now on, what has work is found and done. */
  start(): void {
    this.#claimSoon();
    this.#tending = this.#tend();
  }

  /** Null: this process does not have the session, or has it only just. */
  worker(key: SessionKey): Of | null {
    return this.#lanes.get(key)?.worker ?? null;
  }

  /** How many sessions something runs in. */
  get running(): number {
    return this.#lanes.size - this.#idle.size;
  }

  /** A commit of this process is durable: whoever it concerns hears of it. */
  told(changes: readonly Change[], receipt: Receipt): void {
    let posts = 0;
    for (const change of changes) {
      if (change.do === "post") {
        const posted = receipt.posts[posts++];
        if (posted && !posted.repeated)
          this.#arrived({ ...change.letter, to: posted.to, postedAtMs: this.#parts.world.nowMs() });
      } else if (change.do === "delete" || change.do === "archive") {
        this.#deleted(change.key);
      } else if (change.do === "restore" && change.over !== null) {
        this.#deleted(change.over.key);
        this.#claimSoon(); // What the key is owed, such as an answer, is another's affair now.
      } else if (change.do === "set" || change.do === "signal" || change.do === "revive") {
        this.#changed(change.key, change.do === "signal" ? change.signal : null);
      } else if (change.do === "send" && !this.#lanes.has(change.outgoing.key)) {
        this.#claimSoon(); // An answer that no turn gave: somebody has to deliver it.
      }
    }
    for (const key of receipt.forwarded) {
      const lane = this.#lanes.get(key);
      lane?.worker?.forwarded();
      this.#wake(lane);
    }
  }

  #arrived(mail: Mail): void {
    const lane = this.#lanes.get(mail.to);
    lane?.worker?.arrive(mail);
    this.#wake(lane);
  }

  #changed(key: SessionKey, signal: Signal | null): void {
    const lane = this.#lanes.get(key);
    lane?.worker?.changed(signal);
    this.#wake(lane);
  }

  /** Its claim went with it. What a worker knows of it must not be taken for one that is opened anew under its key. */
  #deleted(key: SessionKey): void {
    const lane = this.#lanes.get(key);
    if (lane?.running === null) this.#lose(lane);
    else this.#changed(key, null); // It finds out by itself: it has just deleted itself, or its next commit is refused.
  }

  /** Resolves when nothing runs any more and every claim is given back. */
  async close(): Promise<void> {
    this.#closing.abort(new Fault("closed", "the gateway is closing"));
    await this.#claims;
    const lanes = [...this.#lanes.values()];
    await Promise.all(lanes.flatMap((lane) => [lane.worker?.leave(), lane.running]));
    await this.#tending;
    await this.#release(lanes);
  }

  #wake(lane: Lane<Of> | undefined): void {
    if (lane) this.#poke(lane);
    else this.#claimSoon();
  }

  #poke(lane: Lane<Of>): void {
    lane.poked = true;
    if (lane.running !== null || this.#closing.signal.aborted) return;
    this.#idle.delete(lane.claim.key);
    lane.running = this.#run(lane);
  }

  async #run(lane: Lane<Of>): Promise<void> {
    const { signal } = this.#closing;
    while (lane.poked && !lane.isLost && !signal.aborted) {
      try {
        lane.worker ??= await this.#parts.begin(lane.claim);
        if (lane.worker === null) return await this.#letGo([lane]); // it was deleted
        if (lane.isLost || signal.aborted) break; // It was told to nobody while the worker was made.
        lane.poked = false; // L2: before it looks at what there is
        await lane.worker.work();
        lane.failures = 0;
      } catch (error) {
        const failed = lane.worker;
        lane.worker = null; // It begins anew, from what the store says.
        await failed?.leave(); // What outlasts its work must not go on beside the next one's.
        if (!(await this.#mayTryAgain(lane, error))) return;
        lane.poked = true;
      }
    }
    lane.running = null;
    if (signal.aborted) return;
    if (!lane.isLost) return this.#rest(lane);
    this.#forget(lane);
    this.#claimSoon();
  }

  /** L3. */
  async #mayTryAgain(lane: Lane<Of>, error: unknown): Promise<boolean> {
    const { key } = lane.claim;
    const { world, log } = this.#parts;
    const code = error instanceof Fault ? error.code : null;
    if (code === "closed" || code === "outcome_unknown") return false; // The store stopped, and says why itself.
    if (code === "stale_writer" || code === "not_found") {
      // Somebody else has it now, or it was deleted. If it is ours again, a new claim says so.
      log.info({ key, code }, "the session was lost");
      this.#forget(lane);
      await this.#release([lane]);
      this.#claimSoon();
      return false;
    }
    log.error({ key, err: error }, "work in a session failed; it is tried again");
    lane.failures += 1;
    const pauseMs = FAILED_PAUSE_MS * 2 ** Math.min(lane.failures - 1, 8);
    try {
      await world.sleep(pauseMs, this.#closing.signal);
      return true;
    } catch {
      return false; // The gateway is closing; whoever starts next tries again.
    }
  }

  #forget(lane: Lane<Of>): void {
    const { key } = lane.claim;
    if (this.#lanes.get(key) === lane) this.#lanes.delete(key);
    if (this.#idle.get(key) === lane) this.#idle.delete(key);
  }

  /** Its claim is void: what runs under it stops at its next commit. Until then the lane stays, so that the next waits (L1). */
  #lose(lane: Lane<Of>): void {
    if (lane.isLost) return;
    lane.isLost = true;
    void lane.worker?.leave();
    if (lane.running === null) this.#forget(lane);
  }

  /** L4. */
  #rest(lane: Lane<Of>): void {
    lane.idleSinceMs = this.#parts.world.nowMs();
    this.#idle.set(lane.claim.key, lane);
    if (this.#idle.size <= HOT_SESSIONS_MAX) return;
    const longest = this.#idle.values().find(({ worker }) => worker?.isBusy !== true);
    if (longest) void this.#letGo([longest]);
  }

  async #letGo(lanes: readonly Lane<Of>[]): Promise<void> {
    for (const lane of lanes) this.#forget(lane);
    await this.#release(lanes);
  }

  async #release(lanes: readonly Lane<Of>[]): Promise<void> {
    if (lanes.length === 0) return;
    try {
      await this.#parts.store.release(lanes.map(({ claim }) => claim));
    } catch (error) {
      // A claim that is not given back runs out by itself.
      this.#parts.log.debug({ err: error }, "claims were not given back");
    }
  }

  /** However often it is asked for, one at a time; and once more for whoever asked meanwhile. */
  #claimSoon(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#claiming === "no") this.#claims = this.#claimAll();
    this.#claiming = this.#claiming === "no" ? "yes" : "and again";
  }

  async #claimAll(): Promise<void> {
    try {
      for (let full = true; full || this.#isAskedAgain();) {
        if (this.#closing.signal.aborted) return;
        const claims = await this.#parts.store.claim(this.#owner, LEASE_MS, PAGE_ROWS_MAX);
        for (const claim of claims) this.#take(claim);
        full = claims.length >= PAGE_ROWS_MAX;
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, "sessions with work could not be claimed; it is tried again");
    } finally {
      this.#claiming = "no";
    }
  }

  #isAskedAgain(): boolean {
    const again = this.#claiming === "and again";
    this.#claiming = "yes";
    return again;
  }

  #take(claim: Claim): void {
    const old = this.#lanes.get(claim.key);
    if (old) this.#lose(old); // Our own lease had run out.
    const lane: Lane<Of> = {
      claim,
      worker: null,
      poked: true,
      running: null,
      idleSinceMs: 0,
      failures: 0,
      isLost: false,
    };
    this.#lanes.set(claim.key, lane);
    const before = old ? Promise.all([old.running, old.worker?.leave()]) : Promise.resolve();
    lane.running = before.then(() => this.#run(lane)); // L1
  }

  /** Keeps claims alive, lets go of what was idle for a while, and looks for work that nobody told of (L5). */
  async #tend(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      try {
        await this.#parts.world.sleep(LEASE_RENEWED_MS, signal);
      } catch {
        return; // closing
      }
      const before = this.#parts.world.nowMs() - LEASE_RENEWED_MS;
      const rested = this.#idle.values().filter((lane) => lane.idleSinceMs <= before && !lane.worker?.isBusy);
      await this.#letGo([...rested]);
      await this.#renew();
      this.#claimSoon();
    }
  }

  async #renew(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    if (lanes.length === 0) return;
    try {
      const claims = lanes.map(({ claim }) => claim);
      const held = new Set((await this.#parts.store.renew(claims, LEASE_MS)).map(({ fence }) => fence));
      for (const lane of lanes) {
        if (!held.has(lane.claim.fence)) this.#lose(lane);
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, "claims could not be renewed; it is tried again");
    }
  }
}
