// What runs in a session's lane: it goes on with a turn that was left, then turns letters into turns until none wait.

import { Fault } from "../base/fault.ts";
import { alarm } from "../base/waiting.ts";
import type { Agent } from "../config/config.ts";
import { KILLED_GRACE_MS } from "../limits.ts";
import { isUrgent, modeOf, nextTurn } from "../mail/batch.ts";
import type { Class, Mail, Mode } from "../mail/letter.ts";
import { Mailbox } from "../mail/mailbox.ts";
import { isDeadline, isOrder, isReport, taskOf } from "../mail/task.ts";
import { Outbox, type OutboxParts } from "../mail/outbox.ts";
import { wishOf } from "../mail/wish.ts";
import { agentOf, type SessionKey } from "../routing/key.ts";
import type { Processes } from "../sandbox/processes.ts";
import type { Worker } from "../scheduler/lanes.ts";
import { Held, type HeldParts } from "../sessions/held.ts";
import { agentFor, inForce } from "../sessions/inforce.ts";
import type { RunState, Session, Signal } from "../sessions/session.ts";
import type { Claim, Store } from "../store/store.ts";
import { killingBelow } from "./ending.ts";
import type { TurnParts } from "./parts.ts";
import { obeyReset, obeyRotate, renewStale } from "./renewing.ts";
import { obeyRewind } from "./rewinding.ts";
import { restsOn, tasksIn, tasksLeft, type Task } from "./tasks.ts";
import { obeyed } from "./stop.ts";
import { endOf, turnSpan } from "./traced.ts";
import { Turn } from "./turn.ts";
import { openTurn, type OpenTurn } from "./where.ts";

export interface WorkParts extends TurnParts, Omit<HeldParts, "store"> {
  readonly store: Store;
  readonly outbox: OutboxParts;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly processes: Pick<Processes, "killAll">;
  /** False: the process is about to end. A turn that runs may end; no other begins. */
  readonly mayBegin: () => boolean;
  /** Somebody of this class waits for the session: what it waits for itself is as urgent. */
  readonly raise: (key: SessionKey, to: Class) => void;
}

/** Null: the session was deleted. */
export async function beginWork(parts: WorkParts, claim: Claim): Promise<SessionWorker | null> {
  const row = await parts.store.session(claim.key);
  return row && new SessionWorker(parts, new Held(parts, claim, row));
}

/**
 * What is heard of while a turn waits: a letter, and whether it is urgent; that somebody wants the session to pause; or that
 * there may be letters which nobody has told of.
 */
export type Heard =
  | { readonly mail: Mail; readonly isUrgent: boolean }
  | { readonly mail: null; readonly signal: Signal | "look" };

export class SessionWorker implements Worker {
  readonly #parts: WorkParts;
  readonly #held: Held;
  readonly #agent: Agent | null; // null: it is not configured any more
  readonly #mailbox: Mailbox;
  readonly #outbox: Outbox;
  #turn: Turn | null = null;
  #isLeaving = false;
  #isFirst = true;
  /** Ends a wait for letters that are collected. */
  #nudge: (() => void) | null = null;
  readonly #ears = new Set<(heard: Heard) => void>();
  /** Whom its turn waits for, by a tool. */
  joins: readonly SessionKey[] = [];

  constructor(parts: WorkParts, held: Held) {
    const { key } = held;
    this.#parts = parts;
    this.#held = held;
    this.#agent = parts.agents.get(agentOf(key)) ?? null;
    this.#mailbox = new Mailbox((page) => parts.store.mail(key, page));
    this.#outbox = new Outbox(parts.outbox, key);
  }

  /** What a person sees of it beside its row: a turn may be waiting for a slot. */
  get session(): Session {
    return this.#held.row;
  }

  /** What its turn does now, in words; null: none runs. */
  get doing(): string | null {
    return this.#turn?.doing ?? null;
  }

  /** Null: no turn runs. */
  get class(): Class | null {
    return this.#turn?.askers.class ?? null;
  }

