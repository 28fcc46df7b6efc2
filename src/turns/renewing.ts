// A session's history goes on in a new file, or the conversation begins anew. Between turns, by the owner. The letter that
// wishes it is taken in the commit that does it, or that says why not: so it happens once.

import { Fault, type FaultCode } from "../base/fault.ts";
import type { Mail } from "../mail/letter.ts";
import { wishedIn } from "../mail/wish.ts";
import type { Held, Rotate } from "../sessions/held.ts";
import { isStale, resetFor } from "../sessions/fresh.ts";
import type { Change } from "../store/change.ts";
import type { Body } from "../transcript/entry.ts";
import type { Answers } from "./answers.ts";
import type { TurnParts } from "./parts.ts";
import { tasksIn, tasksKeptNote } from "./tasks.ts";

interface RenewParts {
  readonly answers: Answers;
  /** The folder it works in. */
  readonly cwd: string;
}

/** The answer says in its reason why nothing was done, where there is nothing to gain. */
export async function obeyRotate(parts: RenewParts, held: Held, order: Mail): Promise<void> {
  const { transcript } = wishedIn(order, "rotate");
  await renew(parts, held, order, { rotate: { keep: "context", transcript, cwd: parts.cwd }, others: [] });
}

/** One that has nothing to forget only takes the letter, and the model that it names. */
export async function obeyReset(parts: RenewParts, held: Held, order: Mail): Promise<void> {
  const { transcript, model } = wishedIn(order, "reset");
  const others: readonly Change[] =
    model === null ? [] : [{ do: "set", key: held.key, version: null, settings: { model } }];
  const rotate: Rotate = { keep: "nothing", transcript, cwd: parts.cwd };
  if (await hasSomething(held))
    return await renew(parts, held, order, { rotate, others: [...others, ...(await unpinned(held))] });
  await held.commit({ take: [order.id], others });
  if (others.length > 0) held.changed();
  tell(parts, held, order, { archive: "" });
}

/** Something was said in it since it began, or began anew. */
async function hasSomething(held: Held): Promise<boolean> {
  if (held.row.transcript.leafId === null) return false;
  return (await held.entries()).some(({ type }) => type !== "custom");
}

/**
 * Before a turn begins with letters: one of a person finds a new conversation where the old one is older than the configuration
 * lets it be. In a commit of its own, that takes nothing: after a crash the letters are still there, and the conversation is new.
 */
export async function renewStale(
  { log, world, session, cwd }: Pick<TurnParts, "log" | "world" | "session"> & Pick<RenewParts, "cwd">,
  held: Held,
  letters: readonly Mail[],
): Promise<void> {
  const last = letters.findLast(({ from }) => from.kind === "external_user");
  if (last === undefined) return;
  const { key, interactedAtMs } = held.row;
  const reset = resetFor({ ...held.row, origin: last.origin ?? held.row.origin }, session.reset);
  // When it was written counts: it may have waited until somebody was there to read it.
  if (!isStale(reset, interactedAtMs, last.postedAtMs) || !(await hasSomething(held))) return;
  try {
    const rotate: Rotate = { keep: "nothing", transcript: world.newId(), cwd };
    const others = await unpinned(held);
    await held.commit({ rotate, entries: await tasksKept(held), others });
    if (others.length > 0) held.changed();
  } catch (error) {
    // The letter is answered all the same, and the next one tries again.
    if (!(error instanceof Fault) || !REFUSED.has(error.code)) throw error;
    log.warn({ key, err: error }, "a conversation that is old could not be begun anew");
  }
}

/** What was pinned is in the archive with the rest. */
async function unpinned(held: Held): Promise<readonly Change[]> {
  const { key, settings } = await held.look();
  return settings.pins.length === 0 ? [] : [{ do: "set", key, version: null, settings: { pins: [] } }];
}

/** It would be refused again, for ever. */
const REFUSED: ReadonlySet<FaultCode> = new Set(["bad_input", "exists"]);

/** Children that still work report into the new conversation: so it knows of them. */
async function tasksKept(held: Held): Promise<readonly Body[]> {
  return tasksKeptNote(tasksIn(await held.entries(), held.row.transcript.copied));
}

async function renew(
  parts: RenewParts,
  held: Held,
  order: Mail,
  { rotate, others }: { readonly rotate: Rotate; readonly others: readonly Change[] },
): Promise<void> {
  const { id: before } = held.row.transcript;
  const entries = rotate.keep === "nothing" ? await tasksKept(held) : [];
  try {
    await held.commit({ take: [order.id], rotate, entries, others });
  } catch (error) {
    if (!(error instanceof Fault) || !REFUSED.has(error.code)) throw error;
    await held.commit({ take: [order.id] });
    return tell(parts, held, order, { refused: error.message });
  }
  if (others.length > 0) held.changed();
  tell(parts, held, order, { archive: rotate.keep === "nothing" ? before : "" });
}

/** Done, with the archive that has what was said, if it is in one; or refused, with the reason. */
type Came = { readonly archive: string } | { readonly refused: string };

function tell({ answers }: RenewParts, held: Held, order: Mail, came: Came): void {
  const { lastSeq: seq } = held.row.transcript;
  const said =
    "refused" in came
      ? { outcome: "failed" as const, reason: came.refused, text: "" }
      : { outcome: "done" as const, reason: null, text: came.archive };
  answers.tell([order.id], { ...said, seq });
}
