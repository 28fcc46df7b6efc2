import assert from "node:assert/strict";
import { test } from "node:test";
import { answerSignatureOf, isSameSignature, signatureOf } from "./signature.ts";

const SECRET = "whsec-0123456789abcdef";
const BODY = '{"id":"42","peer":"ann","message":"Good morning"}';

// Made with openssl, as docs/channels.md shows.
test("a secret, a timestamp and a body always give the same signature", () => {
  assert.equal(
    signatureOf(SECRET, "1767225600", BODY),
    "v1=329dbfcec06ae20566be888efc27bc9cc27f22c69c5f76a8242a0fc05b637b22",
  );
  assert.equal(
    signatureOf(SECRET, "1767225600", ""),
    "v1=d5d4edd3724441a9da057d694514f2c489fae193b3a50bc4cf57ca1c781b8e04",
  );
  assert.equal(signatureOf(SECRET, "1767225600", Buffer.from(BODY)), signatureOf(SECRET, "1767225600", BODY));
});

// Made with openssl, too: of "answer.1767225600." and the body.
test("an answer is signed in another way than a message with the same bytes", () => {
  assert.equal(
    answerSignatureOf(SECRET, "1767225600", '{"id":"1","text":"Good morning to you."}'),
    "v1=6157c85ae4e949e047b9bd508184fdf21e085d58b0ca046862f39fa5367c8d3a",
  );
  assert.notEqual(answerSignatureOf(SECRET, "17", BODY), signatureOf(SECRET, "17", BODY));
});

test("another secret, another time, another byte is another signature", () => {
  const own = signatureOf(SECRET, "17", BODY);
  for (const other of [
    signatureOf(`${SECRET}x`, "17", BODY),
    signatureOf(SECRET, "18", BODY),
    signatureOf(SECRET, "17", `${BODY} `),
    own.slice(0, -1),
    `${own}0`,
    own.toUpperCase(),
    "",
    "é".repeat(own.length),
  ])
    assert.equal(isSameSignature(other, own), false, other);
  assert.equal(isSameSignature(signatureOf(SECRET, "17", BODY), own), true);
});
