// Messages of channels: a chat command among them is obeyed, and answered where it came from; everything else is a letter.
//
// A command that changes something is obeyed at most once, however often its channel delivers it. That it came is durable before it
// is obeyed: as a timer that is due when nobody delivers it again any more, and then does nothing. So a crash in between leaves a
// command that was not obeyed, or one whose answer is lost; whoever wrote it hears nothing, and writes it again. One that only looks
// is answered whenever it comes, but while its answer waits not again. One that takes long is answered twice: that it is at work, and
// what came of it (later.ts).

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { unlessAborted, unlessLate } from "../base/waiting.ts";
import type { Route } from "../mail/letter.ts";
import { mainKey, type SessionKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Change } from "../store/change.ts";
import type { Timer } from "../timers/timer.ts";
import { call, type Done, type Person, type System } from "./call.ts";
import { WEB } from "./chat.ts";
import { commandIn, messageIn, personOf, textIn, type Found } from "./commands.ts";
import { placeOf } from "./commands/command.ts";
import {
  COMMAND_ANSWERS_MAX,
  COMMAND_REMEMBERED_MS,
  COMMAND_WAIT_MS,
  COMMAND_WORK_MS_MAX,
} from "./limits.ts";
import { carriedOut } from "./running.ts";
import { received, receiveInput } from "./schemas.ts";
import { arrival, opening, receive } from "./send.ts";
import type { Rows } from "./table.ts";

type Input = z.output<typeof receiveInput>;
type Output = z.input<typeof received>;

/** Its row in the table. `rows` are those that commands are made of. */
export function receivingCalls(rows: Rows) {
  return {
    receive: call({
      about:
        "A message from a channel: it finds its session by itself, and the answer goes back through the channel. A chat command " +
        "(/status, /help) is obeyed, and answered in the same way.",
      who: "person",
      tool: null,
      scope: "operate",
      http: "POST /receive",
      input: receiveInput,
      output: received,
      idempotent: false,
      run: async (system, caller, input, signal) => {
        const hasPictures = (input.images ?? []).length > 0;
        const found = hasPictures ? null : commandIn(input.message, input.chatType === "direct");
        if (found !== null)
          return await obeying(rows, { system, caller: personOf(caller), input, signal }, found);
        return asReceived(await receive(system, caller, { ...input, message: messageIn(input.message) }));
      },
    }),
  } as const;
}

function asReceived(done: Awaited<ReturnType<typeof receive>>): Done<Output> {
  const { changes, output } = done;
  return { changes, output: async (receipt) => ({ ...(await output(receipt)), command: null }) };
}

interface Came {
  readonly system: System;
  readonly caller: Person;
  readonly input: Input;
  readonly signal: AbortSignal;
}

async function obeying(rows: Rows, came: Came, found: Found): Promise<Done<Output>> {
  const { system, caller, input } = came;
  const { id, routed } = arrival(system, caller, input);
  const { key, replyTo, origin } = routed;
  const session = await system.store.session(key);
  const output = { sessionKey: key, id, repeated: false, seq: session?.transcript.lastSeq ?? 0 };
  const isOnce = input.id !== undefined && found.command.looks?.(found.rest) !== true;
  if (isOnce && (await wasObeyed(system, id)))
    return { changes: [], output: () => ({ ...output, repeated: true, command: null }) };
  await mustHaveRoom(system, key, replyTo);
  // Nobody has claimed a session that is opened here. Where it is talked to is known from the first word on, also from a command.
  const route = replyTo.channel === "" ? null : replyTo;
  const reroute = { do: "reroute", key, fence: 0, route, origin } as const;
  const opened = session === null ? [await opening(system, key), reroute] : [];
  return {
    changes: [...opened, ...(isOnce ? [remembering(system, input, id)] : [])],
    output: async () => {
      const answer = { id: `${id}:command`, key, route: replyTo };
      const work = answered(rows, came, found, answer);
      return { ...output, command: await (isToldHere(answer.route) ? work : system.later.begun(work)) };
    },
  };
}

// ── Once ────────────────────────────────────────────────────────────────────────────────────────────────────

const OBEYED = "command:";

/** A timer that only says, while it is there, that a command came. */
export function isReminder({ id }: Timer): boolean {
  return id.startsWith(OBEYED);
}

async function wasObeyed({ store }: System, id: string): Promise<boolean> {
  const query = { id: `${OBEYED}${id}`, dueByMs: Number.MAX_SAFE_INTEGER, limit: 1 };
  return (await store.timers(query)).rows.length > 0;
}

/** Refused when it is there: then the same message came twice at once, and the other one is obeyed. */
function remembering({ world }: System, { agent }: Input, id: string): Change {
  const dueAtMs = world.nowMs() + COMMAND_REMEMBERED_MS;
  // Not of the session: one that has a timer is not idle to those who look after the disk.
  const key = mainKey(agent as Parameters<typeof mainKey>[0]);
  return { do: "setTimer", timer: { id: `${OBEYED}${id}`, key, dueAtMs, body: null }, expectDueAtMs: null };
}

