// Answers on their way to a channel, and those that were refused or given up: they are shown, and can be handed over once more
// when somebody has seen to what was wrong.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import type { Outgoing } from "../mail/letter.ts";
import { parseKey } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { OutboxQuery, Page } from "../store/store.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { outbox as outboxPage, outboxInput } from "./schemas.ts";
import { sessionKey } from "./setting-shapes.ts";
import { answerOf } from "./views.ts";

export const outbox = call({
  about: "Answers that are on their way to a channel, or that were refused, and why.",
  who: "person",
  tool: null,
  scope: "read",
  http: "GET /outbox",
  input: outboxInput,
  output: outboxPage,
  idempotent: true,
  run: async (system, _caller, { sessionKey: whose, refused, limit = 50, cursor = null }) => {
    const of = whose === undefined ? {} : { key: parseKey(whose) };
    const page = await system.store.outbox({ refused, limit, cursor, ...of });
    return just({ answers: page.rows.map(answerOf), next: page.next });
  },
});

const input = z.strictObject({
  id: z.string().min(1).describe("The id of the answer, as `outbox` shows it."),
  sessionKey: sessionKey.optional().describe("Whose answer it is: then it is found sooner."),
});

const redelivered = z.strictObject({ id: z.string(), sessionKey });

export const redeliver = call({
  about:
    "Hands an answer over once more that was refused or given up, under the same id. What may not leave stays refused.",
  who: "person",
  tool: null,
  scope: "operate",
  http: "POST /outbox/:id/redeliver",
  input,
  output: redelivered,
  idempotent: false,
  run: handOver,
});

/** It keeps its id: a receiver that did take it the first time knows it again. What may not leave now, does not. */
async function handOver(
  system: System,
  _caller: Caller,
  { id, sessionKey: of }: z.output<typeof input>,
): Promise<Done<z.input<typeof redelivered>>> {
  const whose = of === undefined ? {} : { key: parseKey(of) };
  const { key, route, content } = await refusedOne(system, id, { refused: true, ...whose });
  const override = (await system.store.session(key))?.settings.sendPolicy ?? null;
  const may = maySend(system.config.session.sendPolicy, { key, channel: route.channel, override });
  if (!may.allowed) throw new Fault("forbidden", `${id} may not leave: ${may.why}`);
  return {
    // Taken off the list and put on it again, in one commit: it is never on it twice, nor missing.
    changes: [
      { do: "settle", id, refused: null },
      { do: "send", outgoing: { id, key, route, content } },
    ],
    output: () => {
      system.lanes.worker(key)?.deliver(); // Else whoever claims the session next does it.
      return { id, sessionKey: key };
    },
  };
}

async function refusedOne({ store }: System, id: string, query: OutboxQuery): Promise<Outgoing> {
  let cursor: string | null = null;
  do {
    const page: Page<Outgoing> = await store.outbox({ ...query, cursor, limit: PAGE_ROWS_MAX });
    const found = page.rows.find((each) => each.id === id);
    if (found) return found;
    cursor = page.next;
  } while (cursor !== null);
  throw new Fault("not_found", `no answer that was refused is called ${shown(id)}; \`outbox\` lists them`);
}
