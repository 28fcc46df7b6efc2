// What is asked about sessions: how they are, which there are, what became of a message.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { parseKey } from "../routing/key.ts";
import type { SessionQuery } from "../store/store.ts";
import { alarm, answerIn } from "../turns/answers.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { named, reached, sees, visibilityOf } from "./reach.ts";
import type * as shape from "./schemas.ts";
import { setting } from "./setting.ts";
import { rowOf, statusOf } from "./views.ts";

/** How long a wait lasts that does not say. */
const WAIT_MS = 60 * 60 * 1_000;

export async function wait(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.waitInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.answered>>> {
  const { transcript } = await reached(system, caller, parseKey(input.sessionKey));
  const { id, timeoutMs = WAIT_MS } = input;
  const late = new AbortController();
  const callOff = alarm(system.world, timeoutMs, () => late.abort());
  // Asked for before the transcript is looked at, so that an end in between is not overlooked.
  const coming = system.answers.wait(id, AbortSignal.any([signal, late.signal]));
  coming.catch(() => {}); // When the transcript has it, nobody waits for this one.
  try {
    return just(
      (await answerIn(system.store.entries(transcript.id, { before: null }), id)) ?? (await coming),
    );
  } catch (error) {
    if (!late.signal.aborted) throw error;
    return just({ outcome: "unanswered", reason: `no answer within ${timeoutMs} ms`, text: "", seq: null });
  } finally {
    callOff();
    late.abort();
  }
}

export async function abort(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.oneSession>,
): Promise<Done<z.input<typeof shape.accepted>>> {
  const { key } = await reached(system, caller, parseKey(input.sessionKey));
  const accepted = system.lanes.worker(key)?.abort("a person stopped it") ?? false;
  return just({ sessionKey: key, accepted });
}

export async function status(
  system: System,
  caller: Caller,
  { sessionKey, model }: z.output<typeof shape.statusInput>,
): Promise<Done<z.input<typeof shape.status>>> {
  const session = await reached(system, caller, named(caller, sessionKey));
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
  const { parent, title, cursor = null, limit = 50, ...same } = input;
  const asked: Record<string, unknown> = { ...same, parent: parent && parseKey(parent), titlePrefix: title };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const query: SessionQuery = { cursor, limit, ...Object.fromEntries(given) };
  const page = await system.store.sessions(withinReach(caller, query));
  const seen = page.rows.filter((session) => sees(caller, session));
  return just({ sessions: seen.map((session) => rowOf(system, session)), next: page.next });
}

/** Asks the store for no more than the caller may see, where an index can tell. */
function withinReach(caller: Caller, query: SessionQuery): SessionQuery {
  if (caller.kind === "person" || visibilityOf(caller) === "all" || query.agent !== undefined) return query;
  return { ...query, agent: caller.session.agent };
}
