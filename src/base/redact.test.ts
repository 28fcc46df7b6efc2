import assert from "node:assert/strict";
import { test } from "node:test";
import { redacted, secretCharsMax, secretsIn, withoutSecrets } from "./redact.ts";
import { Secret } from "./secret.ts";

const LONG = "Ab1".repeat(14);

const SECRETS: readonly (readonly [text: string, secret: string])[] = [
  [`-----BEGIN RSA PRIVATE KEY-----\n${LONG}\n-----END RSA PRIVATE KEY-----`, LONG],
  [`-----BEGIN PRIVATE KEY-----\n${LONG}`, LONG],
  [`-----BEGIN PGP PRIVATE KEY BLOCK-----\n${LONG}\n-----END PGP PRIVATE KEY BLOCK-----`, LONG],
  [`sk-${LONG}`, LONG],
  [`sk-ant-api03-${LONG}`, LONG],
  ...["ghp", "gho", "ghu", "ghs", "ghr"].map((kind) => [`${kind}_${LONG}`, LONG] as const),
  [`github_pat_${LONG}`, LONG],
  [`xoxb-1234567890-${LONG}`, LONG],
  [`AKIA${"A1".repeat(8)}`, "A1A1"],
  [`ASIA${"A1".repeat(8)}`, "A1A1"],
  [`AIza${LONG}`, LONG],
  [`glpat-${LONG}`, LONG],
  [`npm_${LONG}`, LONG],
  [`eyJ${LONG}.eyJ${LONG}.${LONG}`, LONG],
  [`Authorization: Bearer ${LONG}`, LONG],
  [`authorization: basic ${LONG}==`, LONG],
  ["postgres://user:hunter2secret@host/db", "hunter2secret"],
  ["API_KEY=abcdef123", "abcdef123"],
  ['"client_secret": "abcdef123"', "abcdef123"],
  ["password = abcdef123", "abcdef123"],
  ["access-token: 'abcdef123'", "abcdef123"],
  ["password: 正确的马电池订书钉", "正确的马"],
  [`API_KEY=sk-${LONG}`, LONG],
  [`api_key: "ghp_${LONG}"`, LONG],
  [`Authorization: Bearer sk-${LONG}`, LONG],
  [`postgres://user:sk-${LONG}@host/db`, LONG],
];

test("a secret of each usual shape is taken out, and what stands around it stays", () => {
  for (const [text, secret] of SECRETS) {
    const isOpen = text.startsWith("-----BEGIN") && !text.includes("END"); // Such a one goes on to the end.
    const shown = redacted(`before ${text}${isOpen ? "" : "\nafter"}`);
    assert.ok(!shown.includes(secret), shown);
    assert.match(shown, /^before .*\[redacted/s);
    if (!isOpen) assert.match(shown, /\nafter$/);
  }
});

test("where secrets are is said of each, in order and apart", () => {
  for (const text of [...SECRETS.map(([each]) => each), SECRETS.map(([each]) => each).join("\n"), "none"]) {
    let end = 0;
    for (const { from, to } of secretsIn(text)) {
      assert.ok(from >= end && to > from && to <= text.length);
      end = to;
    }
    assert.equal(end > 0, text !== "none");
  }
});

test("a secret that is known by its name and by its shape is taken out once, and called what it is", () => {
  for (const [text, shown] of [
    [`export ANTHROPIC_API_KEY=sk-ant-api03-${LONG};`, "export ANTHROPIC_API_KEY=[redacted: key];"],
    [`{"api_key": "ghp_${LONG}"}`, '{"api_key": "[redacted: key]"}'],
    [`{"name":"API_KEY","value":"sk-${LONG}"}`, '{"name":"API_KEY","value":"[redacted: key]"}'],
    [`token=eyJ${LONG}.eyJ${LONG}.${LONG} x`, "token=[redacted: token] x"],
    [`Authorization: Bearer sk-${LONG}.more x`, "Authorization: Bearer [redacted: key] x"],
    [`Authorization: Bearer ${LONG}`, "Authorization: Bearer [redacted]"],
    [`postgres://user:sk-${LONG}@host/db`, "postgres://user:[redacted: key]@host/db"],
    ["postgres://user:hunter2@host/db", "postgres://user:[redacted]@host/db"],
    ["password=https://a:hunter2@host, x", "password=[redacted], x"],
  ] as const)
    assert.equal(redacted(text), shown);
});

test("several secrets in one text are all taken out", () => {
  const shown = redacted(
    SECRETS.slice(2)
      .map(([text]) => text)
      .join("\n"),
  );
  for (const [, secret] of SECRETS.slice(2)) assert.ok(!shown.includes(secret), secret);
});

test("ordinary text stays as it is", () => {
  for (const text of [
    "",
    "I asked about the risk-free-rate-of-return-in-finance yesterday.",
    "The password is long. Secrets are hard to keep; a token of thanks!",
    "https://example.com:8080/a/b?c=d#e and user@example.com",
    "const total = items.map((item) => item.price);",
    "eyJ is how the base64 of a JSON object begins",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "npm_config_cache, sk-1, AKIA, bearer of bad news",
  ])
    assert.equal(redacted(text), text);
});

test("a megabyte that almost looks like secrets is read through in one go", () => {
  for (const piece of [
    ...[
      "-----BEGIN ",
      "-----END ",
      "-----BEGIN PRIVATE KEY-----",
      "PRIVATE KEY",
      "-----",
      "sk-",
      "ghp_",
      "xoxb-",
    ],
    ...[
      "AKIA",
      "eyJaaaaaaaaaaaa.",
      "eyJ-",
      "sk-",
      "-----BEGIN PRIVATE KEY-----",
      "a://b:",
      "a+://",
      "a-",
      "token ",
      "token=",
      "password    =",
      "bearer ",
    ],
  ])
    assert.equal(typeof redacted(piece.repeat(1_000_000 / piece.length)), "string");
});

test("a secret of the configuration is taken out in every form, and what only begins like it stays", () => {
  const secrets = [new Secret('ke/y wi"th ä'), new Secret("Bearer token-1", ["token-1"])];
  const told = `ke/y wi"th ä ${JSON.stringify('ke/y wi"th ä')} ${encodeURIComponent('ke/y wi"th ä')} ke/y wi`;
  assert.equal(withoutSecrets(told, secrets), '[secret] "[secret]" [secret] ke/y wi');
  assert.equal(
    withoutSecrets("Bearer token-1, token-1, Bearer token-", secrets),
    "[secret], [secret], Bearer token-",
  );
  assert.equal(secretCharsMax(secrets), encodeURIComponent('ke/y wi"th ä').length);
  assert.equal(secretCharsMax([]), 0);
});

test("of two secrets that begin alike nothing is left of the longer one", () => {
  const [short, long] = [new Secret("abcdef"), new Secret("abcdefghij")];
  for (const secrets of [
    [short, long],
    [long, short],
  ])
    assert.equal(withoutSecrets("abcdefghij abcdef", secrets), "[secret] [secret]");
});

test("what is too short to be a secret is left where it is", () => {
  const secrets = ["1", "en", "12345", ""].map((text) => new Secret(text));
  assert.equal(withoutSecrets("answered 1 of 12345 when", secrets), "answered 1 of 12345 when");
  assert.equal(withoutSecrets("it is 123456", [new Secret("123456")]), "it is [secret]");
});
