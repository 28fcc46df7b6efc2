// What runs in a session's lane: it goes on with a turn that was left, then turns letters into turns until none wait.

import { Fault } from "../base/fault.ts";
import { alarm } from "../base/waiting.ts";
import type { Agent } from "../config/config.ts";
import { isUrgent, modeOf, nextTurn } from "../mail/batch.ts";
import type { Class, Mail, Mode } from "../mail/letter.ts";
import { Mailbox } from "../mail/mailbox.ts";
import { Outbox, type OutboxParts } from "../mail/outbox.ts";
import { agentOf, type SessionKey } from "../routing/key.ts";
import type { Processes } from "../sandbox/processes.ts";
import type { Worker } from "../scheduler/lanes.ts";
import { Held, type HeldParts } from "../sessions/held.ts";
import { inForce } from "../sessions/inforce.ts";
import type { RunState, Session } from "../sessions/session.ts";
import type { Claim, Store } from "../store/store.ts";
import type { TurnParts } from "./parts.ts";
import { Turn } from "./turn.ts";
import { openTurn, type OpenTurn } from "./where.ts";

export interface WorkParts extends TurnParts, Omit<HeldParts, "store"> {
  readonly store: Store;
  readonly outbox: OutboxParts;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly processes: Pick<Processes, "killAll">;
  /** Somebody of this class waits for the session: what it waits for itself is as urgent. */
  readonly raise: (key: SessionKey, to: Class) => void;
}

/** Null: the session was deleted. */
export async function beginWork(parts: WorkParts, claim: Claim): Promise<SessionWorker | null> {
  const row = await parts.store.session(claim.key);
  return row && new SessionWorker(parts, new Held(parts, claim, row));
}

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

  constructor(parts: WorkParts, held: Held) {
    const { key } = held;
    this.#parts = parts;
    this.#held = held;
    this.#agent = parts.agents.get(agentOf(key)) ?? null;
    this.#mailbox = new Mailbox((limit) => parts.store.mail(key, { limit }));
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

  async work(): Promise<void> {
    if (this.#isFirst) this.#outbox.kick(); // what an earlier owner left
    this.#isFirst = false;
    await this.#turns();
    // What it left in the background has nobody any more who could end it.
    if (this.#held.row.state.kind === "ended") await this.#parts.processes.killAll(this.#held.key);
  }

  async #turns(): Promise<void> {
    await this.#goOn();
    while (!this.#isLeaving && (await this.#isReady())) {
      const { collectMs } = this.#parts.session;
      const reading = { usual: this.#usualMode(), collectMs, nowMs: this.#parts.world.nowMs() };
      const next = nextTurn(await this.#mailbox.waiting(), reading);
      if (next === null) return;
      if ("waitMs" in next) await this.#pause(next.waitMs);
      else await this.#run(null, (turn) => turn.run(next.letters));
    }
  }

  /** Answers are being delivered: only a session's owner does that. */
  get isBusy(): boolean {
    return this.#outbox.delivering !== null;
  }

  arrive(mail: Mail): void {
    if (this.#turn?.has(mail.id)) return; // The store showed it before we were told: it cannot interrupt its own turn.
    const usual = this.#usualMode();
    this.#mailbox.arrive(mail, isUrgent(mail, usual));
    this.#parts.raise(this.#held.key, mail.class); // who writes waits for the turn that runs now
    this.#nudge?.();
    if (modeOf(mail, usual) === "interrupt") this.abort("a new message interrupts it");
  }

  changed(): void {
    this.#held.changed();
    this.#nudge?.();
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
    const why = state.kind === "paused" ? "continued" : "restarted";
    await this.#run(open, (turn) => turn.goOn(open, why));
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
    const atMs = this.#parts.world.nowMs();
    await this.#held.commit({ state: { kind: "ended", atMs, outcome: "killed", reason: "it was killed" } });
    return false;
  }

  async #run(open: OpenTurn | null, begin: (turn: Turn) => Promise<void>): Promise<void> {
    if (this.#isLeaving) return; // It was told while the store was being read.
    const agent = this.#agent;
    // Its letters wait: nothing is lost should the agent come back.
    if (agent === null) throw new Fault("bad_input", `the agent of ${this.#held.key} is not configured`);
    const turn = new Turn(this.#parts, { held: this.#held, mailbox: this.#mailbox, agent }, open);
    this.#turn = turn;
    try {
      await begin(turn);
    } finally {
      this.#turn = null;
      if (turn.hasSent) this.#outbox.kick();
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
