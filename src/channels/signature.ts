// What both sides of a webhook sign, and how: one way for messages and for answers.

import { createHmac, timingSafeEqual } from "node:crypto";

export const ID_HEADER = "X-Sessiond-Id";
export const TIMESTAMP_HEADER = "X-Sessiond-Timestamp";
export const SIGNATURE_HEADER = "X-Sessiond-Signature";

/** `v1=` and, in hex, HMAC-SHA256 of `<timestamp>.<body>`. The timestamp is in seconds, as it stands in its header. */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `v1=${createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")}`;
}

/** In a time that says nothing of where they differ. How long they are is no secret. */
export function isSameSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
