// Turn
//
// One turn of a session: letters in, answer out. Between the two, steps: the model is asked, and the tools that it calls
// are run. Everything that happens is an entry before the next thing happens, so a turn that is cut off anywhere goes on
// from its entries (where.ts).
//
//   Owns:      the order of what happens in a turn, its limits, and how it ends.
//   Does not:  choose the letters (mail/batch.ts), ask (ask.ts), run tools (toolcalls.ts), decide what leaves (replies.ts).
//
// Invariants
//   U1. Taking letters and writing them into the transcript are one commit.
//   U2. What the model said is durable before anything that it asked for runs.
//   U3. The last answer, the end of the turn, the state after it and everything that leaves because of it are one commit.
//   U4. A turn begun ends once: done, or with the reason why not. Only a pause, waiting for children, and letting go of the
//       session leave it open.
//   U5. A slot is held while a model is asked, and at no other time.

import { Fault } from "../base/fault.ts";
import { alarm, unlessAborted } from "../base/waiting.ts";
import type { Agent } from "../config/config.ts";
import { isFlushing } from "../context/flush.ts";
import type { Mail } from "../mail/letter.ts";
import type { Mailbox } from "../mail/mailbox.ts";
import type { Answer } from "../models/model.ts";
import type { Held } from "../sessions/held.ts";
import { inForce, type InForce } from "../sessions/inforce.ts";
import type { RunState, Usage } from "../sessions/session.ts";
import type { BlobName, Body } from "../transcript/entry.ts";
import type { Question } from "./ask.ts";
import { Askers, begun, startedNote } from "./askers.ts";
import { isReady, mayGoOn } from "./before.ts";
import { callPartsOf } from "./calling.ts";
import { Doing } from "./doing.ts";
import { endTurn, failureWords, leftOpen, reasonOf, type Ending } from "./ending.ts";
import { interrupted, settleLeft } from "./left.ts";
import type { Place, TurnParts } from "./parts.ts";
import { stepTold, wordsOf } from "./replies.ts";
import { reserved } from "./reserving.ts";
import { givenUp, isSuspect, resumedNote } from "./resuming.ts";
import { named, NO_TOKENS_TOLD, spoken, type Said, type Voice } from "./spoken.ts";
import { Standing } from "./standing.ts";
import { isRest, obeyed, Stopped, Stops, type Stop } from "./stop.ts";
import { Tidying } from "./tidying.ts";
import { runCalls, type CallParts } from "./toolcalls.ts";
import { tellEnd } from "./traced.ts";
import { askModel, type Asked } from "./voices.ts";
import type { OpenTurn, Unsettled } from "./where.ts";

type Reply = Extract<Answer, { kind: "reply" }>;
type Failed = Extract<Answer, { kind: "failed" }>;

export class Turn {
  /** Who has written into it. */
  readonly askers: Askers;
  readonly #parts: TurnParts;
  readonly #place: Place;
  readonly #held: Held;
  readonly #mailbox: Mailbox;
  readonly #agent: Agent;
  readonly #stops: Stops;
  readonly #fromMs: number;
  readonly #standing: Standing;
  readonly #id: string;
  readonly #tidying: Tidying;
  #steps: number;
  #isResumed = false;
  #settle = (): void => {}; // what the step reserved of budgets
  /** Calls that the process before left, and that nobody has seen to yet. */
  #left: Unsettled | null;
  readonly #now = new Doing();

