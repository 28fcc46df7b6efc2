// Messages of other programs: signed requests, each from the channel that its secret belongs to. The signature is what lets
// them in, so this door stands outside of tokens.
//
// Invariants
//   K1. Nothing is done for a request that is not signed with the secret of its channel, within the window of time.
//   K2. What was overheard and is played again is the same letter: its id is in what is signed.
//   K3. Who may not comes to know nothing: which names there are, and what was wrong, all look the same.

import { Hono, type Context } from "hono";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Person } from "../calls/call.ts";
import { receiveInput } from "../calls/schemas.ts";
import {
  ID_HEADER,
  isSameSignature,
  SIGNATURE_HEADER,
  signatureOf,
  TIMESTAMP_HEADER,
} from "../channels/signature.ts";
import type { Webhook } from "../config/config.ts";
import { REFUSED_PER_SECOND, WEBHOOK_SUSPECT_BYTES_MAX, WEBHOOK_WINDOW_MS } from "../limits.ts";
import { checked } from "../tools/tool.ts";
import { addressOf, type Gate, type LetIn } from "./gate.ts";
import { Rate } from "./rate.ts";

type Coming = Context<Pick<LetIn, "Bindings">>;

/** As `receive` takes it; which channel it is, the address says. */
const message = receiveInput.omit({ channel: true, topic: true, mode: true }).extend({
  id: z.string({ error: "your own id of the message: sent again, it is known by it" }).min(1).max(256),
  chatType: receiveInput.shape.chatType.default("direct"),
  agent: z.string().optional(),
});

/** In place of a secret, for a name that is not there: so that looking takes as long. */
const NOBODYS = "nobody signs with this";

/** The same for everything that is wrong (K3). */
const REFUSAL = {
  code: "unauthorized",
  message:
    "there is no such webhook, or the request is not signed as it wants, or its timestamp is too old or too new",
  todo: `send ${TIMESTAMP_HEADER} (seconds) and ${SIGNATURE_HEADER}: v1=<hex of HMAC-SHA256(secret, "<timestamp>.<body>")>`,
  retry: false,
} as const;

/** To be mounted at /hooks, where sizes are looked at, and no tokens. */
export function webhookDoor({ door, system, closing }: Gate): Hono<Pick<LetIn, "Bindings">> {
  const { world, config } = system;
  const wrong = new Rate(world, REFUSED_PER_SECOND);
  const app = new Hono<Pick<LetIn, "Bindings">>();
  app.post("/:name", async (context) => {
    const address = addressOf(context.env.incoming);
    if (!wrong.isLeft(address) && sizeOf(context) > WEBHOOK_SUSPECT_BYTES_MAX) throw tooOften();
    const webhook = config.webhooks.get(context.req.param("name")) ?? null;
    const body = await signedBody(context, webhook, world.nowMs());
    if (body === null || webhook === null) {
      if (!wrong.take(address)) throw tooOften();
      return context.json({ error: REFUSAL }, 401);
    }
    const { agent = webhook.agent, ...rest } = await messageIn(body, context.req.header(ID_HEADER));
    const caller: Person = { kind: "person", principal: `webhook:${webhook.name}`, scope: "operate" };
    const envelope = { ...rest, agent, channel: webhook.name };
    const { sessionKey, id, repeated } = await door.call("receive", caller, envelope, closing);
    return context.json({ sessionKey, id, repeated }, 202);
  });
  return app;
}

/** The bytes that were signed; null: they were not. K1. */
async function signedBody(
  context: Coming,
  webhook: Webhook | null,
  nowMs: number,
): Promise<Uint8Array | null> {
  const timestamp = context.req.header(TIMESTAMP_HEADER) ?? "";
  const given = context.req.header(SIGNATURE_HEADER) ?? "";
  if (!/^\d{1,12}$/.test(timestamp) || given === "") return null;
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > WEBHOOK_WINDOW_MS) return null;
  const body = new Uint8Array(await context.req.arrayBuffer());
  const isSigned = isSameSignature(given, signatureOf(webhook?.secret.reveal() ?? NOBODYS, timestamp, body));
  return isSigned && webhook !== null ? body : null;
}

async function messageIn(body: Uint8Array, named: string | undefined): Promise<z.output<typeof message>> {
  const given = await checked(message, parsed(body));
  if ("problems" in given)
    throw new Fault(
      "bad_input",
      `the message: ${given.problems}; as in {"id": "42", "peer": "ann", "message": "Good morning"}`,
    );
  const found = given.value as z.output<typeof message>;
  // A header is not signed: who plays a request again could change it (K2).
  if (named !== undefined && named !== found.id)
    throw new Fault(
      "bad_input",
      `${ID_HEADER} is ${shown(named)}, and the id in the body ${shown(found.id)}; they are one`,
    );
  return found;
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    throw new Fault("bad_input", "the body is no JSON", { cause: error });
  }
}

/** Infinity: it does not say. */
function sizeOf(context: Coming): number {
  return Number(context.req.header("content-length") ?? Infinity);
}

function tooOften(): Fault {
  return new Fault("rate_limited", "too many requests with a wrong signature");
}
