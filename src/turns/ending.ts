// How a turn ends: the last answer, the end, the state after it, and everything that leaves because of it are one commit. It
// is made until it holds: somebody who asked may be gone by then, and somebody may have written in the last moment.

import { Fault } from "../base/fault.ts";
import type { Frame } from "../context/meter.ts";
import type { Mail } from "../mail/letter.ts";
import { isAbort, isDeadline, isOrder, taskOf } from "../mail/task.ts";
import { wishOf } from "../mail/wish.ts";
import { isOneShot, type SessionKey } from "../routing/key.ts";
import { livingBelow } from "../sessions/below.ts";
import type { Writing } from "../sessions/held.ts";
import type { Outcome, RunState, Session, Usage } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Block, Body } from "../transcript/entry.ts";
import type { Askers } from "./askers.ts";
import type { Place, TurnParts } from "./parts.ts";
import { addresses, lastWords, reportContent, reportLetter } from "./reports.ts";
import { tasksLeft } from "./tasks.ts";
import type { Rest } from "./stop.ts";
import { tellEnd } from "./traced.ts";
import type { TurnEnded, TurnOutcome } from "./where.ts";

/** How a turn ended, and what was said last. */
export interface Ending {
  readonly outcome: TurnOutcome;
  readonly reason: string | null; //         null: done
  readonly entries: readonly Body[]; //      that come before the note of the end
  readonly charge: Partial<Usage>;
  readonly words: readonly Block[]; //       for those who wait for an answer
}

/** What the end has to know of the turn. */
export interface Closing {
  readonly turn: string;
  readonly steps: number;
  readonly askers: Askers;
  readonly frame: Frame | null; // null: no model was asked
  /** The wish that was being fulfilled; null: none. It is over with the turn that is stopped over it. */
  readonly obeying: Mail | null;
  /** Takes and writes down what waits: of a session that is killed nothing stays unread. */
  readonly takeRest: () => Promise<void>;
}

/** Once the end is durable it is told: to whoever traces, and to those who wait for an answer. */
export async function endTurn(
  parts: TurnParts,
  place: Place,
  closing: Closing,
  ending: Ending,
): Promise<void> {
  const { said, over } = await committedEnd(parts, place, closing, ending);
  const { outcome, reason } = ending;
  const { lastSeq: seq } = place.held.row.transcript;
  tellEnd(place.span, outcome);
  parts.answers.tell(closing.askers.letters, { outcome, reason, text: outcome === "done" ? said : "", seq });
  const vain = outcome === "done" ? ({ outcome: "failed", reason: VAIN } as const) : { outcome, reason };
  parts.answers.tell(over, { ...vain, text: "", seq });
}

const VAIN = "the session ended before it was done";

/** What was said, for those who asked; and the wishes that are over with it. */
async function committedEnd(
  parts: TurnParts,
  place: Place,
  closing: Closing,
  ending: Ending,
): Promise<{ readonly said: string; readonly over: readonly string[] }> {
  const { held, mailbox } = place;
  const said = ending.words.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const find = (key: SessionKey): Promise<Session | null> => parts.store.session(key);
  let gone: ReadonlyMap<string, string> | null = null; // null: all who asked may be there
  let isRead = false; // the mailbox was read anew, so that what is not in it does not wait
  for (let stays = false; ;) {
    const isOver = (task: string): boolean => closing.askers.has(task) || (isRead && !mailbox.has(task));
    // Of a session that ends nobody makes the context smaller.
    const isVain = (mail: Mail): boolean =>
      mail.id === closing.obeying?.id || (isRead && !stays && wishOf(mail) !== null);
    const over = mailbox.known.filter(isVain).map(({ id }) => id);
    const late = mailbox.known.filter(
      (mail) => isVain(mail) || isAbort(mail) || (isDeadline(mail) && isOver(taskOf(mail))),
    );
    const reports = await reportsOf(parts, place, closing, ending, said);
    const below = ending.outcome === "killed" ? await killingBelow(parts.store, held.key) : [];
    const take = late.map(({ id }) => id);
    const left = tasksLeft(await held.entries(), held.row.transcript.copied);
    const writing = await writingOf(parts, place, closing, { ...ending, stays, left });
    const end = { ...ending, text: ending.outcome === "done" ? said : "" };
    const told = closing.askers.replies.ended(end, ending.words);
    const answers = closing.askers.replies.answer(ending.words, gone ?? new Map());
    const others = [...answers, ...reports, ...below, ...told];
    try {
      await held.commit({ ...writing, take, others });
      mailbox.remove(take);
      return { said, over };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.code === "unread" && ending.outcome === "killed") await closing.takeRest();
      // Who wrote is answered by another turn, and then it ends. What we know of may be all: a deadline that just came.
      else if (error.code === "unread") {
        stays = (await mailbox.refreshed()).some((mail) => !isOrder(mail));
        isRead = true;
      }
      // A session that asked is gone: that must keep neither this turn from ending, nor others from hearing of it.
      else if ((error.code === "not_found" || error.code === "ended") && gone === null)
        gone = await closing.askers.replies.gone(find);
      else throw error;
    }
  }
}