  /** `open`: the turn that is gone on with; null: a new one. */
  constructor(parts: TurnParts, place: Place, open: OpenTurn | null) {
    const { held, mailbox, agent } = place;
    this.#parts = parts;
    this.#place = place;
    this.#held = held;
    this.#mailbox = mailbox;
    this.#agent = agent;
    this.#stops = new Stops(parts.world);
    this.#standing = new Standing(parts, place, this.#stops.either);
    this.#fromMs = parts.world.nowMs();
    this.#id = open?.turn ?? parts.world.newId();
    this.#steps = open?.steps ?? 0;
    this.#left = open?.unsettled ?? null;
    const doors = { policy: parts.session.sendPolicy, channels: parts.channels };
    const asking = { world: parts.world, doors, putBlob: this.#putBlob };
    this.askers = new Askers(asking, place, this.#id, open);
    this.#tidying = new Tidying(parts, place, this.#standing, () => this.#question());
  }

  /** At once: what runs is given up. */
  abort(stop: Stop): void {
    this.#stops.abort(stop);
  }

  /** At the next safe point. A model that is being asked is asked again by whoever goes on with it. */
  leave(): void {
    this.#stops.leave();
  }

  /** In words, for people. */
  get doing(): string {
    const words = this.#tidying.doing ?? this.#now.words;
    return this.#isResumed ? `${words}, resumed after a restart` : words;
  }

  /** From letters to the end. */
  async run(letters: readonly Mail[]): Promise<void> {
    await this.#take(letters, begun(this.#id, letters, this.#held.row.transcript));
    await this.#toTheEnd();
  }

  /** Without letters: somebody wants something done to the history. */
  async tidy(): Promise<void> {
    await this.#take([], [startedNote(this.#id, [])]);
    await this.#toTheEnd();
  }

  /** Its time was up before it began: it is written down, and that is all. */
  async expire(letter: Mail, deadline: Mail): Promise<void> {
    await this.#take([letter], [startedNote(this.#id, [letter])]);
    await this.#stopped(obeyed(deadline));
  }

  /**
   * From where its entries say it stopped. That it is gone on with is written down first: so it is known how often. One that
   * waits for children is at no such risk: nothing of it was running.
   */
  async goOn(open: OpenTurn, why: "restarted" | "continued" | "reported"): Promise<void> {
    if (why === "reported") return await this.#toTheEnd();
    const reason = why === "restarted" ? givenUp(open) : null;
    if (reason !== null) {
      await this.#tidying.blame(); // It may be what the process died of: a new turn would try it again, for ever.
      return await this.#fail("interrupted", reason);
    }
    this.#isResumed = why === "restarted";
    const isAlone = this.#isResumed && isSuspect(open);
    const write = (): Promise<void> =>
      this.#held.commit({ entries: [resumedNote(this.#id, why, isAlone)], state: this.#running() });
    const { world, suspects } = this.#parts;
    const turn = { held: this.#held, turn: this.#id, write, signal: this.#stops.either };
    await this.#toTheEnd(() => (isAlone ? suspects.tried(world, turn) : write()));
  }

  async #toTheEnd(before = async (): Promise<void> => {}): Promise<void> {
    const { turnSeconds } = this.#agent.limits;
    const callOff = alarm(this.#parts.world, turnSeconds * 1_000, () =>
      this.abort({ kind: "timeout", why: `the turn took longer than ${turnSeconds} s` }),
    );
    try {
      await before();
      if (this.#left !== null) {
        await mayGoOn(this.#place, this.#steps, this.#stops.either); // who was killed meanwhile runs nothing more
        await this.#mailbox.waiting(); // who wrote meanwhile is heard before more is done
        await unlessAborted(this.#standing.tools, this.#stops.either); // a server of tools may take its time to start
        const left = this.#left;
        this.#left = null;
        this.#now.calling = left.calls.map(({ name }) => name);
        await settleLeft(await this.#callParts(left.seq, await this.#isFlush()), left, this.#parts.store);
        this.#now.calling = [];
      }
      while (!(await this.#step()));
    } catch (error) {
      if (error instanceof Stopped) return await this.#stopped(error.stop);
      const reason = reasonOf(error);
      if (reason === null) throw error;
      if (!(error instanceof Fault))
        this.#parts.log.error({ key: this.#held.key, err: error }, "a turn failed");
      await this.#fail("failed", reason);
    } finally {
      callOff();
      this.#stops.over();
    }
  }

  /** True: it was the last one. */
  async #step(): Promise<boolean> {
    await mayGoOn(this.#place, this.#steps, this.#stops.either);
    if (await this.#tidying.obey()) return false;
    if (this.askers.letters.length > 0) this.#tidying.tell(); // Else when the turn has ended, so that it is idle then.
    const before = { askers: this.askers, state: this.#running(), signal: this.#stops.either };
    if (!(await isReady(this.#parts, this.#place, before))) return false;
    if (await this.#isOver()) return true;
    if (await this.#tidying.makeRoom()) return false;
    this.#settle = await reserved(this.#parts.budgets, this.#held, this.#stops.either);
    try {
      const { answer, ...how } = await this.#ask();
      if (answer.kind === "reply") return await this.#hear(answer, how);
      this.#settle();
      if (answer.why === "overflow" && (await this.#tidying.recover(how.voice))) return false;
      return await this.#fallSilent(answer, how);
    } finally {
      this.#settle();
    }
  }

  /** Nobody has written into it: it began to tidy, and that is done. */
  async #isOver(): Promise<boolean> {
    if (this.askers.letters.length > 0 || (await this.#isFlush())) return false;
    await this.#end({ outcome: "done", reason: null, entries: [], charge: {}, words: [] });
    return true;
  }

  /** No model answers: that ends the turn, unless it was asked for nobody. */
  async #fallSilent(answer: Failed, how: Omit<Asked, "answer">): Promise<boolean> {
    const { voice, modelMs, passedOver } = how;
    const { message: reason, why } = answer;
    const said = { content: [], stopReason: "error", errorMessage: reason, passedOver };
    const entries = await this.#spoken(voice, said);
    const charge = { modelMs };
    if (await this.#isFlush()) return await this.#flushed(entries, charge);
    const outcome = why === "overflow" ? "overflow" : "failed";
    await this.#end({ outcome, reason, entries, charge, words: failureWords(reason) });
    return true;
  }

  /** The agent writes down what is to last: nobody is answered by that, and afterwards the turn goes on. */
  async #isFlush(): Promise<boolean> {
    return isFlushing(await this.#held.entries());
  }

  async #flushed(entries: readonly Body[], charge: Partial<Usage>): Promise<false> {
    await this.#held.commit({ entries, charge, state: this.#running() });
    return false;
  }

  /** U1. */
  async #take(letters: readonly Mail[], notes: readonly Body[]): Promise<void> {
    await this.askers.take(letters, notes, this.#running());
  }

  async #ask(): Promise<Asked> {
    const voices = this.#standing.voices();
    this.#now.speaking = { voice: voices[0], words: [], trouble: null };
    const request = await this.#standing.request(await this.#tidying.roomBytes());
    const silent = (await this.#isFlush()) ? ({ isSilent: true } as const) : {};
    const step = { ...this.#question(), voices, request, ...silent };
    const asked = await askModel(this.#parts, step, this.#now.speaking);
    this.#now.speaking = null;
    return asked;
  }

  #question(): Question {
    return {
      held: this.#held,
      turn: this.#id,
      step: this.#steps + 1,
      class: () => this.askers.urgency,
      signal: this.#stops.either,
      span: this.#place.span,
    };
  }

  /** U2, U3. True: the model asks for nothing more. */
  async #hear(reply: Reply, { voice, modelMs, passedOver }: Omit<Asked, "answer">): Promise<boolean> {
    const content = named(reply.content, this.#held.row.transcript.lastSeq);
    const { usage, stopReason } = reply;
    const { cutTo } = this.#standing;
    const entries = await this.#spoken(voice, { content, usage, stopReason, passedOver, cutTo });
    const { cost, ...tokens } = usage;
    const charge = { ...tokens, cost: cost?.total ?? 0, steps: 1, modelMs };
    this.#steps += 1;
    const calls = content.filter((block) => block.type === "toolCall");
    const isSilent = await this.#isFlush();
    if (calls.length === 0 && isSilent) return await this.#flushed(entries, charge);
    if (calls.length === 0) {
      await this.#end({ outcome: "done", reason: null, entries, charge, words: wordsOf(content) });
      return true;
    }
    const steps = stepTold(isSilent ? "off" : this.#inForce().verbose, content);
    const told = this.askers.replies.meanwhile(`step-${this.#steps}`, steps);
    await this.#held.commit({ entries, charge, others: told, state: this.#running() });
    const { lastSeq } = this.#held.row.transcript;
    this.#settle();
    this.#now.calling = calls.map(({ name }) => name);
    await runCalls(await this.#callParts(lastSeq, isSilent), lastSeq, calls);
    this.#now.calling = [];
    return false;
  }

  #spoken(voice: Voice, said: Partial<Said> & Pick<Said, "content" | "stopReason">): Promise<Body[]> {
    const timestamp = this.#parts.world.nowMs();
    return spoken(this.#held, voice, { usage: NO_TOKENS_TOLD, timestamp, ...said }, this.#putBlob);
  }

  #callParts(seq: number, isSilent: boolean): Promise<CallParts> {
    const { now: stop, leaving } = this.#stops;
    const turning = { standing: this.#standing, askers: this.askers, seq, stop, leaving, isSilent };
    return callPartsOf(this.#parts, this.#place, turning);
  }

  /** U4. */
  async #stopped(stop: Stop): Promise<void> {
    const nowMs = this.#parts.world.nowMs();
    if (isRest(stop)) {
      tellEnd(this.#place.span, stop.kind);
      const open = leftOpen(stop, { turn: this.#id, state: this.#held.row.state, nowMs });
      if (open !== null) await this.#held.commit({ ...open, charge: { wallMs: nowMs - this.#fromMs } });
      return;
    }
    // What it had said is kept, marked as not finished: people saw it, and the model should know.
    const { voice, text } = this.#now.said ?? { voice: null, text: "" };
    const said = { content: [{ type: "text", text }], stopReason: "aborted" } as const;
    const entries = voice === null ? [] : await this.#spoken(voice, said);
    const words = stop.kind === "aborted" ? [] : failureWords(stop.why);
    await this.#end({ outcome: stop.kind, reason: stop.why, entries, charge: {}, words });
  }

  async #fail(outcome: "failed" | "interrupted", reason: string): Promise<void> {
    await this.#end({ outcome, reason, entries: [], charge: {}, words: failureWords(reason) });
  }

  /** U3. */
  async #end(ending: Ending): Promise<void> {
    const nowMs = this.#parts.world.nowMs();
    const left = (this.#left?.calls ?? []).map((call) => interrupted(call, nowMs)); // every call has its pair
    await endTurn(
      this.#parts,
      this.#place,
      {
        turn: this.#id,
        steps: this.#steps,
        askers: this.askers,
        frame: this.#standing.framed,
        obeying: this.#tidying.obeying,
        takeRest: async () => await this.#take(await this.#mailbox.refreshed(), []),
      },
      {
        ...ending,
        entries: [...left, ...ending.entries],
        charge: { ...ending.charge, wallMs: nowMs - this.#fromMs },
      },
    );
    this.#tidying.tell();
  }

  #running(): RunState {
    return { kind: "running", sinceMs: this.#fromMs, turn: this.#id, step: this.#steps + 1 };
  }

  #inForce(): InForce {
    return inForce(this.#held.row, this.#agent);
  }

  readonly #putBlob = (bytes: Uint8Array): Promise<BlobName> => this.#parts.store.putBlob(bytes);
}
