// Hands: what stands for turns in these months. A letter that a timer sent is worked on for a while; then one commit takes it, ends its
// session if that is a fresh one, and tells the timer through the outbox, as a turn does (src/turns/ending.ts).

import { Fault } from "../../src/base/fault.ts";
import type { SimulatedWorld } from "../../src/base/world.ts";
import type { Mail, Outgoing } from "../../src/mail/letter.ts";
import type { Deliver } from "../../src/mail/outbox.ts";
import { isDeadline, isTimer, taskOf } from "../../src/mail/task.ts";
import { heartbeatKey, isCronRun, mainKey, parseAgent, type SessionKey } from "../../src/routing/key.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import type { Store } from "../../src/store/store.ts";
import { isHeartbeat } from "../../src/timers/pulse.ts";
import type { TurnEnd } from "../../src/timers/told.ts";
import type { Plan } from "./plan.ts";
import type { Town } from "./town.ts";

export interface HandsParts {
  readonly world: SimulatedWorld;
  readonly dice: SimulatedWorld;
  readonly store: Store;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  readonly door: Deliver;
  readonly plan: Plan;
  readonly town: Town;
}

const MINUTE_MS = 60_000;

/** How often a door is told the same twice. */
const AGAIN = 0.05;

export class Hands {
  readonly #parts: HandsParts;
  readonly #failing: ReadonlySet<string>;
  /** By the id of the letter. */
  readonly #working = new Map<string, AbortController>();
  /** Answers that are on their way to their door. */
  readonly #handing = new Set<string>();

