// The store as one life sees it: it takes its time, refuses now and then, and dies when the plan says so.
//
//   Owns:      when a commit is applied and acknowledged, and the moment of a death.
//   Does not:  know what a commit means: that is the memory store's, which outlives it.
//
// Invariants
//   V1. Commits are applied and acknowledged in the order in which they came, like those of the local engine.
//   V2. What is read stood in the tables at some moment between the question and the answer.
//   V3. Of a life that has died nobody hears again, and nothing of it reaches the tables.

import { Fault } from "../src/base/fault.ts";
import type { World } from "../src/base/world.ts";
import type { Change, Receipt } from "../src/store/change.ts";
import type { Claim, Store } from "../src/store/store.ts";
import { LEASE_MS } from "../src/limits.ts";
import type { Home } from "./home.ts";
import type { Death } from "./plan.ts";

/** Says so of itself: what the log tells of it is no problem. */
const REFUSED = "simulated: the disk is full";

export function isSimulated(error: unknown): boolean {
  return error instanceof Fault && error.message === REFUSED;
}

export interface LifeStoreParts {
  readonly home: Home;
  readonly world: World;
  /** Of how long things take, and what is refused. */
  readonly dice: World;
  readonly refusals: number;
  /** Null: this life ends by itself. */
  readonly death: Death | null;
}

const LONGEST_MS = 4;

export class LifeStore implements Store {
  readonly #parts: LifeStoreParts;
  readonly #claims = new Set<Claim>();
  #queue: Promise<unknown> = Promise.resolve();
  #commits = 0;
  #closed = false;
  #state: "alive" | "closing" | "dead" = "alive";

  constructor(parts: LifeStoreParts) {
    this.#parts = parts;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  /** The plan says that it is to be closed now. */
  get isClosing(): boolean {
    return this.#state === "closing";
  }

  /** What the local engine forgets with its process: nobody owns anything after a start. */
  async forgetClaims(): Promise<void> {
    await this.#parts.home.store.release([...this.#claims]);
  }

  commit(changes: readonly Change[]): Promise<Receipt> {
    const turn = this.#queue.then(() => this.#commit(changes)); // V1
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #commit(changes: readonly Change[]): Promise<Receipt> {
    const { home, dice, refusals, death } = this.#parts;
    await this.#pause();
    this.#commits += 1;
    const isLast = death !== null && this.#commits === death.commit;
    if (isLast && death.when === "before") return await this.#die("before", changes);
    if (isLast && death.when === "close") this.#state = "closing";
    if (dice.random() < refusals) {
      home.note("refused", changes.length);
      throw new Fault("disk_full", REFUSED);
    }
    const receipt = await home.store.commit(changes);
    await home.committed(changes, receipt);
    if (isLast && death.when === "after") return await this.#die("after", changes);
    await this.#pause();
    return receipt;
  }

  #die(when: string, changes: readonly Change[]): Promise<never> {
    this.#parts.home.note("died", { when, at: changes.map((change) => change.do) });
    this.#state = "dead";
    return never();
  }

  async #pause(): Promise<void> {
    const { dice, world } = this.#parts;
    if (dice.random() < 0.5) await world.sleep(dice.random() * LONGEST_MS, new AbortController().signal);
    await this.#here();
  }

  /** V3. */
  async #here(): Promise<void> {
    if (this.#state === "dead") await never();
    if (this.#closed) throw new Fault("closed", "the store is closed");
  }

  /** V2. */
  async #read<Of>(look: (store: Store) => Promise<Of>): Promise<Of> {
    const { dice, home } = this.#parts;
    if (dice.random() < 0.3) await this.#pause();
    await this.#here();
    const found = await look(home.store);
    if (dice.random() < 0.2) await this.#pause();
    await this.#here();
    return found;
  }

  session: Store["session"] = (key) => this.#read((store) => store.session(key));
  sessions: Store["sessions"] = (query) => this.#read((store) => store.sessions(query));
  mail: Store["mail"] = (key, page) => this.#read((store) => store.mail(key, page));
  waiting: Store["waiting"] = (key, most) => this.#read((store) => store.waiting(key, most));
  outbox: Store["outbox"] = (query) => this.#read((store) => store.outbox(query));
  timers: Store["timers"] = (query) => this.#read((store) => store.timers(query));
  jobs: Store["jobs"] = (query) => this.#read((store) => store.jobs(query));
  search: Store["search"] = (query) => this.#read((store) => store.search(query));
  archives: Store["archives"] = (query) => this.#read((store) => store.archives(query));
  holdings: Store["holdings"] = (page) => this.#read((store) => store.holdings(page));
  use: Store["use"] = () => this.#read((store) => store.use());
  pack: Store["pack"] = (archive) => this.#read((store) => store.pack(archive));
  unpack: Store["unpack"] = (archive) => this.#read((store) => store.unpack(archive));
  collect: Store["collect"] = (part) => this.#read((store) => store.collect(part));
  putBlob: Store["putBlob"] = (bytes) => this.#read((store) => store.putBlob(bytes));
  readBlob: Store["readBlob"] = (sha256, range) => this.#read((store) => store.readBlob(sha256, range));
  changesSince: Store["changesSince"] = (cursor) => this.#read((store) => store.changesSince(cursor));

  async *entries(...[transcript, range]: Parameters<Store["entries"]>): ReturnType<Store["entries"]> {
    yield* await this.#read((store) => Array.fromAsync(store.entries(transcript, range)));
  }

  async claim(owner: string, leaseMs: number, limit: number): Promise<readonly Claim[]> {
    await this.#pause();
    const claims = await this.#parts.home.store.claim(owner, leaseMs, limit);
    for (const claim of claims) this.#claims.add(claim);
    return claims;
  }

  renew: Store["renew"] = (claims, leaseMs) => this.#read((store) => store.renew(claims, leaseMs));
  release: Store["release"] = (claims) => this.#read((store) => store.release(claims));

  watch(listener: () => void): () => void {
    return this.#parts.home.store.watch(() => {
      if (!this.isDead) listener();
    });
  }

  async close(): Promise<void> {
    await this.#queue;
    this.#closed = true;
  }
}

/** Whether sessions are found again without anybody giving them back. */
export function outlastsLeases({ gapMs }: Death): boolean {
  return gapMs > LEASE_MS;
}

function never(): Promise<never> {
  return new Promise<never>(() => {});
}
