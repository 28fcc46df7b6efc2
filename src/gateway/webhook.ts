// Messages of other programs: signed requests, each from the channel that its secret belongs to. The signature is what lets
// them in, so this door stands outside of tokens.
//
// Invariants
//   K1. Nothing of a request is understood or kept that is not signed with the secret of its channel, within the window of
//       time. To know that, its body has to be read: not for a name that is not there, nor with headers that cannot be
//       right; and all that are being read take no more memory than WEBHOOK_UNSIGNED_BYTES_MAX, and as much as
//       WEBHOOK_SUSPECT_BYTES_MAX for each connection.
//   K2. What was overheard and is played again is the same letter: its id is in what is signed.
//   K3. Who may not is told nothing: what was wrong, all looks the same. That a name is there is no secret: it is in the
//       address, and whoever sends a long body slowly sees whether it is read.

import { Hono, type Context } from "hono";
import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { World } from "../base/world.ts";
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
import {
  REFUSED_PER_SECOND,
  WEBHOOK_SUSPECT_BYTES_MAX,
  WEBHOOK_UNSIGNED_BYTES_MAX,
  WEBHOOK_WINDOW_MS,
} from "./limits.ts";
import { DEFAULT_AGENT } from "../routing/key.ts";
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
  const unsigned = new Unsigned(world);
  const app = new Hono<Pick<LetIn, "Bindings">>();
  app.post("/:name", async (context) => {
    const webhook = config.webhooks.get(context.req.param("name")) ?? null;
    const signed = webhook === null ? null : signedIn(context, world.nowMs());
    if (webhook === null || signed === null) {
      unsigned.refused(context);
      return context.json({ error: REFUSAL }, 401);
    }
    const body = await unsigned.read(context, (bytes) =>
      isSameSignature(signed.signature, signatureOf(webhook.secret.reveal(), signed.timestamp, bytes)),
    );
    if (body === null) return context.json({ error: REFUSAL }, 401);
    const { agent, ...rest } = await messageIn(body, context.req.header(ID_HEADER));
    const caller: Person = { kind: "person", principal: `webhook:${webhook.name}`, scope: "operate" };
    const envelope = { ...rest, agent: spokenTo(webhook, agent), channel: webhook.name };
    const { sessionKey, id, repeated } = await door.call("receive", caller, envelope, closing);
    return context.json({ sessionKey, id, repeated }, 202);
  });
  return app;
}

/** Requests of which nobody knows yet whose they are, and those of nobody. */
class Unsigned {
  readonly #wrong: Rate;
  #bytes = 0; // of large bodies that are being read

  constructor(world: World) {
    this.#wrong = new Rate(world, REFUSED_PER_SECOND);
  }

  /** One that is wrong is counted. */
  refused({ env }: Coming): void {
    if (!this.#wrong.take(addressOf(env.incoming))) throw tooOften();
  }

  /** The body; null: it was not signed. A large one counts as wrong until it is known to be right (K1). */
  async read(context: Coming, isSigned: (body: Uint8Array) => boolean): Promise<Uint8Array | null> {
    const bytes = Number(context.req.header("content-length") ?? 0); // Without it, it is a small one (http.ts).
    const isLarge = bytes > WEBHOOK_SUSPECT_BYTES_MAX;
    if (isLarge) this.refused(context);
    const body = isLarge ? await this.#readLarge(context, bytes) : await bodyOf(context);
    if (!isSigned(body)) {
      if (!isLarge) this.refused(context);
      return null;
    }
    if (isLarge) this.#wrong.giveBack(addressOf(context.env.incoming));
    return body;
  }

  async #readLarge(context: Coming, bytes: number): Promise<Uint8Array> {
    if (this.#bytes + bytes > WEBHOOK_UNSIGNED_BYTES_MAX)
      throw new Fault(
        "rate_limited",
        "too much is being read of messages whose signatures are not known yet",
      );
    this.#bytes += bytes;
    try {
      return await bodyOf(context);
    } finally {
      this.#bytes -= bytes;
    }
  }
}

async function bodyOf(context: Coming): Promise<Uint8Array> {
  return new Uint8Array(await context.req.arrayBuffer());
}

/** What the headers say of the signature; null: it cannot be right. */
function signedIn(
  context: Coming,
  nowMs: number,
): { readonly timestamp: string; readonly signature: string } | null {
  const timestamp = context.req.header(TIMESTAMP_HEADER) ?? "";
  const signature = context.req.header(SIGNATURE_HEADER) ?? "";
  if (!/^\d{1,12}$/.test(timestamp) || !/^v1=[0-9a-f]{64}$/.test(signature)) return null;
  return Math.abs(nowMs - Number(timestamp) * 1_000) > WEBHOOK_WINDOW_MS ? null : { timestamp, signature };
}

/** A program that was given an agent speaks to no other. */
function spokenTo({ name, agent }: Webhook, wanted: string | undefined): string {
  if (agent !== null && wanted !== undefined && wanted !== agent)
    throw new Fault(
      "forbidden",
      `webhooks.${name} speaks to the agent ${agent}, and not to ${shown(wanted)}; leave \`agent\` out`,
    );
  return agent ?? wanted ?? DEFAULT_AGENT;
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

function tooOften(): Fault {
  return new Fault("rate_limited", "too many requests with a wrong signature");
}
