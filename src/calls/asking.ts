// What is asked about sessions: how they are, which there are, what became of a message.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { alarm } from "../base/waiting.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import { LISTED_MAX_OF_TOOL } from "./limits.ts";
import type { Letter, Mail } from "../mail/letter.ts";
import { abortId } from "../mail/task.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import type { Page, SessionQuery } from "../store/store.ts";
import { answerIn } from "../turns/answers.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { keyFor, pageWithin, reached, saidTo } from "./reach.ts";
import type * as shape from "./schemas.ts";
import { send, sentId, spawnedId } from "./send.ts";
import { setting } from "./setting.ts";
import { rowOf, statusOf } from "./views.ts";

/** How long a wait lasts that does not say. */
const WAIT_MS = 60 * 60 * 1_000;

export async function wait(
  system: System,
  caller: Caller,
  { sessionKey, id, timeoutMs }: z.output<typeof shape.waitInput>,
  signal: AbortSignal,
): Promise<Done<Answered>> {
  const { key } = await reached(system, caller, parseKey(sessionKey));
  const isWhole = /^(?:ext|cause):/.test(id);
  for (const letter of isWhole ? [id] : [sentId(caller, key, id), spawnedId(caller, id)]) {
    // Asked for before anything is looked at, so that an end in between is not overlooked. The mail is looked at first: a
    // letter goes from there into the transcript.
    const coming = awaited(system, { id: letter, timeoutMs }, signal);
    const isWaiting = await hasMail(system, key, letter);
    const there = isWaiting ? "not ended" : await answerThere(system, key, letter);
    if (there !== null) return just(saidTo(caller, there === "not ended" ? await coming() : there));
  }
  throw new Fault("not_found", `${key} was sent no message ${shown(id)}, or long ago`);
}

async function hasMail(system: System, key: SessionKey, id: string): Promise<boolean> {
  let cursor: string | null = null;
  do {
    const page: Page<Mail> = await system.store.mail(key, { cursor, limit: PAGE_ROWS_MAX });
    if (page.rows.some((mail) => mail.id === id)) return true;
    cursor = page.next;
  } while (cursor !== null);
  return false;
}

/** A letter that is new cannot have been answered before: so its transcript need not be looked at. */
export async function ask(
  system: System,
  caller: Caller,
  { timeoutMs, ...message }: z.output<typeof shape.askInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.asked>>> {
  const { changes, output, id } = await send(system, caller, message);
  const coming = awaited(system, { id, timeoutMs }, signal);
  return {
    changes,
    output: async (receipt) => {
      const sent = await output(receipt);
      const there = sent.repeated ? await answerThere(system, parseKey(sent.sessionKey), id) : null;
      const isThere = there !== null && there !== "not ended";
      const { seq: endSeq, ...answered } = isThere ? there : await coming();
      return { ...sent, ...answered, endSeq };
    },
  };
}

type Answered = z.input<typeof shape.answered>;

async function answerThere(
  system: System,
  key: SessionKey,
  id: string,
): Promise<Answered | "not ended" | null> {
  const session = await system.store.session(key);
  return session && (await answerIn(system.store.entries(session.transcript.id, { before: null }), id));
}

/** Waits from now on, whether or not somebody asks for what comes of it. */
export function awaited(
  system: System,
  { id, timeoutMs = WAIT_MS }: { readonly id: string; readonly timeoutMs: number | undefined },
  signal: AbortSignal,
): () => Promise<Answered> {
  const late = new AbortController();
  const callOff = alarm(system.world, timeoutMs, () => late.abort());
  const coming = system.answers.wait(id, AbortSignal.any([signal, late.signal])).finally(callOff);
  coming.catch(() => {}); // Nobody may ask.
  return async () => {
    try {
      return await coming;
    } catch (error) {
      if (!late.signal.aborted) throw error;
      return { outcome: "unanswered", reason: `no answer within ${timeoutMs} ms`, text: "", seq: null };
    }
  };
}

const STOPPED = "a person stopped it";

export async function abort(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.oneSession>,
): Promise<Done<z.input<typeof shape.accepted>>> {
  const { key, state } = await reached(system, caller, parseKey(input.sessionKey));
  const accepted = system.lanes.worker(key)?.abort(STOPPED) ?? false;
  if (accepted || state.kind !== "waiting") return just({ sessionKey: key, accepted });
  // Nothing runs, perhaps in no process: whoever has the session next obeys.
  const letter: Letter = {
    id: abortId(system.world.newId()),
    from: { kind: "internal_system", cause: "abort" },
    class: "interactive",
    mode: "followup",
    content: [{ type: "text", text: STOPPED }],
    replyTo: null,
    origin: null,
  };
  return {
    changes: [{ do: "post", to: [key], letter }],
    output: () => ({ sessionKey: key, accepted: true }),
  };
}

export async function status(
  system: System,
  caller: Caller,
  { sessionKey, model }: z.output<typeof shape.statusInput>,
): Promise<Done<z.input<typeof shape.status>>> {
  const session = await reached(system, caller, keyFor(caller, sessionKey));
  if (model === undefined) return just(await statusOf(system, session));
  if (caller.kind === "agent" && session.key !== caller.session.key)
    throw new Fault("forbidden", "a session sets its own model, and no other's");
  const { changes, settings } = setting(system, session, { model: model === "default" ? null : model }, null);
  const after = await statusOf(system, { ...session, settings });
  return { changes, output: () => after };
}

export async function list(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.listInput>,
): Promise<Done<z.input<typeof shape.listed>>> {
  const { parent, title, cursor = null, ...same } = input;
  const most = caller.kind === "agent" ? LISTED_MAX_OF_TOOL : Infinity;
  const limit = Math.min(input.limit ?? 50, most);
  const asked: Record<string, unknown> = { ...same, parent: parent && parseKey(parent), titlePrefix: title };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const query: SessionQuery = { ...Object.fromEntries(given), cursor, limit };
  const page = await pageWithin(system, caller, query);
  return just({ sessions: page.rows.map((session) => rowOf(system, session)), next: page.next });
}
