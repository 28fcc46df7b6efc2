// Answers to a program, as signed requests. Messages from it come in through gateway/webhook.ts.
//
//   taken        2xx
//   refused      4xx: the program knows the request and does not want it. Not tried again; the outbox shows why.
//   try again    all else, also 408, 425 and 429: the outbox does, after pauses that double. A redirect is not followed.
//
// A typing hint is not sent: it would be a second kind of request that every receiver had to tell apart.

import { secretCharsMax, withoutSecrets } from "../base/redact.ts";
import { redirectIn, Redirected } from "../base/redirect.ts";
import { Secret } from "../base/secret.ts";
import type { World } from "../base/world.ts";
import type { Webhook } from "../config/config.ts";
import { WEBHOOK_WORDS_BYTES_MAX } from "../limits.ts";
import type { Outgoing } from "../mail/letter.ts";
import { Refused } from "../mail/outbox.ts";
import type { Channel } from "./channel.ts";
import { answerSignatureOf, ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "./signature.ts";

/** Of 4xx these say: not now. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

/** Those that take answers. For the others there is no channel, and the outbox says so. */
export function webhookChannels(world: World, webhooks: Iterable<Webhook>): readonly Channel[] {
  return [...webhooks].flatMap((webhook) => {
    if (webhook.url === null) return [];
    const to = { ...webhook, url: new URL(webhook.url) };
    return [{ name: webhook.name, deliver: (outgoing, signal) => post(world, to, { outgoing, signal }) }];
  });
}

type Receiver = Omit<Webhook, "url"> & { readonly url: URL };

async function post(
  world: World,
  receiver: Receiver,
  { outgoing, signal }: { readonly outgoing: Outgoing; readonly signal: AbortSignal },
): Promise<void> {
  const body = bodyOf(outgoing);
  const timestamp = String(Math.floor(world.nowMs() / 1_000));
  const request: RequestInit = {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      [ID_HEADER]: outgoing.id,
      [TIMESTAMP_HEADER]: timestamp,
      [SIGNATURE_HEADER]: answerSignatureOf(receiver.secret.reveal(), timestamp, body),
    },
    redirect: "manual",
    signal,
  };
  const response = await fetch(receiver.url, request).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new Error(`${receiver.url.origin} could not be reached: ${whyNot(error)}`);
  });
  if (response.ok) return await drop(response);
  const elsewhere = redirectIn(response);
  if (elsewhere !== null) {
    await drop(response);
    throw new Redirected(elsewhere, `write the new address into webhooks.${receiver.name}.url`);
  }
  const said = `${receiver.url.origin} answered ${response.status}${await wordsOf(response, receiver)}`;
  const isFinal = response.status >= 400 && response.status < 500 && !NOT_NOW.has(response.status);
  throw isFinal ? new Refused(said) : new Error(said);
}

/** The same bytes whenever it is sent. */
function bodyOf({ id, key, route, content, postedAtMs }: Outgoing): string {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const isPlain = content.every((block) => block.type === "text");
  const at = new Date(postedAtMs).toISOString();
  const { to, thread } = route;
  return JSON.stringify({ id, sessionKey: key, to, thread, text, ...(isPlain ? {} : { content }), at });
}

/** What fetch itself says may hold the whole address, with keys in its query: only what lies beneath is told. */
function whyNot(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return typeof code === "string" ? code : "the connection failed";
}

/** What it says is not for us, once it has taken the answer: it may never end. */
async function drop(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {}); // It broke off by itself.
}

/** Shorter pieces of a path are words, as in /services/answers. What is given away by a longer word is missed by nobody. */
const SEGMENT_CHARS_MIN = 9;

/** Many services have the key in the path, and repeat the path in what they say. */
function secretsOf({ pathname, search, searchParams }: URL): readonly Secret[] {
  const segments = pathname.split("/").filter(({ length }) => length >= SEGMENT_CHARS_MIN);
  const texts = [...searchParams.values(), ...segments, pathname, `${pathname}${search}`];
  return [...new Set(texts.flatMap((text) => [text, decoded(text)]))].map((text) => new Secret(text));
}

/** As it is when it holds a "%" that stands for nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The beginning of what the receiver says, for whoever looks at the outbox. Our secrets may be repeated in it. */
async function wordsOf(response: Response, { secret, url }: Receiver): Promise<string> {
  const secrets = [secret, ...secretsOf(url)];
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let isWhole = false;
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      bytes += piece.byteLength;
      if (bytes >= WEBHOOK_WORDS_BYTES_MAX) break; // which ends the connection
    }
    isWhole = bytes < WEBHOOK_WORDS_BYTES_MAX;
  } catch {
    // What came before it broke off is said; the status counts.
  }
  const said = new TextDecoder().decode(Buffer.concat(pieces));
  // What ends in the middle may end in the middle of a secret.
  const kept = isWhole ? said : said.slice(0, Math.max(0, said.length - secretCharsMax(secrets)));
  const clean = withoutSecrets(kept, secrets).slice(0, WEBHOOK_WORDS_BYTES_MAX).toWellFormed();
  const line = clean.replaceAll(/\s+/g, " ").trim();
  return line === "" ? "" : `: ${line}`;
}