  constructor(parts: HandsParts) {
    this.#parts = parts;
    this.#failing = new Set(
      parts.plan.jobs.filter(({ isFailing }) => isFailing).map(({ id }) => `job:${id}`),
    );
  }

  /** What an earlier life left: letters that nobody has taken, and ends that no door has. */
  async goOn(): Promise<void> {
    const { store, plan } = this.#parts;
    const { rows } = await store.jobs({ limit: 500 });
    const own = plan.agents.flatMap((agent) => [mainKey(parseAgent(agent)), heartbeatKey(parseAgent(agent))]);
    const keys = new Set<SessionKey>([...own, ...rows.flatMap(({ current }) => current?.key ?? [])]);
    for (const key of keys)
      for (const mail of (await store.mail(key, { limit: 500 })).rows) this.#arrived(mail);
    for (const outgoing of (await store.outbox({ refused: false, limit: 500 })).rows) this.#hand(outgoing);
  }

  told(changes: readonly Change[], receipt: Receipt): void {
    const postedAtMs = this.#parts.world.nowMs();
    let posts = 0;
    for (const change of changes) {
      if (change.do === "send") this.#hand({ ...change.outgoing, postedAtMs, refused: null });
      if (change.do !== "post") continue;
      const posted = receipt.posts[posts++];
      if (posted && !posted.repeated) this.#arrived({ ...change.letter, to: posted.to, postedAtMs });
    }
  }

  #arrived(mail: Mail): void {
    const { town } = this.#parts;
    const done = isDeadline(mail)
      ? this.#outOfTime(mail)
      : mail.replyTo && isTimer(mail.replyTo)
        ? this.#work(mail)
        : this.#read(mail);
    void done.catch((error: unknown) => town.wrong(`${mail.id}: ${String(error)}`));
  }

  /** Nobody answers what is only told. */
  async #read({ id, to }: Mail): Promise<void> {
    await this.#parts.commit([{ do: "take", key: to, fence: 0, ids: [id] }]);
  }

  /** What is worked on ends, and takes this with it; what is over leaves it to be taken. */
  async #outOfTime(mail: Mail): Promise<void> {
    const working = this.#working.get(taskOf(mail));
    if (working) working.abort();
    else await this.#read(mail).catch(wasTaken);
  }

  async #work(mail: Mail): Promise<void> {
    const { world, commit } = this.#parts;
    const working = new AbortController();
    this.#working.set(mail.id, working);
    const { ms, end, isForgotten } = this.#script(mail);
    const isInTime = await world.sleep(ms, working.signal).then(
      () => true,
      () => false,
    );
    const late: TurnEnd = { outcome: "timeout", reason: "its time was up", text: "" };
    const ids = await this.#waiting(mail);
    if (isForgotten) await this.#read(mail);
    else await commit([...taking(mail, ids), ...this.#telling(mail, isInTime ? end : late)]);
    this.#working.delete(mail.id);
  }

  /** The letter, and the order that it ends, if that waits. */
  async #waiting({ id, to }: Mail): Promise<readonly string[]> {
    const { rows } = await this.#parts.store.mail(to, { limit: 500 });
    return rows
      .filter((mail) => mail.id === id || (isDeadline(mail) && taskOf(mail) === id))
      .map((mail) => mail.id);
  }

  /** Most are short, some outlast their time or the next one's; some fail, and of a few nobody hears again. */
  #script({ replyTo }: Mail): { readonly ms: number; readonly end: TurnEnd; readonly isForgotten: boolean } {
    const { dice } = this.#parts;
    const [long, rolled] = [dice.random() < 0.05, dice.random()];
    const ms = Math.ceil(dice.random() * (long ? 180 : 2) * MINUTE_MS);
    const words = isHeartbeat(replyTo?.to ?? "") ? "HEARTBEAT_OK" : "all is well";
    const failed: TurnEnd = { outcome: "failed", reason: "no model answers", text: "" };
    const done: TurnEnd = { outcome: "done", reason: null, text: rolled < 0.1 ? "NO_REPLY" : words };
    const fails = this.#failing.has(replyTo?.to ?? "") || rolled > 0.95;
    return { ms, end: fails ? failed : done, isForgotten: rolled > 0.2 && rolled < 0.203 };
  }

  #telling(mail: Mail, end: TurnEnd): readonly Change[] {
    if (mail.replyTo === null) return [];
    const content = [{ type: "text", text: JSON.stringify(end) }] as const;
    const outgoing = { id: `ended:${mail.id}`, key: mail.to, route: mail.replyTo, content };
    const atMs = this.#parts.world.nowMs();
    const ended: Change = {
      do: "run",
      key: mail.to,
      fence: 0,
      state: { kind: "ended", atMs, outcome: "done", reason: null },
    };
    return [{ do: "send", outgoing }, ...(isCronRun(mail.to) ? [ended] : [])];
  }

  /** Handed over until it is taken; then it is off the list. */
  #hand(outgoing: Outgoing): void {
    if (this.#handing.has(outgoing.id)) return;
    this.#handing.add(outgoing.id);
    void this.#deliver(outgoing).catch((error: unknown) =>
      this.#parts.town.wrong(`the door: ${outgoing.id}: ${String(error)}`),
    );
  }

  async #deliver(outgoing: Outgoing): Promise<void> {
    const { door, commit, town, dice, world } = this.#parts;
    const { signal } = new AbortController();
    if (!isTimer(outgoing.route)) town.delivered(outgoing.id);
    else {
      await door(outgoing, signal);
      // As an outbox does that was not told: the same comes again, when something else may go on by then.
      if (dice.random() < AGAIN) {
        await world.sleep(dice.random() * 120 * MINUTE_MS, signal);
        await door(outgoing, signal);
      }
    }
    await commit([{ do: "settle", id: outgoing.id, refused: null }]);
    this.#handing.delete(outgoing.id);
  }
}

function taking({ to }: Mail, ids: readonly string[]): readonly Change[] {
  return [{ do: "take", key: to, fence: 0, ids }];
}

/** Somebody else took it meanwhile: what it was for. */
function wasTaken(error: unknown): void {
  if (!(error instanceof Fault) || error.code !== "stale_writer") throw error;
}