  async work(): Promise<void> {
    if (this.#isFirst) this.#outbox.kick(); // what an earlier owner left
    this.#isFirst = false;
    await this.#turns();
    // What it left in the background has nobody any more who could end it.
    if (this.#held.row.state.kind === "ended") await this.#killProcesses();
  }

  /** Tasks that it has given and not heard of; null: its entries are not in memory. */
  get tasks(): readonly Task[] | null {
    const { known, row } = this.#held;
    return known && tasksIn(known, row.transcript.copied);
  }

  /** Whom it waits for, by a tool or resting; null: its entries are not in memory. */
  get waitsFor(): readonly SessionKey[] | null {
    const { known, row } = this.#held;
    if (this.joins.length > 0) return this.joins;
    return known && restsOn(known, row.transcript.copied).map((task) => task.key);
  }

  /** Returns how to stop it. */
  listen(ear: (heard: Heard) => void): () => void {
    this.#ears.add(ear);
    return () => this.#ears.delete(ear);
  }

  /** Its turn has this letter. */
  has(mailId: string): boolean {
    return this.#turn?.askers.has(mailId) === true;
  }

  isUrgent(mail: Mail): boolean {
    return isUrgent(mail, this.#usualMode());
  }

  async #killProcesses(): Promise<void> {
    await this.#parts.processes.killAll(this.#held.key, KILLED_GRACE_MS);
  }

  async #turns(): Promise<void> {
    if (!this.#parts.mayBegin()) return; // What waits is there for whoever starts next.
    await this.#goOn();
    while (!this.#isLeaving && this.#parts.mayBegin() && (await this.#isReady())) {
      const { collectMs } = this.#parts.session;
      const reading = { usual: this.#usualMode(), collectMs, nowMs: this.#parts.world.nowMs() };
      const waiting = await this.#mailbox.waiting();
      const order = waiting.find(isOrder);
      if (order) {
        await this.#obey(order);
        continue;
      }
      const next = nextTurn(waiting, reading);
      if (next === null) return;
      if ("waitMs" in next) await this.#pause(next.waitMs);
      else await this.#begin(next.letters);
    }
  }

  async #begin(letters: readonly Mail[]): Promise<void> {
    if (!this.#isLeaving)
      await renewStale({ ...this.#parts, cwd: this.#agent?.workspace ?? "" }, this.#held, letters);
    await this.#run(null, (turn) => turn.run(letters));
  }

  async #obey(order: Mail): Promise<void> {
    const wish = wishOf(order);
    if (wish === null) return await this.#expire(order);
    if (wish === "compact" || wish === "handoff") return await this.#run(null, (turn) => turn.tidy());
    const parts = { ...this.#parts, cwd: this.#agent?.workspace ?? "" };
    if (wish === "rewind") await obeyRewind(this.#parts, this.#held, order);
    else if (wish === "rotate") await obeyRotate(parts, this.#held, order);
    else await obeyReset(parts, this.#held, order);
    this.#mailbox.remove([order.id]);
  }

  /** No turn runs. If the time of a task is up that has not begun, it never does; else the order came too late. */
  async #expire(order: Mail): Promise<void> {
    const waiting = isDeadline(order) ? await this.#mailbox.all() : [];
    const task = waiting.find(({ id }) => id === taskOf(order));
    if (task) await this.#run(null, (turn) => turn.expire(task, order));
    else await this.#held.commit({ take: [order.id] });
    this.#mailbox.remove([order.id]);
  }

  /** Answers are being delivered: only a session's owner does that. */
  get isBusy(): boolean {
    return this.#outbox.delivering !== null;
  }

  /** There are answers to deliver that no turn has just given. */
  deliver(): void {
    this.#outbox.kick();
  }

  arrive(mail: Mail): void {
    if (this.#turn?.askers.has(mail.id)) return; // The store showed it before we were told: it cannot interrupt its own turn.
    const usual = this.#usualMode();
    this.#mailbox.arrive(mail, isUrgent(mail, usual) || isReport(mail) || isOrder(mail));
    this.#parts.raise(this.#held.key, mail.class); // who writes waits for the turn that runs now
    this.#nudge?.();
    for (const ear of [...this.#ears]) ear({ mail, isUrgent: isUrgent(mail, usual) });
    if (this.#turn?.askers.isDue(mail) === true) this.#turn.abort(obeyed(mail));
    else if (modeOf(mail, usual) === "interrupt") this.abort("a new message interrupts it");
  }

  forwarded(): void {
    this.#mailbox.forget();
    this.#nudge?.();
    for (const ear of [...this.#ears]) ear({ mail: null, signal: "look" });
  }

  /** A kill does not wait for the next step: what runs is ended, with all its processes. */
  changed(signal: Signal | null): void {
    this.#held.changed();
    this.#nudge?.();
    if (signal === "kill") {
      this.#turn?.abort({ kind: "killed", why: "the session was killed" });
      void this.#killProcesses().catch((error: unknown) => {
        this.#parts.log.error({ key: this.#held.key, err: error }, "processes of a killed session are left");
      });
    } else if (signal !== null) {
      for (const ear of [...this.#ears]) ear({ mail: null, signal });
    }
  }

  /** False: nothing runs. */
  abort(why: string): boolean {
    this.#turn?.abort({ kind: "aborted", why });
    return this.#turn !== null;
  }

  async leave(): Promise<void> {
    this.#isLeaving = true;
    this.#turn?.leave();
    this.#nudge?.();
    await this.#outbox.leave();
  }

  /** A turn that was cut off by a crash, left by another owner, or paused. */
  async #goOn(): Promise<void> {
    const { state, signal } = await this.#held.look();
    if (state.kind === "idle" || state.kind === "ended") return;
    if (signal === "pause") return await this.#park(state);
    const open = openTurn(await this.#held.entries());
    if (open === null) return await this.#held.commit({ state: { kind: "idle" } });
    await this.#run(open, (turn) => turn.goOn(open, GONE_ON[state.kind]));
  }

  async #park(state: RunState): Promise<void> {
    if (state.kind === "paused") return;
    await this.#held.commit({ state: { kind: "paused", sinceMs: this.#parts.world.nowMs() } });
  }

  /** Whether a turn may begin. A kill that came while nothing ran is seen here. */
  async #isReady(): Promise<boolean> {
    const { state, signal } = await this.#held.look();
    if (state.kind !== "idle") return false;
    if (signal !== "kill") return signal === "none";
    if ((await this.#mailbox.refreshed()).length > 0) return true; // Who has written hears of it: the turn ends at once.
    const others = await killingBelow(this.#parts.store, this.#held.key);
    const atMs = this.#parts.world.nowMs();
    const ended = { kind: "ended", atMs, outcome: "killed", reason: "it was killed" } as const;
    const entries = tasksLeft(await this.#held.entries(), this.#held.row.transcript.copied);
    try {
      await this.#held.commit({ entries, others, state: ended });
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "unread") throw error;
      return true;
    }
    return false;
  }

  async #run(open: OpenTurn | null, begin: (turn: Turn) => Promise<void>): Promise<void> {
    if (this.#isLeaving) return; // It was told while the store was being read.
    const { key, row } = this.#held;
    const persona = this.#agent;
    const root = this.#parts.agents.get(agentOf(row.root)) ?? null;
    // Its letters wait: nothing is lost should the agent come back.
    if (persona === null || root === null)
      throw new Fault("bad_input", `the agent of ${key} is not configured`);
    const agent = agentFor(row, persona, root);
    const span = turnSpan(persona.id, key);
    const place = { held: this.#held, mailbox: this.#mailbox, agent, persona, span };
    const turn = new Turn(this.#parts, place, open);
    this.#turn = turn;
    try {
      await span.over(endOf, () => begin(turn));
    } finally {
      this.#turn = null;
      if (turn.askers.replies.hasSent) this.#outbox.kick();
    }
  }

  #usualMode(): Mode | null {
    return this.#agent && inForce(this.#held.row, this.#agent).queueMode;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isLeaving) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const callOff = alarm(this.#parts.world, ms, resolve);
    this.#nudge = resolve;
    await promise;
    this.#nudge = null;
    callOff();
  }
}

/** Why a turn is gone on with that was left in a state. */
const GONE_ON = {
  running: "restarted",
  queued: "restarted",
  waiting: "reported",
  paused: "continued",
} as const;
