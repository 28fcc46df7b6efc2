import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";
import { pino } from "pino";
import { Secret } from "./secret.ts";

test("a secret says what it is only to who asks for it", () => {
  const secret = new Secret("sk-very-secret");
  assert.equal(secret.reveal(), "sk-very-secret");
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  log.info({ secret, deep: { secret } }, "logged");
  const told = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret, list: [secret] }),
    inspect({ secret }, { depth: 9, showHidden: true }),
    format("%s %o %O %j", secret, secret, secret, secret),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify(structuredClone({ ...secret })),
    ...lines,
  ];
  for (const text of told) assert.ok(!text.includes("very"), text);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /\[secret\]/);
});

test("all of a secret is known that somebody may repeat: its parts, what is behind a scheme, and its lines", () => {
  assert.deepEqual(new Secret("Bearer ab-cd", ["ab-cd"]).texts(), ["Bearer ab-cd", "ab-cd"]);
  assert.deepEqual(new Secret("Api-Key  literal").texts(), ["Api-Key  literal", "literal"]);
  assert.deepEqual(new Secret("a heron at dawn").texts(), ["a heron at dawn"]);
  assert.deepEqual(new Secret("x-key-y", ["key"]).texts(), ["x-key-y", "key"]);
  assert.deepEqual(new Secret("-----BEGIN\nbody\r\nEND").texts().slice(1), ["-----BEGIN", "body", "END"]);
});
