// What both sides of a webhook sign, and how. An answer is signed in another way than a message: with one secret for both,
// whoever overhears one of them could else send it back as the other.

import { createHmac, timingSafeEqual } from "node:crypto";

export const ID_HEADER = "X-Sessiond-Id";
export const TIMESTAMP_HEADER = "X-Sessiond-Timestamp";
export const SIGNATURE_HEADER = "X-Sessiond-Signature";

/**
 * Of a message: `v1=` and, in hex, HMAC-SHA256 of `<timestamp>.<body>`. The timestamp is in seconds, as it stands in its
 * header.
 */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `v1=${createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")}`;
}

/** Of an answer: the same of `answer.<timestamp>.<body>`. No timestamp of a message begins so: it is of digits. */
export function answerSignatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return signatureOf(secret, `answer.${timestamp}`, body);
}

/** In a time that says nothing of where they differ. How long they are is no secret. */
export function isSameSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
