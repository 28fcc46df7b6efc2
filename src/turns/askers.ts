// Who has written into a turn: their letters, how urgent the most urgent of them is, and where each is answered.

import type { World } from "../base/world.ts";
import { isBeat } from "../mail/beat.ts";
import type { Class, Mail } from "../mail/letter.ts";
import { isDeadline, isOfJob, isOrder, isReport, taskOf } from "../mail/task.ts";
import { highest } from "../mail/urgency.ts";
import type { RunState, Tail } from "../sessions/session.ts";
import { entryId, type Body } from "../transcript/entry.ts";
import type { PutBlob } from "../transcript/spill.ts";
import { answeredTo, entriesOf, rerouting } from "./letters.ts";
import type { Place } from "./parts.ts";
import { Replies, type Doors } from "./replies.ts";
import type { OpenTurn, TurnStarted } from "./where.ts";

export interface AskerParts {
  readonly world: World;
  readonly doors: Doors;
  readonly putBlob: PutBlob;
}

export class Askers {
  readonly replies: Replies;
  readonly #parts: AskerParts;
  readonly #place: Place;
  readonly #letters: string[];
  #class: Class;

  /** `open`: the turn that is gone on with; null: a new one. */
  constructor(parts: AskerParts, place: Place, turn: string, open: OpenTurn | null) {
    this.#parts = parts;
    this.#place = place;
    this.#class = open?.class ?? "background";
    this.#letters = [...(open?.letters ?? [])];
    this.replies = new Replies(place.held, parts.doors, { turn, class: () => this.#class });
    this.replies.add(open?.routes ?? []);
  }

  /** The ids of what they wrote. */
  get letters(): readonly string[] {
    return this.#letters;
  }

  has(mailId: string): boolean {
    return this.#letters.includes(mailId);
  }

  /**
   * Whether an order says that the time of this turn is up. That of a job's run is not while somebody else has written into it too,
   * who is answered by the same turn; what children of it report is its own.
   */
  isDue(order: Mail): boolean {
    const task = isDeadline(order) ? taskOf(order) : null;
    if (task === null || !this.has(task)) return false;
    return !isOfJob(task) || this.#letters.every((id) => id === task || isReport({ id }));
  }

  get class(): Class {
    return this.#class;
  }

  /** Who has written, and who writes now, waits for this turn. */
  get urgency(): Class {
    return highest([{ class: this.#class }, ...this.#place.mailbox.known]);
  }

  /** Taking letters and writing them into the transcript are one commit. */
  async take(letters: readonly Mail[], notes: readonly Body[], state: RunState): Promise<void> {
    const { held, mailbox } = this.#place;
    const { row } = held;
    const ids = letters.map(({ id }) => id);
    this.#letters.push(...ids);
    this.#class = highest([{ class: this.#class }, ...letters]);
    const routed = answeredTo(row, letters);
    const written = routed.filter((mail) => !isOrder(mail));
    const said = await entriesOf(written, this.#parts.world.nowMs(), this.#parts.putBlob);
    this.replies.add(routed.flatMap(({ replyTo }) => replyTo ?? []));
    await held.commit({
      take: ids,
      entries: [...notes, ...said],
      ...rerouting(row, letters),
      state,
    });
    mailbox.remove(ids);
  }
}

/** What a turn begins with that answers letters. A beat is shown nothing of what was before it: it begins its context. */
export function begun(turn: string, letters: readonly Mail[], { id, lastSeq }: Tail): readonly Body[] {
  const started = startedNote(turn, letters);
  if (lastSeq === 0 || !letters.some(isBeat)) return [started];
  const firstKeptEntryId = entryId(id, lastSeq + 1); // itself: it keeps nothing
  return [{ type: "compaction", summary: BEGINS_ANEW, firstKeptEntryId, tokensBefore: 0 }, started];
}

const BEGINS_ANEW = "(Every heartbeat begins anew: nothing of earlier ones is shown.)";

/** How a turn notes that it has begun. */
export function startedNote(turn: string, letters: readonly Mail[]): Body {
  const data: TurnStarted = { turn, class: highest(letters) };
  return { type: "custom", customType: "sessiond/turn-started", data };
}
