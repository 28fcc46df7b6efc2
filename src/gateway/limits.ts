// Bounds of what comes in over a network, as src/limits.ts has all others: unit in the name, reason beside it.

import { assert } from "../base/assert.ts";
import {
  FOLLOWER_BYTES_MAX,
  MAIL_ID_KEPT_MS,
  MESSAGE_PICTURES_BYTES_MAX,
  MESSAGE_TEXT_BYTES_MAX,
} from "../limits.ts";

/** Bytes of a request: the pictures of a message in base64, its text, and room around them. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Connections of the gateway. Each costs some 20 KiB; more than a machine's programs and pages need is a flood. */
export const CONNECTIONS_MAX = 5_000;

/** How long a client may take to say what it wants, and to say all of it. Longer is a slow loris. */
export const HEADERS_MS_MAX = 10_000;
export const REQUEST_MS_MAX = 60_000;

/** What one socket may have under way: subscriptions (a page with many sessions open), and calls that wait. */
export const SUBSCRIPTIONS_MAX = 512;
export const SOCKET_CALLS_MAX = 256;

/** Bytes that wait in a socket before its subscriptions are not read any more. The follower's own bound comes after it. */
export const SOCKET_WAITING_BYTES = 1024 * 1024;

/** How long a client that was cut off has to read why, before its connection is ended. */
export const CUT_OFF_GRACE_MS = 5_000;

/** Between two signs of life of a quiet connection: proxies and routers forget those that are quiet for a minute. */
export const ALIVE_MS = 25_000;

/** Between two signs of progress of a call that an MCP client waits for. Clients give up after a minute without one. */
export const MCP_PROGRESS_MS = 10_000;

/** How long a turn that is over may take to be read from its transcript. Only damage at its end lets that take longer. */
export const TURN_READ_MS = 10_000;

/** Requests with a wrong token, or a wrong signature, that one address may make in a second. */
export const REFUSED_PER_SECOND = 10;

/** Addresses or tokens whose rate is remembered. Who is forgotten begins anew. */
export const RATES_MAX = 10_000;

/** Named tokens of a gateway. Each request is compared with all of them. */
export const TOKENS_MAX = 1_000;

/**
 * How old a signed message may be, or how far ahead the clock that signed it. Long enough for clocks that nobody looks after and
 * for a sender's retries; what was overheard can be played again for no longer, and is the same letter then.
 */
export const WEBHOOK_WINDOW_MS = 5 * 60 * 1_000;

/** Bytes of a message that are read of an address whose last signatures were wrong: a plain message, but no pictures. */
export const WEBHOOK_SUSPECT_BYTES_MAX = 16 * 1024;

/**
 * Bytes of larger messages that are read at once before their signatures can be looked at: two of the largest, or many with a
 * picture. Anybody can fill it, for as long as a request may take; what is beyond it comes again later.
 */
export const WEBHOOK_UNSIGNED_BYTES_MAX = 64 * 1024 * 1024;

assert(
  (MESSAGE_PICTURES_BYTES_MAX * 4) / 3 + MESSAGE_TEXT_BYTES_MAX < BODY_BYTES_MAX,
  "the largest message fits a request",
);
assert(BODY_BYTES_MAX <= WEBHOOK_UNSIGNED_BYTES_MAX, "the largest message of a webhook is read");
assert(WEBHOOK_WINDOW_MS * 2 < MAIL_ID_KEPT_MS, "what is played again while its signature counts is known");
assert(SOCKET_WAITING_BYTES < FOLLOWER_BYTES_MAX, "a socket is full before its follower is cut off");