/** Refused as a message is whose mailbox is full, before anything is kept of it: then it can be delivered again. */
async function mustHaveRoom(system: System, key: SessionKey, route: Route): Promise<void> {
  if (isToldHere(route) || !(await isFull(system, key, false))) return;
  throw new Fault(
    "mailbox_full",
    `${COMMAND_ANSWERS_MAX} answers of ${key}, or more than a page, have not left, or are still to come`,
    {
      todo: `wait until ${route.channel} takes them; \`sessiond outbox\` shows them`,
    },
  );
}

/**
 * What is still to come counts as if it were there. Of many that come at once each sees the others' answers only when they are there:
 * by so many there may be more.
 */
async function isFull({ store, later }: System, key: SessionKey, refused: boolean): Promise<boolean> {
  const { rows, next } = await store.outbox({ key, refused, limit: COMMAND_ANSWERS_MAX });
  const coming = refused ? 0 : later.of(key);
  return rows.length + coming >= COMMAND_ANSWERS_MAX || next !== null;
}

// ── Obeying and answering ───────────────────────────────────────────────────────────────────────────────────

interface Answer {
  readonly id: string;
  readonly key: SessionKey;
  readonly route: Route;
}

/** What is told to whoever wrote it, where no channel brings it; null: a channel does, or it may not leave. */
async function answered(rows: Rows, came: Came, found: Found, answer: Answer): Promise<string | null> {
  const { system } = came;
  const before = await permitted(system, answer);
  // Whoever is not to be answered is not obeyed: else a chat could give itself leave.
  if (before.bySetting !== null && before.byRules !== null)
    return await sent(system, answer, { text: "it was not obeyed", refused: before.bySetting });
  const work = obeyed(rows, came, found, answer);
  const lines = isToldHere(answer.route) ? await work : await inTime(came, work);
  const after = await permitted(system, answer);
  // What switches answers off is the last that is answered.
  const refused = before.bySetting === null ? null : after.bySetting;
  if (lines !== null) return await sent(system, answer, { text: textIn(lines), refused });
  const first = sent(system, { ...answer, id: `${answer.id}:at-work` }, { text: textIn(AT_WORK), refused });
  tellLater(system, answer, { work, first });
  return await first;
}

/** Null: it takes longer, or whoever brought it has gone. */
async function inTime<Value>({ system, signal }: Came, work: Promise<Value>): Promise<Value | null> {
  try {
    return await unlessAborted(unlessLate(system.world, COMMAND_WAIT_MS, work), signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return null;
  }
}

const AT_WORK = ["still at it; the answer comes when it is done"];

/** After the first word, which has an id of its own: this one is the answer. Here only what is set by then says whether it may leave. */
function tellLater(
  system: System,
  answer: Answer,
  { work, first }: { readonly work: Promise<readonly string[]>; readonly first: Promise<unknown> },
): void {
  system.later.add(answer.key, work, async (lines) => {
    await Promise.allSettled([first]);
    const { bySetting: refused } = await permitted(system, answer);
    await sent(system, answer, { text: textIn(lines), refused });
  });
}

/** Who is told with the receipt is not told anything later: there the command itself says that it is not done yet. */
async function obeyed(
  rows: Rows,
  { system, caller, input, signal }: Came,
  { command, rest }: Found,
  { key, route }: Answer,
): Promise<readonly string[]> {
  const waiting = isToldHere(route)
    ? { signal, timeoutMs: COMMAND_WAIT_MS }
    : { signal: system.later.closing, timeoutMs: COMMAND_WORK_MS_MAX };
  const at = placeOf(rows, {
    ...waiting,
    system,
    caller,
    sessionKey: key,
    say: (message) => receive(system, caller, { ...input, message, mode: "followup" }),
  });
  try {
    const commit = (changes: readonly Change[]) => system.commit(changes);
    const { lines } = await carriedOut(() => command.run(at, rest), commit);
    system.totals.obeyed(command.name);
    return lines;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [error.code === "bad_input" ? error.message : `${error.message} (${error.todo})`];
  }
}

/** Why answers may not leave, as the session is set, and by the configuration's rules alone; null: they may. */
interface Permitted {
  readonly bySetting: string | null;
  readonly byRules: string | null;
}

async function permitted({ store, config }: System, { key, route }: Answer): Promise<Permitted> {
  const own = (await store.session(key))?.settings.sendPolicy ?? null;
  const why = (override: "allow" | "deny" | null): string | null => {
    const may = maySend(config.session.sendPolicy, { key, channel: route.channel, override });
    return may.allowed ? null : may.why;
  };
  return { bySetting: why(own), byRules: why(null) };
}

async function sent(
  system: System,
  { id, key, route }: Answer,
  { text, refused }: { readonly text: string; readonly refused: string | null },
): Promise<string | null> {
  if (isToldHere(route)) return refused === null ? text : null;
  if (refused !== null && (await isFull(system, key, true))) return null; // It is known why, often enough.
  const send: Change = { do: "send", outgoing: { id, key, route, content: [{ type: "text", text }] } };
  try {
    await system.commit(refused === null ? [send] : [send, { do: "settle", id, refused }]);
  } catch (error) {
    // It came before, and its answer is there.
    if (!(error instanceof Fault && error.code === "conflict")) throw error;
  }
  system.lanes.worker(key)?.deliver(); // Else whoever claims the session next does it.
  return null;
}

/** A web page is not called, and shows transcripts: it is told with the receipt. So is who came through no channel. */
function isToldHere({ channel }: Route): boolean {
  return channel === WEB || channel === "";
}