async function writingOf(
  { world, store }: TurnParts,
  { held }: Place,
  { turn, steps, frame, askers }: Closing,
  {
    outcome,
    reason,
    entries,
    charge,
    stays,
    left,
  }: Ending & {
    readonly stays: boolean;
    readonly left: readonly Body[];
  },
): Promise<Writing> {
  const tidied = askers.letters.length === 0 ? ({ tidied: true } as const) : {};
  const data: TurnEnded = { turn, outcome, reason, steps, frame, ...tidied };
  const state = stateAfter(held.row, outcome, { reason, atMs: world.nowMs() });
  const isEnd = state.kind === "ended" && !stays;
  return {
    entries: [
      ...entries,
      ...(isEnd ? left : []),
      { type: "custom", customType: "sessiond/turn-ended", data },
    ],
    charge,
    state: isEnd ? state : { kind: "idle" },
    afterwards:
      isEnd && (await mayBeDeleted(store, held.row)) ? [{ do: "delete", key: held.key, expect: null }] : [],
  };
}

/** While somebody below it lives it stays: who is above that one could not be told otherwise. */
async function mayBeDeleted(store: Pick<Store, "sessions">, { key, settings }: Session): Promise<boolean> {
  return settings.deleteAtEnd && (await livingBelow(store, key)).length === 0;
}

/** One for each task that was given in this turn's letters. */
async function reportsOf(
  parts: TurnParts,
  { held }: Place,
  { askers }: Closing,
  { outcome, reason, entries: last }: Ending,
  said: string,
): Promise<Change[]> {
  const { class: of, replies } = askers;
  const { tasks } = replies;
  if (tasks.length === 0) return [];
  const entries = await held.entries();
  const content = await reportContent(
    {
      key: held.key,
      label: held.row.settings.label,
      outcome,
      reason,
      said: outcome === "done" ? said : lastWords([...entries, ...last]),
      entries,
      last,
      nowMs: parts.world.nowMs(),
    },
    (bytes) => parts.store.putBlob(bytes),
  );
  const find = (key: SessionKey): Promise<Session | null> => parts.store.session(key);
  return await Promise.all(
    tasks.map(async ({ task, giver }): Promise<Change> => {
      const to = await addresses(giver, held.row, find);
      return { do: "post", to, letter: reportLetter(held.key, task, of, content) };
    }),
  );
}

/** All below it are killed with it, in the commit of its own end: nobody is born below one that is to die (store/rules.ts). */
export async function killingBelow(store: Pick<Store, "sessions">, key: SessionKey): Promise<Change[]> {
  const living = (await livingBelow(store, key)).filter(({ signal }) => signal !== "kill");
  return living.map((child): Change => ({ do: "signal", key: child.key, signal: "kill" }));
}

/** What is written of a turn that stays open, for whoever goes on with it; null: nothing, it rests already. */
export function leftOpen(
  stop: Rest,
  {
    turn,
    state,
    nowMs: sinceMs,
  }: { readonly turn: string; readonly state: RunState; readonly nowMs: number },
): Pick<Writing, "entries" | "state"> | null {
  switch (stop.kind) {
    case "paused":
      return { state: { kind: "paused", sinceMs } };
    case "yielded":
      return state.kind === "waiting" ? null : { state: { kind: "waiting", sinceMs, for: "children" } };
    case "leaving":
      // Whoever goes on with it sees that it was left in order, and not by a crash.
      return { entries: [{ type: "custom", customType: "sessiond/turn-left", data: { turn } }] };
  }
}

/**
 * Why a turn failed that threw: the configuration names a model that is not there, or a prompt that cannot be read; or it is a
 * bug of ours. Null: the store refused something else, about whose session this is, or about the disk. The lane sees to that.
 */
export function reasonOf(error: unknown): string | null {
  if (!(error instanceof Fault)) return `a bug of sessiond: ${String(error)}`;
  return error.code === "bad_input" ? error.message : null;
}

/** A session that is killed ends, and so does one that runs once; every other waits for the next message. */
function stateAfter(
  { key, settings }: Session,
  outcome: TurnOutcome,
  { reason, atMs }: { readonly reason: string | null; readonly atMs: number },
): RunState {
  if (outcome !== "killed" && !(settings.oneShot ?? isOneShot(key))) return { kind: "idle" };
  return { kind: "ended", atMs, outcome: ENDS[outcome], reason };
}

/** How a session ends whose only turn ended so. */
const ENDS: Readonly<Record<TurnOutcome, Outcome>> = {
  done: "done",
  failed: "failed",
  overflow: "failed",
  aborted: "killed",
  killed: "killed",
  timeout: "timeout",
  limit: "limit",
  interrupted: "interrupted",
};

export function failureWords(reason: string): Block[] {
  return [{ type: "text", text: `This turn ended without an answer: ${reason}` }];
}
